package records

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// However numbers are cut into columns that are merged, the statistics are gonum's.
func TestColumnAgreesWithGonumHoweverItIsMerged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, shift := range []float64{0, 1e9, -1e-9} {
		numbers := make([]float64, 1000)
		for i := range numbers {
			numbers[i] = shift + random.NormFloat64()
		}
		mean, deviation := stat.PopMeanStdDev(numbers, nil)
		for _, cuts := range [][]int{{}, {0}, {1}, {500}, {1, 2, 999}, {300, 300, 600}} {
			var whole column
			begin := 0
			for _, end := range append(cuts, len(numbers)) {
				var part column
				for _, x := range numbers[begin:end] {
					part.add(x)
				}
				whole.merge(part)
				begin = end
			}
			got := whole.summary()
			require.EqualValues(t, 1000, got.count)
			require.InEpsilon(t, mean, got.mean, 1e-9)
			require.InEpsilon(t, deviation, got.deviation, 1e-6)
		}
	}
}

func TestColumnKeepsWhatIsNotFiniteApart(t *testing.T) {
	var c column
	for _, x := range []float64{1, math.NaN(), 3, math.Inf(1), 0, math.Copysign(0, -1)} {
		c.add(x)
	}
	s := c.summary()
	require.Equal(t, summary{count: 6, nan: 1, inf: 1, min: 0, max: math.Inf(1), mean: 1, deviation: s.deviation, zeroShare: 1.0 / 3}, s)
	require.InDelta(t, math.Sqrt(1.5), s.deviation, 1e-15)

	c = column{}
	c.add(math.NaN())
	s = c.summary()
	for _, none := range []float64{s.min, s.max, s.mean, s.deviation} {
		require.True(t, math.IsNaN(none))
	}
}
