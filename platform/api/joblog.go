package api

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/algospec/algospec/platform"
)

// A jobLog takes the lines and the metrics of a job that runs.
type jobLog struct {
	log    *lineLog
	job    string
	logger *slog.Logger

	mu      sync.Mutex
	streams map[string]*stream // of this attempt, by host
	metrics *os.File           // nil before the first
	last    map[string]platform.Metric
	closed  bool
}

func (l *lineLog) job(name string, logger *slog.Logger) *jobLog {
	return &jobLog{log: l, job: name, logger: logger, streams: map[string]*stream{}, last: map[string]platform.Metric{}}
}

// line keeps a line. That it cannot be kept stops no job.
func (l *jobLog) line(line platform.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	s, known := l.streams[line.Host]
	if !known {
		var err error
		s, err = l.log.create(l.job, line.Host, line.Time)
		l.lost(err)
		l.streams[line.Host] = s // nil where it failed, so that this is said once
	}
	if s != nil {
		l.lost(s.append(line))
	}
}

func (l *jobLog) lost(err error) {
	if err != nil {
		l.logger.Error("the log of a training job was not kept", "job", l.job, "error", err)
	}
}

// metric keeps a point.
func (l *jobLog) metric(m platform.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || math.IsNaN(m.Value) || math.IsInf(m.Value, 0) { // which JSON does not have
		return
	}
	l.last[m.Name] = m
	if l.metrics == nil {
		path := l.log.metrics(l.job)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			l.metrics, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		}
		if err == nil { // a platform that was killed may have left the beginning of a line: it ends here
			_, err = l.metrics.WriteString("\n")
		}
		if err != nil {
			l.lost(err)
			return
		}
	}
	_, err := l.metrics.Write(append(mustJSON(m), '\n'))
	l.lost(err)
}

// anew ends the streams: the algorithm starts again, and its log with it.
func (l *jobLog) anew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *jobLog) end() {
	for host, s := range l.streams {
		if s != nil {
			l.lost(l.log.finish(s))
		}
		delete(l.streams, host)
	}
}

// close ends the log. What comes later, from a trainer that was left behind, is dropped.
func (l *jobLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.end()
	if l.metrics != nil {
		l.lost(l.metrics.Close())
	}
}

// final is the last point of each metric. A value without a point is one of the time now.
func (l *jobLog) final(values map[string]float64, now time.Time) []platform.Metric {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, value := range values {
		if _, known := l.last[name]; !known {
			l.last[name] = platform.Metric{Name: name, Value: value, Time: now}
		}
	}
	return slices.SortedFunc(maps.Values(l.last), func(a, b platform.Metric) int { return strings.Compare(a.Name, b.Name) })
}

func (l *lineLog) metrics(job string) string { return filepath.Join(l.dir, job, "metrics.json") }

// A pointLog is the points of the job that was last asked for, so that one who looks on has only new ones read.
type pointLog struct {
	mu     sync.Mutex
	job    string
	offset int64             // of the file, where the points that are not here begin
	points []platform.Metric // in the order of time; none is changed
}

// points reads every point of a job's metrics. A line that is not whole is skipped.
func (l *lineLog) points(job string) ([]platform.Metric, error) {
	p := &l.read
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != job {
		p.job, p.offset, p.points = job, 0, nil
	}
	file, err := os.Open(l.metrics(job))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(p.offset, io.SeekStart); err != nil {
		return nil, err
	}
	return p.extend(file)
}

func (p *pointLog) extend(file io.Reader) ([]platform.Metric, error) {
	known := len(p.points)
	for lines := bufio.NewReaderSize(file, 64<<10); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil { // what follows the last line is not whole, or not yet
			break
		}
		p.offset += int64(len(line))
		var m platform.Metric
		if json.Unmarshal(line, &m) == nil {
			p.points = append(p.points, m)
		}
	}
	byTime := func(a, b platform.Metric) int { return a.Time.Compare(b.Time) }
	if !slices.IsSortedFunc(p.points[max(0, known-1):], byTime) {
		p.points = slices.Clone(p.points) // those before are with others
		slices.SortStableFunc(p.points, byTime)
	}
	return slices.Clip(p.points), nil
}

// forget drops what is known of a job's points.
func (p *pointLog) forget(job string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job == job {
		p.job, p.offset, p.points = "", 0, nil
	}
}
