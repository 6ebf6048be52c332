package kmeans_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/fleet"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/internal/textrows"
	"github.com/algospec/algospec/recordio"
)

func TestMain(m *testing.M) {
	if _, ok := fleet.Member(); ok {
		algospec.Main(kmeans.Train) // see hosts_test.go
	}
	leaks.Main(m)
}

type table [][]float32

// load returns the rows of a data set, without the first columns that are labels.
func load(t *testing.T, name string, labels int) (rows table) {
	t.Helper()
	for row, err := range textrows.File(filepath.Join(testenv.Shared(t), "data", name)) {
		require.NoError(t, err)
		rows = append(rows, slices.Clone(row[labels:]))
	}
	return rows
}

func (rows table) encode(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for _, row := range rows {
		require.NoError(tb, w.WriteRow(row))
	}
	require.NoError(tb, w.Flush())
	return b.Bytes()
}

func (rows table) matrix() compute.Matrix {
	g := blas32.General{Rows: len(rows), Cols: len(rows[0]), Stride: len(rows[0])}
	for _, row := range rows {
		g.Data = append(g.Data, row...)
	}
	return compute.Matrix{X: g}
}

// params returns what hyperparameters, and the width, make.
func params(t testing.TB, d, k int, more hyperparams.Map) kmeans.Params {
	t.Helper()
	all := hyperparams.Map{"feature_dim": strconv.Itoa(d), "k": strconv.Itoa(k), "_seed": "1"}
	for name, value := range more {
		all[name] = value
	}
	p, err := hyperparams.Parse[kmeans.Params](all)
	require.NoError(t, err)
	return p
}

// train trains on channels in memory and returns the model as it was saved, and the log.
func train(t testing.TB, p kmeans.Params, channels map[string]table) (*kmeans.Model, string) {
	t.Helper()
	var log bytes.Buffer
	job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Stdout: &log, Channels: map[string]*channel.Channel{}}
	for name, rows := range channels {
		job.Channels[name] = &channel.Channel{Name: name, Source: channel.Memory(rows.encode(t))}
	}
	require.NoError(t, kmeans.Train(t.Context(), job, p))
	return readModel(t, string(job.Model)), log.String()
}

func readModel(t testing.TB, dir string) *kmeans.Model {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, kmeans.ModelFile))
	require.NoError(t, err)
	var m kmeans.Model
	_, err = m.ReadFrom(bytes.NewReader(text))
	require.NoError(t, err)
	return &m
}

// metric returns the last value that the log has of a series.
func metric(t testing.TB, log, series string) float64 {
	t.Helper()
	matches := regexp.MustCompile(`#quality_metric: host=\S+, `+regexp.QuoteMeta(series)+`=(\S+)`).FindAllStringSubmatch(log, -1)
	require.NotEmpty(t, matches, log)
	value, err := strconv.ParseFloat(matches[len(matches)-1][1], 64)
	require.NoError(t, err)
	return value
}

// inertia is the sum of the squared distances of the rows to their nearest centers, in float64.
func inertia(m *kmeans.Model, rows table) float64 {
	total := 0.0
	d := m.Centers.Cols
	for _, row := range rows {
		least := -1.0
		for j := range m.Centers.Rows {
			sum := 0.0
			for l, c := range m.Centers.Data[j*m.Centers.Stride:][:d] {
				e := float64(row[l]) - float64(c)
				sum += e * e
			}
			if least < 0 || sum < least {
				least = sum
			}
		}
		total += least
	}
	return total
}

// cost is inertia by the model's own distances, for many rows.
func cost(m *kmeans.Model, rows table) float64 {
	distance := make([]float32, len(rows))
	m.Predict(rows.matrix(), nil, distance)
	total := 0.0
	for _, d := range distance {
		total += float64(d) * float64(d)
	}
	return total
}

// blobs returns rows around so many places.
func blobs(n, d, places int, seed uint64) (rows table) {
	r := rand.New(rand.NewPCG(seed, 0))
	var at table
	for range places {
		place := make([]float32, d)
		for j := range place {
			place[j] = float32(10 * r.NormFloat64())
		}
		at = append(at, place)
	}
	for i := range n {
		row := slices.Clone(at[i%places])
		for j := range row {
			row[j] += float32(r.NormFloat64())
		}
		rows = append(rows, row)
	}
	return rows
}

// A cluster result of scikit-learn 1.2.1 over 20 runs: shared data, reference.json.
type reference struct {
	K             int
	BestInertia   float64 `json:"best_inertia"`
	MedianInertia float64 `json:"median_inertia"`
}

func referenceOf(t *testing.T, name string) []reference {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Shared(t), "data", "reference.json"))
	require.NoError(t, err)
	var file struct {
		Results map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &file))
	var r struct{ KMeans []reference }
	require.NoError(t, json.Unmarshal(file.Results[name], &r))
	require.NotEmpty(t, r.KMeans)
	return r.KMeans
}

// fit is a training as a library.
func fit(t testing.TB, p kmeans.Params, rows table) *kmeans.Model {
	t.Helper()
	m, err := kmeans.Fit(t.Context(), channel.Memory(rows.encode(t)), p)
	require.NoError(t, err)
	return m
}
