package textrows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/textrows"
)

func TestLibSVM(t *testing.T) {
	const text = "1 1:0.5 3:-2 # comment\n\n# nothing but a comment\n-1,2\t qid:4  7:1e3 2:1 \n0\n2:5\n"
	var rows []string
	for row, err := range textrows.NewLibSVM(strings.NewReader(text)).All() {
		require.NoError(t, err)
		require.NotNil(t, row.Keys)
		require.Zero(t, row.Columns)
		rows = append(rows, formatKeys(row.Keys)+formatRow(row.Values)+formatRow(row.Label))
	}
	require.Equal(t, []string{"[0,2][0.5,-2][1]", "[6,1][1000,1][-1,2]", "[][][0]", "[1][5][]"}, rows)
}

func formatKeys(keys []int32) string {
	row := make([]float32, len(keys))
	for i, key := range keys {
		row[i] = float32(key)
	}
	return formatRow(row)
}

func TestLibSVMErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"1 1:2\n1 a:1\n":        `line 2: "a:1": the index is not a whole number`,
		"1 -1:1\n":              `line 1: "-1:1": the index is not a whole number`,
		"1 :1\n":                `line 1: ":1": no index`,
		"1 0:1\n":               `line 1: "0:1": index 0, where the first is 1`,
		"1 2147483648:1\n":      `line 1: "2147483648:1": the index is too large`,
		"1 4:1\n":               `line 1: "4:1": past the last of 3 columns`,
		"1 1:\n":                `line 1: "1:": no number`,
		"1 1:x\n":               `line 1: "1:x": not a number`,
		"1 1:nan\n":             `line 1: "1:nan": not a finite number`,
		"1 1:2:3\n":             `line 1: "1:2:3": not a number`,
		"x 1:1\n":               `line 1: "x": as a label: not a number`,
		"1, 1:1\n":              `line 1: "1,": as a label: no number`,
		"1 1:1 7\n":             `line 1: "7": not index:value`,
		"1 2:1 1:1 2:2\n":       `line 1: index 2 twice`,
		"# a\n1 1:1\n1 1 1:1\n": `line 3: "1": not index:value`,
	} {
		rows := textrows.NewLibSVM(strings.NewReader(text))
		rows.Columns = 3
		_, err := rows.Next()
		if err == nil {
			_, err = rows.Next()
		}
		require.EqualError(t, err, want, "%q", text)
	}
}

func TestLibSVMCountsFromZeroWhereAsked(t *testing.T) {
	rows := textrows.NewLibSVM(strings.NewReader("1 0:1 2147483646:1\n1 2147483647:1\n"))
	rows.FromZero = true
	row, err := rows.Next()
	require.NoError(t, err)
	require.Equal(t, []int32{0, 2147483646}, row.Keys)
	_, err = rows.Next()
	require.EqualError(t, err, `line 2: "2147483647:1": the index is too large`)
}

func TestJSONLines(t *testing.T) {
	const text = `{"features": [1.5, 16.0], "other": {"features": 1}}
{"data": {"features": {"values": [1, 2]}}, "label": 3}

{"data": {"features": {"keys": [182, 26], "shape": [2000], "values": [1, 4]}}, "label": [1, 0]}
{"data": {"features": {"shape": [2, 2]}}}
{"data": {"features": {"keys": [3], "values": [7]}}}
`
	want := []textrows.Row{
		{Columns: 2, Values: []float32{1.5, 16}},
		{Columns: 2, Values: []float32{1, 2}, Label: []float32{3}},
		{Columns: 2000, Keys: []int32{182, 26}, Values: []float32{1, 4}, Label: []float32{1, 0}},
		{Columns: 4, Keys: []int32{}},
		{Keys: []int32{3}, Values: []float32{7}},
	}
	i := 0
	for row, err := range textrows.NewJSONLines(strings.NewReader(text)).All() {
		require.NoError(t, err)
		require.Equal(t, want[i].Columns, row.Columns)
		require.Equal(t, want[i].Keys, row.Keys)
		require.Equal(t, formatRow(want[i].Values), formatRow(row.Values))
		require.Equal(t, formatRow(want[i].Label), formatRow(row.Label))
		i++
	}
	require.Len(t, want, i)
}

func TestJSONLinesErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\"features\":[1]}\n{\n": "line 2: unexpected end of JSON input",
		`{}`:                      `line 1: no "features"`,
		`{"features":[1,null]}`:   `line 1: "null": not a number`,
		`{"features":["1"]}`:      `line 1: "\"1\"": not a number`,
		`{"features":[[1]]}`:      `line 1: "[1]": not a number`,
		`{"features":[1e39]}`:     `line 1: "1e39": too large for float32`,
		`{"data":{"features":{"values":[1],"shape":[2]}}}`:                    `line 1: 1 values in a shape of 2`,
		`{"data":{"features":{"keys":[1],"values":[1,2]}}}`:                   `line 1: 1 keys for 2 values`,
		`{"data":{"features":{"keys":[4],"shape":[4],"values":[1]}}}`:         `line 1: key 4 in a row of 4 features`,
		`{"data":{"features":{"keys":[1,0,1],"shape":[4],"values":[1,2,3]}}}`: `line 1: key 1 twice`,
		`{"data":{"features":{"keys":[-1],"shape":[4],"values":[1]}}}`:        `line 1: "-1": not a whole number from 0`,
		`{"data":{"features":{"shape":[65536,65536]}}}`:                       `line 1: the shape is too large`,
		`{"features":[1],"data":{"features":{"values":[1]}}}`:                 `line 1: features twice`,
	} {
		_, err := collect(textrows.NewJSONLines(strings.NewReader(text)).All())
		require.EqualError(t, err, want, text)
	}
}

func FuzzLibSVM(f *testing.F) {
	for _, text := range samples["libsvm"] {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkSparse(t, "libsvm", text) })
}

func FuzzJSONLines(f *testing.F) {
	for _, text := range samples["jsonlines"] {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkSparse(t, "jsonlines", text) })
}

// checkSparse checks what holds for every row that is accepted.
func checkSparse(t *testing.T, format string, text []byte) {
	checkDeliveries(t, format, text)
	for row, err := range readers[format](strings.NewReader(string(text))) {
		if err != nil {
			return
		}
		if row.Keys == nil {
			require.Len(t, row.Values, row.Columns)
			continue
		}
		require.Len(t, row.Values, len(row.Keys))
		seen := map[int32]bool{}
		for _, key := range row.Keys {
			require.GreaterOrEqual(t, key, int32(0))
			require.True(t, row.Columns == 0 || int(key) < row.Columns)
			require.False(t, seen[key])
			seen[key] = true
		}
	}
}
