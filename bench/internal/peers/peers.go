// Package peers runs the Python side of a comparison: one process, which imports its libraries and reads
// its data once, and then answers calls, each with what it took.
package peers

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/algospec/algospec/bench/internal/compare"
)

// What every comparison's functions stand on.
var (
	//go:embed worker.py
	worker []byte
	//go:embed records.py
	records []byte
)

// A Python answers calls of a bench's functions.
type Python struct {
	About string // versions, BLAS and threads

	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	dir   string
}

// Start starts an interpreter with a bench's functions, the text of a module. It computes with so many threads.
func Start(ctx context.Context, interpreter string, functions []byte, threads int) (p *Python, err error) {
	p = new(Python)
	if p.dir, err = os.MkdirTemp("", "bench-peers-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(p.dir)
		}
	}()
	for name, text := range map[string][]byte{"worker.py": worker, "records.py": records, "functions.py": functions} {
		if err := os.WriteFile(filepath.Join(p.dir, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	p.cmd = exec.CommandContext(ctx, interpreter, filepath.Join(p.dir, "worker.py"))
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", threads), fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", threads),
		"SAGEMAKER_SUPPRESS_V2_WARNING=1", "PYTHONDONTWRITEBYTECODE=1")
	if core := openBLASCore(); core != "" && os.Getenv("OPENBLAS_CORETYPE") == "" {
		p.cmd.Env = append(p.cmd.Env, "OPENBLAS_CORETYPE="+core)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.lines = bufio.NewReader(out)
	if err := p.Call("about", nil, &p.About); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// openBLASCore names the kernels for this processor. The OpenBLAS within faiss is older than some
// processors, which it takes for one without AVX.
func openBLASCore() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	switch flags := string(text); {
	case strings.Contains(flags, " avx512vl "):
		return "SkylakeX"
	case strings.Contains(flags, " avx2 "):
		return "Haswell"
	}
	return ""
}

// Args are the arguments of a call by name.
type Args map[string]any

// Call calls a function and decodes what it returns into result, unless that is nil.
func (p *Python) Call(function string, args Args, result any) error {
	_, err := p.Time(function, args, result)
	return err
}

// Time calls a function and returns what it says it took.
func (p *Python) Time(function string, args Args, result any) (compare.Cost, error) {
	var answer struct {
		compare.Cost
		Result json.RawMessage
		Error  string
	}
	line, err := json.Marshal(map[string]any{"function": function, "args": args})
	if err != nil {
		return compare.Cost{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return compare.Cost{}, err
	}
	text, err := p.lines.ReadBytes('\n')
	if err != nil {
		return compare.Cost{}, fmt.Errorf("python: %s: %w", function, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return compare.Cost{}, fmt.Errorf("python: %s: %q: %w", function, text, err)
	}
	if answer.Error != "" {
		return compare.Cost{}, fmt.Errorf("python: %s: %s", function, answer.Error)
	}
	if result != nil {
		err = json.Unmarshal(answer.Result, result)
	}
	return answer.Cost, err
}

// Side returns a call as a side of a comparison. What the function returns is decoded into result.
func (p *Python) Side(name, function string, args Args, result any) compare.Side {
	return compare.Side{Name: name, Run: func(context.Context) (compare.Cost, error) { return p.Time(function, args, result) }}
}

// Close ends the process.
func (p *Python) Close() error {
	p.in.Close()
	return errors.Join(p.cmd.Wait(), os.RemoveAll(p.dir))
}
