package ndarray_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/ndarray"
	"github.com/algospec/algospec/internal/testenv"
)

// The two golden files of the specification, section 1.9.1.
const (
	goldenList = `
		12 01 00 00 00 00 00 00  00 00 00 00 00 00 00 00  01 00 00 00 00 00 00 00  c9 fa 93 f9 00 00 00 00
		02 00 00 00 02 00 00 00  00 00 00 00 02 00 00 00  00 00 00 00 01 00 00 00  00 00 00 00 00 00 00 00
		00 00 80 3f 00 00 00 40  00 00 40 40 00 00 80 40  00 00 00 00 00 00 00 00`
	goldenDict = `120100000000000000000000000000000100000000000000c9fa93f900000000010000000100000000000000
		0100000000000000000000000000003f0100000000000000010000000000000073`
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

func TestGoldenFilesOfTheSpecification(t *testing.T) {
	matrix := &ndarray.File{Arrays: []ndarray.Array{ndarray.New("", []float32{1, 2, 3, 4}, 2, 2)}}
	require.Equal(t, unhex(goldenList), write(t, matrix))
	require.Equal(t, matrix, mustRead(t, unhex(goldenList)))

	dict := &ndarray.File{Arrays: []ndarray.Array{ndarray.New("s", []float32{0.5})}}
	require.Equal(t, unhex(goldenDict), write(t, dict))
	require.Equal(t, dict, mustRead(t, unhex(goldenDict)))
}

// What MXNet 1.9.1 wrote, made from values by testdata/vectors.py: our constructors make the same
// bytes, and reading them makes the same arrays.
func TestFilesOfMXNetAreWhatOurConstructorsMake(t *testing.T) {
	rows := ndarray.NewRowSparse("rows", []float32{1, 2, 3, 4}, []int64{1, 3}, 5, 2)
	csr := ndarray.NewCSR("csr", []float32{1, 2, 3}, []int64{0, 2, 2, 3}, []int64{0, 2, 1}, 3, 4)
	const one = 0x3c00 // as float16
	for name, arrays := range map[string][]ndarray.Array{
		"row-sparse.nd":         {rows},
		"csr-with-empty-row.nd": {csr},
		"row-sparse-zeros.nd":   {ndarray.NewRowSparse[float32]("", nil, nil, 2, 3)},
		"csr-zeros.nd":          {ndarray.NewCSR[float32]("", nil, []int64{0, 0, 0}, nil, 2, 3)},
		"three-storages.nd":     {rows, csr, ndarray.New("dense", []float32{1, 2, 3}, 1, 3)},
		"empty-list.nd":         nil,
		"eight-dtypes.nd": {
			ndarray.New("float32", []float32{0, 1}), ndarray.New("float64", []float64{0, 1}),
			ndarray.New("float16", []ndarray.Half{0, one}), ndarray.New("uint8", []uint8{0, 1}),
			ndarray.New("int32", []int32{0, 1}), ndarray.New("int8", []int8{0, 1}),
			ndarray.New("int64", []int64{0, 1}), ndarray.New("bool", []bool{false, true}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(t, err)
			require.Equal(t, data, write(t, &ndarray.File{Arrays: arrays}))
			got := mustRead(t, data).Arrays
			require.Len(t, got, len(arrays))
			for i, a := range arrays {
				requireSame(t, a, got[i])
			}
			require.Equal(t, data, write(t, &ndarray.File{Arrays: got}))
		})
	}
}

func requireSame(t require.TestingT, want, got ndarray.Array) {
	require.Equal(t, want.Name, got.Name)
	require.Equal(t, want.Format, got.Format)
	require.Equal(t, want.DType(), got.DType())
	require.Equal(t, want.Storage(), got.Storage())
	require.Equal(t, want.Shape(), got.Shape())
	require.Equal(t, append([]int64{}, want.Indptr()...), append([]int64{}, got.Indptr()...))
	require.Equal(t, append([]int64{}, want.Indices()...), append([]int64{}, got.Indices()...))
	require.Equal(t, join(values(t, want)), join(values(t, got)), "values, as bits")
}

func TestADictWithAnEmptyNameStaysADict(t *testing.T) {
	data, err := os.ReadFile("testdata/empty-name.nd")
	require.NoError(t, err)
	f := mustRead(t, data)
	require.Equal(t, data, write(t, f))
	a, err := f.Array("")
	require.NoError(t, err)
	require.Equal(t, []float32{1}, values(t, a))
}

func TestMXNetFilesAgreeWithTheManifest(t *testing.T) {
	dir := filepath.Join(testenv.Shared(t), "golden", "mxnet")
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	var files []struct {
		File   string
		Arrays []struct {
			Name       *string
			Version    int
			DType      string
			Shape      []int
			Head, Tail []float64
			SHA256     string `json:"data_sha256"`
		}
	}
	require.NoError(t, json.Unmarshal(manifest, &files))
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(file.File, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, file.File))
			require.NoError(t, err)
			var f ndarray.File
			n, err := f.ReadFrom(bytes.NewReader(data))
			require.NoError(t, err)
			require.EqualValues(t, len(data), n)
			require.True(t, bytes.Equal(data, write(t, &f)), "re-encoded byte for byte")

			require.Len(t, f.Arrays, len(file.Arrays))
			for i, want := range file.Arrays {
				a := f.Arrays[i]
				if want.Name == nil {
					require.Empty(t, a.Name)
				} else {
					require.Equal(t, *want.Name, a.Name)
				}
				require.Equal(t, []ndarray.Format{ndarray.V0, ndarray.V1, ndarray.V2}[want.Version], a.Format)
				require.Equal(t, want.DType, a.DType().String())
				require.Equal(t, ndarray.Dense, a.Storage())
				require.Equal(t, want.Shape, a.Shape())
				got := valuesOf[float32](t, a)
				sum := sha256.Sum256(join(got))
				require.Equal(t, want.SHA256, hex.EncodeToString(sum[:]))
				for j, v := range want.Head {
					require.Equal(t, v, float64(got[j]))
				}
				for j, v := range want.Tail {
					require.Equal(t, v, float64(got[len(got)-len(want.Tail)+j]))
				}
			}
		})
	}
}

// vectors returns every file that is known to be good.
func vectors(tb testing.TB, shared bool) map[string][]byte {
	v := map[string][]byte{"golden list": unhex(goldenList), "golden dict": unhex(goldenDict)}
	patterns := []string{filepath.Join("testdata", "*.nd")}
	if shared {
		patterns = append(patterns, filepath.Join(testenv.Shared(tb), "golden", "mxnet", "v*"))
	}
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		require.NoError(tb, err)
		require.NotEmpty(tb, names)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(tb, err)
			v[filepath.Base(name)] = data
		}
	}
	return v
}
