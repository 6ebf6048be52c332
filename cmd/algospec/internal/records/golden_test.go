package records

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/internal/testenv"
)

// goldenCase is one file of the shared manifest and what Google's protobuf decodes of it.
type goldenCase struct {
	Name, File, Note string
	Records          []goldenRecord
	NRecords         int    `json:"n_records"`
	FramingError     string `json:"framing_error"`
}

type goldenRecord struct {
	Index         int
	PayloadLen    int `json:"payload_len"`
	PayloadError  any `json:"payload_error"`
	Features      map[string]goldenValue
	Label         map[string]goldenValue
	UID           *string `json:"uid"`
	Metadata      *string
	Configuration *string
}

type goldenValue struct {
	Type         *string
	Values, Keys struct {
		N   int
		All []any
	}
	Shape       []json.Number
	Value       []string
	ContentType *string `json:"content_type"`
}

// defaults are the flags of framing that kong sets.
var defaults = framing{Multipart: "plain", MaxRecord: 1 << 30}

// of returns the flags for a golden file.
func (c goldenCase) framing() framing {
	f := defaults
	if strings.HasPrefix(c.Name, "multipart_") {
		f.Multipart = "dmlc" // made by dmlc-core's writer
	}
	return f
}

func goldenCases(t *testing.T) (dir string, cases []goldenCase) {
	t.Helper()
	dir = filepath.Join(testenv.Shared(t), "golden", "recordio")
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	var manifest struct{ Cases []goldenCase }
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&manifest))
	require.NotEmpty(t, manifest.Cases)
	return dir, manifest.Cases
}

// JSON lines hold what the manifest says, of every golden file.
func TestCatGolden(t *testing.T) {
	dir, cases := goldenCases(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var out bytes.Buffer
			cat := Cat{Inputs: []string{filepath.Join(dir, c.File)}, JSON: true, framing: c.framing()}
			err := cat.Run(t.Context(), console.Streams{Out: &out})
			if c.FramingError != "" {
				require.Error(t, err)
			}
			var lines []map[string]any
			decoder := json.NewDecoder(&out)
			decoder.UseNumber()
			for decoder.More() {
				var line map[string]any
				require.NoError(t, decoder.Decode(&line))
				lines = append(lines, line)
			}
			require.Len(t, lines, c.NRecords)
			for _, want := range c.Records {
				requireRecord(t, c, want, lines[want.Index])
			}
		})
	}
}

func requireRecord(t *testing.T, c goldenCase, want goldenRecord, got map[string]any) {
	t.Helper()
	require.Equal(t, fmt.Sprintln(want.Index, want.PayloadLen), fmt.Sprintln(got["record"], got["size"]))
	if want.PayloadError != nil {
		if !strings.Contains(c.Note, "Go's") { // where Google's C++ and Go differ
			require.NotEmpty(t, got["error"])
		}
		return
	}
	require.Empty(t, got["error"])
	requireValues(t, want.Features, got["features"])
	requireValues(t, want.Label, got["label"])
	for name, text := range map[string]*string{"uid": want.UID, "metadata": want.Metadata, "configuration": want.Configuration} {
		requireText(t, text, got[name])
	}
}

func requireText(t *testing.T, want *string, got any) {
	t.Helper()
	if want == nil {
		require.Nil(t, got)
		return
	}
	require.Equal(t, *want, got)
}

func requireValues(t *testing.T, want map[string]goldenValue, got any) {
	t.Helper()
	values, _ := got.(map[string]any)
	require.Len(t, values, len(want))
	for name, value := range want {
		requireValue(t, value, values[name].(map[string]any))
	}
}

func requireValue(t *testing.T, want goldenValue, got map[string]any) {
	t.Helper()
	requireText(t, want.Type, got["type"])
	requireText(t, want.ContentType, got["content_type"])
	bytes, _ := got["bytes"].([]any)
	require.Equal(t, fmt.Sprint(want.Value), fmt.Sprint(bytes))
	shape, _ := got["shape"].([]any)
	require.Equal(t, fmt.Sprint(want.Shape), fmt.Sprint(shape))
	if want.Values.N == len(want.Values.All) {
		requireNumbers(t, want, want.Values.All, got["values"])
	}
	if want.Keys.N == len(want.Keys.All) {
		requireNumbers(t, goldenValue{}, want.Keys.All, got["keys"])
	}
}

// requireNumbers compares numbers: those of float32 tensors as such, for the manifest has more
// digits of them.
func requireNumbers(t *testing.T, value goldenValue, want []any, got any) {
	t.Helper()
	numbers, _ := got.([]any)
	require.Len(t, numbers, len(want))
	for i := range want {
		if want[i] == "-0" {
			want[i] = json.Number("-0.0")
		}
		w, isNumber := want[i].(json.Number)
		g, _ := numbers[i].(json.Number)
		switch {
		case !isNumber || value.Type == nil:
			require.Equal(t, want[i], numbers[i])
		default:
			a, err := w.Float64()
			require.NoError(t, err)
			b, err := g.Float64()
			require.NoError(t, err)
			if *value.Type == float32Kind {
				a, b = float64(float32(a)), float64(float32(b))
			}
			require.Equal(t, a, b)
		}
	}
}

// misfits are the golden files with one record that no reader of rows accepts.
var misfits = []string{"sparse_duplicate_keys", "sparse_count_mismatch", "sparse_key_past_shape", "dense_shape_mismatch",
	"keys_uint64", "wire_overlong_varints"}

// Verify finds as many records good as are.
func TestVerifyGolden(t *testing.T) {
	dir, cases := goldenCases(t)
	for _, c := range cases {
		if len(c.Records) != c.NRecords || strings.Contains(c.Note, "Go's") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			good := c.NRecords
			for _, record := range c.Records {
				if record.PayloadError != nil {
					good--
				}
			}
			if slices.Contains(misfits, c.Name) {
				good--
			}
			var out bytes.Buffer
			verify := Verify{Inputs: []string{filepath.Join(dir, c.File)}, framing: c.framing()}
			err := verify.Run(t.Context(), console.Streams{Out: &out})
			if c.FramingError == "" && good == c.NRecords {
				require.NoError(t, err)
				require.Equal(t, fmt.Sprintf("good: %s\n", records(int64(good))), out.String())
				return
			}
			require.ErrorIs(t, err, console.ErrTold)
			require.Contains(t, out.String(), "damaged: "+filepath.Join(dir, c.File)+": recordio: record ")
			if c.FramingError == "" {
				require.Contains(t, out.String(), fmt.Sprintf("\n%s survive", records(int64(good))))
			}
		})
	}
}
