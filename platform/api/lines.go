package api

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/algospec/algospec/platform"
)

// A lineLog keeps the lines of jobs' hosts in files, two for a stream:
//
//	<dir>/<job>/algo-1-1700000000.log      a line each: Unix milliseconds, a space, the text
//	<dir>/<job>/algo-1-1700000000.index    marks, each saying where a line begins
//
// They are written and not synced: lines outlive the process, and the last may be lost with the machine.
type lineLog struct {
	dir string

	mu   sync.Mutex
	open map[string]*stream // that are written to, by name

	read pointLog
}

// A stream is the lines of one host in one attempt.
type stream struct {
	name string // <job>/algo-N-<epoch seconds>

	mu          sync.Mutex
	file, index *os.File // index is nil for one that is only read
	marks       []mark
	lines       int64
	size        int64 // of the lines
	first, last int64 // Unix milliseconds
	broken      bool  // a write failed: no more are tried
}

// A mark says that a line begins at an offset of the file. There is one for each markLines lines
// or markBytes bytes, so that a reader looks through no more than that to find a line.
type mark struct{ Line, Offset, Time int64 }

const (
	markLines = 128
	markBytes = 1 << 20
	markSize  = 3 * 8
)

// streamName is <job>/<host>-<epoch seconds>.
var streamName = regexp.MustCompile(`\A([a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,62})/([a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,62})-([0-9]{1,15})\z`)

func (l *lineLog) path(stream string) string {
	return filepath.Join(l.dir, filepath.FromSlash(stream))
}

// create begins a stream of a job's host.
func (l *lineLog) create(job, host string, at time.Time) (*stream, error) {
	if err := os.MkdirAll(filepath.Join(l.dir, job), 0o755); err != nil {
		return nil, err
	}
	for second := at.Unix(); ; second++ {
		name := fmt.Sprintf("%s/%s-%d", job, host, second)
		if !streamName.MatchString(name) {
			return nil, fmt.Errorf("host %q: not a name for a log stream", host)
		}
		file, err := os.OpenFile(l.path(name)+".log", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) { // an attempt that was short
			continue
		}
		if err != nil {
			return nil, err
		}
		index, err := os.Create(l.path(name) + ".index")
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		s := &stream{name: name, file: file, index: index}
		l.mu.Lock()
		l.open[name] = s
		l.mu.Unlock()
		return s, nil
	}
}

// finish ends a stream. Its last mark is its end, so that nobody need look for it.
func (l *lineLog) finish(s *stream) error {
	l.mu.Lock()
	delete(l.open, s.name)
	l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark(s.last)
	return errors.Join(s.file.Close(), s.index.Close())
}

func (s *stream) mark(time int64) error {
	m := mark{s.lines, s.size, time}
	if n := len(s.marks); n > 0 && s.marks[n-1].Line == m.Line {
		return nil
	}
	if err := binary.Write(s.index, binary.LittleEndian, m); err != nil {
		return err
	}
	s.marks = append(s.marks, m)
	return nil
}

// append adds a line. Times never go back within a stream.
func (s *stream) append(line platform.Line) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return nil
	}
	at := max(line.Time.UnixMilli(), s.last)
	text := strconv.FormatInt(at, 10) + " " + strings.ReplaceAll(line.Text, "\n", " ") + "\n"
	n := len(s.marks)
	if n == 0 || s.lines-s.marks[n-1].Line >= markLines || s.size-s.marks[n-1].Offset >= markBytes {
		if err := s.mark(at); err != nil {
			s.broken = true
			return err
		}
	}
	if _, err := s.file.WriteAt([]byte(text), s.size); err != nil {
		s.broken = true
		return errors.Join(err, s.file.Truncate(s.size))
	}
	if s.lines == 0 {
		s.first = at
	}
	s.lines, s.size, s.last = s.lines+1, s.size+int64(len(text)), at
	return nil
}

// with calls f with the stream of that name; false where there is none.
func (l *lineLog) with(name string, f func(*stream) error) (bool, error) {
	l.mu.Lock()
	s := l.open[name]
	l.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, err := s.file.Stat(); err == nil { // not finished meanwhile
			return true, f(s)
		}
	}
	if !streamName.MatchString(name) {
		return false, nil
	}
	s, err := openStream(name, l.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	defer s.file.Close()
	return true, f(s)
}

// openStream opens a stream that nobody writes to any more. What was written after the last mark, by
// a platform that was killed, is looked through.
func openStream(name, path string) (*stream, error) {
	file, err := os.Open(path + ".log")
	if err != nil {
		return nil, err
	}
	s := &stream{name: name, file: file}
	if err := s.load(path + ".index"); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func (s *stream) load(index string) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	marks, err := os.ReadFile(index)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.size = info.Size()
	for ; len(marks) >= markSize; marks = marks[markSize:] {
		m := mark{int64(binary.LittleEndian.Uint64(marks)), int64(binary.LittleEndian.Uint64(marks[8:])), int64(binary.LittleEndian.Uint64(marks[16:]))}
		if m.Offset > s.size || m.Line < int64(len(s.marks)) || m.Offset < 0 {
			break // of lines that were lost with the machine
		}
		s.marks = append(s.marks, m)
	}
	if len(s.marks) == 0 {
		s.marks = []mark{{}}
	}
	end := s.marks[len(s.marks)-1]
	s.first, s.last, s.lines = s.marks[0].Time, end.Time, end.Line
	whole := end.Offset
	err = s.scan(end, func(_, at int64, _ string, next int64) bool {
		if s.lines == 0 {
			s.first = at
		}
		s.lines, s.last, whole = s.lines+1, at, next
		return true
	})
	s.size = whole // less the beginning of a line that a killed platform wrote
	return err
}

// scan calls f with each line from a mark on: its number, its time, its text and where the next begins.
func (s *stream) scan(from mark, f func(number, at int64, text string, next int64) bool) error {
	reader := bufio.NewReaderSize(io.NewSectionReader(s.file, from.Offset, s.size-from.Offset), 64<<10)
	number, offset := from.Line, from.Offset
	for {
		line, err := reader.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		offset += int64(len(line))
		stamp, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, _ := strconv.ParseInt(stamp, 10, 64)
		if !f(number, at, text, offset) {
			return nil
		}
		number++
	}
}

// read returns up to limit lines from number from on, of no more bytes than most, but at least one.
func (s *stream) read(from int64, limit int, most int) ([]platform.Line, error) {
	if from < 0 || from >= s.lines || limit <= 0 {
		return nil, nil
	}
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].Line > from }) - 1
	var lines []platform.Line
	bytes := 0
	err := s.scan(s.marks[max(i, 0)], func(number, at int64, text string, _ int64) bool {
		if number < from {
			return true
		}
		if bytes += len(text); bytes > most && len(lines) > 0 {
			return false
		}
		lines = append(lines, platform.Line{Host: s.host(), Time: time.UnixMilli(at).UTC(), Text: text})
		return len(lines) < limit
	})
	return lines, err
}

// since returns the number of the first line that is not before a time.
func (s *stream) since(milliseconds int64) (int64, error) {
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].Time >= milliseconds })
	if i == 0 {
		return 0, nil
	}
	found := s.lines
	err := s.scan(s.marks[i-1], func(number, at int64, _ string, _ int64) bool {
		if at >= milliseconds {
			found = number
		}
		return at < milliseconds
	})
	return found, err
}

func (s *stream) host() string {
	_, base, _ := strings.Cut(s.name, "/")
	host, _, _ := cutLast(base, "-")
	return host
}

// summary is what the Service tells of a stream.
func (s *stream) summary() LogStream {
	summary := LogStream{Name: s.name, Host: s.host(), Lines: int(s.lines)}
	if s.lines > 0 {
		summary.First, summary.Last = time.UnixMilli(s.first).UTC(), time.UnixMilli(s.last).UTC()
	}
	return summary
}

// names returns the names of a job's streams, in their order.
func (l *lineLog) names(job string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(l.dir, job))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		if base, ok := strings.CutSuffix(entry.Name(), ".log"); ok && streamName.MatchString(job+"/"+base) {
			names = append(names, job+"/"+base)
		}
	}
	slices.Sort(names)
	return names, err
}

// summaries returns what is known of streams.
func (l *lineLog) summaries(names []string) ([]LogStream, error) {
	var all []LogStream
	for _, name := range names {
		if _, err := l.with(name, func(s *stream) error {
			all = append(all, s.summary())
			return nil
		}); err != nil {
			return nil, fmt.Errorf("log stream %s: %w", name, err)
		}
	}
	return all, nil
}

// written is when something was last written to a job's log; zero where there is none.
func (l *lineLog) written(job string) (last time.Time, err error) {
	names, err := l.names(job)
	if err != nil {
		return last, err
	}
	for _, name := range names {
		info, err := os.Stat(l.path(name) + ".log")
		if err != nil {
			return last, err
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last, nil
}

// remove forgets a job's log.
func (l *lineLog) remove(job string) error {
	defer l.read.forget(job)
	return os.RemoveAll(filepath.Join(l.dir, job))
}
