// Quickstart runs one real training job on this machine, from S3 bytes to a model.
//
// It starts the embedded S3 server, stores a data set there as RecordIO-protobuf objects, runs the
// PCA container as a process of its own in Pipe mode, fetches the model back, and says how well
// the directions in the data were found. With -data it takes the rows of a CSV file instead of
// generated ones.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
)

func main() {
	// The container is this program too, started by the platform with the argument that the
	// contract names.
	if len(os.Args) > 1 && os.Args[1] == "train" {
		algospec.Main(pca.Train)
	}
	var s settings
	flag.StringVar(&s.data, "data", "", "CSV `file` of numbers, without header, gzipped or not; default: generated data")
	flag.IntVar(&s.rows, "rows", 500_000, "rows to generate")
	flag.IntVar(&s.components, "components", 10, "principal components to find")
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the generated data")
	flag.StringVar(&s.model, "model", filepath.Join(os.TempDir(), "algospec-quickstart", "model.tar.gz"), "`file` to copy the model to")
	flag.BoolVar(&s.log, "log", false, "show the container's log")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s, os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "stopped")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// settings are the command line's.
type settings struct {
	data       string
	rows       int
	components int
	seed       uint64
	model      string
	log        bool
}

// run does it all; the table goes to out, progress and the log to messages.
func run(ctx context.Context, s settings, out, messages io.Writer) error {
	if s.rows < 1 || s.components < 1 {
		return fmt.Errorf("-rows and -components must be at least 1")
	}
	job, err := newJob(ctx, s, messages)
	if err != nil {
		return err
	}
	defer job.close()
	if err := job.train(ctx, s, messages); err != nil {
		return err
	}
	return job.conclude(ctx, s, out)
}
