package textrows_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/textrows"
)

func readCSV(text string) (rows [][]float32, err error) {
	for row, err := range textrows.NewCSV(strings.NewReader(text)).All() {
		if err != nil {
			return rows, err
		}
		rows = append(rows, append([]float32(nil), row...))
	}
	return rows, nil
}

func TestCSV(t *testing.T) {
	want := [][]float32{{1, 2.5}, {-300, 0.25}}
	for name, text := range map[string]string{
		"LF":                         "1,2.5\n-3e2,.25\n",
		"CRLF":                       "1,2.5\r\n-3e2,.25\r\n",
		"no end of the last line":    "1,2.5\n-3e2,.25",
		"CR ends the last line":      "1,2.5\n-3e2,.25\r",
		"blanks around numbers":      " 1 ,\t2.5\n-3e2 , .25\t\n",
		"quoted fields":              "\"1\",2.5\n\"-3e2\",\".25\"\n",
		"blanks about quotes' start": "1, \"2.5\"\n-3e2,\" .25 \"\n",
		"empty lines":                "\n1,2.5\n\r\n\n-3e2,.25\n\n",
		"byte order mark":            "\xef\xbb\xbf1,2.5\n-3e2,.25\n",
		"byte order mark and quote":  "\xef\xbb\xbf\"1\",2.5\n-3e2,.25\n",
	} {
		rows, err := readCSV(text)
		require.NoError(t, err, name)
		require.Equal(t, want, rows, name)
	}
	rows, err := readCSV("")
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestCSVErrorsNameThePlace(t *testing.T) {
	const header = " (a header line? there must be none)"
	for text, want := range map[string]string{
		"id,age\n1,2\n":                     `line 1, column 1: "id": not a number` + header,
		"1,2\n3,x\n":                        `line 2, column 2: "x": not a number`,
		"1,2\n\n3,1 2\n":                    `line 3, column 2: "1 2": not a number`,
		"1,2\n,4\n":                         `line 2, column 1: no number`,
		"1,2\n3,\n":                         `line 2, column 2: no number`,
		"1,2\n \n":                          `line 2, column 1: no number`,
		"1,2\n3,\"\"\n":                     `line 2, column 2: no number`,
		"1,2\nNaN,4\n":                      `line 2, column 1: "NaN": not a finite number`,
		"1,2\n3,-Inf\n":                     `line 2, column 2: "-Inf": not a finite number`,
		"1,2\n3,1e39\n":                     `line 2, column 2: "1e39": too large for float32`,
		"1,2\n3,0x10\n":                     `line 2, column 2: "0x10": not a number`,
		"1,2\n3,1_0\n":                      `line 2, column 2: "1_0": not a number`,
		"1,2\n3,\"4\n5\"\n":                 `line 2, column 2: "\"4": a quoted field that does not end on its line`,
		"1,2\n\"3\"x,4\n":                   `line 2, column 1: "\"3\"x,4": text after a quoted field`,
		"1,2\n3,\"4\"\"5\"\n":               `line 2, column 2: "\"4\"\"5\"": text after a quoted field`,
		"1,2\n3\n":                          `line 2: 1 columns, want 2`,
		"1,2\n3,4,5\n":                      `line 2: 3 columns, want 2`,
		"1;2\n":                             `line 1, column 1: "1;2": not a number` + header,
		"1,2\n3," + strings.Repeat("x", 99): `line 2, column 2: "` + strings.Repeat("x", 64) + `"…: not a number`,
	} {
		_, err := readCSV(text)
		require.EqualError(t, err, want, "%q", text)
		var client interface{ ClientError() bool }
		require.ErrorAs(t, err, &client)
		require.True(t, client.ClientError())
	}
}

func TestCSVTakesTheWidthAsked(t *testing.T) {
	rows := textrows.NewCSV(strings.NewReader("1,2\n"))
	rows.Columns = 3
	_, err := rows.Next()
	require.EqualError(t, err, "line 1: 2 columns, want 3")
}

func TestCSVTakesNonFiniteNumbersWhereAsked(t *testing.T) {
	rows := textrows.NewCSV(strings.NewReader("nan,NaN,inf,-Infinity,+Inf\n"))
	rows.NonFinite = true
	row, err := rows.Next()
	require.NoError(t, err)
	require.Equal(t, "[NaN NaN +Inf -Inf +Inf]", strings.ReplaceAll(formatRow(row), ",", " "))
}

func formatRow(row []float32) string {
	var fields []string
	for _, x := range row {
		fields = append(fields, strconv.FormatFloat(float64(x), 'g', -1, 32))
	}
	return "[" + strings.Join(fields, ",") + "]"
}

func TestFile(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain.csv")
	require.NoError(t, os.WriteFile(plain, []byte("1,2\n3,4\n5,x\n"), 0o600))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte("1,2\n3,4\n5,x\n"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	zipped := filepath.Join(t.TempDir(), "data.csv.gz")
	require.NoError(t, os.WriteFile(zipped, packed.Bytes(), 0o600))

	for _, path := range []string{plain, zipped} {
		count := 0
		for _, err := range textrows.File(path) {
			if count++; count <= 2 {
				require.NoError(t, err)
				continue
			}
			require.EqualError(t, err, path+`: line 3, column 2: "x": not a number`)
		}
		require.Equal(t, 3, count)
	}
	for _, err := range textrows.File(plain + ".absent") {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

// isOddSpace reports what encoding/csv trims and this package does not.
func isOddSpace(c rune) bool { return unicode.IsSpace(c) && c != ' ' && c != '\t' && c != '\n' }

// FuzzCSV checks that what is accepted means the same to encoding/csv and strconv, and that what
// those accept is accepted here, but for non-finite and
// hexadecimal numbers, underscores, and spaces other than blanks and tabs.
func FuzzCSV(f *testing.F) {
	for _, text := range samples["csv"] {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkDeliveries(t, "csv", text)
		rows, err := readCSV(string(text))
		lines := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
		lines.TrimLeadingSpace = true
		for _, row := range rows {
			fields, stdErr := lines.Read()
			require.NoError(t, stdErr)
			require.Len(t, fields, len(row))
			for j, field := range fields {
				x, stdErr := strconv.ParseFloat(strings.Trim(field, " \t"), 32)
				require.NoError(t, stdErr)
				require.Equal(t, bitsOf([]float32{float32(x)}), bitsOf(row[j:j+1]), field)
			}
		}
		if err == nil {
			_, stdErr := lines.Read()
			require.Equal(t, io.EOF, stdErr)
			return
		}
		fields, stdErr := lines.Read()
		if stdErr != nil || strings.ContainsFunc(strings.ReplaceAll(string(text), "\r\n", "\n"), isOddSpace) {
			return
		}
		for _, field := range fields {
			if x, err := strconv.ParseFloat(field, 32); err != nil || x-x != 0 || strings.ContainsAny(field, "xX_") {
				return
			}
		}
		t.Fatalf("row %d: encoding/csv and strconv accept %q; got %v", len(rows), fields, err)
	})
}
