package pca

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// withValues returns a scatter matrix with these singular values.
func withValues(values []float64) *mat.SymDense {
	d := len(values)
	random := rand.New(rand.NewPCG(9, 0))
	q := mat.NewDense(d, d, nil)
	for i := range q.RawMatrix().Data {
		q.RawMatrix().Data[i] = random.NormFloat64()
	}
	orthonormalizeWide(q.RawMatrix())
	var scaled mat.Dense
	scaled.Mul(q, mat.NewDiagDense(d, values))
	scatter := mat.NewSymDense(d, nil)
	scatter.SymOuterK(1, &scaled)
	return scatter
}

func falling(d int, by float64) []float64 {
	values := make([]float64, d)
	for j := range values {
		values[j] = 1000 * math.Pow(by, float64(j))
	}
	return values
}

// The short way gives what the long one does, values to 1e-13 and directions to 1e-12, or nothing.
func TestTheShortWayToTheLargestComponentsIsTheLongOne(t *testing.T) {
	equal := falling(160, 0.97)
	for j := range equal[4:100] {
		equal[4+j] = equal[4]
	}
	clustered, even := make([]float64, 300), make([]float64, 300)
	for j := range even {
		clustered[j] = 1 + float64(j)*1e-3
		even[j] = 1000 - float64(j)
		if j < 12 {
			clustered[j] = 1000 - 1e-7*float64(j/3)
		}
	}
	pair := falling(160, 0.9)
	pair[3] = pair[4] // inside what is asked for, where any two directions will do
	lone := make([]float64, 160)
	lone[0], lone[1] = 7, 5
	for _, c := range []struct {
		name   string
		values []float64
		k      int
		found  bool
	}{
		{"falling", falling(160, 0.9), 10, true},
		{"falling slowly", falling(200, 0.95), 10, true},
		{"more than a block", falling(400, 0.98), 40, true},
		{"two alike", pair, 10, true},
		{"rank two", lone, 2, true},
		{"rank less than asked for", lone, 5, false},
		{"ninety-six alike, of which six are asked for", equal, 10, true},
		{"more alike than a block has vectors", equal, 16, false},
		{"all alike", falling(160, 1), 10, true},
		{"all alike, more than a block", falling(160, 1), 20, true},
		{"clustered", clustered, 10, true},
		{"evenly spread", even, 10, false},
		{"too far apart", falling(160, 0.2), 10, false},
		{"zero", make([]float64, 160), 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			scatter := withValues(c.values)
			values, vectors := leading(scatter, c.k)
			require.Equal(t, c.found, values != nil)
			want, long, err := decompose(scatter, c.k)
			require.NoError(t, err)
			require.InDeltaSlice(t, c.values[:c.k], want, 1e-11*c.values[0])
			got, chosen, err := largest(scatter, c.k)
			require.NoError(t, err)
			require.InDeltaSlice(t, want, got, 1e-12*c.values[0])
			if !c.found {
				require.True(t, mat.Equal(long, chosen))
				return
			}
			require.InEpsilonSlice(t, want, values, 1e-13)
			for j := range c.k {
				v := vectors.ColView(j)
				require.InDelta(t, 1, mat.Norm(v, 2), 1e-13)
				var image mat.VecDense
				image.MulVec(scatter, v)
				image.AddScaledVec(&image, -values[j]*values[j], v)
				require.Less(t, mat.Norm(&image, 2), 1e-12*values[0]*values[0], "component %d", j)
			}
			var product mat.Dense
			product.Mul(vectors.T(), vectors)
			require.True(t, mat.EqualApprox(&product, identity(c.k), 1e-13))
		})
	}
}

func identity(k int) mat.Matrix {
	one := mat.NewDiagDense(k, nil)
	for i := range k {
		one.SetDiag(i, 1)
	}
	return one
}

// The same bits each time, with any number of threads.
func TestTheShortWayHasNoChance(t *testing.T) {
	scatter := withFlatTail(300)
	values, vectors := leading(scatter, 10)
	require.NotNil(t, values)
	for _, threads := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(threads)
		again, same := leading(scatter, 10)
		runtime.GOMAXPROCS(before)
		require.Equal(t, values, again, "%d threads", threads)
		require.True(t, mat.Equal(vectors, same), "%d threads", threads)
	}
}

// Eigenvalues that are missing are noticed.
func TestTheShortWayIsHeldToBeComplete(t *testing.T) {
	scatter := withFlatTail(300)
	values, vectors := leading(scatter, 12)
	require.NotNil(t, values)
	s := krylov{matrix: mat.DenseCopyOf(scatter).RawMatrix()}
	for _, c := range []struct {
		name     string
		from     int // the component of the first row
		complete bool
	}{{"all", 0, true}, {"without the first", 1, false}} {
		rows, ascending := general64(11, 300), make([]float64, 11)
		for i := range 11 {
			j := c.from + 10 - i
			ascending[i] = values[j] * values[j]
			copy(rowOf64(rows, i).Data, mat.Col(nil, j, vectors))
		}
		require.Equal(t, c.complete, s.complete(ascending, rows), c.name)
	}
}

// withFlatTail returns the scatter of noise, in which 40 directions stand out, none far from the next.
func withFlatTail(d int) *mat.SymDense {
	values := make([]float64, d)
	for j := range values {
		values[j] = 20 + float64(j%7)
		if j < 40 {
			values[j] = 500 - float64(j)
		}
	}
	return withValues(values)
}

// BenchmarkLargest finds 10 components of 784 features.
func BenchmarkLargest(b *testing.B) {
	slow := make([]float64, 784)
	for j := range slow {
		slow[j] = 1 / math.Sqrt(float64(j+1))
	}
	for name, scatter := range map[string]*mat.SymDense{"flat tail": withFlatTail(784), "falling slowly": withValues(slow)} {
		for way, find := range map[string]func(*mat.SymDense, int) ([]float64, *mat.Dense, error){"short": largest, "long": decompose} {
			b.Run(name+", the "+way+" way", func(b *testing.B) {
				for b.Loop() {
					if _, _, err := find(scatter, 10); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Small singular values are as exact as large ones where it is the features that differ in size: an eigendecomposition
// would have no digit of the last ones.
func TestFeaturesOfAllSizesHaveExactComponents(t *testing.T) {
	const d = 12
	random := rand.New(rand.NewPCG(10, 0))
	data := mat.NewDense(200, d, nil)
	for i := range 200 {
		for j := range d {
			data.Set(i, j, math.Ldexp(float64(random.IntN(64)-32), -5*j)) // products and their sums are exact
		}
	}
	var svd mat.SVD
	require.True(t, svd.Factorize(data, mat.SVDThin))
	want := svd.Values(nil)
	require.Less(t, want[d-1]/want[0], 1e-15)
	scatter := mat.NewSymDense(d, nil)
	scatter.SymOuterK(1, data.T())
	got, _, err := decompose(scatter, d)
	require.NoError(t, err)
	for j := range 9 {
		require.InEpsilon(t, want[j], got[j], 1e-9, "singular value %d", j)
	}
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(scatter, false))
	require.Greater(t, math.Abs(math.Sqrt(math.Max(0, eigen.Values(nil)[3]))/want[8]-1), 1e-3)
}
