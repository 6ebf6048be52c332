package pca_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

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

func readGolden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Shared(t), "golden", name))
	require.NoError(t, err)
	return bytes.Clone(text)
}
