package kmeans

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms"
)

func someProgress() *progress {
	return &progress{
		State: State{K: 2, D: 3, Centers: []float64{1, 2, 3, 4, 5, 6}, Counts: []float64{7, 8}}, seed: 9, epoch: 1, rounds: 4,
		pass:   algorithms.Pass{Records: 10, Batches: 4, Bytes: 99},
		counts: algorithms.Counts{Records: 20, Batches: 8, MaxRecords: 20, MaxBatches: 8, Passes: 1},
	}
}

func TestAProgressIsReadAsItWasWritten(t *testing.T) {
	for name, want := range map[string]*progress{"of no centers": {State: State{Centers: nil, Counts: nil}}, "of centers": someProgress()} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			n, err := want.WriteTo(&b)
			require.NoError(t, err)
			require.Equal(t, int64(b.Len()), n)
			whole := bytes.Clone(b.Bytes())
			var got progress
			read, err := got.ReadFrom(&b)
			require.NoError(t, err)
			require.Equal(t, n, read)
			require.Equal(t, want, &got)
			kept := progress{seed: 5}
			for cut := range whole {
				_, err := kept.ReadFrom(bytes.NewReader(whole[:cut]))
				require.Error(t, err)
				require.Equal(t, progress{seed: 5}, kept)
			}
		})
	}
}

func TestWhatIsNoProgressIsAnError(t *testing.T) {
	for name, change := range map[string]struct {
		place int
		value float64
	}{
		"of another version":  {0, 2},
		"of half a center":    {1, 2.5},
		"of too many centers": {1, 1 << 40},
		"of NaN features":     {2, math.NaN()},
		"of a negative epoch": {4, -1},
		"of a negative zero":  {4, math.Copysign(0, -1)},
		"with a NaN center":   {14, math.NaN()},
		"with a count below":  {20, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			_, err := someProgress().WriteTo(&b)
			require.NoError(t, err)
			binary.LittleEndian.PutUint64(b.Bytes()[8*change.place:], math.Float64bits(change.value))
			_, err = new(progress).ReadFrom(&b)
			require.ErrorContains(t, err, "kmeans: ")
		})
	}
}

func FuzzProgress(f *testing.F) {
	var b bytes.Buffer
	someProgress().WriteTo(&b)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		var p progress
		if _, err := p.ReadFrom(bytes.NewReader(text)); err != nil {
			return
		}
		var again bytes.Buffer
		_, err := p.WriteTo(&again)
		require.NoError(t, err)
		require.Equal(t, text[:again.Len()], again.Bytes())
	})
}
