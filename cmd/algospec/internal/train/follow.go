package train

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/platform"
)

// A follower shows a job that runs: its log, its statuses, and a bar.
type follower struct {
	streams  console.Streams
	harmless bool // the log goes to a terminal

	mu     sync.Mutex
	status platform.SecondaryStatus
	bar    *console.Progress // nil where there is nothing to measure
}

// newFollower has the job tell a follower.
func newFollower(streams console.Streams, job *platform.Job, quiet bool) *follower {
	f := &follower{streams: streams, harmless: console.IsTerminal(streams.Out)}
	if !quiet {
		job.Log = f
	}
	job.Transition = f.transition
	job.Progress = f.progress
	return f
}

// Write takes lines of the log.
func (f *follower) Write(line []byte) (int, error) {
	text := line
	if f.harmless {
		text = []byte(console.Harmless(string(line)))
	}
	f.print(f.streams.Out, text)
	return len(line), nil
}

func (f *follower) print(to io.Writer, text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bar != nil {
		to = f.bar.Over(to)
	}
	to.Write(text)
}

// transition tells of a status. Each has a bar of its own.
func (f *follower) transition(t platform.Transition) {
	message := console.Harmless(t.Message)
	if t.Status == platform.Failed {
		message = "Training job failed" // the command's error says why
	}
	f.print(f.streams.Err, fmt.Appendf(nil, "%s  %-11s  %s\n", t.Start.Local().Format(time.TimeOnly), t.Status, message))
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.Status != f.status && f.bar != nil {
		f.bar.Done()
		f.bar = nil
	}
	f.status = t.Status
}

// progress shows how far the job is, on a terminal.
func (f *follower) progress(p platform.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.status {
	case platform.Downloading:
		f.show("downloading", p.Downloaded, p.ToDownload)
	case platform.Training:
		done, total, epoch := delivered(p.Channels)
		figures := []string{console.Seconds(p.Elapsed)}
		if epoch > 0 {
			figures = append(figures, fmt.Sprintf("epoch %d", epoch))
		}
		f.show("training", done, total, figures...)
	}
}

func (f *follower) show(description string, done, total int64, figures ...string) {
	if total == 0 {
		return
	}
	if f.bar == nil {
		f.bar = console.NewProgress(f.streams, description, total)
	}
	f.bar.Show(done, figures...)
}

// delivered sums what the channels have delivered of the epoch that is the latest.
func delivered(channels []platform.ChannelProgress) (done, total int64, epoch int) {
	for _, c := range channels {
		epoch = max(epoch, c.Epoch)
	}
	for _, c := range channels {
		total += c.EpochBytes
		done += min(c.EpochBytes, max(0, c.Bytes-int64(max(0, c.Epoch))*c.EpochBytes))
	}
	return done, total, epoch
}

func (f *follower) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bar != nil {
		f.bar.Done()
		f.bar = nil
	}
}
