package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/platform/s3test"
	"github.com/algospec/algospec/recordio"
)

// children are the processes that this program starts of itself.
var children = map[string]func(context.Context, []string) error{
	"server": serve,
	"first":  func(context.Context, []string) error { algospec.Main(first); return nil },
}

const (
	features   = 50
	objectRows = 4000 // of the smallest object, 1 MB
)

// A set is a data set: so many objects, of so many times the smallest one.
type set struct {
	name         string
	objects, big int
}

var (
	small  = set{"10 objects of 1 MB", 10, 1}
	middle = set{"10 of 100 MB", 10, 100}
	large  = set{"10 of 1 GB", 10, 1000}
	many   = set{"1000 of 10 MB", 1000, 10}
	sets   = []set{small, middle, large, many}
)

// folder is where a set is.
func (s set) folder() string { return fmt.Sprintf("%dx%d/", s.objects, s.big) }

// serve serves the data sets until its input ends. It prints its address and
// the size of the smallest object.
func serve(ctx context.Context, _ []string) error {
	server := s3test.New()
	defer server.Close()
	object, err := rows()
	if err != nil {
		return err
	}
	for _, s := range sets {
		first := s.folder() + "part-00000"
		var body []io.Reader
		for range s.big {
			body = append(body, bytes.NewReader(object))
		}
		if err := server.Put("data", first, io.MultiReader(body...)); err != nil {
			return err
		}
		for i := range s.objects - 1 {
			if _, err := server.Client().CopyObject(ctx, &s3.CopyObjectInput{
				Bucket: aws.String("data"), Key: aws.String(fmt.Sprintf("%spart-%05d", s.folder(), i+1)), CopySource: aws.String("data/" + first),
			}); err != nil {
				return err
			}
		}
	}
	fmt.Println(server.URL, len(object))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// rows are an object of RecordIO-protobuf.
func rows() ([]byte, error) {
	var object bytes.Buffer
	w, random := recordio.NewWriter(&object), rand.New(rand.NewPCG(1, 2))
	row := make([]float32, features)
	for range objectRows {
		for i := range row {
			row[i] = float32(random.NormFloat64()) * float32(i+1)
		}
		if err := w.WriteRow(row, 0); err != nil {
			return nil, err
		}
	}
	err := w.Flush()
	return object.Bytes(), err
}

// first is an algorithm that ends when it has its first record, and says when
// that was.
func first(ctx context.Context, job *algospec.Job, p algorithms.Batching) error {
	for batch, err := range algorithms.Batches(ctx, job.Channel("train"), p) {
		if err != nil {
			return err
		}
		fmt.Printf("first record at %d\n", time.Now().UnixMicro())
		return job.Model.Save("rows.json", algospec.JSON(batch.Rows()))
	}
	return io.ErrUnexpectedEOF
}
