package recordio_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

// sparseStream is rows with 50 of 10,000 columns.
func sparseStream(b *testing.B) []byte {
	b.Helper()
	keys, values := make([]int32, 50), make([]float32, 50)
	var stream bytes.Buffer
	w := recordio.NewWriter(&stream)
	for i := 0; stream.Len() < benchBytes; i++ {
		for j := range keys {
			keys[j], values[j] = int32(200*j+(i*7+j*13)%200), float32(i+j)
		}
		if err := w.WriteSparseRow(10_000, keys, values, float32(i%2)); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return stream.Bytes()
}

func benchSparse(b *testing.B, decode func(payload []byte) (n int, err error)) {
	stream := sparseStream(b)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		for payload, err := range recordio.NewReader(bytes.NewReader(stream)).All() {
			n := 0
			if err == nil {
				n, err = decode(payload)
			}
			if err != nil || n != 50 {
				b.Fatal(n, err)
			}
		}
	}
}

func BenchmarkSparseRows(b *testing.B) {
	var decoder recordio.RowDecoder
	benchSparse(b, func(payload []byte) (int, error) {
		row, err := decoder.DecodeSparse(payload)
		return len(row.Keys), err
	})
}

// BenchmarkSparseRowsByMessage does the same with the generated message.
func BenchmarkSparseRowsByMessage(b *testing.B) {
	var record recordpb.Record
	keys, values := make([]int32, 0, 50), make([]float32, 0, 50)
	benchSparse(b, func(payload []byte) (int, error) {
		if err := proto.Unmarshal(payload, &record); err != nil {
			return 0, err
		}
		tensor := record.GetFeatures()["values"].GetFloat32Tensor()
		keys, values = keys[:0], append(values[:0], tensor.GetValues()...)
		for _, key := range tensor.GetKeys() {
			keys = append(keys, int32(key))
		}
		return len(keys), nil
	})
}
