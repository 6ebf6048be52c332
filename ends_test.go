package algospec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"syscall"

	"github.com/algospec/algospec"
)

// ends are the ways in which a training container comes to its end. One that prints "waiting" gets SIGTERM.
var ends = map[string]algospec.Trainer{
	"nil": func(_ context.Context, job *algospec.Job) error {
		return job.Model.Save("model", bytes.NewReader([]byte("nil")))
	},
	"client error": func(context.Context, *algospec.Job) error { return algospec.ClientErrorf("bad data") },
	"error":        func(context.Context, *algospec.Job) error { return errors.New("it broke") },
	"Goexit":       func(context.Context, *algospec.Job) error { runtime.Goexit(); return nil },
	"os.Exit":      func(context.Context, *algospec.Job) error { os.Exit(3); return nil },
	"log.Fatal":    func(context.Context, *algospec.Job) error { log.Fatal("fatal"); return nil },
	"killed":       func(context.Context, *algospec.Job) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"full disk": func(_ context.Context, job *algospec.Job) error {
		os.WriteFile(string(job.Output)+"/../filler", make([]byte, 1<<20), 0o644)
		return job.Output.Save("more", bytes.NewReader([]byte("more")))
	},
	"no model": func(context.Context, *algospec.Job) error { return nil },
	"honoured": func(ctx context.Context, job *algospec.Job) error { return wait(ctx) },
	"saving": func(ctx context.Context, job *algospec.Job) error {
		job.OnStop(func(context.Context) error { return job.Model.Save("model", bytes.NewReader([]byte("saved"))) })
		return wait(ctx)
	},
	"stopped in Save": func(ctx context.Context, job *algospec.Job) error {
		return job.Model.Save("model", content(func(w io.Writer) { wait(ctx); io.WriteString(w, "whole") }))
	},
	"saving fails": func(ctx context.Context, job *algospec.Job) error {
		job.OnStop(func(context.Context) error { return errors.New("disk on fire") })
		return wait(ctx)
	},
	"saving for ever": func(ctx context.Context, job *algospec.Job) error {
		job.OnStop(func(context.Context) error { select {} })
		return wait(ctx)
	},
	"ignored":       func(ctx context.Context, job *algospec.Job) error { wait(ctx); select {} },
	"error of stop": func(ctx context.Context, job *algospec.Job) error { wait(ctx); return errors.New("it broke then") },
}

func wait(ctx context.Context) error {
	fmt.Println("waiting")
	<-ctx.Done()
	return context.Cause(ctx)
}

// content is what a file is to hold.
type content func(w io.Writer)

func (c content) WriteTo(w io.Writer) (int64, error) { c(w); return 0, nil }
