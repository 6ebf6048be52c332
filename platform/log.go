package platform

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"strconv"
	"sync"
)

// maxLine is where a line of the log is cut: the size of a CloudWatch event.
const maxLine = 256 << 10

// logLines takes the algorithm's output, passes it on line by line, and scrapes metrics from it.
type logLines struct {
	to      io.Writer // nil discards
	metrics []metric

	mu      sync.Mutex
	closed  bool // what comes is dropped
	partial []byte
	last    map[string]float64
}

type metric struct {
	name  string
	regex *regexp.Regexp
}

func compileMetrics(definitions []MetricDefinition) ([]metric, error) {
	var metrics []metric
	for _, d := range definitions {
		regex, err := regexp.Compile(d.Regex)
		if err == nil && regex.NumSubexp() == 0 {
			err = fmt.Errorf("no group for the value in %q", d.Regex)
		}
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", d.Name, err)
		}
		metrics = append(metrics, metric{d.Name, regex})
	}
	return metrics, nil
}

// Write takes part of the output. It never fails: a log that cannot be shown stops no job.
func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(b), nil
	}
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		l.partial = append(l.partial, line...)
		if whole || len(l.partial) >= maxLine {
			l.emit()
		}
	}
	return len(b), nil
}

// close passes on a last line that has no end. What is written later is dropped.
func (l *logLines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if len(l.partial) > 0 {
		l.emit()
	}
}

func (l *logLines) emit() {
	line := l.partial
	for _, m := range l.metrics {
		groups := m.regex.FindSubmatch(line)
		if groups == nil {
			continue
		}
		if value, err := strconv.ParseFloat(string(groups[1]), 64); err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
			if l.last == nil {
				l.last = map[string]float64{}
			}
			l.last[m.name] = value
		}
	}
	if l.to != nil {
		l.to.Write(append(line, '\n'))
	}
	l.partial = line[:0]
}

// values returns the last value of each metric.
func (l *logLines) values() map[string]float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.last)
}
