// Package jobs runs training jobs in this process, as a container would: hyperparameters as text, log lines, a model file.
package jobs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// A Result is what a job leaves behind.
type Result struct {
	Dir string // with the model; the caller removes it
	Log string
}

// Run runs a job on the RecordIO-protobuf of a source, and writes the model to a new directory in dir.
func Run[P any](ctx context.Context, dir string, train func(context.Context, *algospec.Job, P) error, source channel.Source, params hyperparams.Map) (*Result, error) {
	p, err := hyperparams.Parse[P](params)
	if err != nil {
		return nil, err
	}
	model, err := os.MkdirTemp(dir, "model-")
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	job := &algospec.Job{
		Model: algospec.Dir(model), Stdout: &log, HyperParameters: params,
		Channels: map[string]*channel.Channel{"train": {Name: "train", Source: source}},
	}
	if err := train(ctx, job, p); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log.Bytes())
	}
	return &Result{model, log.String()}, nil
}

// Read reads the job's model file.
func (r *Result) Read(name string, model io.ReaderFrom) error {
	file, err := os.Open(filepath.Join(r.Dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = model.ReadFrom(file)
	return err
}

// Metric returns the last value of a series in the job's log, such as "train msd <loss>" or "train throughput".
func (r *Result) Metric(name string) (float64, error) {
	found := regexp.MustCompile(regexp.QuoteMeta(name)+`=(\S+)`).FindAllStringSubmatch(r.Log, -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("no %s in the log", name)
	}
	return strconv.ParseFloat(found[len(found)-1][1], 64)
}
