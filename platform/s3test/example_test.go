package s3test_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/platform/s3test"
)

func ExampleNew() {
	server := s3test.New()
	defer server.Close()
	if err := server.Put("data", "train/part-0", strings.NewReader("1,2,3\n")); err != nil {
		panic(err)
	}
	out, err := server.Client().GetObject(context.Background(), &s3.GetObjectInput{
		Bucket: aws.String("data"),
		Key:    aws.String("train/part-0"),
	})
	if err != nil {
		panic(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	fmt.Printf("%s%v\n", body, err)
	// Output:
	// 1,2,3
	// <nil>
}

func ExampleServer_SetFault() {
	server := s3test.New()
	defer server.Close()
	if err := server.Put("data", "part-0", strings.NewReader("0123456789")); err != nil {
		panic(err)
	}
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodGet {
			return &s3test.Fault{At: 4, Cut: true}
		}
		return nil
	})
	out, err := server.Client().GetObject(context.Background(), &s3.GetObjectInput{
		Bucket: aws.String("data"),
		Key:    aws.String("part-0"),
	})
	if err != nil {
		panic(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	fmt.Printf("%s, %v\n", body, err)
	// Output: 0123, unexpected EOF
}
