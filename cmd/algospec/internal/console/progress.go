package console

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A Progress shows on a terminal how many bytes have been read: a bar, and figures below it. It is
// also the way to the error stream for messages meanwhile, which appear above the bar. The zero
// value shows nothing.
type Progress struct {
	mu    sync.Mutex
	to    io.Writer // the error stream
	total int64     // negative where it is not known
	bar   *progressbar.ProgressBar
}

// NewProgress returns a Progress towards total bytes, or a spinner where total is negative. It
// shows nothing where the error stream is no terminal.
func NewProgress(streams Streams, description string, total int64) *Progress {
	p := &Progress{to: streams.Err, total: total}
	if IsTerminal(streams.Err) {
		p.bar = progressbar.NewOptions64(max(total, -1),
			progressbar.OptionSetWriter(streams.Err), progressbar.OptionSetDescription(description),
			progressbar.OptionShowBytes(true), progressbar.OptionShowCount(), progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// IsTerminal reports whether a stream is one.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Shows reports whether there is a terminal to show anything on.
func (p *Progress) Shows() bool { return p.bar != nil }

// Reader returns src, whose bytes count from now on.
func (p *Progress) Reader(src io.Reader) io.Reader {
	if p.bar == nil {
		return src
	}
	return countingReader{src, p.bar}
}

type countingReader struct {
	io.Reader
	bar *progressbar.ProgressBar
}

func (r countingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.bar.Add(n)
	return n, err
}

// Show shows that so many bytes have been read, and figures in as many lines below the bar as they
// need. The cursor stays on the line of the bar, which the bar draws anew.
func (p *Progress) Show(done int64, figures ...string) {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total > 0 {
		done = min(done, p.total)
	}
	p.bar.Set64(done)
	if lines := wrap(figures, width(p.to)-1); len(lines) > 0 {
		fmt.Fprintf(p.to, "\n\x1b[J%s\x1b[%dA", strings.Join(lines, "\n"), len(lines))
	}
	io.WriteString(p.to, "\r") // a ^C at the end of the line would go to the next one
}

// wrap joins words that belong together into lines of no more than width characters.
func wrap(words []string, width int) (lines []string) {
	const between = "  "
	for _, word := range words {
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+len(between)+len(word) <= width {
			lines[last] += between + word
		} else {
			lines = append(lines, word[:min(len(word), max(0, width))])
		}
	}
	return lines
}

// width returns the width of a terminal.
func width(terminal io.Writer) int {
	if file, ok := terminal.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// Write writes a message to the error stream, above the bar.
func (p *Progress) Write(message []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.to.Write(message)
}

// Over returns a way to another stream of the terminal, above the bar.
func (p *Progress) Over(to io.Writer) io.Writer { return over{p, to} }

type over struct {
	*Progress
	to io.Writer
}

func (o over) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clear()
	return o.to.Write(text)
}

// Logger returns a logger for what happens meanwhile, to the error stream.
func (p *Progress) Logger() *slog.Logger { return Logger(p) }

// Logger returns a logger to people.
func Logger(to io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Value.Kind() {
		case slog.KindTime:
			a.Value = slog.StringValue(a.Value.Time().Format(time.TimeOnly))
		case slog.KindDuration:
			a.Value = slog.DurationValue(a.Value.Duration().Round(time.Millisecond))
		}
		return a
	}}))
}

// Done takes the bar away.
func (p *Progress) Done() {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.Exit()
	p.clear()
}

// clear erases the bar and what is below it.
func (p *Progress) clear() {
	if p.bar != nil {
		io.WriteString(p.to, "\r\x1b[J")
	}
}
