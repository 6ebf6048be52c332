package recordio_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

// benchBytes is about the size of the streams that are read: larger than the caches.
const benchBytes = 64 << 20

func benchStream(b *testing.B, columns int) []byte {
	b.Helper()
	row := make([]float32, columns)
	var stream bytes.Buffer
	w := recordio.NewWriter(&stream)
	for i := 0; stream.Len() < benchBytes; i++ {
		for j := range row {
			row[j] = float32(i + j)
		}
		if err := w.WriteRow(row, float32(i%2)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return stream.Bytes()
}

func benchColumns(b *testing.B, run func(b *testing.B, columns int, stream []byte)) {
	for _, columns := range []int{50, 784} {
		b.Run(fmt.Sprintf("features=%d", columns), func(b *testing.B) {
			stream := benchStream(b, columns)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			run(b, columns, stream)
		})
	}
}

// BenchmarkMemcpy is the yardstick: one copy of the same bytes.
func BenchmarkMemcpy(b *testing.B) {
	benchColumns(b, func(b *testing.B, _ int, stream []byte) {
		dst := make([]byte, len(stream))
		for b.Loop() {
			copy(dst, stream)
		}
	})
}

func BenchmarkFraming(b *testing.B) {
	benchColumns(b, func(b *testing.B, _ int, stream []byte) {
		for b.Loop() {
			reader := recordio.NewReader(bytes.NewReader(stream))
			for _, err := range reader.All() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkRows reads frames and decodes them into the rows of a batch of 1,000.
func BenchmarkRows(b *testing.B) {
	benchRows(b, func() func(payload []byte, row []float32) error {
		var decoder recordio.RowDecoder
		return func(payload []byte, row []float32) error {
			_, err := decoder.Decode(payload, row)
			return err
		}
	})
}

// BenchmarkRowsByMessage does the same with the generated message.
func BenchmarkRowsByMessage(b *testing.B) {
	benchRows(b, func() func(payload []byte, row []float32) error {
		var record recordpb.Record
		return func(payload []byte, row []float32) error {
			if err := proto.Unmarshal(payload, &record); err != nil {
				return err
			}
			copy(row, record.GetFeatures()["values"].GetFloat32Tensor().GetValues())
			return nil
		}
	})
}

func benchRows(b *testing.B, newDecode func() func(payload []byte, row []float32) error) {
	benchColumns(b, func(b *testing.B, columns int, stream []byte) {
		batch := make([]float32, 1000*columns)
		for b.Loop() {
			decode := newDecode()
			reader := recordio.NewReader(bytes.NewReader(stream))
			for i := 0; ; i = (i + 1) % 1000 {
				payload, err := reader.Next()
				if err == io.EOF {
					break
				}
				if err == nil {
					err = decode(payload, batch[i*columns:][:columns])
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkWriteRow(b *testing.B) {
	benchColumns(b, func(b *testing.B, columns int, stream []byte) {
		row := make([]float32, columns)
		rows := len(stream) / (4 * columns)
		for b.Loop() {
			w := recordio.NewWriter(io.Discard)
			for range rows {
				if err := w.WriteRow(row, 1); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
