package recordio_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

// golden is one file of the shared manifest: RecordIO made by the SageMaker Python SDK 2.257.6,
// Google's protobuf 4.21.12 and dmlc-core, and what those decode.
type golden struct {
	Name           string
	File           string
	Records        []goldenRecord
	NRecords       int64  `json:"n_records"`
	PayloadsSHA256 string `json:"payloads_sha256"`
	FramingError   string `json:"framing_error"`
	Note           string
}

type goldenRecord struct {
	Index                        int64
	PayloadLen                   int    `json:"payload_len"`
	PayloadSHA256                string `json:"payload_sha256"`
	PayloadError                 any    `json:"payload_error"`
	FramingError                 string `json:"framing_error"` // of the real files, in the place of a record
	Features, Label              map[string]goldenValue
	UID, Metadata, Configuration *string
}

type goldenValue struct {
	Type         *string
	Values, Keys goldenNumbers
	Shape        []json.Number
	Value        [][]byte
	ContentType  *string `json:"content_type"`
}

type goldenNumbers struct {
	N        int
	All      []any
	LESHA256 string `json:"le_sha256"`
}

func goldenFiles(t *testing.T) (dir string, files []golden) {
	t.Helper()
	dir = filepath.Join(testenv.Shared(t), "golden", "recordio")
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	var manifest struct{ Cases []golden }
	require.NoError(t, json.Unmarshal(text, &manifest))
	require.NotEmpty(t, manifest.Cases)
	return dir, manifest.Cases
}

func sum(b []byte) string {
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

// readAll returns copies of all records, and the error after them, io.EOF excepted.
func readAll(r *recordio.Reader) (payloads [][]byte, err error) {
	for payload, err := range r.All() {
		if err != nil {
			return payloads, err
		}
		payloads = append(payloads, bytes.Clone(payload))
	}
	return payloads, nil
}

func TestGoldenFraming(t *testing.T) {
	dir, files := goldenFiles(t)
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, file.File))
			require.NoError(t, err)
			reader := recordio.NewReader(bytes.NewReader(data))
			if strings.HasPrefix(file.Name, "multipart_") {
				reader.Multipart = recordio.DMLC // made by dmlc-core's writer
			}
			payloads, err := readAll(reader)
			require.Len(t, payloads, int(file.NRecords))
			checkFramingError(t, file, err)
			for _, want := range file.Records {
				require.Equal(t, want.PayloadSHA256, sum(payloads[want.Index]), "record %d", want.Index)
			}
			if file.PayloadsSHA256 != "" {
				require.Equal(t, file.PayloadsSHA256, sum(bytes.Join(payloads, nil)))
			}
			if err == nil {
				checkWritten(t, file, reader.Multipart, payloads, data)
			}
		})
	}
}

func checkFramingError(t *testing.T, file golden, err error) {
	t.Helper()
	if file.FramingError == "" {
		require.NoError(t, err)
		return
	}
	want, ok := map[string]error{
		"truncated": io.ErrUnexpectedEOF,
		"bad magic": recordio.ErrMagic,
		"bad split": recordio.ErrSplit,
	}[file.FramingError]
	require.True(t, ok, file.FramingError)
	require.ErrorIs(t, err, want)
	format, ok := errors.AsType[*recordio.FormatError](err)
	require.True(t, ok, "%T", err)
	require.Equal(t, file.NRecords, format.Record)
	require.True(t, format.ClientError())
}

// checkWritten expects that a Writer makes the same file of the same records.
func checkWritten(t *testing.T, file golden, multipart recordio.Multipart, payloads [][]byte, want []byte) {
	t.Helper()
	if file.Name == "padding_not_zero" {
		return // the one file with other padding than ours
	}
	var got bytes.Buffer
	w := recordio.NewWriter(&got)
	w.Multipart = multipart
	for _, payload := range payloads {
		require.NoError(t, w.Write(payload))
	}
	require.NoError(t, w.Flush())
	require.True(t, bytes.Equal(want, got.Bytes()))
}

// Rows are decoded as Google's protobuf does, then checked as a table's rows are.
func TestGoldenRows(t *testing.T) {
	dir, files := goldenFiles(t)
	for _, file := range files {
		t.Run(file.Name, func(t *testing.T) {
			f, err := os.Open(filepath.Join(dir, file.File))
			require.NoError(t, err)
			defer f.Close()
			reader := recordio.NewReader(f)
			if strings.HasPrefix(file.Name, "multipart_") {
				reader.Multipart = recordio.DMLC
			}
			payloads, _ := readAll(reader)
			var decoder recordio.RowDecoder
			for _, want := range file.Records {
				checkRow(t, file, &decoder, payloads[want.Index], want)
			}
		})
	}
}

// refused are the well-formed Records that are no rows of a table of float32, by file and record.
var refused = map[string]string{
	"sparse_count_mismatch 0":          "2 keys for 3 values",
	"sparse_key_past_shape 0":          "key 10 in a row of 10 features",
	"sparse_duplicate_keys 0":          "key 2 twice",
	"dense_shape_mismatch 0":           "3 values in a shape of 4",
	"dense_float64_special 0":          "too large for float32",
	"float64_where_float32_expected 0": "too large for float32",
	"wire_overlong_varints 1":          "1 keys for 2 values",
	"keys_uint64 0":                    "a sparse row of 18446744073709551615 features",
	"sparse_wide 0":                    "a sparse row of 2147483647 features",
	"wire_unpacked 0":                  "a sparse row of 2199023255552 features",
}

func checkRow(t *testing.T, file golden, decoder *recordio.RowDecoder, payload []byte, want goldenRecord) {
	t.Helper()
	feature, ok := want.Features["values"]
	row, label, err := decodeRow(decoder, payload, feature)
	reason := refused[fmt.Sprint(file.Name, " ", want.Index)]
	switch {
	case want.PayloadError != nil && strings.Contains(file.Note, "Go's"):
		return // Google's C++ and Go differ
	case want.PayloadError != nil:
		require.Error(t, proto.Unmarshal(payload, new(recordpb.Record)))
		reason = "not a Record: "
	case !ok:
		reason = `no feature named "values"`
	case feature.Type == nil:
		reason = `feature "values" has no value`
	case *feature.Type == "bytes":
		reason = `feature "values" is bytes`
	}
	if reason != "" {
		require.ErrorContains(t, err, reason, "record %d", want.Index)
		return
	}
	require.NoError(t, err, "record %d", want.Index)
	requireRow(t, feature, row, "record %d", want.Index)
	if value, ok := want.Label["values"]; ok {
		requireRow(t, value, label, "label of record %d", want.Index)
	} else {
		require.Empty(t, label)
	}
}

// decodeRow decodes a row as wide as it says, or 16 columns wide where it does not.
func decodeRow(decoder *recordio.RowDecoder, payload []byte, feature goldenValue) (row, label []float32, err error) {
	columns, err := decoder.Width(payload)
	if err != nil && feature.Keys.N > 0 && len(feature.Shape) == 0 {
		columns, err = 16, nil
	}
	if err != nil {
		return nil, nil, err
	}
	row = make([]float32, columns)
	label, err = decoder.Decode(payload, row)
	return row, label, err
}

// requireRow compares a row with the values of a sparse or dense golden tensor.
func requireRow(t *testing.T, want goldenValue, got []float32, message ...any) {
	t.Helper()
	if want.Values.N > len(want.Values.All) { // a long row, of which the manifest has a digest
		require.Equal(t, want.Values.LESHA256, sum(float32Bytes(got)), message...)
		return
	}
	expected := make([]float32, len(got))
	for i, number := range want.Values.All {
		at := i
		if want.Keys.N > 0 {
			at = int(want.Keys.All[i].(float64))
		}
		expected[at] = goldenFloat32(number)
	}
	require.Equal(t, float32Bytes(expected), float32Bytes(got), message...)
}

func TestRowsAreWrittenAsThePythonSDKWritesThem(t *testing.T) {
	dir, _ := goldenFiles(t)
	for _, name := range []string{
		"sparse_float32", "sparse_float32_label_float32", "sparse_unsorted_keys",
		"dense_float32", "dense_float32_label_float32", "dense_float32_special", "dense_one_column",
		"dense_zero_columns", "dense_zero_columns_labelled", "dense_zero_rows", "dense_large", "dense_many",
		"sdk_magic_in_payload", "request_vector", "request_matrix",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, name+".pbr"))
			require.NoError(t, err)
			var got bytes.Buffer
			var decoder recordio.RowDecoder
			w := recordio.NewWriter(&got)
			for payload, err := range recordio.NewReader(bytes.NewReader(want)).All() {
				require.NoError(t, err)
				row, err := decoder.DecodeSparse(payload)
				require.NoError(t, err)
				if row.Keys == nil {
					require.NoError(t, w.WriteRow(row.Values, row.Label...))
				} else {
					require.NoError(t, w.WriteSparseRow(row.Columns, row.Keys, row.Values, row.Label...))
				}
			}
			require.NoError(t, w.Flush())
			require.True(t, bytes.Equal(want, got.Bytes()))
		})
	}
}
