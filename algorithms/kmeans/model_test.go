package kmeans_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/algorithms/ndarray"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

func TestPredictAndTransformAreEuclidean(t *testing.T) {
	m := kmeans.Model{Centers: blas32.General{Rows: 2, Cols: 2, Stride: 3, Data: []float32{0, 0, 9, 3, 4, 9}}}
	x := table{{0, 0}, {3, 4}, {6, 8}, {1.5, 2}}.matrix()
	nearest, distance := make([]int32, 4), make([]float32, 4)
	m.Predict(x, nearest, distance)
	require.Equal(t, []int32{0, 1, 1, 0}, nearest, "of two at the same distance the lower one")
	require.InDeltaSlice(t, []float32{0, 0, 5, 2.5}, distance, 1e-6)
	m.Predict(x, nil, distance)
	m.Predict(x, nearest, nil)
	all := blas32.General{Rows: 4, Cols: 2, Stride: 2, Data: make([]float32, 8)}
	m.Transform(x, all)
	require.InDeltaSlice(t, []float32{0, 5, 5, 0, 10, 5, 2.5, 2.5}, all.Data, 1e-5)
	require.Panics(t, func() { m.Predict(table{{1, 2, 3}}.matrix(), nil, nil) })
	require.Panics(t, func() { m.Predict(x, nearest[:3], nil) })
	require.Panics(t, func() { m.Transform(x, blas32.General{Rows: 4, Cols: 3, Stride: 3, Data: make([]float32, 12)}) })

	var b bytes.Buffer
	_, err := m.WriteTo(&b)
	require.NoError(t, err)
	var again kmeans.Model
	_, err = again.ReadFrom(iotest.OneByteReader(&b))
	require.NoError(t, err)
	require.Equal(t, []float32{0, 0, 3, 4}, again.Centers.Data)
}

func file(t *testing.T, arrays ...ndarray.Array) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := (&ndarray.File{Arrays: arrays}).WriteTo(&b)
	require.NoError(t, err)
	return b.Bytes()
}

func TestAMatrixOfAnyNameOrPrecisionIsAModel(t *testing.T) {
	var m kmeans.Model
	_, err := m.ReadFrom(bytes.NewReader(file(t, ndarray.New("centroids", []float64{1, 2, 3, 4}, 2, 2))))
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3, 4}, m.Centers.Data)
}

func TestWhatIsNoModelIsAClientError(t *testing.T) {
	for name, text := range map[string][]byte{
		"kmeans: a file of 0 arrays is no model, which is one":                           file(t),
		"kmeans: a file of 2 arrays is no model, which is one":                           file(t, ndarray.New("", []float32{1}, 1, 1), ndarray.New("", []float32{1}, 1, 1)),
		`kmeans: array "" of shape [2] and storage default is no matrix of centers`:      file(t, ndarray.New("", []float32{1, 2})),
		`kmeans: array "" of shape [0 2] and storage default is no matrix of centers`:    file(t, ndarray.New("", []float32{}, 0, 2)),
		`kmeans: array "" of shape [2 1] and storage row_sparse is no matrix of centers`: file(t, ndarray.NewRowSparse("", []float32{1}, []int64{0}, 2, 1)),
		`kmeans: ndarray: array "" holds int32, not float32`:                             file(t, ndarray.New("", []int32{1}, 1, 1)),
	} {
		m := kmeans.Model{Centers: blas32.General{Rows: 1}}
		_, err := m.ReadFrom(bytes.NewReader(text))
		require.EqualError(t, err, name)
		require.True(t, algospec.IsClientError(err))
		require.Equal(t, 1, m.Centers.Rows, "unchanged")
	}
}

func FuzzReadFrom(f *testing.F) {
	var b bytes.Buffer
	(&kmeans.Model{Centers: table{{1, 2}, {3, 4}}.matrix().X}).WriteTo(&b)
	f.Add(b.Bytes())
	b.Reset()
	(&kmeans.State{K: 1, D: 2, Centers: []float64{1, 2}, Counts: []float64{3}}).WriteTo(&b)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		var m kmeans.Model
		if _, err := m.ReadFrom(bytes.NewReader(text)); err == nil {
			var again bytes.Buffer
			_, err := m.WriteTo(&again)
			require.NoError(t, err)
			var twice kmeans.Model
			_, err = twice.ReadFrom(&again)
			require.NoError(t, err)
			require.Equal(t, m.Centers.Rows, twice.Centers.Rows)
		}
		var s kmeans.State
		if _, err := s.ReadFrom(bytes.NewReader(text)); err == nil && s.K < 100 {
			_, _, err := s.Cluster(t.Context(), min(2, s.K), kmeans.Params{})
			require.NoError(t, err)
		}
	})
}

// The other published artifacts, whose counts are past 1.
func TestPublishedStatesAreRead(t *testing.T) {
	for _, name := range []string{"other/kmeans_k10_d2.tar.gz", "other/kmeans_k10_d10.tar.gz"} {
		_, members := unpack(t, name)
		var m kmeans.Model
		_, err := m.ReadFrom(bytes.NewReader(members["model"]))
		require.NoError(t, err)
		var s kmeans.State
		_, err = s.ReadFrom(bytes.NewReader(members["state"]))
		require.NoError(t, err)
		require.Equal(t, []int{100, m.Centers.Cols, 10}, []int{s.K, s.D, m.Centers.Rows})
		smaller, msd, err := s.Cluster(t.Context(), 4, kmeans.Params{Seed: hyperparams.Fixed(int64(1))})
		require.NoError(t, err)
		require.Equal(t, 4, smaller.Centers.Rows)
		_, less, err := s.Cluster(t.Context(), 10, kmeans.Params{Seed: hyperparams.Fixed(int64(1))})
		require.NoError(t, err)
		require.Less(t, less, msd)
		_, _, err = s.Cluster(t.Context(), 101, kmeans.Params{})
		require.EqualError(t, err, "kmeans: no 101 clusters can be made of 100 centers")
	}
}

// archive returns a compressed archive of files by their names.
func archive(t *testing.T, names []string, contents ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for i, name := range names {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(contents[i])), Mode: 0o644}))
		_, err := w.Write(contents[i])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zipped.Close())
	return b.Bytes()
}

func TestAnEarlierArtifactIsGoneOnFrom(t *testing.T) {
	rows := blobs(300, 4, 5, 51)
	p := params(t, 4, 5, hyperparams.Map{"_save_state": "true"})
	job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(rows.encode(t))}}}
	require.NoError(t, kmeans.Train(t.Context(), job, p))
	model := modelBytes(t, string(job.Model))
	state, err := os.ReadFile(filepath.Join(string(job.Model), kmeans.StateFile))
	require.NoError(t, err)
	for _, c := range []struct {
		name     string
		artifact []byte
		log, err string
	}{
		{"model and state", archive(t, []string{"./model_algo-1", "./state_algo-1"}, model, state), "Going on from the 50 centers of the channel model.", ""},
		{"model", archive(t, []string{"model_algo-1"}, model), "Going on from the 5 centers of the channel model.", ""},
		{"a file", model, "No shrinking is required", ""},
		{"a state", state, "shrinking 50 centers into 5", ""},
		{"no model", archive(t, []string{"else"}, model), "", "channel model, epoch 0: no model_algo-1 in the archive"},
		{"other features", centersOf(t, blobs(9, 3, 2, 1)), "", "channel model: centers of 3 features, where feature_dim is 4"},
		{"fewer centers", centersOf(t, rows[:4]), "", "channel model: 4 centers, fewer than the 5 of hyperparameter k"},
		{"no file", []byte("what is this?"), "", ""},
		{"half an archive", archive(t, []string{"model_algo-1"}, model)[:60], "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, logs, errs := trainHosts(t, p, c.artifact, []shard{{"train": rows}})
			if c.log != "" {
				require.NoError(t, errs[0])
				require.Contains(t, logs[0], c.log)
				return
			}
			require.ErrorContains(t, errs[0], c.err)
			require.ErrorContains(t, errs[0], "channel model")
			require.True(t, algospec.IsClientError(errs[0]))
		})
	}
}
