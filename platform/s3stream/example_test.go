package s3stream_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func ExampleSource() {
	server := s3test.New()
	defer server.Close()
	for key, body := range map[string]string{"train/1": "a,1\n", "train/2": "b,2\n", "test/1": "c,3\n"} {
		if err := server.Put("data", key, strings.NewReader(body)); err != nil {
			panic(err)
		}
	}

	ctx, client := context.Background(), server.Client()
	objects, err := s3stream.List(ctx, client, "s3://data/train/")
	if err != nil {
		panic(err)
	}
	epoch, err := s3stream.NewSource(client, objects, s3stream.Options{}).Open(ctx, 0)
	if err != nil {
		panic(err)
	}
	defer epoch.Close()
	if _, err := io.Copy(os.Stdout, epoch); err != nil {
		panic(err)
	}
	// Output:
	// a,1
	// b,2
}

func ExampleList() {
	server := s3test.New()
	defer server.Close()
	if err := server.CreateBucket("data"); err != nil {
		panic(err)
	}
	_, err := s3stream.List(context.Background(), server.Client(), "s3://data/train/")
	text, _, _ := strings.Cut(err.Error(), ". ")
	fmt.Println(text)
	// Output: No S3 objects found under S3 URL "s3://data/train/" given in input data source
}
