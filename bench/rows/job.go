package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/bench/internal/datasets"
	"github.com/algospec/algospec/bench/internal/jobs"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

const columns = 50

// algorithms are the jobs, with the originals' defaults where nothing is said.
var algorithms = []struct {
	name string
	run  func(ctx context.Context, dir string, source channel.Source) (*jobs.Result, error)
}{
	{"PCA, 10 components", func(ctx context.Context, dir string, source channel.Source) (*jobs.Result, error) {
		return jobs.Run(ctx, dir, pca.Train, source, hyperparams.Map{"feature_dim": "50", "mini_batch_size": "5000", "num_components": "10"})
	}},
	{"k-means, k=10 of 100 centers", func(ctx context.Context, dir string, source channel.Source) (*jobs.Result, error) {
		return jobs.Run(ctx, dir, kmeans.Train, source, hyperparams.Map{"feature_dim": "50", "k": "10", "_seed": "1"})
	}},
	// By default the threshold and the area under the curve are of the first 10 million rows, which are kept: 4 bytes each.
	{"linear learner, 32 models, one epoch, threshold of 100,000 rows", func(ctx context.Context, dir string, source channel.Source) (*jobs.Result, error) {
		return jobs.Run(ctx, dir, linearlearner.Train, source, hyperparams.Map{"predictor_type": "binary_classifier", "epochs": "1", "num_calibration_samples": "100000"})
	}},
}

// job is one job, in its own process: ALGORITHM ROWS.
func job(ctx context.Context, args []string) error {
	rows, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-rows-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, err := newSource(rows)
	if err != nil {
		return err
	}
	for _, a := range algorithms {
		if a.name == args[0] {
			_, err := a.run(ctx, dir, source)
			return err
		}
	}
	return errors.New("no such algorithm")
}

// A source makes rows as they are read: a block of them over and over, up to a number of rows.
type source struct {
	block []byte
	size  int64 // bytes of an epoch
}

func newSource(rows int) (*source, error) {
	const blockRows = 20000
	block, err := datasets.Linear(blockRows, columns, true, 1).Records()
	if err != nil {
		return nil, err
	}
	return &source{block, int64(len(block)) / blockRows * int64(rows)}, nil
}

func (s *source) Open(context.Context, int) (io.ReadCloser, error) {
	return io.NopCloser(io.LimitReader(&repeated{block: s.block}, s.size)), nil
}

// repeated reads the block over and over.
type repeated struct {
	block []byte
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.block[r.at:])
	r.at = (r.at + n) % len(r.block)
	return n, nil
}

// peak returns the peak memory in bytes.
func peak(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
