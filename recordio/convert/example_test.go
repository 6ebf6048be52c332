package convert_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/algospec/algospec/recordio/convert"
)

// CSV, with the label in front, becomes RecordIO-protobuf, and that becomes JSON lines.
func Example() {
	src, err := convert.NewReader(convert.CSV, strings.NewReader("1,0.5,2\n0,0.25,4\n"), convert.ReadOptions{LabelSize: 1})
	if err != nil {
		panic(err)
	}
	var records bytes.Buffer
	dst, err := convert.NewWriter(convert.RecordIO, &records, convert.WriteOptions{})
	if err != nil {
		panic(err)
	}
	rows, err := convert.Copy(dst, src)
	if err != nil {
		panic(err)
	}
	if err := dst.Close(); err != nil {
		panic(err)
	}
	fmt.Println(rows, "rows")

	src, err = convert.NewReader(convert.RecordIO, &records, convert.ReadOptions{})
	if err != nil {
		panic(err)
	}
	dst, err = convert.NewWriter(convert.JSONLines, os.Stdout, convert.WriteOptions{})
	if err != nil {
		panic(err)
	}
	if _, err := convert.Copy(dst, src); err != nil {
		panic(err)
	}
	if err := dst.Close(); err != nil {
		panic(err)
	}
	// Output:
	// 2 rows
	// {"features":[0.5,2],"label":1}
	// {"features":[0.25,4],"label":0}
}

// A text is cut into shards as the SageMaker Python SDK would upload it: one pass counts, another
// one writes.
func ExampleShard() {
	const text = "1,2\n3,4\n5,6\n7,8\n9,10\n"
	open := func() convert.Reader {
		r, err := convert.NewReader(convert.CSV, strings.NewReader(text), convert.ReadOptions{})
		if err != nil {
			panic(err)
		}
		return r
	}
	rows, columns, err := convert.Count(open())
	if err != nil {
		panic(err)
	}
	discard := func(name string) (io.WriteCloser, error) { return &shardFile{}, nil }
	names, err := convert.Shard(discard, open(), rows, 2)
	if err != nil {
		panic(err)
	}
	fmt.Println(rows, columns)
	fmt.Printf("%s\n", convert.Manifest("s3://bucket/train", names))
	// Output:
	// 5 2
	// [{"prefix": "s3://bucket/train/"}, "matrix_0.pbr", "matrix_1.pbr"]
}
