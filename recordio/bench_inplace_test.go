package recordio_test

import (
	"testing"

	"github.com/algospec/algospec/recordio"
)

// BenchmarkRowsInPlace reads the rows of a stream that is in memory, of which only the values are
// copied.
func BenchmarkRowsInPlace(b *testing.B) {
	benchColumns(b, func(b *testing.B, columns int, stream []byte) {
		batch := make([]float32, 1000*columns)
		for b.Loop() {
			var decoder recordio.RowDecoder
			i := 0
			for payload, err := range recordio.NewBytesReader(stream).All() {
				if err == nil {
					_, err = decoder.Decode(payload, batch[i*columns:][:columns])
				}
				if err != nil {
					b.Fatal(err)
				}
				i = (i + 1) % 1000
			}
		}
	})
}
