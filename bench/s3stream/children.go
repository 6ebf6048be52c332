package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// children are the processes that this program starts of itself.
var children = map[string]func(context.Context, []string) error{
	"server":  serve,
	"read":    read,
	"engine":  engine,
	"gets":    gets,
	"manager": manager,
	"copy":    bare,
}

// serve serves objects until its input ends: COUNT SIZE.
func serve(ctx context.Context, args []string) error {
	count, size, err := numbers(args)
	if err != nil {
		return err
	}
	server := s3test.New()
	defer server.Close()
	for i := range count {
		if err := server.Put("data", fmt.Sprintf("part-%06d", i), io.LimitReader(&noise{}, int64(size))); err != nil {
			return err
		}
	}
	fmt.Println(server.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// read reads a pipe to its end as an algorithm would, into a buffer: PATH.
func read(ctx context.Context, args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := make([]byte, 256<<10)
	for {
		if _, err := file.Read(buffer); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// engine streams all objects into a pipe: URL PATH.
func engine(ctx context.Context, args []string) error {
	defer profiled()()
	client := newClient(args[0])
	objects, err := s3stream.List(ctx, client, "s3://data/")
	if err != nil {
		return err
	}
	source := s3stream.NewSource(client, objects, s3stream.Options{})
	epoch, err := source.Open(ctx, 0)
	if err != nil {
		return err
	}
	defer epoch.Close()
	err = intoPipe(args[1], func(w io.Writer) error {
		_, err := epoch.(io.WriterTo).WriteTo(w)
		return err
	})
	if os.Getenv("BENCH_STATS") != "" {
		fmt.Fprintf(os.Stderr, "%+v\n", source.Stats())
	}
	return err
}

// profiled writes a profile of the processor into the file that BENCH_PROFILE
// names, until the returned function is called.
func profiled() (stop func()) {
	path := os.Getenv("BENCH_PROFILE")
	if path == "" {
		return func() {}
	}
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return func() {}
	}
	return func() { pprof.StopCPUProfile(); file.Close() }
}

// gets fetches all objects with N requests at a time and keeps nothing: URL N.
func gets(ctx context.Context, args []string) error {
	client := newClient(args[0])
	objects, err := s3stream.List(ctx, client, "s3://data/")
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	queue := make(chan s3stream.Object)
	var workers sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range n {
		workers.Go(func() {
			buffer := make([]byte, 256<<10)
			for o := range queue {
				out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.Bucket, Key: &o.Key})
				if err == nil {
					_, err = io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{out.Body}, buffer)
					out.Body.Close()
				}
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, o := range objects {
		queue <- o
	}
	close(queue)
	workers.Wait()
	return failed
}

// manager streams all objects into a pipe with the transfer manager of the SDK: URL PATH.
func manager(ctx context.Context, args []string) error {
	client := newClient(args[0])
	objects, err := s3stream.List(ctx, client, "s3://data/")
	if err != nil {
		return err
	}
	tm := transfermanager.New(client)
	return intoPipe(args[1], func(w io.Writer) error {
		for _, o := range objects {
			out, err := tm.GetObject(ctx, &transfermanager.GetObjectInput{Bucket: &o.Bucket, Key: &o.Key})
			if err != nil {
				return err
			}
			if _, err := io.Copy(w, out.Body); err != nil {
				return err
			}
		}
		return nil
	})
}

// bare writes as many bytes into a pipe from memory: PATH COUNT SIZE.
func bare(ctx context.Context, args []string) error {
	count, size, err := numbers(args[1:])
	if err != nil {
		return err
	}
	block := make([]byte, 256<<10)
	(&noise{}).Read(block)
	return intoPipe(args[0], func(w io.Writer) error {
		for left := count * size; left > 0; left -= len(block) {
			if _, err := w.Write(block[:min(left, len(block))]); err != nil {
				return err
			}
		}
		return nil
	})
}

// intoPipe opens a pipe that has a reader and writes into it.
func intoPipe(path string, write func(io.Writer) error) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0) // waits for the reader
	if err != nil {
		return err
	}
	syscall.SetNonblock(fd, true)
	file := os.NewFile(uintptr(fd), path)
	const pipeSize = 256 << 10
	syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), 1031 /* F_SETPIPE_SZ */, pipeSize)
	return errors.Join(write(file), file.Close())
}

func newClient(url string) *s3.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 256
	if os.Getenv("NOSPLICE") == "" {
		s3stream.Spliceable(transport)
	}
	return s3.New(s3.Options{
		Region: "us-east-1", UsePathStyle: true, BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider("s3test", "s3test", ""),
		HTTPClient:  &http.Client{Transport: transport},
	})
}

func numbers(args []string) (count, size int, err error) {
	count, err = strconv.Atoi(args[0])
	size, err2 := strconv.Atoi(args[1])
	return count, size, errors.Join(err, err2)
}

type onlyWriter struct{ io.Writer }
type onlyReader struct{ io.Reader }

// noise is bytes that do not compress.
type noise struct{ state uint64 }

func (n *noise) Read(p []byte) (int, error) {
	for i := range p {
		n.state = n.state*6364136223846793005 + 1442695040888963407
		p[i] = byte(n.state >> 56)
	}
	return len(p), nil
}
