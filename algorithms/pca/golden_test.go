package pca_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/internal/testenv"
)

// published returns the model file in an archive that the service has written.
func published(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join(testenv.Shared(t), "golden", "sagemaker-models", path))
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		require.NoError(t, err, "no %s in %s", pca.ModelFile, path)
		if filepath.Base(header.Name) == pca.ModelFile {
			text, err := io.ReadAll(archive)
			require.NoError(t, err)
			return text
		}
	}
}

// The service's own models are read, and written again byte for byte.
func TestPublishedModelsAreReadAndWrittenAsTheyWere(t *testing.T) {
	for path, want := range map[string]struct {
		d, k      int
		ascending bool
	}{
		"census/pca_regular_c33.tar.gz":        {34, 33, true},
		"other/pca_randomized_d316_c91.tar.gz": {316, 91, false},
		"other/pca_d7_c6.tar.gz":               {7, 6, true},
		"other/pca_regular_d26_c25_nan.tar.gz": {26, 25, true},
	} {
		t.Run(path, func(t *testing.T) {
			text := published(t, path)
			var m pca.Model
			_, err := m.ReadFrom(bytes.NewReader(text))
			require.NoError(t, err)
			require.Equal(t, want.d, m.V.Rows)
			require.Len(t, m.S, want.k)
			var again bytes.Buffer
			_, err = m.WriteTo(&again)
			require.NoError(t, err)
			require.Equal(t, text, again.Bytes())
			if m.S[0] != m.S[0] { // NaN, of singular data
				return
			}
			require.Equal(t, want.ascending, slices.IsSorted(m.S))
			require.Equal(t, m.Descending()[0] == 0, !want.ascending)
			require.Nil(t, m.ExplainedVariance())
			sum := 0.0
			for _, ratio := range m.ExplainedVarianceRatio() {
				sum += ratio
			}
			require.InDelta(t, 1, sum, 1e-9)
		})
	}
}

// What the service's endpoint answered is what its model gives here; and rows come back from their projections.
func TestTheServicesAnswerIsOurs(t *testing.T) {
	rows := load(t, "census_scaled.csv.gz")
	var m pca.Model
	_, err := m.ReadFrom(bytes.NewReader(published(t, "census/pca_regular_c33.tar.gz")))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(testenv.Shared(t), "golden", "sagemaker-models", "expected.json"))
	require.NoError(t, err)
	var expected struct {
		Census struct {
			PCA struct {
				Service []float64 `json:"projection_of_row_0_service"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &expected))
	want := expected.Census.PCA.Service
	require.NotEmpty(t, want)
	for b, err := range batches(t, rows[:10], 10) {
		require.NoError(t, err)
		z := m.Transform(b)
		require.Equal(t, []int{10, 33}, []int{z.Rows, z.Cols})
		for j := range want {
			require.InDelta(t, want[j], z.Data[33-len(want)+j], 1e-6)
		}
		back := m.InverseTransform(z)
		for i, row := range rows[:10] {
			for j, x := range row {
				require.InDelta(t, x, back.Data[i*34+j], 1e-3)
			}
		}
	}
}

func TestASparseBatchIsTransformedAsADenseOne(t *testing.T) {
	rows := random(50, 8, 61)
	for _, row := range rows {
		row[2], row[5] = 0, 0
	}
	m := fit(t, rows, pca.NewParams(3))
	want := blas32.General{Rows: 50, Cols: 3, Stride: 3, Data: make([]float32, 150)}
	m.Project(want, rows.general())
	require.Equal(t, want.Data, m.Transform(sparseBatch(t, rows)).Data)
}

func TestShapesThatDoNotMatchPanic(t *testing.T) {
	m := fit(t, random(20, 4, 62), pca.NewParams(2))
	require.Panics(t, func() { m.Project(blas32.General{}, random(2, 5, 1).general()) })
	require.Panics(t, func() { m.InverseTransform(random(2, 3, 1).general()) })
	require.Panics(t, func() { m.Transform(sparseBatch(t, random(2, 3, 1))) })
}
