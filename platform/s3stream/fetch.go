package s3stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// A fetch is one part on its way from S3 to the reader. The blocks for all of
// it are reserved before it begins, so a fetch never waits for the reader, and
// the reader, which takes fetches in order, never waits for memory.
type fetch struct {
	part
	reserved [][]byte    // blocks not filled yet; the first is being filled
	used     int         // bytes in the first
	at       int64       // byte of the object that comes next
	filled   chan []byte // to the reader, in order, with room for all; closed at the end
	err      error       // why the part is not whole; to be read when filled is closed
}

func newFetch(p part, reserved [][]byte) *fetch {
	return &fetch{part: p, reserved: reserved, at: p.from, filled: make(chan []byte, len(reserved))}
}

// run fetches the part. A body that breaks off is asked for again from there.
func (f *fetch) run(ctx context.Context, client Client, opts Options) {
	defer close(f.filled)
	backoff := retry.NewExponentialJitterBackoff(opts.MaxBackoff)
	for try := 1; ; try++ {
		err := f.request(ctx, client, opts.Idle)
		var broken brokenBody
		switch {
		case err == nil:
			return
		case errors.As(err, &broken) && try < opts.Tries && ctx.Err() == nil:
			delay, _ := backoff.BackoffDelay(try-1, err) // fails only without randomness
			pause(ctx, delay)
		default:
			f.err = &ObjectError{f.object.Bucket, f.object.Key, f.at, err}
			return
		}
	}
}

// request asks once for what is missing of the part. It gives up when nothing comes for so long.
func (f *fetch) request(ctx context.Context, client Client, idle time.Duration) error {
	requestCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(idle, func() { cancel(errStalled) })
	defer watchdog.Stop()
	err := f.exchange(requestCtx, client, func() { watchdog.Reset(idle) })
	if err != nil && ctx.Err() == nil && context.Cause(requestCtx) == errStalled {
		return brokenBody{fmt.Errorf("%w for %v", errStalled, idle)}
	}
	return err
}

var errStalled = errors.New("no byte came")

// exchange sends the request and takes the answer. It calls alive whenever bytes have come.
func (f *fetch) exchange(ctx context.Context, client Client, alive func()) error {
	in := &s3.GetObjectInput{Bucket: &f.object.Bucket, Key: &f.object.Key}
	if f.object.ETag != "" {
		in.IfMatch = &f.object.ETag
	}
	ranged := !f.whole() || f.at != f.from
	if ranged {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", f.at, f.to-1))
	}
	out, err := client.GetObject(ctx, in, quietly)
	if err != nil {
		return explain(err)
	}
	defer out.Body.Close()
	if err := f.check(out, ranged); err != nil {
		return err
	}
	return f.receive(out.Body, alive)
}

// quietly keeps the SDK from logging that ranges carry no checksum.
func quietly(o *s3.Options) { o.DisableLogOutputChecksumValidationSkipped = true }

// check refuses an answer that is not what was asked for: not every server
// heeds If-Match or Range.
func (f *fetch) check(out *s3.GetObjectOutput, ranged bool) error {
	tag := func(s string) string { return strings.Trim(s, `"`) }
	if f.object.ETag != "" && out.ETag != nil && tag(*out.ETag) != tag(f.object.ETag) {
		return ErrChanged
	}
	if ranged {
		if want := fmt.Sprintf("bytes %d-%d/%d", f.at, f.to-1, f.object.Size); aws.ToString(out.ContentRange) != want {
			return fmt.Errorf("asked for %q, got %q", want, aws.ToString(out.ContentRange))
		}
	}
	if out.ContentLength != nil && *out.ContentLength != f.to-f.at {
		return ErrChanged
	}
	return nil
}

// receive fills blocks from the body and sends them off. The last is held back
// until the body has ended well: the SDK verifies checksums there.
func (f *fetch) receive(body io.Reader, alive func()) error {
	var err error
	for f.at < f.to && err == nil {
		var n int
		n, err = body.Read(f.room())
		alive()
		f.at += int64(n)
		f.used += n
		if f.used == len(f.reserved[0]) && f.at < f.to {
			f.send()
		}
	}
	if f.at < f.to {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return brokenBody{err}
	}
	if err == nil {
		_, err = io.ReadFull(body, make([]byte, 1))
	}
	switch err {
	case io.EOF:
		f.send()
		return nil
	case nil:
		return ErrChanged
	}
	return err
}

// room is the space left in the block that is being filled, and no more than
// the part still needs.
func (f *fetch) room() []byte {
	room := f.reserved[0][f.used:]
	return room[:min(int64(len(room)), f.to-f.at)]
}

func (f *fetch) send() {
	f.filled <- f.reserved[0][:f.used]
	f.reserved, f.used = f.reserved[1:], 0
}

// A brokenBody is a body that ended before its time.
type brokenBody struct{ error }

func (b brokenBody) Unwrap() error { return b.error }

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
