package filemode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/platform/filemode"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func ExampleDownload() {
	server := s3test.New()
	defer server.Close()
	if err := server.Put("bucket", "train/2024/part-0.csv", strings.NewReader("1,2,3\n")); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	const uri = "s3://bucket/train/"
	objects, err := s3stream.ListTree(context.Background(), server.Client(), uri)
	if err != nil {
		panic(err)
	}
	files, err := s3stream.Layout(uri, objects)
	if err != nil {
		panic(err)
	}
	if err := filemode.Download(context.Background(), server.Client(), dir, files, filemode.Options{}); err != nil {
		panic(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "2024", "part-0.csv"))
	fmt.Printf("%s%v\n", body, err)
	// Output:
	// 1,2,3
	// <nil>
}
