package console

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A Progress shows on a terminal how many bytes have been read. The zero value shows nothing.
type Progress struct {
	bar *progressbar.ProgressBar
}

// NewProgress returns a Progress towards total bytes, or a spinner where total is negative. It
// shows nothing where the error stream is no terminal.
func NewProgress(streams Streams, description string, total int64) *Progress {
	if !IsTerminal(streams.Err) {
		return &Progress{}
	}
	return &Progress{progressbar.NewOptions64(max(total, -1),
		progressbar.OptionSetWriter(streams.Err), progressbar.OptionSetDescription(description),
		progressbar.OptionShowBytes(true), progressbar.OptionShowCount(), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
	)}
}

// IsTerminal reports whether a stream is one.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

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

// Done takes the bar away.
func (p *Progress) Done() {
	if p.bar != nil {
		p.bar.Clear()
		p.bar.Exit()
	}
}
