package pca

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/recordio"
)

// threeFeatures returns a few rows.
func threeFeatures(t *testing.T) []byte {
	t.Helper()
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	for i := range 10 {
		require.NoError(t, w.WriteRow([]float32{float32(i), 1, float32(i * i)}))
	}
	require.NoError(t, w.Flush())
	return data.Bytes()
}

// observed returns the statistic of a few rows.
func observed(t *testing.T) *scatter {
	t.Helper()
	var s scatter
	train := &channel.Channel{Name: "train", Source: channel.Memory(threeFeatures(t))}
	for batch, err := range algorithms.Batches(t.Context(), train, algorithms.Batching{FeatureDim: 3, MiniBatchSize: 4}) {
		require.NoError(t, err)
		require.NoError(t, s.observe(t.Context(), batch))
	}
	return &s
}

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	for name, want := range map[string]*scatter{"of no rows": {}, "of rows": observed(t)} {
		t.Run(name, func(t *testing.T) {
			var state bytes.Buffer
			n, err := want.WriteTo(&state)
			require.NoError(t, err)
			require.Equal(t, int64(state.Len()), n)
			whole := bytes.Clone(state.Bytes())

			var got scatter
			read, err := got.ReadFrom(&state)
			require.NoError(t, err)
			require.Equal(t, n, read)
			require.Equal(t, want.n, got.n)
			require.Equal(t, want.pilot, got.pilot)
			require.Equal(t, want.sum, got.sum)
			require.Equal(t, want.outer, got.outer)

			kept := scatter{d: 7}
			for cut := range whole {
				_, err := kept.ReadFrom(bytes.NewReader(whole[:cut]))
				require.Error(t, err)
				require.Equal(t, scatter{d: 7}, kept)
			}
		})
	}
}

func TestWhatIsNoStateIsAnError(t *testing.T) {
	for name, head := range map[string][3]float64{
		"of another version":   {2, 3, 4},
		"of half a feature":    {1, 2.5, 4},
		"of too many features": {1, maxFeatures + 1, 4},
		"of fewer than none":   {1, -1, 4},
		"of NaN rows":          {1, 3, math.NaN()},
		"of NaN features":      {1, math.NaN(), 3},
	} {
		t.Run(name, func(t *testing.T) {
			var state bytes.Buffer
			require.NoError(t, binary.Write(&state, binary.LittleEndian, head))
			var s scatter
			_, err := s.ReadFrom(&state)
			require.ErrorContains(t, err, "pca: ")
		})
	}
}

func TestRowsOfOtherFeaturesThanTheSnapshotHasAreOneClearError(t *testing.T) {
	var restored scatter
	restored.alloc(4)
	train := &channel.Channel{Name: "train", Source: channel.Memory(threeFeatures(t))}
	for batch, err := range algorithms.Batches(t.Context(), train, algorithms.Batching{FeatureDim: 3, MiniBatchSize: 4}) {
		require.NoError(t, err)
		require.EqualError(t, restored.observe(t.Context(), batch), "channel train: 3 features, where the snapshot that the job goes on from has 4")
		return
	}
}

// BenchmarkCopy is what training waits for when a snapshot is taken.
func BenchmarkCopy(b *testing.B) {
	s := scatter{}
	s.alloc(3000)
	var state bytes.Buffer
	for b.Loop() {
		state.Reset()
		s.WriteTo(&state)
	}
	b.SetBytes(int64(state.Len()))
}
