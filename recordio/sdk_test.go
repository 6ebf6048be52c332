package recordio_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/recordio"
)

// sdkScript writes files with the SageMaker Python SDK, or tells what it reads in one.
//
//go:embed testdata/sdk.py
var sdkScript string

func runSDK(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(testenv.PythonSDK(t), append([]string{"-c", sdkScript}, args...)...)
	cmd.Env = append(os.Environ(), "SAGEMAKER_SUPPRESS_V2_WARNING=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return out[bytes.LastIndexByte(out, '\n')+1:] // the SDK itself prints lines, too
}

// sdkRow is a row as the script prints it: keys are null in a dense row.
type sdkRow struct {
	Type   string
	Values []float32
	Keys   []int32
	Shape  []int
	Label  []float32
}

func TestThePythonSDKReadsWhatIsWrittenHere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.pbr")
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	require.NoError(t, w.WriteRow([]float32{1, -2.5, 3e30}, 1))
	require.NoError(t, w.WriteRow([]float32{0, 0, 0}))
	require.NoError(t, w.WriteSparseRow(1000, []int32{3, 999}, []float32{0.5, 2}, 7))
	require.NoError(t, w.WriteSparseRow(1000, nil, nil, 8))
	require.NoError(t, w.Flush())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))

	var got []sdkRow
	require.NoError(t, json.Unmarshal(runSDK(t, "read", path), &got))
	require.Equal(t, []sdkRow{
		{"float32_tensor", []float32{1, -2.5, 3e30}, []int32{}, []int{}, []float32{1}},
		{"float32_tensor", []float32{0, 0, 0}, []int32{}, []int{}, []float32{}},
		{"float32_tensor", []float32{0.5, 2}, []int32{3, 999}, []int{1000}, []float32{7}},
		{"float32_tensor", []float32{}, []int32{}, []int{1000}, []float32{8}},
	}, got)
}

func TestWhatThePythonSDKWritesIsReadHere(t *testing.T) {
	dir := t.TempDir()
	var want map[string][]sdkRow // by file
	require.NoError(t, json.Unmarshal(runSDK(t, "write", dir), &want))
	require.Len(t, want, 4)
	for name, rows := range want {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open(filepath.Join(dir, name))
			require.NoError(t, err)
			defer file.Close()
			reader := recordio.NewReader(file)
			var decoder recordio.RowDecoder
			var again bytes.Buffer
			w := recordio.NewWriter(&again)
			for _, row := range rows {
				payload, err := reader.Next()
				require.NoError(t, err)
				got, err := decoder.DecodeSparse(payload)
				require.NoError(t, err)
				require.Equal(t, row.Keys == nil, got.Keys == nil)
				require.ElementsMatch(t, row.Keys, got.Keys)
				require.ElementsMatch(t, row.Values, got.Values)
				require.ElementsMatch(t, row.Label, got.Label)
				if got.Keys == nil {
					require.NoError(t, w.WriteRow(got.Values, got.Label...))
				} else {
					require.Equal(t, row.Shape[0], got.Columns)
					require.NoError(t, w.WriteSparseRow(got.Columns, got.Keys, got.Values, got.Label...))
				}
			}
			_, err = reader.Next()
			require.Error(t, err)
			require.NoError(t, w.Flush())
			if name[:3] == "f32" { // the SDK's own bytes, where the type is the one we write
				data, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, again.Bytes()))
			}
		})
	}
}
