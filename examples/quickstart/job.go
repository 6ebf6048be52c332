package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3test"
)

const (
	bucket     = "quickstart"
	trainKey   = "data/train/"
	outputPath = "s3://quickstart/models"
)

// A job is the data in the embedded S3, and the training job on them.
type job struct {
	server        *s3test.Server
	rows, columns int
	directions    *mat.Dense
	components    int
	result        *platform.Result
}

// newJob starts S3 and stores the data.
func newJob(ctx context.Context, s settings, messages io.Writer) (_ *job, err error) {
	j := &job{}
	if j.server, err = s3test.Start(s3test.Options{}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			j.close()
		}
	}()
	if err := j.server.CreateBucket(bucket); err != nil {
		return nil, err
	}
	data := newDataset(s)
	j.directions = data.directions
	bar := newProgress(messages, "storing rows in S3", int64(data.expect), "rows")
	j.rows, j.columns, err = data.store(ctx, j.server.Client(), bucket, trainKey, func(rows int) { bar.set(int64(rows)) })
	bar.done()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil && j.rows == 0 {
		err = errors.New("there are no rows to train on")
	}
	j.components = min(s.components, j.columns)
	return j, err
}

func (j *job) close() { j.server.Close() }

// The metrics that the PCA container prints and the platform scrapes.
var metrics = []platform.MetricDefinition{
	{Name: "train:explained_variance", Regex: `#quality_metric: host=\S+, train explained_variance <score>=(\S+)`},
	{Name: "train:records", Regex: `"training_data_iter".*"Total Records Seen": \{"sum": ([0-9.e+]+)`},
	{Name: "train:update_ms", Regex: `"update.time": \{"sum": ([0-9.e+-]+)`},
}

// train runs the PCA container on the data.
func (j *job) train(ctx context.Context, s settings, messages io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var log io.Writer
	if s.log {
		log = messages
	}
	bar := &trainingBar{messages: messages, began: time.Now()}
	j.result, err = platform.Run(ctx, platform.Job{
		Name:    "quickstart-pca",
		Command: []string{self},
		HyperParameters: hyperparams.Map{
			"feature_dim":     strconv.Itoa(j.columns),
			"num_components":  strconv.Itoa(j.components),
			"mini_batch_size": "1000",
		},
		Channels:          []platform.Channel{{Name: "train", S3URI: "s3://" + bucket + "/" + trainKey, ContentType: "application/x-recordio-protobuf"}},
		OutputPath:        outputPath,
		MetricDefinitions: metrics,
		S3:                j.server.Client(),
		Grace:             5 * time.Second, // a quickstart ends quickly
		Log:               log,
		Progress:          bar.show,
	})
	bar.done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// A trainingBar shows how much of the data the container has taken.
type trainingBar struct {
	messages io.Writer
	began    time.Time
	progress *progress // nil until the size of the data is known
}

func (b *trainingBar) show(p platform.Progress) {
	if len(p.Channels) == 0 { // the job has only begun
		return
	}
	channel := p.Channels[0]
	if b.progress == nil {
		b.progress = newProgress(b.messages, "training on the stream", channel.EpochBytes, "bytes")
		b.progress.began = b.began
	}
	b.progress.set(channel.Bytes)
}

func (b *trainingBar) done() {
	if b.progress != nil {
		b.progress.done()
	}
}

// copyModel copies the stored model to a file.
func (j *job) copyModel(ctx context.Context, path string) error {
	object, err := j.open(ctx, j.result.ModelArtifacts)
	if err != nil {
		return err
	}
	defer object.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, bufio.NewReader(object))
}

// key returns the key part of an S3 URI in our bucket.
func key(uri string) (string, error) {
	key, ok := strings.CutPrefix(uri, "s3://"+bucket+"/")
	if !ok {
		return "", fmt.Errorf("%q is not in bucket %s", uri, bucket)
	}
	return key, nil
}
