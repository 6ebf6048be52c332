// Package computetest holds engines to their contract: every operation against its definition in float64.
//
// The tolerances are part of the contract. Each is relative to the sum of the absolute values of what is
// added up, which cancellation does not shrink:
//
//   - Gram, up to [WideFeatures] columns: 1e-12. Products are float64, so that the sums of any split of the
//     rows agree about as closely.
//   - Gram, more columns: 66/2²⁴, of products and sums of 64 of them in float32, each rounding once, and of two
//     differences from the pilot; all beyond that is float64. It does not grow with the number of rows.
//   - Multiply: (n+2)/2²⁴ for n products, any order of float32.
//   - Assign and AssignAndSum: the center is the one that the naive engine finds, where the distances of two differ by more
//     than 1e-12 of their larger; distances 1e-6, of differences that are rounded to float32 and squared in float64;
//     sums, of float64, 1e-12.
//   - Distances: 16(n+8)/2²⁴ of themselves for n columns: an engine may expand the square where that cancels no more than
//     a factor of 16.
//   - Linear: losses 1e-5; gradients 8(n+d+10)/2²⁴ of the sums of absolute values, for n rows of d columns; an update 1e-5 of
//     the weight and 0.3, whichever steps are of the size that training makes.
package computetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/internal/testenv"
)

// WideFeatures is up to how many columns a Gram is as exact as float64.
const WideFeatures = 384

const unit = 1.0 / (1 << 24) // what one rounding to float32 changes at most

// Test fails t where the engine leaves its contract.
func Test(t *testing.T, e compute.Engine) {
	t.Run("Gram", func(t *testing.T) { testGram(t, e) })
	t.Run("Centers", func(t *testing.T) { testCenters(t, e) })
	t.Run("Multiply", func(t *testing.T) { testMultiply(t, e) })
	t.Run("Linear", func(t *testing.T) { testLinear(t, e) })
	t.Run("misfits panic", func(t *testing.T) { testMisfits(t, e) })
}

// A layout is a way to hold the rows of a matrix.
type layout string

const (
	dense   layout = "dense"
	strided layout = "strided" // rows with room between them, and nothing behind the last
	sparse  layout = "sparse"  // columns in no order
)

var layouts = []layout{dense, strided, sparse}

// matrix holds n×d values, row by row, in a layout. Sparse rows keep no zero.
func (l layout) matrix(n, d int, values []float32) compute.Matrix {
	switch l {
	case dense:
		return compute.Matrix{X: blas32.General{Rows: n, Cols: d, Stride: d, Data: values}}
	case strided:
		return compute.Matrix{X: spread(n, d, values)}
	}
	s := &algorithms.CSR{Cols: d, Indptr: []int{0}}
	for i := range n {
		for j := range d {
			j = (i + d - 1 - j) % d
			if v := values[i*d+j]; v != 0 {
				s.Indices, s.Data = append(s.Indices, int32(j)), append(s.Data, v)
			}
		}
		s.Indptr = append(s.Indptr, len(s.Data))
	}
	return compute.Matrix{S: s}
}

// spread returns n×d values with room between the rows that spoils all that touch it.
func spread(n, d int, values []float32) blas32.General {
	g := blas32.General{Rows: n, Cols: d, Stride: d + 3}
	if n == 0 {
		return g
	}
	g.Data = make([]float32, (n-1)*g.Stride+d)
	for i := range g.Data {
		g.Data[i] = float32(math.NaN())
	}
	for i := range n {
		copy(g.Data[i*g.Stride:][:d], values[i*d:])
	}
	return g
}

func general(n, d int, values []float32) blas32.General {
	return blas32.General{Rows: n, Cols: d, Stride: d, Data: values}
}

// values returns n numbers about an offset, a share of which is 0.
func values(r *rand.Rand, n int, offset, scale, zeros float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		if r.Float64() >= zeros {
			x[i] = float32(offset + scale*r.NormFloat64())
		}
	}
	return x
}

func source(words ...int) *rand.Rand {
	seed := uint64(1)
	for _, w := range words {
		seed = seed*1000003 + uint64(w)
	}
	return rand.New(rand.NewPCG(seed, 7))
}

// A kind is values of one sort.
type kind struct {
	name                 string
	offset, scale, zeros float64
}

var kinds = []kind{
	{"about 0", 0, 1, 0.3},
	{"mostly 0", 0, 1, 0.97},
	{"far from 0", 1e6, 1, 0},
	{"huge", 0, 1e15, 0},
	{"tiny", 0, 1e-15, 0},     // whose squares are still numbers of float32
	{"all positive", 5, 1, 0}, // no sum cancels the error of another
}

func testGram(t *testing.T, e compute.Engine) {
	// Around the widths of vectors and tiles, the lengths of runs, and the limits between ways to compute.
	shapes := [][2]int{
		{0, 3}, {1, 1}, {1, 50}, {3, 2}, {63, 7}, {64, 8}, {65, 9}, {127, 15}, {129, 16}, {130, 17}, {257, 23}, {256, 24}, {4500, 25}, {700, 31}, {100, 33},
		{2000, 50}, {40, 127}, {300, 128}, {300, 129}, {1100, 150}, {70, 383}, {129, 384}, {63, 385}, {64, 386}, {65, 400}, {700, 401}, {33, 784},
	}
	for _, shape := range shapes {
		for _, k := range kinds {
			for _, l := range layouts {
				n, d := shape[0], shape[1]
				if n*d*d > 2e7 && (k.name == "huge" || k.name == "tiny" || l == strided) {
					continue // shapes beyond what these cases are about
				}
				t.Run(fmt.Sprintf("%d×%d, %s, %s", n, d, l, k.name), func(t *testing.T) {
					r := source(n, d)
					pilot := values(r, d, k.offset, k.scale/4, 0)
					if k.zeros > 0 {
						clear(pilot)
					}
					g := e.NewGram(pilot)
					rows := values(r, n*d, k.offset, k.scale, k.zeros)
					first := min(n, n/3+1) // in two parts
					g.Add(l.matrix(first, d, rows[:first*d]))
					g.Add(l.matrix(n-first, d, rows[first*d:]))
					checkGram(t, g, pilot, n, rows)
				})
			}
		}
	}
	t.Run("Sums forgets", func(t *testing.T) {
		for _, d := range []int{5, 200, 400} {
			for _, l := range layouts {
				r := source(d)
				pilot := make([]float32, d)
				g := e.NewGram(pilot)
				g.Add(l.matrix(9, d, values(r, 9*d, 0, 1, 0.95)))
				g.Sums(make([]float64, d), make([]float64, d*d))
				rows := values(r, 4*d, 0, 1, 0.95)
				g.Add(l.matrix(4, d, rows))
				checkGram(t, g, pilot, 4, rows)
				checkGram(t, g, pilot, 0, nil)
			}
		}
	})
	t.Run("Sums adds, and leaves the lower triangle", func(t *testing.T) {
		for _, d := range []int{3, 130, 385} {
			g := e.NewGram(make([]float32, d))
			row := values(source(d), d, 0, 1, 0)
			g.Add(dense.matrix(1, d, row))
			sum, outer := make([]float64, d), make([]float64, d*d)
			for i := range outer {
				outer[i] = 1000
			}
			g.Sums(sum, outer)
			for i := range d {
				for j := range d {
					want := 1000.0
					if j >= i {
						want += float64(row[i]) * float64(row[j])
					}
					require.InDelta(t, want, outer[i*d+j], 1e-5, "%d×%d", i, j)
				}
			}
		}
	})
	// Added up in float32 these stop growing at 2²⁴: each row adds 1, which is half a unit of the sum there.
	t.Run("what float32 cannot add up", func(t *testing.T) {
		for _, d := range []int{2, 390} {
			const n = 1 << 12
			g := e.NewGram(make([]float32, d))
			rows := values(source(d), n*d, 0, 0, 0)
			for i := range n {
				rows[i*d], rows[i*d+1] = 1, 4096
				if i%2 == 1 {
					rows[i*d+1] = 1
				}
			}
			for range 4 {
				g.Add(dense.matrix(n, d, rows))
			}
			sum, outer := make([]float64, d), make([]float64, d*d)
			require.EqualValues(t, 4*n, g.Sums(sum, outer))
			require.Equal(t, []float64{4 * n, 2 * n * 4097}, sum[:2])
			require.Equal(t, []float64{4 * n, 2 * n * 4097}, outer[:2])
			require.InEpsilon(t, 2*n*(4096*4096+1.0), outer[d+1], 66*unit)
		}
	})
}

// checkGram compares what a Gram has with what rows come to.
func checkGram(t *testing.T, g compute.Gram, pilot []float32, n int, rows []float32) {
	t.Helper()
	d := len(pilot)
	sum, outer := make([]float64, d), make([]float64, d*d)
	require.EqualValues(t, n, g.Sums(sum, outer))
	wantSum, absSum, want, abs := make([]float64, d), make([]float64, d), make([]float64, d*d), make([]float64, d*d)
	x := make([]float64, d)
	for i := range n {
		for j, p := range pilot {
			x[j] = float64(rows[i*d+j]) - float64(p)
		}
		for j, v := range x {
			wantSum[j] += v
			absSum[j] += math.Abs(v)
			for l := j; l < d; l++ {
				p := v * x[l]
				want[j*d+l] += p
				abs[j*d+l] += math.Abs(p)
			}
		}
	}
	tolerance := 1e-12
	if d > WideFeatures {
		tolerance = 66 * unit
	}
	within(t, "sum", wantSum, absSum, sum, tolerance)
	within(t, "outer", want, abs, outer, tolerance)
}

// within requires got to be want up to a tolerance of the sums of absolute values.
func within(t *testing.T, what string, want, abs, got []float64, tolerance float64) {
	t.Helper()
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= tolerance*abs[i]) {
			require.Failf(t, what, "element %d is %v instead of %v: off by %.3g of %v, where %.3g are allowed", i, got[i], v, math.Abs(got[i]-v)/abs[i], abs[i], tolerance)
		}
	}
}

// close requires got to be want up to delta. It is require.InDelta, but fast.
func close(t *testing.T, what string, want, got, delta float64) {
	t.Helper()
	if !(math.Abs(got-want) <= delta) {
		require.InDelta(t, want, got, delta, what)
	}
}

func testCenters(t *testing.T, e compute.Engine) {
	for _, n := range []int{0, 1, 7, 131} {
		for _, d := range []int{1, 2, 15, 16, 17, 50} {
			for _, k := range []int{1, 2, 8, 10, 16, 47, 49, 100} {
				for i, kind := range kinds {
					l := layouts[(n+d+k+i)%len(layouts)]
					t.Run(fmt.Sprintf("%d×%d, %d centers, %s, %s", n, d, k, l, kind.name), func(t *testing.T) {
						r := source(n, d, k)
						rows, c := values(r, n*d, kind.offset, kind.scale, kind.zeros), values(r, k*d, kind.offset, kind.scale, 0)
						checkCenters(t, e, l.matrix(n, d, rows), general(k, d, c), weights(r, n, i))
					})
				}
			}
		}
	}
	for _, shape := range [][3]int{{3000, 20, 10}, {3000, 3, 5}, {300, 784, 25}, {40, 2100, 5}, {5, 4, 5000}, {20, 3, 7000}} {
		for _, l := range layouts {
			t.Run(fmt.Sprintf("%d×%d, %d centers, %s", shape[0], shape[1], shape[2], l), func(t *testing.T) {
				n, d, k := shape[0], shape[1], shape[2]
				r := source(n, d, k)
				checkCenters(t, e, l.matrix(n, d, values(r, n*d, 3, 1, 0.5)), spread(k, d, values(r, k*d, 3, 1, 0.5)), weights(r, n, 1))
			})
		}
	}
	t.Run("the lower of equal distances", func(t *testing.T) { testTies(t, e) })
	t.Run("Set replaces", func(t *testing.T) {
		for _, l := range layouts {
			p := e.NewCenters(general(2, 2, []float32{0, 0, 5, 5}))
			x := l.matrix(2, 2, []float32{1, 0, 4, 5})
			near := make([]int32, 2)
			p.Assign(x, near, nil)
			require.Equal(t, []int32{0, 1}, near)
			c := []float32{4, 4, 9, 9, 1, 1}
			p.Set(general(3, 2, c))
			clear(c)
			p.Assign(x, near, nil)
			require.Equal(t, []int32{2, 0}, near)
			p.Set(general(1, 1, []float32{2}))
			p.Assign(l.matrix(2, 1, []float32{1, 2}), near, nil)
			require.Equal(t, []int32{0, 0}, near)
		}
	})
	t.Run("values that are no numbers, or too large to square in float32", func(t *testing.T) {
		inf, nan := float32(math.Inf(1)), float32(math.NaN())
		p := e.NewCenters(general(3, 2, []float32{0, 0, 3e38, 3e38, 1, 1}))
		near := make([]int32, 4)
		p.Assign(dense.matrix(4, 2, []float32{2e38, 3e38, 2, 2, nan, 0, inf, 1}), near, nil)
		require.Equal(t, []int32{1, 2}, near[:2])
		for _, j := range near[2:] { // any, but one of them
			require.Less(t, j, int32(3))
			require.GreaterOrEqual(t, j, int32(0))
		}
	})
}

// weights returns n weights, or nil.
func weights(r *rand.Rand, n, i int) []float32 {
	if i%2 == 0 {
		return nil
	}
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(r.IntN(4)) / 2
	}
	return w
}

func checkCenters(t *testing.T, e compute.Engine, x compute.Matrix, c blas32.General, weight []float32) {
	t.Helper()
	n, k, d := x.Rows(), c.Rows, c.Cols
	p, oracle := e.NewCenters(c), Naive().NewCenters(c)

	want := make([]float64, n*k)
	row := make([]float64, d)
	for i := range n {
		widen(x, i, row)
		for j := range k {
			for l, v := range row {
				diff := v - float64(c.Data[j*c.Stride+l])
				want[i*k+j] += diff * diff
			}
		}
	}
	near, distance := make([]int32, n), make([]float32, n)
	p.Assign(x, near, distance)
	least := make([]int32, n)
	oracle.Assign(x, least, nil)
	loss, sums, sumsOf := 0.0, make([]float64, k*d), make([]float64, k)
	abs := make([]float64, k*d)
	for i, j := range near {
		got, best := want[i*k+int(j)], want[i*k+int(least[i])]
		if j != least[i] && got-best > 1e-12*got {
			require.Failf(t, "nearest", "row %d: center %d at %v instead of %d at %v", i, j, got, least[i], best)
		}
		if got > math.MaxFloat32 {
			require.Equal(t, float32(math.Inf(1)), distance[i])
		} else {
			close(t, "distance", got, float64(distance[i]), 1e-6*got+math.SmallestNonzeroFloat32)
		}
		w := 1.0
		if weight != nil {
			w = float64(weight[i])
		}
		loss += w * got
		sumsOf[j] += w
		widen(x, i, row)
		for l, v := range row {
			sums[int(j)*d+l] += w * v
			abs[int(j)*d+l] += math.Abs(w * v)
		}
	}
	alone := make([]int32, n)
	p.Assign(x, alone, nil)
	require.Equal(t, near, alone)
	p.Assign(x, nil, nil)

	gotSums, gotSumsOf := make([]float64, k*d), make([]float64, k)
	gotLoss := p.AssignAndSum(x, weight, gotSums, gotSumsOf)
	require.InDelta(t, loss, gotLoss, 1e-6*loss, "loss")
	require.Equal(t, sumsOf, gotSumsOf)
	within(t, "sums", sums, abs, gotSums, 1e-12)
	// Once more, to what is there.
	p.AssignAndSum(x, weight, gotSums, gotSumsOf)
	for i := range sums {
		sums[i], abs[i] = 2*sums[i], 2*abs[i]
	}
	within(t, "sums of two calls", sums, abs, gotSums, 1e-12)

	dst := spread(n, k, make([]float32, n*k))
	p.Distances(x, dst)
	for i := range n {
		for j := range k {
			exact, got := want[i*k+j], dst.Data[i*dst.Stride+j]
			if exact > math.MaxFloat32 {
				require.Equal(t, float32(math.Inf(1)), got)
			} else {
				close(t, "distance of each center", exact, float64(got), 16*float64(d+8)*unit*exact+math.SmallestNonzeroFloat32)
			}
		}
	}
}

// Distances of these are equal to the last bit, and many are: small integers, and their mirror images.
func testTies(t *testing.T, e compute.Engine) {
	for _, d := range []int{1, 3, 16, 33} {
		for _, k := range []int{2, 17, 60} {
			for _, l := range layouts {
				r := source(d, k)
				const n = 100
				rows, c := make([]float32, n*d), make([]float32, k*d)
				for i := range rows {
					rows[i] = float32(r.IntN(3) - 1)
				}
				for j := range c {
					c[j] = float32(r.IntN(3) - 1)
					if at := j - k/2*d; at >= 0 && at < k/2*d { // the second half mirrors the first, and repeats some of it
						c[j] = -c[at]
						if at < d {
							c[j] = c[at]
						}
					}
				}
				x, centers := l.matrix(n, d, rows), general(k, d, c)
				want, got := make([]int32, n), make([]int32, n)
				Naive().NewCenters(centers).Assign(x, want, nil)
				e.NewCenters(centers).Assign(x, got, nil)
				require.Equal(t, want, got, "%d columns, %d centers, %s", d, k, l)
			}
		}
	}
}

func testMultiply(t *testing.T, e compute.Engine) {
	for _, n := range []int{0, 1, 3, 8, 65, 300} {
		for _, d := range []int{1, 7, 20, 257} {
			for _, m := range []int{1, 16, 31, 32, 100} {
				for _, l := range layouts {
					for _, transposed := range []bool{false, true} {
						for i, k := range kinds {
							if i > 0 && i != (n+d+m)%len(kinds) {
								continue
							}
							t.Run(fmt.Sprintf("%d×%d by %d, %s, %s, transposed %v", n, d, m, l, k.name, transposed), func(t *testing.T) {
								r := source(n, d, m)
								x := l.matrix(n, d, values(r, n*d, k.offset, k.scale, k.zeros))
								rows, inner := n, d
								if transposed {
									rows, inner = d, n
								}
								checkMultiply(t, e, transposed, x, spread(inner, m, values(r, inner*m, 0, 1, 0.1)), values(r, rows*m, 0, k.scale, 0))
							})
						}
					}
				}
			}
		}
	}
	t.Run("many rows", func(t *testing.T) {
		r := source(9)
		const n, d, m = 9000, 10, 5
		x := dense.matrix(n, d, values(r, n*d, 2, 1, 0))
		checkMultiply(t, e, true, x, general(n, m, values(r, n*m, 2, 1, 0)), values(r, d*m, 0, 1, 0))
		checkMultiply(t, e, false, x, general(d, m, values(r, d*m, 2, 1, 0)), values(r, n*m, 0, 1, 0))
	})
}

// checkMultiply adds to c, whose values are row by row.
func checkMultiply(t *testing.T, e compute.Engine, transposed bool, x compute.Matrix, b blas32.General, c []float32) {
	t.Helper()
	m := b.Cols
	want, abs := make([]float64, len(c)), make([]float64, len(c))
	for i, v := range c {
		want[i], abs[i] = float64(v), math.Abs(float64(v))
	}
	for i := range x.Rows() {
		each(x, i, func(j int, v float32) {
			to, from := i, j
			if transposed {
				to, from = j, i
			}
			for l := range m {
				p := float64(v) * float64(b.Data[from*b.Stride+l])
				want[to*m+l] += p
				abs[to*m+l] += math.Abs(p)
			}
		})
	}
	for _, dst := range []blas32.General{general(len(c)/m, m, append([]float32(nil), c...)), spread(len(c)/m, m, c)} {
		e.Multiply(transposed, x, b, dst)
		got := make([]float64, len(c))
		for i := range dst.Rows {
			for l := range m {
				got[i*m+l] = float64(dst.Data[i*dst.Stride+l])
			}
			if i < dst.Rows-1 && dst.Stride > m {
				require.True(t, math.IsNaN(float64(dst.Data[i*dst.Stride+m])), "what lies between the rows was written to")
			}
		}
		within(t, "product", want, abs, got, float64(b.Rows+2)*unit)
	}
}

func testMisfits(t *testing.T, e compute.Engine) {
	x := dense.matrix(2, 3, make([]float32, 6))
	outside := compute.Matrix{S: &algorithms.CSR{Cols: 3, Indptr: []int{0, 1}, Indices: []int32{3}, Data: []float32{1}}}
	negative := compute.Matrix{S: &algorithms.CSR{Cols: 3, Indptr: []int{0, 1}, Indices: []int32{-1}, Data: []float32{1}}}
	short := compute.Matrix{X: blas32.General{Rows: 2, Cols: 3, Stride: 3, Data: make([]float32, 5)}}
	require.Panics(t, func() { e.NewGram(make([]float32, 4)).Add(x) })
	centers := e.NewCenters(general(2, 4, make([]float32, 8)))
	require.Panics(t, func() { centers.Assign(x, nil, nil) })
	require.Panics(t, func() { e.Multiply(false, x, general(2, 1, make([]float32, 2)), general(2, 1, make([]float32, 2))) })
	for _, bad := range []compute.Matrix{outside, negative, short} {
		require.Panics(t, func() { e.NewGram(make([]float32, 3)).Add(bad) })
		require.Panics(t, func() { e.NewCenters(general(1, 3, make([]float32, 3))).Assign(bad, nil, nil) })
		require.Panics(t, func() {
			e.Multiply(false, bad, general(3, 1, make([]float32, 3)), general(bad.Rows(), 1, make([]float32, bad.Rows())))
		})
	}
}

// TestThreads fails t where the number of threads changes a bit of any result.
func TestThreads(t *testing.T, engine func(threads int) compute.Engine) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(7))
	for _, l := range layouts {
		for _, d := range []int{50, 130, 390} {
			t.Run(fmt.Sprintf("%d columns, %s", d, l), func(t *testing.T) {
				n, zeros := 6000, 0.5
				if d > 100 {
					n, zeros = 1200, 0.97
				}
				if testenv.Race {
					n /= 4
				}
				r := source(d)
				x := l.matrix(n, d, values(r, n*d, 0, 1, zeros))
				const k = 20
				c, b := general(k, d, values(r, k*d, 0, 1, 0)), general(d, 33, values(r, d*33, 0, 1, 0))
				var want []any
				for _, threads := range []int{1, 2, 7} {
					got := results(engine(threads), x, c, b)
					if want == nil {
						want = got
					}
					require.Equal(t, want, got, "%d threads", threads)
				}
			})
		}
	}
}

// results returns what all operations make of some matrices.
func results(e compute.Engine, x compute.Matrix, c, b blas32.General) []any {
	n, d, k := x.Rows(), x.Cols(), c.Rows
	g := e.NewGram(c.Data[:d])
	origin := e.NewGram(make([]float32, d))
	for range 2 {
		g.Add(x)
		origin.Add(x)
	}
	sum, outer := make([]float64, d), make([]float64, d*d)
	g.Sums(sum, outer)
	origin.Sums(sum, outer)
	p := e.NewCenters(c)
	near, distance := make([]int32, n), make([]float32, n)
	p.Assign(x, near, distance)
	sums, sumsOf := make([]float64, k*d), make([]float64, k)
	loss := p.AssignAndSum(x, nil, sums, sumsOf)
	all := general(n, k, make([]float32, n*k))
	p.Distances(x, all)
	forward, backward := general(n, b.Cols, make([]float32, n*b.Cols)), general(d, b.Cols, make([]float32, d*b.Cols))
	e.Multiply(false, x, b, forward)
	e.Multiply(true, x, forward, backward)
	column, rows := general(d, 1, slices.Clone(b.Data[:d])), general(n, 1, make([]float32, n))
	e.Multiply(false, x, column, rows)
	e.Multiply(true, x, rows, column)
	state, linearLosses := linearResults(e, x)
	return []any{state, linearLosses, sum, outer, near, distance, sums, sumsOf, loss, all.Data, forward.Data, backward.Data, rows.Data, column.Data}
}
