package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

func init() {
	children["distance"] = distance
	children["far"] = far
	children["watch"] = watch
}

// A setting is what is between the engine and S3.
type setting struct {
	rtt time.Duration
	cap float64 // bytes a second of one connection; 0 means any
}

func (s setting) String() string {
	if s.cap == 0 {
		return fmt.Sprintf("%v", s.rtt)
	}
	return fmt.Sprintf("%v, %g MB/s a connection", s.rtt, s.cap/1e6)
}

// A trial is one setting over the rounds.
type trial struct {
	setting
	whole, steady, ramp []float64
	last                s3stream.Stats
}

// distance compares settings between two network namespaces.
func distance(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("distance", flag.ContinueOnError)
	farName := flags.String("far", "", "network `namespace` of the server")
	nearName := flags.String("near", "", "network `namespace` of the engine")
	rounds := flags.Int("rounds", 3, "rounds")
	seconds := flags.Int("seconds", 20, "seconds of each trial")
	rate := flags.Float64("link", 1e9, "bits a second of the link")
	capped := flags.Float64("cap", 12.5e6, "bytes a second of one connection")
	size := flags.Int("size", 64_000_000, "bytes of each object")
	only := flags.Int("only", -1, "the number of the only setting")
	if err := flags.Parse(args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var trials []*trial
	for _, cap := range []float64{0, *capped} {
		for _, rtt := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
			trials = append(trials, &trial{setting: setting{rtt, cap}})
		}
	}
	if *only >= 0 {
		trials = trials[*only : *only+1]
	}
	for range *rounds {
		for _, t := range trials {
			b := between{self: self, far: *farName, near: *nearName, rate: *rate, size: *size, seconds: *seconds}
			if err := b.measure(ctx, t); err != nil {
				return fmt.Errorf("%v: %w", t.setting, err)
			}
		}
	}
	fmt.Printf("link of %.0f Mbit/s, objects of %d bytes, %d s each\n\n", *rate/1e6, *size, *seconds)
	fmt.Print("| round trip | MB/s, median (min to max) | to the first | in its second half | to the first | s to 80 % of that | requests | part, MB | memory, MB |\n|---|---|---|---|---|---|---|---|---|\n")
	median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	for _, t := range trials {
		whole, steady, ramp := median(t.whole), median(t.steady), median(t.ramp)
		fmt.Printf("| %v | %.0f (%.0f to %.0f) | %.2f | %.0f (%.0f to %.0f) | %.2f | %.1f (%.1f to %.1f) | %d | %.1f | %.0f |\n", t.setting,
			whole, t.whole[0], t.whole[len(t.whole)-1], whole/median(trials[0].whole),
			steady, t.steady[0], t.steady[len(t.steady)-1], steady/median(trials[0].steady),
			ramp, t.ramp[0], t.ramp[len(t.ramp)-1], t.last.Limit, float64(t.last.PartSize)/1e6, float64(t.last.Held)/1e6)
	}
	return nil
}

// A between is where a trial takes place.
type between struct {
	self, far, near string
	rate            float64
	size, seconds   int
}

func (b *between) in(ctx context.Context, namespace string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", namespace, b.self}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GODEBUG=multipathtcp=0") // whose sockets know no pacing
	return cmd
}

// start starts a process and returns its first line.
func start(cmd *exec.Cmd) (string, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), err
}

func (b *between) measure(ctx context.Context, t *trial) error {
	dir, err := os.MkdirTemp("", "bench-distance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connection := exec.CommandContext(ctx, b.self, "link", b.far, b.near, t.rtt.String(), fmt.Sprint(b.rate))
	connection.Stderr = os.Stderr
	if _, err := start(connection); err != nil {
		return err
	}
	defer func() { connection.Process.Kill(); connection.Wait() }()
	server := b.in(ctx, b.far, "far", fmt.Sprint(b.size), fmt.Sprint(t.cap))
	input, err := server.StdinPipe()
	if err != nil {
		return err
	}
	url, err := start(server)
	if err != nil {
		return err
	}
	defer func() { input.Close(); server.Wait() }()
	reader := exec.CommandContext(ctx, b.self, "read", pipe)
	if err := reader.Start(); err != nil {
		return err
	}
	defer reader.Wait()
	engine := b.in(ctx, b.near, "watch", url, pipe, fmt.Sprint(b.seconds))
	out, err := engine.Output()
	if err != nil {
		return err
	}
	var samples []s3stream.Stats
	if err := json.Unmarshal(out, &samples); err != nil {
		return err
	}
	t.add(samples)
	return nil
}

const sampleEvery = 50 * time.Millisecond

func (t *trial) add(samples []s3stream.Stats) {
	last := len(samples) - 1
	rate := func(from, to int) float64 {
		return float64(samples[to].Bytes-samples[from].Bytes) / (float64(to-from) * sampleEvery.Seconds()) / 1e6
	}
	steady, ramp, within := rate(last/2, last), last, 10
	for i := range last - within {
		if rate(i, i+within) >= 0.8*steady {
			ramp = i
			break
		}
	}
	t.whole = append(t.whole, rate(0, last))
	t.steady = append(t.steady, steady)
	t.ramp = append(t.ramp, float64(ramp)*sampleEvery.Seconds())
	t.last = samples[last]
	if os.Getenv("BENCH_TRACE") != "" {
		t.trace(samples, rate)
	}
}

// trace prints what a trial did from moment to moment.
func (t *trial) trace(samples []s3stream.Stats, rate func(from, to int) float64) {
	fmt.Fprintf(os.Stderr, "%v\n", t.setting)
	for i := 2; i < len(samples); i += 2 {
		s := samples[i]
		fmt.Fprintf(os.Stderr, "%5.1f s %5.0f MB/s, %5.1f MB fetched, %d of %d requests, parts of %.1f MB, %.0f MB held, %d cut, %v waited for S3\n",
			float64(i)*sampleEvery.Seconds(), rate(i-2, i), float64(s.Fetched)/1e6, s.Active, s.Limit, float64(s.PartSize)/1e6, float64(s.Held)/1e6, s.Cut, s.WaitedForS3)
	}
}

// far serves objects to the other namespace until its input ends: SIZE CAP.
func far(ctx context.Context, args []string) error {
	size, err := strconv.Atoi(args[0])
	limit, err2 := strconv.ParseFloat(args[1], 64)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	server, err := s3test.Start(s3test.Options{Addr: farAddress + ":0"})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := tuneConnections(int(limit)); err != nil {
		return err
	}
	if err := server.Put("data", "part", io.LimitReader(&noise{}, int64(size))); err != nil {
		return err
	}
	fmt.Println(server.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// tuneConnections bounds what each connection sends, and sets how it finds its
// rate: those that a listening socket accepts inherit both.
func tuneConnections(limit int) error {
	for fd := range 64 {
		if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens == 0 {
			continue
		}
		if limit > 0 {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, limit); err != nil {
				return err
			}
		}
		return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	}
	return errors.New("no listening socket")
}

// watch streams the one object again and again into a pipe, for so long, and
// prints the Stats of each moment: URL PIPE SECONDS.
func watch(ctx context.Context, args []string) error {
	seconds, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	client := newClient(args[0])
	objects, err := s3stream.List(ctx, client, "s3://data/")
	if err != nil {
		return err
	}
	source := s3stream.NewSource(client, slices.Repeat(objects, 1<<20/int(objects[0].Size>>20+1)), s3stream.Options{})
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	var samples []s3stream.Stats
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		for s := range source.Watch(ctx, sampleEvery) {
			samples = append(samples, s)
		}
	}()
	epoch, err := source.Open(ctx, 0)
	if err != nil {
		return err
	}
	err = intoPipe(args[1], func(w io.Writer) error {
		_, err := epoch.(io.WriterTo).WriteTo(w)
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(err, errors.New("ended early"))
	}
	<-sampled
	return errors.Join(epoch.Close(), json.NewEncoder(os.Stdout).Encode(samples))
}
