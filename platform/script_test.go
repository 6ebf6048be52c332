package platform_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/poll"
)

// script is an algorithm that reads its channels as the words of the script say, each "what" or
// "channel.what" or "channel.what=number":
//
//	open, read=N, rest, close   of the channel's next epoch, as algorithms do; close prints what came
//	open-small                  the same, by another road: the system's blocking open, and a pipe of a page
//	await=N, exists=N, absent=N whether the pipe of epoch N is there
//	grab=N, drain=N             open that pipe out of turn, read it whole and print what came
//	dry=N, wet=N                find nothing in it; wait for something
//	sdk=N                       open and read that pipe as channel.FIFO does
//	alternate=N                 read all open epochs to their end, N bytes of each in turn
//	say-X, signal, wait         print X; wait for the file $SIGNAL; wait for the end
type script struct {
	ctx    context.Context
	job    *algospec.Job
	epochs map[string]*reading
	pipes  map[string]*os.File
}

// A reading is what has come of an epoch.
type reading struct {
	io.ReadCloser
	number int
	bytes  int64
	sum    uint32
	end    string
}

func (r *reading) Write(b []byte) (int, error) {
	r.bytes += int64(len(b))
	r.sum = crc32.Update(r.sum, crc32.IEEETable, b)
	return len(b), nil
}

func (r *reading) String() string {
	return fmt.Sprintf("%d: %d bytes, sum %08x%s", r.number, r.bytes, r.sum, r.end)
}

// came is what a script prints of an epoch of which it reads so much.
func came(channel string, epoch int, data []byte, end string) string {
	r := &reading{number: epoch, end: end}
	r.Write(data)
	return fmt.Sprintf("%s %v", channel, r)
}

const atTheEnd = ", end"

func runScript(ctx context.Context, job *algospec.Job, words string) error {
	s := &script{ctx, job, map[string]*reading{}, map[string]*os.File{}}
	defer s.close()
	for word := range strings.FieldsSeq(words) {
		if err := s.step(word); err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	return job.Model.Save("done", strings.NewReader(words))
}

// close closes what a script has left open, as the end of a process does.
func (s *script) close() {
	for _, r := range s.epochs {
		r.Close()
	}
	for _, file := range s.pipes {
		file.Close()
	}
}

func (s *script) step(word string) error {
	if text, ok := strings.CutPrefix(word, "say-"); ok {
		s.job.Println(text)
		return nil
	}
	name, rest, _ := strings.Cut(word, ".")
	what, number, _ := strings.Cut(rest, "=")
	n, _ := strconv.Atoi(number)
	path := filepath.Join(s.job.Getenv("SAGEMAKER_BASE_DIR"), "input/data", name)
	pipe := path + "_" + number
	switch cmp.Or(what, name) {
	case "signal":
		return until(s.ctx, func() bool { return exists(s.job.Getenv("SIGNAL")) })
	case "wait":
		<-s.ctx.Done()
		return context.Cause(s.ctx)
	case "open":
		epoch, err := s.job.Channel(name).Open(s.ctx)
		if err == nil {
			s.epochs[name] = &reading{ReadCloser: epoch, number: epoch.Number}
		}
		return err
	case "open-small":
		file, err := openSmall(path + "_0")
		s.epochs[name] = &reading{ReadCloser: file}
		return err
	case "read":
		_, err := io.CopyN(s.epochs[name], s.epochs[name].ReadCloser, int64(n))
		return err
	case "rest":
		s.epochs[name].end = atTheEnd
		_, err := io.Copy(s.epochs[name], s.epochs[name].ReadCloser)
		return err
	case "close":
		s.job.Println(fmt.Sprint(name, " ", s.epochs[name]))
		return s.epochs[name].Close()
	case "await":
		return until(s.ctx, func() bool { return exists(pipe) })
	case "exists", "absent":
		if exists(pipe) != (what == "exists") {
			return errors.New("it is not")
		}
		return nil
	case "grab":
		// Without O_NONBLOCK, as most programs do it.
		file, err := os.Open(pipe)
		s.pipes[pipe] = file
		return err
	case "dry":
		if readable(s.pipes[pipe]) {
			return errors.New("it is not")
		}
		return nil
	case "wet":
		return until(s.ctx, func() bool { return readable(s.pipes[pipe]) })
	case "drain":
		r := &reading{number: n, end: atTheEnd}
		_, err := io.Copy(r, s.pipes[pipe])
		s.job.Println(fmt.Sprint(name, " ", r))
		return errors.Join(err, s.pipes[pipe].Close())
	case "sdk":
		r, err := channel.FIFO{Path: path}.Open(s.ctx, n)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.Copy(io.Discard, r)
		return err
	case "alternate":
		return s.alternate(int64(n))
	}
	return s.fileStep(name, what, number)
}

func (s *script) alternate(n int64) error {
	for ended := 0; ended < len(s.epochs); {
		for _, r := range s.epochs {
			if r.end != "" {
				continue
			}
			_, err := io.CopyN(r, r.ReadCloser, n)
			if err == io.EOF {
				r.end = atTheEnd
				ended++
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func readable(file *os.File) bool {
	events, err := poll.Now(file.Fd(), unix.POLLIN)
	return events != 0 || err != nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// until waits until something is so.
func until(ctx context.Context, so func() bool) error {
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Now().After(deadline) {
			return errors.New("not in a minute")
		}
	}
	return nil
}

// openSmall opens a pipe and makes it hold no more than a page, where the system can.
func openSmall(path string) (*os.File, error) {
	const setPipeSize = 1031 // F_SETPIPE_SZ, on Linux
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), setPipeSize, 4096); err != nil && runtime.GOOS == "linux" {
		syscall.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// lines returns those that a script has printed of its epochs.
func lines(log *bytes.Buffer) (lines []string) {
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, " bytes, sum ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
