package algospec

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	lineEvery = 30 * time.Second       // of progress, in a log
	drawEvery = 100 * time.Millisecond // on a terminal
	eraseLine = "\r\x1b[K"
)

// A Progress tells how much of something is done: as a bar on a terminal, in a log as lines that are
// twice a minute at most, such as
//
//	#progress_metric: host=algo-1, completed 12.5 % of rows
//
// which ProgressDefinition scrapes. Its methods may be called by several goroutines.
type Progress struct {
	job      *Job
	what     string
	total    int64
	terminal bool

	mu    sync.Mutex
	done  int64
	told  time.Time
	began time.Time
	ended bool
}

// ProgressDefinition scrapes the percentage of Progress, as that of the built-in algorithms.
var ProgressDefinition = MetricDefinition{"train:progress", `#progress_metric: host=\S+, completed (\S+) %`}

// Progress begins to tell how many of total, such as rows, are done; 0 means that nobody knows the
// total. Only the leader tells. Its End is told in any case.
func (j *Job) Progress(what string, total int64) *Progress {
	now := time.Now()
	p := &Progress{job: j, what: what, total: total, began: now, told: now}
	if file, ok := j.Stdout.(*os.File); ok {
		p.terminal = term.IsTerminal(int(file.Fd()))
	}
	return p
}

// Add tells that n more are done.
func (p *Progress) Add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	every := lineEvery
	if p.terminal {
		every = drawEvery
	}
	if time.Since(p.told) >= every {
		p.tell(false)
	}
}

// End tells the last of it. What comes after it is not told.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(true)
	p.ended = true
}

func (p *Progress) tell(last bool) {
	p.told = time.Now()
	switch j := p.job; {
	case p.ended || j.Stdout == nil || !j.Cluster.Leader():
	case p.terminal:
		j.draw(p.bar(), last)
	default:
		j.Println(p.line())
	}
}

func (p *Progress) line() string {
	if p.total <= 0 {
		return fmt.Sprintf("progress: %d %s", p.done, p.what)
	}
	return fmt.Sprintf("#progress_metric: host=%s, completed %s %% of %s", p.job.host(), p.percent(), p.what)
}

func (p *Progress) percent() string {
	return strconv.FormatFloat(100*p.part(), 'f', 1, 64)
}

func (p *Progress) part() float64 {
	return min(1, max(0, float64(p.done)/float64(p.total)))
}

// bar returns the line for a terminal.
func (p *Progress) bar() string {
	rate := float64(p.done) / max(time.Since(p.began).Seconds(), 1e-3)
	if p.total <= 0 {
		return fmt.Sprintf("%d %s (%.0f/s)", p.done, p.what, rate)
	}
	const width = 30
	full := int(width * p.part())
	return fmt.Sprintf("%s [%s%s] %s %% of %d (%.0f/s)",
		p.what, strings.Repeat("=", full), strings.Repeat(" ", width-full), p.percent(), p.total, rate)
}
