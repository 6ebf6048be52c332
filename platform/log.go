package platform

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxLine is where a line of the log is cut: the size of a CloudWatch event.
const maxLine = 256 << 10

// A jobLog takes the lines of all hosts, one at a time, passes them on, and scrapes metrics from them.
type jobLog struct {
	job     *Job
	metrics []metric
	prefix  bool // lines are shown after the host's name

	mu   sync.Mutex
	last map[string]float64 // of each metric
}

type metric struct {
	name  string
	regex *regexp.Regexp
}

func compileMetrics(definitions []MetricDefinition) ([]metric, error) {
	var metrics []metric
	for _, d := range definitions {
		regex, err := regexp.Compile(d.Regex)
		switch {
		case err != nil && lookAround.MatchString(d.Regex):
			err = fmt.Errorf("%q: look-around and back-references are not in RE2, the dialect here", d.Regex)
		case err == nil && regex.NumSubexp() == 0:
			err = fmt.Errorf("no group for the value in %q", d.Regex)
		}
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", d.Name, err)
		}
		metrics = append(metrics, metric{d.Name, regex})
	}
	return metrics, nil
}

// lookAround is what Java's regular expressions, which the service's are like, have and RE2 lacks.
var lookAround = regexp.MustCompile(`\(\?<?[=!]|\(\?>|\\[1-9]|\\k<|[*+?}]\+`)

// add takes a line of a host.
func (l *jobLog) add(host string, text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, m := range l.metrics {
		value, ok := m.find(text)
		if !ok {
			continue
		}
		if l.last == nil {
			l.last = map[string]float64{}
		}
		l.last[m.name] = value
		if l.job.Metric != nil {
			l.job.Metric(Metric{Name: m.name, Host: host, Value: value, Time: now})
		}
	}
	if l.job.Line != nil {
		l.job.Line(Line{Host: host, Time: now, Text: strings.TrimSuffix(string(text), "\r")})
	}
	if l.job.Log != nil {
		var shown []byte
		if l.prefix {
			shown = append(shown, host+" | "...)
		}
		l.job.Log.Write(append(append(shown, text...), '\n'))
	}
}

// find returns the metric's value in a line. What the first group has found must be a number.
func (m *metric) find(line []byte) (float64, bool) {
	groups := m.regex.FindSubmatch(line)
	if groups == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(groups[1]), 64)
	return value, err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// values returns the last value of each metric.
func (l *jobLog) values() map[string]float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.last)
}

// A hostLog makes lines of a host's output.
type hostLog struct {
	host string
	to   *jobLog

	mu      sync.Mutex
	closed  bool // what comes is dropped
	partial []byte
}

var _ io.Writer = (*hostLog)(nil)

// Write takes part of the output. It never fails: a log that cannot be shown stops no job.
func (l *hostLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(b), nil
	}
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := maxLine - len(l.partial); len(line) > room { // the line goes on in another event
			line, after, whole = rest[:room], rest[room:], true
		}
		rest = after
		l.partial = append(l.partial, line...)
		if whole {
			l.emit()
		}
	}
	return len(b), nil
}

// close passes on a last line that has no end. What is written later is dropped.
func (l *hostLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if len(l.partial) > 0 {
		l.emit()
	}
}

func (l *hostLog) emit() {
	l.to.add(l.host, l.partial)
	l.partial = l.partial[:0]
}
