package recordio_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/algospec/algospec/recordio"
	"github.com/algospec/algospec/recordio/recordpb"
)

// Rows, sparse rows and whole records go into one stream.
func ExampleWriter() {
	var stream bytes.Buffer
	w := recordio.NewWriter(&stream)
	w.WriteRow([]float32{1, 2, 3}, 7)
	w.WriteSparseRow(1000, []int32{3, 300}, []float32{0.5, 2}, 8)
	w.WriteRecord(&recordpb.Record{
		Uid: proto.String("row-2"),
		Features: map[string]*recordpb.Value{"image": {Value: &recordpb.Value_Bytes{
			Bytes: &recordpb.Bytes{Value: [][]byte{{0xff, 0xd8}}, ContentType: proto.String("image/jpeg")},
		}}},
	})
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(stream.Len(), "bytes")
	// Output: 164 bytes
}

// A file is read in a loop over its records, each decoded without making it dense.
func ExampleRowDecoder_DecodeSparse() {
	path := filepath.Join(os.TempDir(), "algospec-example.pbr")
	defer os.Remove(path)
	file, err := os.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := recordio.NewWriter(file)
	w.WriteSparseRow(1000, []int32{3, 300}, []float32{0.5, 2}, 8)
	w.Flush()
	file.Seek(0, 0)

	var rows recordio.RowDecoder
	records := recordio.NewReader(file)
	for payload, err := range records.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		row, err := rows.DecodeSparse(payload)
		if err != nil {
			fmt.Println(records.At(err))
			return
		}
		fmt.Println(row.Columns, row.Keys, row.Values, row.Label)
	}
	file.Close()
	// Output: 1000 [3 300] [0.5 2] [8]
}
