package algorithms

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotFiniteFindsTheFirstWhereverItIs(t *testing.T) {
	inf := float32(math.Inf(1))
	finite := []float32{0, float32(math.Copysign(0, -1)), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1.5}
	for length := range 40 {
		row := make([]float32, length+1)[1:] // not at the beginning of a word
		for j := range row {
			row[j] = finite[(j+length)%len(finite)]
		}
		require.Equal(t, -1, notFinite(row))
		for j := range row {
			for _, bad := range []float32{inf, -inf, float32(math.NaN()), math.Float32frombits(0xffc00001), math.Float32frombits(0x7f800001)} {
				kept := row[j]
				row[j] = bad
				require.Equal(t, j, notFinite(row), "%v in place %d of %d", bad, j, length)
				row[length-1] = bad // a later one does not matter
				require.Equal(t, j, notFinite(row))
				row[j], row[length-1] = kept, finite[(2*length-1)%len(finite)]
			}
		}
	}
}
