package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/picture"
	"github.com/algospec/algospec/platform/s3stream"
)

// An ended is a job at its end.
type ended struct {
	name   string
	result *platform.Result
	err    error
	curves *picture.Curves
}

// conclude fetches what the job has stored, tells how it went, and returns the error that its end is.
func (c *Run) conclude(ctx context.Context, streams console.Streams, data *staged, end ended) error {
	result, err := end.result, end.err
	if result == nil {
		return atFault(err)
	}
	ctx = context.WithoutCancel(ctx) // a job that was stopped has stored something all the same
	stored := errors.Join(c.fetch(ctx, streams, data, result), c.draw(streams, data, end.name, result, end.curves))
	c.summarize(streams, result)
	failed, isFailure := errors.AsType[*platform.FailedError](err)
	switch {
	case isFailure:
		fmt.Fprintf(streams.Err, "algospec: %s\n", console.Harmless(failed.Error()))
		err = statusOf(failed)
	case errors.Is(err, platform.ErrStopped) && result.SecondaryStatus == platform.Stopped:
		fmt.Fprintln(streams.Err, "algospec: stopped")
		err = console.StatusError{Status: console.ExitInterrupted, Err: console.ErrTold}
	}
	if stored != nil {
		fmt.Fprintf(streams.Err, "algospec: %s\n", console.Harmless(stored.Error()))
		if err == nil {
			err = console.ErrTold
		}
	}
	return err
}

// statusOf is the exit status of a failure.
func statusOf(failed *platform.FailedError) error {
	status := console.ExitFailure
	if strings.HasPrefix(failed.Reason, "ClientError: ") {
		status = console.ExitUsage
	}
	return console.StatusError{Status: status, Err: console.ErrTold}
}

// fetch brings the model and the output here, where they are wanted here.
func (c *Run) fetch(ctx context.Context, streams console.Streams, data *staged, result *platform.Result) error {
	if c.ModelOut != "" && result.ModelArtifacts != "" {
		if !strings.HasSuffix(result.ModelArtifacts, ".tar.gz") {
			return fmt.Errorf("--model-out: the model is not one object: %s", result.ModelArtifacts)
		}
		if err := download(ctx, data.client, result.ModelArtifacts, c.ModelOut); err != nil {
			return err
		}
		fmt.Fprintln(streams.Err, "model   "+c.ModelOut)
	}
	for _, stored := range []struct{ name, uri string }{{"model ", result.ModelArtifacts}, {"output", result.Output}} {
		if stored.uri == "" {
			continue
		}
		where := stored.uri
		if data.output != "" {
			var err error
			if where, err = data.bring(ctx, stored.uri); err != nil {
				return err
			}
		}
		fmt.Fprintf(streams.Err, "%s  %s\n", stored.name, console.Printable(where))
	}
	return nil
}

// bring copies all objects below a URI into the output directory, and returns where they are.
func (d *staged) bring(ctx context.Context, uri string) (string, error) {
	objects, err := s3stream.ListTree(ctx, d.client, uri)
	if err != nil {
		return "", err
	}
	root := "s3://" + bucket + "/output/"
	for _, o := range objects {
		relative := strings.TrimPrefix("s3://"+o.Bucket+"/"+o.Key, root)
		if !filepath.IsLocal(relative) || !fs.ValidPath(relative) {
			return "", fmt.Errorf("%q: no name for a file", relative)
		}
		to := filepath.Join(d.output, relative)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		if err := download(ctx, d.client, "s3://"+o.Bucket+"/"+o.Key, to); err != nil {
			return "", err
		}
	}
	return filepath.Join(d.output, strings.TrimPrefix(uri, root)), nil
}

// download copies an object to a file, which appears when it is whole.
func download(ctx context.Context, client *s3.Client, uri, to string) error {
	from, key, err := s3stream.ParseURI(uri)
	if err != nil {
		return err
	}
	object, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(from), Key: aws.String(key)})
	if err != nil {
		return fmt.Errorf("%s: %w", uri, err)
	}
	defer object.Body.Close()
	return atomicfile.Write(to, body{object.Body})
}

type body struct{ io.Reader }

func (b body) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, b.Reader) }

// summarize tells of times and metrics.
func (c *Run) summarize(streams console.Streams, result *platform.Result) {
	for _, name := range slices.Sorted(maps.Keys(result.Metrics)) {
		fmt.Fprintf(streams.Err, "metric  %s = %g\n", console.Printable(name), result.Metrics[name])
	}
	if result.TrainingTime > 0 {
		fmt.Fprintf(streams.Err, "%s after %s of training on %s\n", result.SecondaryStatus, console.Seconds(result.TrainingTime),
			console.Count(int64(max(1, len(result.Hosts))), "host", "hosts"))
	}
}
