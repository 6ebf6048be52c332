// Command avo writes the kernels of package kernel for amd64: once for AVX2 with FMA, once for
// AVX-512. Run by go generate in package kernel.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An isa is an instruction set: the length of its vectors and the shape of its tiles, which fill its
// registers with accumulators, but for those of one row of b and those of elements of a.
type isa struct {
	name  string
	bytes int // of a vector
	rows  int // of a tile
	first int // the register behind the accumulators of the widest tile
	last  int // the last register
}

var isas = []isa{
	{"AVX2", 32, 4, 12, 15},
	{"AVX512", 64, 8, 24, 31},
}

// widest is how many vectors a tile is wide at most.
const widest = 3

func main() {
	ConstraintExpr("amd64")
	for _, s := range isas {
		for n := 1; n <= widest; n++ {
			s.tile32(n)
			s.gram32(n)
			s.gram64(n)
			s.sparse(n)
		}
		s.pack32()
		s.pack64()
		s.shift()
		s.scan()
		s.distance()
		s.addTo()
		s.axpy()
	}
	Generate()
}

var (
	ymm = []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}
	zmm = []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}
)

// v returns vector register i.
func (s isa) v(i int) reg.VecPhysical {
	if s.bytes == 64 {
		return zmm[i]
	}
	return ymm[i]
}

// half returns the lower half of vector register i.
func (s isa) half(i int) Op {
	if s.bytes == 64 {
		return zmm[i].AsY()
	}
	return ymm[i].AsX()
}

func (s isa) zero(i int) {
	if s.bytes == 64 {
		VPXORD(zmm[i], zmm[i], zmm[i])
	} else {
		VXORPS(ymm[i], ymm[i], ymm[i])
	}
}

// upper moves the upper half of register from to the lower half of register to.
func (s isa) upper(from, to int) {
	if s.bytes == 64 {
		VEXTRACTF64X4(U8(1), zmm[from], zmm[to].AsY())
	} else {
		VEXTRACTF128(U8(1), ymm[from], ymm[to].AsX())
	}
}

// sum64 adds up the float64 lanes of register i, using register t, into its lowest.
func (s isa) sum64(i, t int) {
	if s.bytes == 64 {
		VEXTRACTF64X4(U8(1), zmm[i], zmm[t].AsY())
		VADDPD(ymm[t], ymm[i], ymm[i])
	}
	VEXTRACTF128(U8(1), ymm[i], ymm[t].AsX())
	VADDPD(ymm[t].AsX(), ymm[i].AsX(), ymm[i].AsX())
	VUNPCKHPD(ymm[i].AsX(), ymm[i].AsX(), ymm[t].AsX())
	VADDSD(ymm[t].AsX(), ymm[i].AsX(), ymm[i].AsX())
}

func (s isa) function(name, signature, doc string) {
	TEXT(name+s.name, NOSPLIT, signature)
	Doc(fmt.Sprintf(doc, name+s.name))
	Pragma("noescape")
}

func end() {
	VZEROUPPER()
	RET()
}

// loop emits body so that it runs as often as n, which is counted down by step, has step left.
func loop(name string, n reg.GPVirtual, step int, body func()) {
	CMPQ(n, Imm(uint64(step)))
	JL(LabelRef(name + "_end"))
	Label(name)
	body()
	SUBQ(Imm(uint64(step)), n)
	CMPQ(n, Imm(uint64(step)))
	JGE(LabelRef(name))
	Label(name + "_end")
}

func param(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
func base(name string) reg.GPVirtual  { return Load(Param(name).Base(), GP64()).(reg.GPVirtual) }
func length(name string) reg.GPVirtual {
	return Load(Param(name).Len(), GP64()).(reg.GPVirtual)
}

// scaled returns a stride in bytes.
func scaled(name string, shift uint64) reg.GPVirtual {
	r := param(name)
	SHLQ(Imm(shift), r)
	return r
}

// panels returns the addresses of n vectors that are a stride apart.
func panels(b, stride reg.GPVirtual, n int) []Mem {
	m := []Mem{{Base: b}, {Base: b, Index: stride, Scale: 1}, {Base: b, Index: stride, Scale: 2}}
	return m[:n]
}

// rowsAt returns the addresses of rows a stride apart, and moves on by step bytes when advance is called.
func rowsAt(a, stride reg.GPVirtual, n int) (m []Mem, advance func(step Op)) {
	triple := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, triple)
	bases := []reg.GPVirtual{a}
	if n > 4 {
		fifth := GP64()
		LEAQ(Mem{Base: a, Index: stride, Scale: 4}, fifth)
		bases = append(bases, fifth)
	}
	for _, b := range bases {
		m = append(m, Mem{Base: b}, Mem{Base: b, Index: stride, Scale: 1}, Mem{Base: b, Index: stride, Scale: 2}, Mem{Base: b, Index: triple, Scale: 1})
	}
	return m, func(step Op) {
		for _, b := range bases {
			ADDQ(step, b)
		}
	}
}

// multiply emits one step of a tile: the outer product of the elements at rows and the vectors at b.
func (s isa) multiply(n int, rows, b []Mem, broadcast, fma func(ops ...Op), load func(ops ...Op)) {
	for j := range n {
		load(b[j], s.v(s.first+j))
	}
	scratch := s.last - s.first - widest + 1
	for i := range s.rows {
		t := s.first + widest + i%scratch
		broadcast(rows[i], s.v(t))
		for j := range n {
			fma(s.v(s.first+j), s.v(t), s.v(i*n+j))
		}
	}
}

func (s isa) broadcast32(ops ...Op) { VBROADCASTSS(ops...) }
func (s isa) broadcast64(ops ...Op) { VBROADCASTSD(ops...) }
func fma32(ops ...Op)               { VFMADD231PS(ops...) }
func fma64(ops ...Op)               { VFMADD231PD(ops...) }
func load32(ops ...Op)              { VMOVUPS(ops...) }
func load64(ops ...Op)              { VMOVUPD(ops...) }

// tile32 is c += a·b for a tile of rows × n vectors.
func (s isa) tile32(n int) {
	s.function(fmt.Sprintf("tile32x%d", n), "func(k int, a []float32, aRow, aCol int, b []float32, bPanel int, c []float32, cRow int)",
		"%s adds a·b to c: a of any strides, b in panels, c row by row.")
	for i := range s.rows * n {
		s.zero(i)
	}
	k, a, b := param("k"), base("a"), base("b")
	aRow, aCol, bPanel := scaled("aRow", 2), scaled("aCol", 2), scaled("bPanel", 2)
	rows, advance := rowsAt(a, aRow, s.rows)
	loop("step", k, 1, func() {
		s.multiply(n, rows, panels(b, bPanel, n), s.broadcast32, fma32, load32)
		advance(aCol)
		ADDQ(U32(s.bytes), b)
	})
	c, cRow := base("c"), scaled("cRow", 2)
	for i := range s.rows {
		for j := range n {
			m := Mem{Base: c, Disp: j * s.bytes}
			VADDPS(m, s.v(i*n+j), s.v(i*n+j))
			VMOVUPS(s.v(i*n+j), m)
		}
		ADDQ(cRow, c)
	}
	end()
}

// gramStart emits the steps of a tile of a Gram matrix whose elements have the given size.
func (s isa) gramSteps(n, size int, broadcast, fma, load func(ops ...Op)) {
	for i := range s.rows * n {
		s.zero(i)
	}
	k, a, b, bPanel := param("k"), base("a"), base("b"), param("bPanel")
	if size == 4 {
		SHLQ(Imm(2), bPanel)
	} else {
		SHLQ(Imm(3), bPanel)
	}
	step := func(k int) {
		var rows, bs []Mem
		for i := range s.rows {
			rows = append(rows, Mem{Base: a, Disp: k*s.bytes + i*size})
		}
		for _, m := range panels(b, bPanel, n) {
			m.Disp = k * s.bytes
			bs = append(bs, m)
		}
		s.multiply(n, rows, bs, broadcast, fma, load)
	}
	for _, unroll := range []int{4, 1} {
		loop(fmt.Sprintf("step%d", unroll), k, unroll, func() {
			for k := range unroll {
				step(k)
			}
			ADDQ(U32(unroll*s.bytes), a)
			ADDQ(U32(unroll*s.bytes), b)
		})
	}
}

// gram32 is c += aᵀ·b for panels, with products and their sums in float32, which are added to float64.
func (s isa) gram32(n int) {
	s.function(fmt.Sprintf("gram32x%d", n), "func(k int, a, b []float32, bPanel int, c []float64, cRow int)",
		"%s adds aᵀ·b, multiplied in float32, to c.")
	s.gramSteps(n, 4, s.broadcast32, fma32, load32)
	c, cRow := base("c"), scaled("cRow", 3)
	low, high := s.first, s.first+1
	for i := range s.rows {
		for j := range n {
			acc := i*n + j
			VCVTPS2PD(s.half(acc), s.v(low))
			s.upper(acc, high)
			VCVTPS2PD(s.half(high), s.v(high))
			for h, r := range []int{low, high} {
				m := Mem{Base: c, Disp: (2*j + h) * s.bytes}
				VADDPD(m, s.v(r), s.v(r))
				VMOVUPD(s.v(r), m)
			}
		}
		ADDQ(cRow, c)
	}
	end()
}

// gram64 is c += aᵀ·b for panels of float64.
func (s isa) gram64(n int) {
	s.function(fmt.Sprintf("gram64x%d", n), "func(k int, a, b []float64, bPanel int, c []float64, cRow int)",
		"%s adds aᵀ·b to c.")
	s.gramSteps(n, 8, s.broadcast64, fma64, load64)
	c, cRow := base("c"), scaled("cRow", 3)
	for i := range s.rows {
		for j := range n {
			m := Mem{Base: c, Disp: j * s.bytes}
			VADDPD(m, s.v(i*n+j), s.v(i*n+j))
			VMOVUPD(s.v(i*n+j), m)
		}
		ADDQ(cRow, c)
	}
	end()
}

// sparse is c += the sum of rows of b times values.
func (s isa) sparse(n int) {
	s.function(fmt.Sprintf("sparse32x%d", n), "func(columns []int32, values []float32, b []float32, bPanel int, c []float32)",
		"%s adds Σ values[l]·b[columns[l]] to c.")
	const chains = 2
	for i := range n * chains {
		s.zero(i)
	}
	k, columns, values, b, bPanel := length("columns"), base("columns"), base("values"), base("b"), scaled("bPanel", 2)
	shift := uint64(6)
	if s.bytes == 32 {
		shift = 5
	}
	for _, unroll := range []int{chains, 1} {
		loop(fmt.Sprintf("step%d", unroll), k, unroll, func() {
			for l := range unroll {
				row := GP64()
				MOVLQSX(Mem{Base: columns, Disp: 4 * l}, row)
				SHLQ(Imm(shift), row)
				ADDQ(b, row)
				VBROADCASTSS(Mem{Base: values, Disp: 4 * l}, s.v(s.first+l))
				for j, m := range panels(row, bPanel, n) {
					VFMADD231PS(m, s.v(s.first+l), s.v(l*n+j))
				}
			}
			ADDQ(U32(4*unroll), columns)
			ADDQ(U32(4*unroll), values)
		})
	}
	c := base("c")
	for j := range n {
		m := Mem{Base: c, Disp: j * s.bytes}
		VADDPS(s.v(n+j), s.v(j), s.v(j))
		VADDPS(m, s.v(j), s.v(j))
		VMOVUPS(s.v(j), m)
	}
	end()
}

// pack32 is one panel of rows less the pilot.
func (s isa) pack32() {
	s.function("pack32", "func(n int, x []float32, xRow int, pilot, panel []float32, sum []float64)",
		"%s writes the vector of each of n rows less the pilot to the panel, and adds them to sum.")
	n, x, xRow, pilot, panel, sum := param("n"), base("x"), scaled("xRow", 2), base("pilot"), base("panel"), base("sum")
	const unroll = 2
	const p, low, high = 15, 4, 5 // registers; the sums are 0 to 3
	for i := range 2 * unroll {
		s.zero(i)
	}
	VMOVUPS(Mem{Base: pilot}, s.v(p))
	for _, u := range []int{unroll, 1} {
		loop(fmt.Sprintf("rows%d", u), n, u, func() {
			for i := range u {
				VMOVUPS(Mem{Base: x}, s.v(low))
				VSUBPS(s.v(p), s.v(low), s.v(low))
				VMOVUPS(s.v(low), Mem{Base: panel, Disp: i * s.bytes})
				s.upper(low, high)
				VCVTPS2PD(s.half(low), s.v(low))
				VCVTPS2PD(s.half(high), s.v(high))
				VADDPD(s.v(low), s.v(2*i), s.v(2*i))
				VADDPD(s.v(high), s.v(2*i+1), s.v(2*i+1))
				ADDQ(xRow, x)
			}
			ADDQ(U32(u*s.bytes), panel)
		})
	}
	for h := range 2 {
		m := Mem{Base: sum, Disp: h * s.bytes}
		VADDPD(s.v(2+h), s.v(h), s.v(h))
		VADDPD(m, s.v(h), s.v(h))
		VMOVUPD(s.v(h), m)
	}
	end()
}

// pack64 is pack32 with panels of float64.
func (s isa) pack64() {
	s.function("pack64", "func(n int, x []float32, xRow int, pilot []float32, panel []float64, sum []float64)",
		"%s writes the vector of each of n rows less the pilot to the panel, and adds them to sum.")
	n, x, xRow, pilot, panel, sum := param("n"), base("x"), scaled("xRow", 2), base("pilot"), base("panel"), base("sum")
	const unroll = 4
	const p, t = 15, 4 // registers; the sums are 0 to 3
	for i := range unroll {
		s.zero(i)
	}
	VCVTPS2PD(Mem{Base: pilot}, s.v(p))
	for _, u := range []int{unroll, 1} {
		loop(fmt.Sprintf("rows%d", u), n, u, func() {
			for i := range u {
				VCVTPS2PD(Mem{Base: x}, s.v(t+i))
				VSUBPD(s.v(p), s.v(t+i), s.v(t+i))
				VMOVUPD(s.v(t+i), Mem{Base: panel, Disp: i * s.bytes})
				VADDPD(s.v(t+i), s.v(i), s.v(i))
				ADDQ(xRow, x)
			}
			ADDQ(U32(u*s.bytes), panel)
		})
	}
	VADDPD(s.v(1), s.v(0), s.v(0))
	VADDPD(s.v(3), s.v(2), s.v(2))
	VADDPD(s.v(2), s.v(0), s.v(0))
	VADDPD(Mem{Base: sum}, s.v(0), s.v(0))
	VMOVUPD(s.v(0), Mem{Base: sum})
	end()
}

// rest emits what remains of n elements, fewer than a vector has: once under a mask, or one by one.
func (s isa) rest(n reg.GPVirtual, masked, single func()) {
	if s.bytes == 64 {
		TESTQ(n, n)
		JZ(LabelRef("rest_end"))
		mask := GP32()
		MOVL(I32(-1), mask)
		BZHIL(n.As32(), mask, mask)
		KMOVW(mask, reg.K1)
		masked()
		Label("rest_end")
		return
	}
	loop("rest", n, 1, single)
}

// squares adds the squares of register low to the sums in 0 and 1, in float64.
func (s isa) squares(low, high int) {
	s.upper(low, high)
	VCVTPS2PD(s.half(low), s.v(low))
	VCVTPS2PD(s.half(high), s.v(high))
	VFMADD231PD(s.v(low), s.v(low), s.v(0))
	VFMADD231PD(s.v(high), s.v(high), s.v(1))
}

// difference is the squares of what x and y differ by, and the differences where they are kept.
func (s isa) difference(n, x, y, dst reg.GPVirtual) {
	const low, high, alone = 4, 5, 6
	for _, r := range []int{0, 1, alone} {
		s.zero(r)
	}
	loop("vectors", n, s.bytes/4, func() {
		VMOVUPS(Mem{Base: x}, s.v(low))
		VSUBPS(Mem{Base: y}, s.v(low), s.v(low))
		if dst != nil {
			VMOVUPS(s.v(low), Mem{Base: dst})
			ADDQ(U32(s.bytes), dst)
		}
		s.squares(low, high)
		ADDQ(U32(s.bytes), x)
		ADDQ(U32(s.bytes), y)
	})
	s.rest(n, func() {
		VMOVUPS_Z(Mem{Base: x}, reg.K1, s.v(low))
		VMOVUPS_Z(Mem{Base: y}, reg.K1, s.v(high))
		VSUBPS(s.v(high), s.v(low), s.v(low))
		if dst != nil {
			VMOVUPS(s.v(low), reg.K1, Mem{Base: dst})
		}
		s.squares(low, high)
	}, func() {
		one, sum := ymm[low].AsX(), ymm[alone].AsX()
		VMOVSS(Mem{Base: x}, one)
		VSUBSS(Mem{Base: y}, one, one)
		if dst != nil {
			VMOVSS(one, Mem{Base: dst})
			ADDQ(U32(4), dst)
		}
		VCVTSS2SD(one, one, one)
		VFMADD231SD(one, one, sum)
		ADDQ(U32(4), x)
		ADDQ(U32(4), y)
	})
	VADDPD(s.v(1), s.v(0), s.v(0))
	s.sum64(0, 1)
	VADDSD(ymm[alone].AsX(), ymm[0].AsX(), ymm[0].AsX())
	Store(ymm[0].AsX(), ReturnIndex(0))
	end()
}

// shift is a row less the pilot, and its squared length.
func (s isa) shift() {
	s.function("shift", "func(n int, x, pilot, dst []float32) (square float64)",
		"%s writes n elements of x less the pilot to dst and returns the sum of their squares.")
	s.difference(param("n"), base("x"), base("pilot"), base("dst"))
}

// distance is the squared distance of two rows, with the squares and their sum in float64.
func (s isa) distance() {
	s.function("distance", "func(n int, x, c []float32) (square float64)", "%s returns Σ(x−c)² over n elements.")
	s.difference(param("n"), base("x"), base("c"), nil)
}

// addTo is dst += w·x.
func (s isa) addTo() {
	s.function("addTo", "func(n int, dst []float64, x []float32, w float64)", "%s adds w·x to dst, n elements.")
	n, dst, x := param("n"), base("dst"), base("x")
	VBROADCASTSD(NewParamAddr("w", 56), s.v(15))
	loop("vectors", n, s.bytes/8, func() {
		VCVTPS2PD(Mem{Base: x}, s.v(0))
		VMOVUPD(Mem{Base: dst}, s.v(1))
		VFMADD231PD(s.v(15), s.v(0), s.v(1))
		VMOVUPD(s.v(1), Mem{Base: dst})
		ADDQ(U32(s.bytes/2), x)
		ADDQ(U32(s.bytes), dst)
	})
	s.rest(n, func() {
		VCVTPS2PD_Z(Mem{Base: x}, reg.K1, s.v(0))
		VMOVUPD_Z(Mem{Base: dst}, reg.K1, s.v(1))
		VFMADD231PD(s.v(15), s.v(0), s.v(1))
		VMOVUPD(s.v(1), reg.K1, Mem{Base: dst})
	}, func() {
		one := ymm[0].AsX()
		VMOVSS(Mem{Base: x}, one)
		VCVTSS2SD(one, one, one)
		VMOVSD(Mem{Base: dst}, ymm[1].AsX())
		VFMADD231SD(ymm[15].AsX(), one, ymm[1].AsX())
		VMOVSD(ymm[1].AsX(), Mem{Base: dst})
		ADDQ(U32(4), x)
		ADDQ(U32(8), dst)
	})
	end()
}

// axpy is dst += v·x in float32.
func (s isa) axpy() {
	s.function("axpy", "func(n int, v float32, x, dst []float32)",
		"%s adds v·x to dst, n elements, a multiple of the lanes of float32.")
	n, x, dst := param("n"), base("x"), base("dst")
	VBROADCASTSS(NewParamAddr("v", 8), s.v(15))
	loop("vectors", n, s.bytes/4, func() {
		VMOVUPS(Mem{Base: dst}, s.v(1))
		VFMADD231PS(Mem{Base: x}, s.v(15), s.v(1))
		VMOVUPS(s.v(1), Mem{Base: dst})
		ADDQ(U32(s.bytes), x)
		ADDQ(U32(s.bytes), dst)
	})
	end()
}

// scan finds the least element and those near it.
func (s isa) scan() {
	s.function("scan", "func(n int, x []float32, slack float32) (first, count int)",
		"%s returns the index of the first of n elements of x that is not above the least by more than slack, and how many such there are. n is a positive multiple of the lanes of float32.")
	n, x := param("n"), base("x")
	left, at := GP64(), GP64()
	MOVQ(n, left)
	MOVQ(x, at)
	VMOVUPS(Mem{Base: x}, s.v(0))
	loop("least", left, s.bytes/4, func() {
		VMINPS(Mem{Base: at}, s.v(0), s.v(0))
		ADDQ(U32(s.bytes), at)
	})
	if s.bytes == 64 {
		VEXTRACTF64X4(U8(1), zmm[0], zmm[1].AsY())
		VMINPS(ymm[1], ymm[0], ymm[0])
	}
	VEXTRACTF128(U8(1), ymm[0], ymm[1].AsX())
	VMINPS(ymm[1].AsX(), ymm[0].AsX(), ymm[0].AsX())
	VPERMILPS(U8(0x4e), ymm[0].AsX(), ymm[1].AsX())
	VMINPS(ymm[1].AsX(), ymm[0].AsX(), ymm[0].AsX())
	VPERMILPS(U8(0xb1), ymm[0].AsX(), ymm[1].AsX())
	VMINPS(ymm[1].AsX(), ymm[0].AsX(), ymm[0].AsX())
	VADDSS(NewParamAddr("slack", 32), ymm[0].AsX(), ymm[0].AsX())
	VBROADCASTSS(ymm[0].AsX(), s.v(0))
	first, count, index, bits, ones := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(I64(-1), first)
	XORQ(count, count)
	XORQ(index, index)
	loop("near", n, s.bytes/4, func() {
		const notGreater = 0x1a // unordered, quiet
		if s.bytes == 64 {
			VMOVUPS(Mem{Base: x}, s.v(1))
			VCMPPS(U8(notGreater), s.v(0), s.v(1), reg.K1)
			KMOVW(reg.K1, bits.As32())
		} else {
			VMOVUPS(Mem{Base: x}, s.v(1))
			VCMPPS(U8(notGreater), s.v(0), s.v(1), s.v(1))
			VMOVMSKPS(s.v(1), bits.As32())
		}
		TESTL(bits.As32(), bits.As32())
		JZ(LabelRef("none"))
		POPCNTQ(bits, ones)
		ADDQ(ones, count)
		CMPQ(first, Imm(0))
		JGE(LabelRef("none"))
		TZCNTQ(bits, first)
		ADDQ(index, first)
		Label("none")
		ADDQ(U32(s.bytes/4), index)
		ADDQ(U32(s.bytes), x)
	})
	Store(first, ReturnIndex(0))
	Store(count, ReturnIndex(1))
	end()
}
