package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

type bench struct {
	rounds, count int
	size          int64
	s5cmd         string

	self, pipe, url string
	server          int // its process
	names           []string
	results         map[string][]result
}

// A result is one pass over all objects.
type result struct {
	seconds                 float64
	fetcher, reader, server float64 // seconds of CPU
	rss                     int64

	fetched, reads int64   // of a mount: bytes, and reads at random places
	seconds2       float64 // that those took
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-s3stream-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.pipe, b.results = filepath.Join(dir, "pipe"), map[string][]result{}
	if err := syscall.Mkfifo(b.pipe, 0o600); err != nil {
		return err
	}
	stop, err := b.startServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for range b.rounds {
		for _, n := range []int{1, 4, 16} {
			if err := b.measure(ctx, fmt.Sprintf("%d parallel GETs, kept nowhere", n), false, b.self, "gets", b.url, fmt.Sprint(n)); err != nil {
				return err
			}
		}
		for _, way := range []struct {
			name string
			args []string
		}{
			{"bare copy through the pipe", []string{b.self, "copy", b.pipe, fmt.Sprint(b.count), fmt.Sprint(b.size)}},
			{"one connection spliced into the pipe", []string{b.self, "splice", b.url, b.pipe}},
			{"s3stream, no splice", []string{"env", "NOSPLICE=1", b.self, "engine", b.url, b.pipe}},
			{"s3stream into the pipe", []string{b.self, "engine", b.url, b.pipe}},
			{"SDK's transfer manager into the pipe", []string{b.self, "manager", b.url, b.pipe}},
			{"s5cmd cat into the pipe", []string{"sh", "-c", `exec "$0" --endpoint-url "$1" cat 's3://data/part-*' > "$2"`, b.s5cmd, b.url, b.pipe}},
		} {
			if strings.HasPrefix(way.name, "s5cmd") && b.s5cmd == "" {
				continue
			}
			if err := b.measure(ctx, way.name, true, way.args...); err != nil {
				return err
			}
		}
		if err := b.mounted(ctx, "FastFile, its files read in order", "files"); err != nil {
			return err
		}
		if err := b.mounted(ctx, randomReads, "random"); err != nil {
			return err
		}
	}
	return nil
}

const randomReads = "FastFile, 4 KiB at random places"

// startServer starts the server and waits until it has its objects.
func (b *bench) startServer(ctx context.Context) (stop func(), err error) {
	server := exec.CommandContext(ctx, b.self, "server", fmt.Sprint(b.count), fmt.Sprint(b.size))
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
	b.server = server.Process.Pid
	line, err := bufio.NewReader(output).ReadString('\n')
	b.url = strings.TrimSpace(line)
	return func() { input.Close(); server.Wait() }, err
}

// measure runs one process, with a reader of the pipe beside it if it writes into that.
func (b *bench) measure(ctx context.Context, name string, piped bool, args ...string) error {
	before := b.serverCPU()
	began := time.Now()
	var reader *exec.Cmd
	if piped {
		reader = exec.CommandContext(ctx, b.self, "read", b.pipe)
		reader.Stderr = os.Stderr
		if err := reader.Start(); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=s3test", "AWS_SECRET_ACCESS_KEY=s3test", "AWS_REGION=us-east-1")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := result{fetcher: cpu(cmd), server: b.serverCPU() - before, rss: cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10}
	if reader != nil {
		if err := reader.Wait(); err != nil {
			return err
		}
		r.reader = cpu(reader)
	}
	r.seconds = time.Since(began).Seconds()
	b.add(name, r)
	return nil
}

// mounted has one process mount the objects and another read them.
func (b *bench) mounted(ctx context.Context, name, child string) error {
	dir, err := os.MkdirTemp(filepath.Dir(b.pipe), "mount-")
	if err != nil {
		return err
	}
	before, began := b.serverCPU(), time.Now()
	fetcher := exec.CommandContext(ctx, b.self, "mount", b.url, dir)
	stats := &strings.Builder{}
	fetcher.Stderr = os.Stderr
	input, err := fetcher.StdinPipe()
	if err != nil {
		return err
	}
	output, err := fetcher.StdoutPipe()
	if err != nil {
		return err
	}
	if err := fetcher.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(output)
	if _, err := lines.ReadString('\n'); err != nil {
		return fmt.Errorf("%s: no mount: %w", name, fetcher.Wait())
	}
	reader := exec.CommandContext(ctx, b.self, child, dir)
	reader.Stdout, reader.Stderr = stats, os.Stderr
	if err := reader.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := result{seconds: time.Since(began).Seconds(), reader: cpu(reader), rss: 0}
	input.Close()
	fmt.Fscan(lines, &r.fetched)
	if err := fetcher.Wait(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Sscan(stats.String(), &r.reads, &r.seconds2)
	r.fetcher, r.server = cpu(fetcher), b.serverCPU()-before
	r.rss = fetcher.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	b.add(name, r)
	return nil
}

func (b *bench) add(name string, r result) {
	if b.results[name] == nil {
		b.names = append(b.names, name)
	}
	b.results[name] = append(b.results[name], r)
}

// serverCPU is the CPU time that the server has used, in seconds.
func (b *bench) serverCPU() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.server))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system float64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return (user + system) / 100
}

func cpu(cmd *exec.Cmd) float64 {
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}

func (b *bench) table() string {
	var out strings.Builder
	total := float64(b.count) * float64(b.size)
	fmt.Fprintf(&out, "%d objects of %d bytes\n\n| way | MB/s, median (min to max) | CPU s per GB: fetcher | reader | server | peak MB |\n|---|---|---|---|---|---|\n", b.count, b.size)
	for _, name := range b.names {
		if name == randomReads {
			continue
		}
		column := func(of func(result) float64) []float64 {
			var values []float64
			for _, r := range b.results[name] {
				values = append(values, of(r))
			}
			slices.Sort(values)
			return values
		}
		median := func(of func(result) float64) float64 { v := column(of); return v[len(v)/2] }
		speed := column(func(r result) float64 { return total / r.seconds / 1e6 })
		fmt.Fprintf(&out, "| %s | %.0f (%.0f to %.0f) | %.2f | %.2f | %.2f | %.0f |\n", name,
			speed[len(speed)/2], speed[0], speed[len(speed)-1],
			median(func(r result) float64 { return r.fetcher / total * 1e9 }),
			median(func(r result) float64 { return r.reader / total * 1e9 }),
			median(func(r result) float64 { return r.server / total * 1e9 }),
			slices.Max(column(func(r result) float64 { return float64(r.rss) / 1e6 })))
	}
	if all := b.results[randomReads]; len(all) > 0 {
		var rates []float64
		var fetched, reads int64
		for _, r := range all {
			rates = append(rates, float64(r.reads)/r.seconds2)
			fetched, reads = fetched+r.fetched, reads+r.reads
		}
		slices.Sort(rates)
		fmt.Fprintf(&out, "\n%s: %.0f (%.0f to %.0f) reads a second, %.1f KiB fetched for each\n", randomReads,
			rates[len(rates)/2], rates[0], rates[len(rates)-1], float64(fetched)/float64(reads)/1024)
	}
	return out.String()
}
