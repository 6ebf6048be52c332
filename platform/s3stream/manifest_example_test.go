package s3stream_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func ExampleReadManifest() {
	server := s3test.New()
	defer server.Close()
	for key, body := range map[string]string{
		"train.json":     `[{"prefix": "s3://data/2026-"}, "02/part-0", "01/part-0"]`,
		"2026-01/part-0": "a,1\n", "2026-02/part-0": "b,22\n",
	} {
		if err := server.Put("data", key, strings.NewReader(body)); err != nil {
			panic(err)
		}
	}
	m, err := s3stream.ReadManifest(context.Background(), server.Client(), "s3://data/train.json")
	if err != nil {
		panic(err)
	}
	for _, o := range m.Objects {
		fmt.Println(o.Key, o.Size)
	}
	// Output:
	// 2026-02/part-0 5
	// 2026-01/part-0 4
}

func ExampleReadAugmented() {
	server := s3test.New()
	defer server.Close()
	lines := `{"source-ref": "s3://images/rose.jpg", "class": 3, "box": [0.10, 1e3], "note": "dark"}
{"class": 1, "box": [], "source-ref": "s3://images/tulip.jpg"}
`
	if err := server.Put("data", "train.manifest", strings.NewReader(lines)); err != nil {
		panic(err)
	}
	a, err := s3stream.ReadAugmented(context.Background(), server.Client(), "s3://data/train.manifest",
		[]string{"class", "box", "source-ref"})
	if err != nil {
		panic(err)
	}
	for i := range a.Len() {
		items, err := a.AppendUnit(nil, i)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s, %s, %s/%s\n", items[0].Text, items[1].Text, items[2].Object.Bucket, items[2].Object.Key)
	}
	// Output:
	// 3, [0.10,1e3], images/rose.jpg
	// 1, [], images/tulip.jpg
}
