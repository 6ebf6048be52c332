package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3stream"
)

var modes = []string{"Pipe", "FastFile", "File"}

type bench struct {
	pca               string
	rounds, largeFile int

	self, url  string
	objectSize int
	first      map[place][]float64 // seconds to the first record
	passes     map[string][]pass   // by mode
}

// A place is a mode and a data set.
type place struct{ mode, set string }

// A pass is one job of PCA.
type pass struct{ total, streaming float64 } // seconds

func (b *bench) run(ctx context.Context) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	stop, err := b.startServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	b.first, b.passes = map[place][]float64{}, map[string][]pass{}
	for round := range b.rounds {
		for _, mode := range modes {
			for _, s := range sets {
				if mode == "File" && (s == large || s == many) && (s == many || round >= b.largeFile) {
					continue
				}
				if err := b.firstRecord(ctx, mode, s); err != nil {
					return fmt.Errorf("%s, %s: %w", mode, s.name, err)
				}
			}
			if b.pca != "" {
				if err := b.pass(ctx, mode, middle); err != nil {
					return fmt.Errorf("%s, PCA: %w", mode, err)
				}
			}
		}
	}
	return nil
}

// startServer starts the server and waits until it has its objects.
func (b *bench) startServer(ctx context.Context) (stop func(), err error) {
	server := exec.CommandContext(ctx, b.self, "server")
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	stop = func() { input.Close(); server.Wait() }
	if _, err := fmt.Fscanln(bufio.NewReader(output), &b.url, &b.objectSize); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// firstRecord runs a job that ends when the algorithm has its first record.
func (b *bench) firstRecord(ctx context.Context, mode string, s set) error {
	began := time.Now()
	result, err := b.job(ctx, mode, s, []string{b.self, "first"}, hyperparams.Map{"mini_batch_size": "1", "feature_dim": strconv.Itoa(features)})
	if err != nil {
		return err
	}
	at := time.UnixMicro(int64(result.Metrics["first"]))
	p := place{mode, s.name}
	b.first[p] = append(b.first[p], at.Sub(began).Seconds())
	return nil
}

// pass runs a job of PCA.
func (b *bench) pass(ctx context.Context, mode string, s set) error {
	began := time.Now()
	result, err := b.job(ctx, mode, s, []string{b.pca}, hyperparams.Map{
		"mini_batch_size": "1000", "feature_dim": strconv.Itoa(features), "num_components": "10",
	})
	if err != nil {
		return err
	}
	b.passes[mode] = append(b.passes[mode], pass{time.Since(began).Seconds(), result.Metrics["update_ms"] / 1000})
	return nil
}

func (b *bench) job(ctx context.Context, mode string, s set, command []string, params hyperparams.Map) (*platform.Result, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	s3stream.Spliceable(transport)
	defer transport.CloseIdleConnections()
	var log bytes.Buffer
	result, err := platform.Run(ctx, platform.Job{
		Name: "inputmodes", Command: command, HyperParameters: params,
		Channels:   []platform.Channel{{Name: "train", S3URI: "s3://data/" + s.folder(), InputMode: mode, ContentType: "application/x-recordio-protobuf"}},
		OutputPath: "s3://data/models",
		MetricDefinitions: []platform.MetricDefinition{
			{Name: "first", Regex: `first record at (\d+)`},
			{Name: "update_ms", Regex: `"update.time": \{"sum": ([0-9.e+-]+)`},
		},
		S3: s3.New(s3.Options{
			Region: "us-east-1", UsePathStyle: true, BaseEndpoint: aws.String(b.url),
			Credentials: credentials.NewStaticCredentialsProvider("s3test", "s3test", ""),
			HTTPClient:  &http.Client{Transport: transport},
		}),
		Log: &log,
	})
	if err != nil {
		return nil, errors.Join(err, errors.New(log.String()))
	}
	return result, nil
}

func (b *bench) print() {
	fmt.Printf("Milliseconds from the call of platform.Run to the algorithm's first record, median (min to max)\n\n| mode |")
	for _, s := range sets {
		fmt.Printf(" %s |", s.name)
	}
	fmt.Print(" 10 GB to 10 MB |\n|---|---|---|---|---|---|\n")
	for _, mode := range modes {
		fmt.Printf("| %s |", mode)
		for _, s := range sets {
			fmt.Printf(" %s |", spread("%.0f", scaled(b.first[place{mode, s.name}], 1000)))
		}
		fmt.Printf(" %.2f |\n", median(b.first[place{mode, large.name}])/median(b.first[place{mode, small.name}]))
	}
	if b.pca == "" {
		return
	}
	bytes := float64(middle.objects*middle.big*b.objectSize) / 1e6
	fmt.Printf("\nPCA over %.0f MB, rows of %d features\n\n| mode | first record after, s | to Pipe's | MB/s from then on | to Pipe's | whole job, s | to Pipe's |\n|---|---|---|---|---|---|---|\n", bytes, features)
	column := func(mode string) (first, rate, total []float64) {
		for _, p := range b.passes[mode] {
			rate, total = append(rate, bytes/p.streaming), append(total, p.total)
		}
		return b.first[place{mode, middle.name}], rate, total
	}
	first0, rate0, total0 := column(modes[0])
	for _, mode := range modes {
		first, rate, total := column(mode)
		fmt.Printf("| %s | %s | %.1f | %s | %.2f | %s | %.2f |\n", mode,
			spread("%.2f", first), median(first)/median(first0), spread("%.0f", rate), median(rate)/median(rate0), spread("%.2f", total), median(total)/median(total0))
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	return v[len(v)/2]
}

func scaled(values []float64, by float64) []float64 {
	out := slices.Clone(values)
	for i := range out {
		out[i] *= by
	}
	return out
}

// spread is the median, with minimum and maximum.
func spread(format string, values []float64) string {
	switch len(values) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(format+" (once)", values[0])
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", median(values), slices.Min(values), slices.Max(values))
}
