package pca_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// columns returns rows of the given columns, each a function of the row's number.
func columns(n int, f ...func(i int) float64) (rows table) {
	for i := range n {
		row := make([]float32, len(f))
		for j := range f {
			row[j] = float32(f[j](i))
		}
		rows = append(rows, row)
	}
	return rows
}

func constant(x float64) func(int) float64 { return func(int) float64 { return x } }

func wide(n, d int, seed uint64) table { return random(n, d, seed) }

// Nothing is NaN or infinite, components are orthonormal, values are not negative and in their order, and the rows are
// rebuilt as far as the values say, whatever the rows are like.
func TestAwkwardDataHaveAModel(t *testing.T) {
	sine := func(i int) float64 { return math.Sin(float64(i)) }
	for _, c := range []struct {
		name string
		rows table
		k    int
	}{
		{"all the same", columns(50, constant(3), constant(-1e6), constant(0.1)), 3},
		{"all zero", columns(50, constant(0), constant(0)), 2},
		{"one row", table{{1, 2, 3}}, 2},
		{"one feature", columns(20, sine), 1},
		{"fewer rows than features", wide(5, 30, 1), 4},
		{"fewer rows than components", wide(3, 30, 2), 10},
		{"as many components as features", random(100, 6, 3), 6},
		{"a column twice", columns(99, sine, func(i int) float64 { return float64(i % 7) }, sine), 3},
		{"a column a million times another", columns(99, sine, func(i int) float64 { return 1e6 * math.Cos(float64(2*i)) }), 2},
		{"far from zero", columns(99, func(i int) float64 { return 1e6 + float64(i%5) }, func(i int) float64 { return -3e6 + float64(i%3) }), 2},
		{"large", columns(99, func(i int) float64 { return 1e15 * sine(i) }, func(i int) float64 { return 1e15 * sine(3*i) }), 2},
		{"tiny", columns(99, func(i int) float64 { return 1e-15 * sine(i) }, func(i int) float64 { return 1e-15 * sine(3*i) }), 2},
		{"wide", wide(40, 300, 4), 5},
		{"wide, fewer rows than components", wide(3, 300, 5), 5},
		{"wide and all the same", columns(9, slicesOf(200, constant(7))...), 2},
	} {
		for _, mode := range []string{"regular", "randomized"} {
			for _, subtract := range []bool{true, false} {
				for _, sparse := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %s, subtract_mean=%v, sparse=%v", c.name, mode, subtract, sparse), func(t *testing.T) {
						p := pca.NewParams(c.k)
						p.AlgorithmMode, p.SubtractMean, p.ForceDense, p.MiniBatchSize = mode, subtract, !sparse, 7
						m := fit(t, c.rows, p)
						requireSound(t, m, c.rows, mode)
					})
				}
			}
		}
	}
}

func slicesOf(n int, f func(int) float64) (all []func(int) float64) {
	for range n {
		all = append(all, f)
	}
	return all
}

func requireSound(t *testing.T, m *pca.Model, rows table, mode string) {
	t.Helper()
	d, k := len(rows[0]), len(m.S)
	require.Equal(t, int64(len(rows)), m.Rows)
	require.Len(t, m.V.Data, d*k)
	sum := 0.0
	for rank, j := range m.Descending() {
		require.GreaterOrEqual(t, m.S[j], float32(0))
		require.False(t, math.IsInf(float64(m.S[j]), 0))
		sum += float64(m.S[j]) * float64(m.S[j])
		if rank > 0 {
			require.LessOrEqual(t, m.S[j], m.S[m.Descending()[rank-1]])
		}
	}
	if k > 1 && m.S[0] != m.S[k-1] {
		require.Equal(t, mode == "regular", m.S[0] < m.S[k-1])
	}
	for a := range k {
		for b := range k {
			dot := 0.0
			for i := range d {
				dot += float64(m.V.Data[i*k+a]) * float64(m.V.Data[i*k+b])
			}
			require.InDelta(t, map[bool]float64{true: 1}[a == b], dot, 2e-6, "columns %d and %d", a, b)
		}
	}
	size := 0.0 // of the rows
	for _, row := range rows {
		for _, x := range row {
			size += float64(x) * float64(x)
		}
	}
	ratios := 0.0
	for j, ratio := range m.ExplainedVarianceRatio() {
		require.InDelta(t, ratio*m.TotalSquares, m.ExplainedVariance()[j]*float64(max(1, len(rows)-1)), 1e-9*m.TotalSquares)
		ratios += ratio
	}
	require.LessOrEqual(t, ratios, 1+1e-5)
	require.InDelta(t, m.TotalSquares-sum, m.SquaredError(matrix(rows)), 1e-5*m.TotalSquares+1e-10*size)
}

func TestDataThatAreTooWideForRegularModeAreToldOfTheOther(t *testing.T) {
	row := make([]float32, 40000)
	row[3] = 1
	for name, p := range map[string]pca.Params{"dense": pca.NewParams(2), "sparse": {NumComponents: 2}} {
		_, err := pca.Fit(t.Context(), channel.Memory(table{row, row}.encode(t)), p)
		require.ErrorContains(t, err, "40000 features, more than the 32768 that the algorithm takes; algorithm_mode=randomized takes", name)
		require.True(t, algospec.IsClientError(err))
	}
	p := pca.NewParams(2)
	p.AlgorithmMode = "randomized"
	row[7] = -5
	m := fit(t, table{make([]float32, 40000), row}, p)
	require.InDelta(t, math.Sqrt(26.0/2), m.S[0], 1e-4)
	require.InDelta(t, 1, m.ExplainedVarianceRatio()[0], 1e-5)
}

// A few bytes that claim to be a row of 2³¹ features take no memory for them.
func TestARowThatOnlyClaimsToBeWideIsAnError(t *testing.T) {
	for _, mode := range []string{"regular", "randomized"} {
		for _, dense := range []bool{true, false} {
			p := pca.NewParams(2)
			p.AlgorithmMode, p.ForceDense = mode, dense
			_, err := pca.Fit(t.Context(), channel.Memory(claiming(t)), p)
			require.Error(t, err)
			require.True(t, algospec.IsClientError(err), "%v", err)
			t.Log(err)
		}
	}
}

func claiming(t *testing.T) []byte {
	t.Helper()
	var b writerBuffer
	w := recordio.NewWriter(&b)
	require.NoError(t, w.WriteSparseRow(1<<31-1, []int32{5}, []float32{1}))
	require.NoError(t, w.Flush())
	return b
}

type writerBuffer []byte

func (b *writerBuffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }
