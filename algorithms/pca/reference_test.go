package pca_test

import (
	"compress/gzip"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/testenv"
)

// The data sets of which scikit-learn's exact PCA is known, and how many columns come before the features. Values and
// directions agree to 1e-5; a direction to 1e-5 times what its neighbours' distance allows a float32 of the data.
func TestEveryDataSetAgreesWithScikitLearn(t *testing.T) {
	for _, c := range []struct {
		name, file string
		labels, k  int
	}{
		{"census_county_2015", "census_scaled.csv.gz", 0, 33}, // the 34th value is zero
		{"digits", "digits.csv.gz", 1, 20},
		{"breast_cancer", "breast_cancer.csv.gz", 1, 30},
		{"iris", "iris.csv.gz", 1, 4},
		{"nyc_taxi_50", "nyc_taxi_50.csv.gz", 0, 20},
		{"mnist_10k", "mnist_10k.csv.gz", 1, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testenv.Race && (c.name == "mnist_10k" || c.name == "nyc_taxi_50") {
				t.Skip("too slow under the race detector; the small ones run there")
			}
			var rows table
			for _, row := range load(t, c.file) {
				rows = append(rows, row[c.labels:])
			}
			m := fit(t, rows, pca.NewParams(c.k))
			requireModel(t, m, referenceOf(t, c.name), 1e-5)
		})
	}
}

// fit fits a model to rows in memory.
func fit(t *testing.T, rows table, p pca.Params) *pca.Model {
	t.Helper()
	m, err := pca.Fit(t.Context(), channel.Memory(rows.encode(t)), p)
	require.NoError(t, err)
	return m
}

func matrix(rows table) compute.Matrix { return compute.Matrix{X: rows.general()} }

// batches returns the rows in batches.
func batches(t *testing.T, rows table, size int) iter.Seq2[*algorithms.Batch, error] {
	t.Helper()
	train := &channel.Channel{Name: "train", Source: channel.Memory(rows.encode(t))}
	return algorithms.Batches(t.Context(), train, algorithms.Batching{FeatureDim: len(rows[0]), MiniBatchSize: size})
}

// sparseBatch returns the rows as one sparse batch.
func sparseBatch(t *testing.T, rows table) (all *algorithms.Batch) {
	t.Helper()
	train := &channel.Channel{Name: "train", Source: channel.Memory(rows.encode(t))}
	p := algorithms.Batching{FeatureDim: len(rows[0]), MiniBatchSize: len(rows), Sparse: true}
	for batch, err := range algorithms.Batches(t.Context(), train, p) {
		require.NoError(t, err)
		copied := *batch
		copied.S.Indptr, copied.S.Indices, copied.S.Data = slices.Clone(batch.S.Indptr), slices.Clone(batch.S.Indices), slices.Clone(batch.S.Data)
		all = &copied
	}
	return all
}

// P5 as a job: descending, and at least 0.98 of the variance that is there, with every seed.
func TestRandomizedModeOnTheCensus(t *testing.T) {
	rows := load(t, "census_scaled.csv.gz")
	p := params(34, 5)
	exact, _ := train(t, p, map[string]table{"train": rows})
	least := exact.SquaredError(matrix(rows))
	total := fit(t, rows, p).TotalSquares
	p.AlgorithmMode, p.ExtraComponents = "randomized", -1
	for p.Seed = range 20 {
		m, log := train(t, p, map[string]table{"train": rows})
		require.IsNonIncreasing(t, m.S)
		require.GreaterOrEqual(t, total-m.SquaredError(matrix(rows)), 0.98*(total-least), "seed %d", p.Seed)
		require.Contains(t, log, "The default executor is <RandomizedPCAExecutor on cpu(0)>.")
		require.Contains(t, log, "<RandomizedPCAExecutor on cpu(0)> is assigned to batch slice from 0 to 499.")
		require.InDelta(t, 0.71798, metric(t, log, "train explained_variance <score>"), 0.01)
	}
	p.ExtraComponents = 40
	_, log := train(t, p, map[string]table{"train": rows})
	require.Contains(t, log, "The total number of components and extra components should be less than the number of features.")
}

// Files of the same rows in other formats give the same model.
func TestAChannelSaysInWhichFormatItsRowsAre(t *testing.T) {
	rows := table{{1, 2}, {2, 4.5}, {3, 5.5}, {-1, 0}}
	want := fit(t, rows, pca.NewParams(2))
	got, err := pca.FitChannel(t.Context(), &channel.Channel{
		Name: "train", Source: channel.Memory("1,2\n2,4.5\n3,5.5\n-1,0\n"), Config: channel.Config{ContentType: "text/csv;label_size=0"},
	}, pca.NewParams(2))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = pca.Fit(t.Context(), channel.Memory(nil), pca.NewParams(2))
	require.EqualError(t, err, "channel train: no record in it")
	_, err = pca.Fit(t.Context(), channel.Memory(rows.encode(t)), pca.NewParams(3))
	require.EqualError(t, err, "hyperparameter num_components: 3: more than the 2 features of the data")
	_, err = pca.Fit(t.Context(), channel.Memory(rows.encode(t)), pca.Params{})
	require.EqualError(t, err, "pca: 0 components")
}

// Sparse rows, left as they are or made dense, and a sketch of them, which is of a quarter of the features.
func TestSparseRowsGiveTheModelOfDenseOnes(t *testing.T) {
	file, err := os.Open(filepath.Join(testenv.Shared(t), "data", "a9a_test.libsvm.gz"))
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	model := func(mode string, k int, dense bool) *pca.Model {
		p := pca.NewParams(k)
		p.AlgorithmMode, p.FeatureDim, p.ForceDense = mode, 123, dense
		m, err := pca.FitChannel(t.Context(), &channel.Channel{
			Name: "train", Source: channel.Memory(text), Config: channel.Config{ContentType: "text/libsvm"},
		}, p)
		require.NoError(t, err)
		return m
	}
	want := model("regular", 20, true)
	requireSame(t, want, model("regular", 20, false))
	for _, dense := range []bool{true, false} {
		got := model("randomized", 10, dense) // 20 directions
		kept := 0.0
		for j, s := range got.S {
			require.InEpsilon(t, want.S[19-j], s, 0.02, "singular value %d", j)
			kept += float64(s) * float64(s)
		}
		require.InEpsilon(t, want.TotalSquares, got.TotalSquares, 1e-9)
		require.Less(t, kept, got.TotalSquares)
	}
}
