package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/internal/rusage"
)

// conclude fetches the model and prints the table.
func (j *job) conclude(ctx context.Context, s settings, out io.Writer) error {
	err := j.report(ctx, s, out)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// report prints the table.
func (j *job) report(ctx context.Context, s settings, out io.Writer) error {
	model, err := j.model(ctx)
	if err != nil {
		return err
	}
	if err := j.copyModel(ctx, s.model); err != nil {
		return err
	}
	train := j.result.Channels[0]
	streaming := time.Duration(j.result.Metrics["train:update_ms"] * float64(time.Millisecond))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(table, name+"\t"+format+"\n", args...) }
	row("rows", "%s of %d features", count(int64(j.result.Metrics["train:records"])), j.columns)
	row("bytes", "%s", megabytes(train.Bytes))
	row("throughput", "%s/s while training", megabytes(int64(float64(train.Bytes)/streaming.Seconds())))
	row("time to first record", "%.0f ms after the job's start", 1000*train.FirstByte.Seconds())
	row("training time", "%.1f s", j.result.TrainingTime.Seconds())
	row("explained variance", "%.2f %% by %d components", 100*j.result.Metrics["train:explained_variance"], j.components)
	if j.directions != nil {
		row("directions", "at most %.2f° from the true ones", worstAngle(model, j.directions))
	}
	row("peak memory", "%s the container, %s this program with S3 in it", megabytes(j.result.MaxRSS), megabytes(rusage.Self()))
	row("model", "%s", s.model)
	row("", "stored as %s", j.result.ModelArtifacts)
	return table.Flush()
}

// open returns an object of our bucket.
func (j *job) open(ctx context.Context, uri string) (io.ReadCloser, error) {
	key, err := key(uri)
	if err != nil {
		return nil, err
	}
	object, err := j.server.Client().GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	if err != nil {
		return nil, err
	}
	return object.Body, nil
}

// model reads the model from the archive that the job stored.
func (j *job) model(ctx context.Context) (*pca.Model, error) {
	object, err := j.open(ctx, j.result.ModelArtifacts)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	text, err := gzip.NewReader(object)
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(text); ; {
		header, err := archive.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: no %s: %w", j.result.ModelArtifacts, pca.ModelFile, err)
		}
		if header.Name == pca.ModelFile {
			var model pca.Model
			_, err := model.ReadFrom(archive)
			return &model, err
		}
	}
}

// worstAngle returns the largest angle, in degrees, between a true direction and the component
// found for it. The model's components ascend, the directions descend.
func worstAngle(m *pca.Model, directions *mat.Dense) float64 {
	d, k := directions.Dims()
	worst := 0.0
	for j := range min(k, m.V.Cols) {
		dot := 0.0
		for i := range d {
			dot += directions.At(i, j) * float64(m.V.Data[i*m.V.Stride+m.V.Cols-1-j])
		}
		worst = max(worst, math.Acos(min(1, math.Abs(dot))))
	}
	return worst * 180 / math.Pi
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// count prints a number with commas.
func count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
