package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func widen(x []float32) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	return wide
}

// Each kernel of each set against its definition, over every count of steps around its unrolling.
func TestKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range Sets() {
		for panels := 1; panels <= Widest; panels++ {
			for k := range 11 {
				t.Run(fmt.Sprintf("%s/%d panels/%d steps", s.Name, panels, k), func(t *testing.T) {
					testTile(t, s, r, panels, k)
					testGram(t, s, r, panels, k)
					testSparse(t, s, r, panels, k)
				})
			}
		}
		t.Run(s.Name+"/rows", func(t *testing.T) {
			for n := range 10 {
				testPack(t, s, r, n)
			}
			for n := range 4 * s.Lanes32 {
				testRows(t, s, r, n)
				if n > 0 && n%s.Lanes32 == 0 {
					testScan(t, s, r, n)
				}
			}
		})
	}
}

func testTile(t *testing.T, s Set, r *rand.Rand, panels, k int) {
	for _, transposed := range []bool{false, true} {
		aRow, aCol := k+3, 1
		if transposed {
			aRow, aCol = 1, s.Rows+2
		}
		a, bPanel := random(r, (s.Rows+3)*(k+4)), (k+1)*s.Lanes32
		b, cRow := random(r, panels*bPanel), panels*s.Lanes32+5
		c := random(r, s.Rows*cRow)
		want := widen(c)
		for i := range s.Rows {
			for j := range panels * s.Lanes32 {
				for l := range k {
					want[i*cRow+j] += float64(a[i*aRow+l*aCol]) * float64(b[j/s.Lanes32*bPanel+l*s.Lanes32+j%s.Lanes32])
				}
			}
		}
		s.Tile32[panels](k, a, aRow, aCol, b, bPanel, c, cRow)
		require.InDeltaSlice(t, want, widen(c), 1e-5)
	}
}

func testGram(t *testing.T, s Set, r *rand.Rand, panels, k int) {
	a32, bPanel := random(r, (k+1)*s.Lanes32), (k+1)*s.Lanes32
	b32, cRow := random(r, panels*bPanel), panels*s.Lanes32+5
	c := widen(random(r, s.Rows*cRow))
	want := append([]float64(nil), c...)
	for i := range s.Rows {
		for j := range panels * s.Lanes32 {
			for l := range k {
				want[i*cRow+j] += float64(a32[l*s.Lanes32+i]) * float64(b32[j/s.Lanes32*bPanel+l*s.Lanes32+j%s.Lanes32])
			}
		}
	}
	s.Gram32[panels](k, a32, b32, bPanel, c, cRow)
	require.InDeltaSlice(t, want, c, 1e-5)

	bPanel = (k + 1) * s.Lanes64
	a, b := widen(random(r, bPanel)), widen(random(r, panels*bPanel))
	copy(want, c)
	for i := range s.Rows {
		for j := range panels * s.Lanes64 {
			for l := range k {
				want[i*cRow+j] += a[l*s.Lanes64+i] * b[j/s.Lanes64*bPanel+l*s.Lanes64+j%s.Lanes64]
			}
		}
	}
	s.Gram64[panels](k, a, b, bPanel, c, cRow)
	require.InDeltaSlice(t, want, c, 1e-13)
}

func testSparse(t *testing.T, s Set, r *rand.Rand, panels, k int) {
	const d = 9
	values, bPanel := random(r, k), (d+1)*s.Lanes32
	columns, b, c := make([]int32, k), random(r, panels*bPanel), random(r, panels*s.Lanes32)
	want := widen(c)
	for l := range columns {
		columns[l] = int32(r.IntN(d))
		for j := range want {
			want[j] += float64(values[l]) * float64(b[j/s.Lanes32*bPanel+int(columns[l])*s.Lanes32+j%s.Lanes32])
		}
	}
	s.Sparse32[panels](columns, values, b, bPanel, c)
	require.InDeltaSlice(t, want, widen(c), 1e-5)
}

func testPack(t *testing.T, s Set, r *rand.Rand, n int) {
	xRow := s.Lanes32 + 3
	x, pilot, got, sum := random(r, (n+1)*xRow), random(r, s.Lanes32), random(r, (n+1)*s.Lanes32), make([]float64, s.Lanes32)
	want, wantSum := widen(got), make([]float64, s.Lanes32)
	for i := range n {
		for j := range s.Lanes32 {
			want[i*s.Lanes32+j] = float64(x[i*xRow+j] - pilot[j])
			wantSum[j] += want[i*s.Lanes32+j]
		}
	}
	s.Pack32(n, x, xRow, pilot, got, sum)
	require.Equal(t, want, widen(got))
	require.InDeltaSlice(t, wantSum, sum, 1e-13)

	got64 := widen(random(r, (n+1)*s.Lanes64))
	want, wantSum, sum = append([]float64(nil), got64...), make([]float64, s.Lanes64), make([]float64, s.Lanes64)
	for i := range n {
		for j := range s.Lanes64 {
			want[i*s.Lanes64+j] = float64(x[i*xRow+j]) - float64(pilot[j])
			wantSum[j] += want[i*s.Lanes64+j]
		}
	}
	s.Pack64(n, x, xRow, pilot, got64, sum)
	require.Equal(t, want, got64)
	require.InDeltaSlice(t, wantSum, sum, 1e-13)
}

func testRows(t *testing.T, s Set, r *rand.Rand, n int) {
	x, c, dst, sum := random(r, n), random(r, n), random(r, n+1), widen(random(r, n+1))
	behind, want := dst[n], 0.0
	wantSum := append([]float64(nil), sum...)
	for j := range n {
		want += math.Pow(float64(x[j]-c[j]), 2)
		wantSum[j] += 0.5 * float64(x[j])
	}
	require.InDelta(t, want, s.Distance(n, x, c), 1e-12)
	require.InDelta(t, want, s.Shift(n, x, c, dst), 1e-12)
	for j := range n {
		require.Equal(t, x[j]-c[j], dst[j])
	}
	require.Equal(t, behind, dst[n])
	s.AddTo(n, sum, x, 0.5)
	require.InDeltaSlice(t, wantSum, sum, 1e-15)
	if n%s.Lanes32 != 0 {
		return
	}
	wantAxpy := widen(dst)
	for j := range n {
		wantAxpy[j] += 0.25 * float64(x[j])
	}
	s.Axpy(n, 0.25, x, dst)
	require.InDeltaSlice(t, wantAxpy, widen(dst), 1e-6)
}

func testScan(t *testing.T, s Set, r *rand.Rand, n int) {
	inf := float32(math.Inf(1))
	for range 20 {
		x := random(r, n)
		at := r.IntN(n)
		x[at] = -9
		first, count := s.Scan(n, x, 1)
		require.Equal(t, []int{at, 1}, []int{first, count})
		other := r.IntN(n)
		x[other] = -8.5
		x[at] = -9
		wantCount := 2
		if other == at {
			wantCount = 1
		}
		first, count = s.Scan(n, x, 1)
		require.Equal(t, []int{min(at, other), wantCount}, []int{first, count})
	}
	x := make([]float32, n)
	first, count := s.Scan(n, x, 0)
	require.Equal(t, []int{0, n}, []int{first, count})
	for j := range x {
		x[j] = inf
	}
	x[n-1] = 3
	first, count = s.Scan(n, x, 0)
	require.Equal(t, []int{n - 1, 1}, []int{first, count})
}
