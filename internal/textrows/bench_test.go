package textrows_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/algospec/algospec/internal/textrows"
)

// The numbers of the benchmarks: as float32, as float64 (the way Python prints them), and with
// few digits.
var formats = []struct {
	name string
	text func(x float64) string
}{
	{"float32", func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 32) }},
	{"float64", func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }},
	{"two-digits", func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }},
	{"savetxt", func(x float64) string { return strconv.FormatFloat(x, 'e', 18, 64) }},
}

func table(text func(float64) string) []byte {
	const rows, columns = 10_000, 50
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for range rows {
		for j := range columns {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(text(10 * random.NormFloat64()))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// BenchmarkCSV measures this package's reader against encoding/csv and strconv on the same text.
func BenchmarkCSV(b *testing.B) {
	for _, format := range formats {
		text := table(format.text)
		b.Run(format.name+"/textrows", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				rows := textrows.NewCSV(bytes.NewReader(text))
				for {
					if _, err := rows.Next(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(format.name+"/encoding-csv", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				readEncodingCSV(b, text)
			}
		})
	}
}

func readEncodingCSV(b *testing.B, text []byte) {
	lines := csv.NewReader(bytes.NewReader(text))
	lines.ReuseRecord = true
	var row []float32
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		row = row[:0]
		for _, field := range fields {
			x, err := strconv.ParseFloat(field, 32)
			if err != nil {
				b.Fatal(err)
			}
			row = append(row, float32(x))
		}
	}
}
