package pca

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/internal/textrows"
	"github.com/algospec/algospec/recordio"
)

type rows [][]float32

// loadRows returns a shared data set without its labels.
func loadRows(t *testing.T, name string, labels int) (r rows) {
	t.Helper()
	for row, err := range textrows.File(filepath.Join(testenv.Shared(t), "data", name)) {
		require.NoError(t, err)
		r = append(r, slices.Clone(row[labels:]))
	}
	return r
}

func (r rows) encode(t testing.TB, sparse bool) []byte {
	t.Helper()
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	for _, row := range r {
		if !sparse {
			require.NoError(t, w.WriteRow(row))
			continue
		}
		keys, values := []int32{}, []float32{}
		for j, x := range row {
			if x != 0 {
				keys, values = append(keys, int32(j)), append(values, x)
			}
		}
		require.NoError(t, w.WriteSparseRow(len(row), keys, values))
	}
	require.NoError(t, w.Flush())
	return data.Bytes()
}

// batches returns the rows in batches.
func (r rows) batches(t testing.TB, size int, sparse bool) iter.Seq2[*algorithms.Batch, error] {
	p := algorithms.Batching{FeatureDim: len(r[0]), MiniBatchSize: size, Sparse: sparse}
	return algorithms.Batches(t.Context(), &channel.Channel{Name: "train", Source: channel.Memory(r.encode(t, sparse))}, p)
}

// sketched returns the sketch of the rows.
func sketched(t testing.TB, r rows, l, batch int, center, sparse bool, seed int64) *sketch {
	t.Helper()
	s := newSketch(len(r[0]), l, center, seed)
	for b, err := range r.batches(t, batch, sparse) {
		require.NoError(t, err)
		require.NoError(t, s.observe(t.Context(), b))
	}
	return s
}

// exactly returns the scatter of the rows.
func exactly(t testing.TB, r rows) *scatter {
	t.Helper()
	s := new(scatter)
	for b, err := range r.batches(t, 500, false) {
		require.NoError(t, err)
		require.NoError(t, s.observe(t.Context(), b))
	}
	return s
}

// captured returns the variance along the model's components, by that along the best of as many.
func captured(t testing.TB, s *scatter, m *Model, center bool) float64 {
	t.Helper()
	p := NewParams(len(m.S))
	p.SubtractMean = center
	best, err := s.solve(p) // also moves s to the mean
	require.NoError(t, err)
	outer := mat.NewSymDense(s.d, nil)
	outer.CopySym(s.outer)
	if !center {
		outer.SymRankOne(outer, s.n, mat.NewVecDense(s.d, s.pilot))
	}
	along := func(m *Model) (sum float64) {
		v := mat.NewDense(s.d, len(m.S), nil)
		for i, x := range m.V.Data {
			v.RawMatrix().Data[i] = float64(x)
		}
		var q, product, gram mat.Dense
		q.Mul(outer, v)
		product.Mul(v.T(), &q)
		gram.Mul(v.T(), v)
		for i := range len(m.S) {
			for j := range len(m.S) {
				require.InDelta(t, map[bool]float64{true: 1}[i == j], gram.At(i, j), 2e-6, "columns %d and %d", i, j)
			}
			sum += product.At(i, i)
		}
		return sum
	}
	return along(m) / along(best)
}

// The gate of P5 is 0.98 (builtin-algorithms, 10.1). The census has so few features that randomized mode would take
// the scatter matrix; here it is a sketch all the same.
func TestASketchCapturesTheVarianceThatThereIs(t *testing.T) {
	if testenv.Race {
		t.Skip("too slow under the race detector; other tests of sketches run there")
	}
	census, mnist := loadRows(t, "census_scaled.csv.gz", 0), loadRows(t, "mnist_10k.csv.gz", 1)[:400]
	for _, c := range []struct {
		name     string
		rows     rows
		k, seeds int
		least    float64
	}{
		{"census", census, 5, 20, 0.9995},
		{"census, one component", census, 1, 3, 0.9995},
		{"digits written by hand", mnist, 5, 1, 0.995},
	} {
		t.Run(c.name, func(t *testing.T) {
			exact := exactly(t, c.rows)
			for _, center := range []bool{true, false} {
				p := NewParams(c.k)
				p.SubtractMean = center
				best, err := exact.solve(p)
				require.NoError(t, err)
				for seed := range c.seeds {
					m, err := sketched(t, c.rows, c.k+10, 500, center, false, int64(seed)).solve(p)
					require.NoError(t, err)
					require.GreaterOrEqual(t, captured(t, exact, m, center), c.least, "seed %d", seed)
					require.InEpsilon(t, best.TotalSquares, m.TotalSquares, 1e-6)
					for j, s := range m.S {
						require.InEpsilon(t, best.S[c.k-1-j], s, 0.01, "singular value %d", j)
					}
				}
			}
		})
	}
}

// mixed returns rows whose variances fall off, far from zero, in an order that brings new directions late.
func mixed(n, d int, seed uint64) (r rows) {
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		row := make([]float32, d)
		for j := range row {
			if j%3 == 3*i/n { // a third of the features at a time
				row[j] = float32(random.NormFloat64()*math.Pow(0.8, float64(j)) + 5)
			}
		}
		r = append(r, row)
	}
	return r
}

// The guarantee of Frequent Directions, along directions of every kind, for rows that come in the worst order; and of
// sketches that are merged.
func TestASketchIsNeverAboveTheRowsAndAtMostItsLossBelow(t *testing.T) {
	const d, l = 40, 6
	r := mixed(900, d, 1)
	exact := exactly(t, r)
	_, err := exact.solve(NewParams(1))
	require.NoError(t, err)
	merged := sketched(t, r[:100], l, 50, true, false, 1)
	require.NoError(t, merged.merge(sketched(t, r[100:800], l, 50, true, false, 1)))
	require.NoError(t, merged.merge(sketched(t, r[800:], l, 50, true, true, 1)))
	for name, s := range map[string]*sketch{
		"dense": sketched(t, r, l, 50, true, false, 1), "sparse": sketched(t, r, l, 50, true, true, 1), "merged": merged,
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.absorb())
			require.InDeltaSlice(t, exact.pilot, s.mean, 1e-6)
			require.InEpsilon(t, mat.Trace(exact.outer), s.total, 1e-6)
			random := rand.New(rand.NewPCG(2, 0))
			for trial := range 200 {
				x := make([]float64, d)
				if trial < d {
					x[trial] = 1
				} else {
					for j := range x {
						x[j] = random.NormFloat64()
					}
				}
				v := mat.NewVecDense(d, x)
				v.ScaleVec(1/mat.Norm(v, 2), v)
				rows := mat.Inner(v, exact.outer, v)
				sketch := 0.0
				for i, value := range s.values {
					dot := 0.0
					for j := range d {
						dot += float64(s.v.Data[j*l+i]) * v.AtVec(j)
					}
					sketch += value * dot * dot
				}
				slack := 1e-5 * s.total
				require.LessOrEqual(t, sketch, rows+slack)
				require.GreaterOrEqual(t, sketch, rows-s.lost-slack)
			}
			var eigen mat.EigenSym
			require.True(t, eigen.Factorize(exact.outer, false))
			tail := 0.0
			for j, value := range eigen.Values(nil) {
				if tail += value; d-1-j < l {
					require.LessOrEqual(t, s.lost, 3*(tail)/float64(l-(d-1-j)), "beyond %d directions", d-1-j) // thrice: the blocks are merged, and not exact
				}
			}
		})
	}
}

func TestASketchDependsOnTheSeedAndTheRowsAndNotOnTheBatches(t *testing.T) {
	r := mixed(700, 30, 3)
	for _, sparse := range []bool{false, true} {
		want := sketched(t, r, 4, 50, true, sparse, 7)
		for _, size := range []int{1, 7, 699, 5000} {
			require.Equal(t, want, sketched(t, r, 4, size, true, sparse, 7), "batches of %d", size)
		}
		require.NotEqual(t, want.v.Data, sketched(t, r, 4, 50, true, sparse, 8).v.Data)
	}
}

func TestASketchIsReadAsItWasWritten(t *testing.T) {
	for name, want := range map[string]*sketch{
		"dense":  sketched(t, mixed(45, 30, 3), 4, 10, true, false, 7),
		"sparse": sketched(t, mixed(145, 30, 3), 4, 10, false, true, 7),
	} {
		t.Run(name, func(t *testing.T) {
			require.Positive(t, want.wait.Rows())
			require.Positive(t, want.stacks)
			var text bytes.Buffer
			n, err := want.WriteTo(&text)
			require.NoError(t, err)
			require.Equal(t, int64(text.Len()), n)
			whole := bytes.Clone(text.Bytes())
			got := NewLearner(Params{Seed: 7})
			read, err := got.ReadFrom(&text)
			require.NoError(t, err)
			require.Equal(t, n, read)
			require.Equal(t, want, got.stat)
			for cut := 0; cut < len(whole); cut += 5 {
				_, err := got.ReadFrom(bytes.NewReader(whole[:cut]))
				require.Error(t, err)
			}
			require.Equal(t, want, got.stat)
		})
	}
}

// Whatever a state holds, reading it ends, in memory that its bytes justify, and so does what is learned from there on.
func FuzzState(f *testing.F) {
	for _, sparse := range []bool{false, true} {
		var text bytes.Buffer
		s := sketched(f, mixed(20, 12, 3), 2, 10, true, sparse, 7)
		s.WriteTo(&text)
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := NewLearner(NewParams(1))
		if _, err := l.ReadFrom(bytes.NewReader(text)); err != nil || l.Rows() == 0 || l.columns() > 100 {
			return
		}
		l.Model()
	})
}

// P7, before the model is rounded to float32; and the census in any order, in batches of any size.
func TestTheSingularValuesAreTheSameTo1e9HoweverTheRowsAreCut(t *testing.T) {
	r := loadRows(t, "census_scaled.csv.gz", 0)
	values := func(s *scatter) []float64 {
		_, err := s.solve(NewParams(1)) // to the mean
		require.NoError(t, err)
		values, _, err := decompose(s.outer, 33)
		require.NoError(t, err)
		return values
	}
	want := values(exactly(t, r))
	require.Len(t, want, 33)
	same := func(name string, got []float64) {
		for j := range want {
			require.InEpsilon(t, want[j], got[j], 1e-9, "%s: singular value %d", name, j)
		}
	}
	for _, n := range []int{1, 2, 7} {
		hosts, results := cluster.Loopback(n), make([]*scatter, n)
		var wait sync.WaitGroup
		for rank := range n {
			results[rank] = exactly(t, r[rank*len(r)/n:(rank+1)*len(r)/n])
			wait.Go(func() { assertNoError(t, results[rank].reduce(t.Context(), &hosts[rank])) })
		}
		wait.Wait()
		for _, s := range results {
			same(fmt.Sprintf("%d hosts", n), values(s))
		}
	}
	shuffled := slices.Clone(r)
	rand.New(rand.NewPCG(4, 0)).Shuffle(len(r), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	same("another order", values(exactly(t, shuffled)))
	for _, size := range []int{1, 77, 5000} {
		s := new(scatter)
		for b, err := range r.batches(t, size, false) {
			require.NoError(t, err)
			require.NoError(t, s.observe(t.Context(), b))
		}
		same(fmt.Sprintf("batches of %d", size), values(s))
	}
	s := new(scatter)
	for b, err := range r.batches(t, 500, true) {
		require.NoError(t, err)
		require.NoError(t, s.observe(t.Context(), b))
	}
	same("sparse", values(s))
}

func assertNoError(t *testing.T, err error) {
	if err != nil {
		t.Error(err)
	}
}
