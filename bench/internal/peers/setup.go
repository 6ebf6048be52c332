package peers

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"

	"github.com/algospec/algospec/bench/internal/compare"
)

// A Setup is what each comparison with Python begins with: its options, a directory for its data, and the other side.
type Setup struct {
	Rounds  compare.Rounds
	Threads int
	Scale   float64 // of the number of rows; 1 is what is published
	Only    string  // the cases that this is a part of the name of
	SDK     bool    // there is one
	Dir     string
	Python  *Python
}

// Rows scales a number of rows, to a multiple of 1000.
func (s *Setup) Rows(n int) int { return max(1000, int(float64(n)*s.Scale)/1000*1000) }

// Main runs a comparison, whose functions on the other side are a module of that text, and ends the process if it fails.
func Main(functions []byte, run func(context.Context, *Setup) error) {
	log.SetFlags(0)
	var s Setup
	interpreter := flag.String("python", "", "the Python `interpreter` with the peers; see internal/peers/python")
	flag.IntVar(&s.Rounds.N, "rounds", 5, "rounds that count, after one that does not; 1 is a trial, without that one")
	flag.IntVar(&s.Threads, "threads", runtime.NumCPU(), "threads of each side; 1 on a busy machine, where those of the peers that wait for each other take the processor's time")
	flag.Float64Var(&s.Scale, "scale", 1, "scales the number of rows")
	flag.StringVar(&s.Only, "only", "", "leaves out cases whose name does not contain this")
	flag.Parse()
	s.Rounds.Cold = s.Rounds.N == 1
	s.SDK = os.Getenv("BENCH_SDK") != ""
	runtime.GOMAXPROCS(s.Threads)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := s.run(ctx, *interpreter, functions, run); err != nil {
		log.Fatal(err)
	}
}

func (s *Setup) run(ctx context.Context, interpreter string, functions []byte, run func(context.Context, *Setup) error) (err error) {
	if s.Dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.Dir)
	if s.Python, err = Start(ctx, interpreter, functions, s.Threads); err != nil {
		return err
	}
	defer s.Python.Close()
	fmt.Printf("%s; %d threads on either side; %s\n\n%s\n", compare.Machine(), s.Threads, runtime.Version(), s.Python.About)
	if err := run(ctx, s); err != nil {
		return err
	}
	fmt.Printf("\nIn the end, %s\n", compare.Load())
	return nil
}

// A Reader is a way of Python to read a RecordIO-protobuf file: a function of records.py.
type Reader struct{ Name, Function string }

// Readers are the ways that there are; the SDK's needs the SDK.
func (s *Setup) Readers() []Reader {
	readers := []Reader{{"numpy row by row", "rows"}, {"numpy over the whole file", "whole"}}
	if s.SDK {
		readers = append([]Reader{{"SageMaker SDK's reader", "sdk"}}, readers...)
	}
	return readers
}
