package fastfile_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/algospec/algospec/platform/fastfile"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func ExampleNew() {
	server := s3test.New()
	defer server.Close()
	if err := server.Put("data", "train/part-0", strings.NewReader("1,2,3\n")); err != nil {
		panic(err)
	}
	ctx, client := context.Background(), server.Client()
	objects, err := s3stream.List(ctx, client, "s3://data/train/")
	if err != nil {
		panic(err)
	}
	var files []s3stream.File
	for _, o := range objects {
		files = append(files, s3stream.File{Path: strings.TrimPrefix(o.Key, "train/"), Object: o})
	}
	fsys, err := fastfile.New(ctx, client, files, fastfile.Options{})
	if err != nil {
		panic(err)
	}
	defer fsys.Close()
	content, err := fsys.ReadFile("part-0")
	fmt.Printf("%s%v, %d request\n", content, err, fsys.Stats().Requests)
	// Output:
	// 1,2,3
	// <nil>, 1 request
}
