package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// lineEvery is how often progress is told where there is no terminal to draw a bar on.
const lineEvery = 2 * time.Second

// A progress shows how much of something is done: as a bar on a terminal, else as plain lines.
type progress struct {
	to          io.Writer
	description string
	unit        string // bytes or rows
	total       int64  // 0 where it is not known
	bar         *progressbar.ProgressBar
	began, told time.Time
	value       int64
}

func newProgress(to io.Writer, description string, total int64, unit string) *progress {
	p := &progress{to: to, description: description, unit: unit, total: total, began: time.Now(), told: time.Now()}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		limit := total
		if limit == 0 {
			limit = -1
		}
		options := []progressbar.Option{
			progressbar.OptionSetWriter(to), progressbar.OptionSetDescription(description),
			progressbar.OptionShowBytes(unit == "bytes"), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100 * time.Millisecond),
			progressbar.OptionUseANSICodes(true), progressbar.OptionSetPredictTime(true),
		}
		if unit != "bytes" {
			options = append(options, progressbar.OptionSetItsString(unit), progressbar.OptionShowIts())
		}
		p.bar = progressbar.NewOptions64(limit, options...)
	}
	return p
}

// set tells how much is done.
func (p *progress) set(value int64) {
	p.value = value
	switch {
	case p.bar != nil:
		p.bar.Set64(value)
	case time.Since(p.told) >= lineEvery:
		p.told = time.Now()
		p.line()
	}
}

// done ends the bar, or tells the last figures.
func (p *progress) done() {
	if p.bar != nil {
		p.bar.Exit()
		fmt.Fprintln(p.to)
		return
	}
	p.line()
}

func (p *progress) line() {
	if p.value == 0 {
		return
	}
	show := count
	if p.unit == "bytes" {
		show = megabytes
	}
	of := ""
	if p.total > 0 {
		of = " of " + show(p.total)
	}
	rate := int64(float64(p.value) / time.Since(p.began).Seconds())
	fmt.Fprintf(p.to, "%s: %s%s, %s/s\n", p.description, show(p.value), of, show(rate))
}
