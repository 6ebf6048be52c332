package s3stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/algospec/algospec/internal/splice"
)

// OpenRange returns a reader of bytes [from, to) of an object, over one
// connection. It asks for them when it is first read and heals as a Source
// does: an answer that fails, breaks off or stalls is asked for again from the
// byte where it stood, as opts.Tries, opts.MaxBackoff and opts.Idle say, and told
// to opts.Logger; no other option counts. The object must still be the one that was listed.
//
// Read returns context.Cause(ctx) once ctx is done, and otherwise io.EOF after
// the last byte or an *ObjectError. It checks that 0 <= from <= to <= Size.
// Close cancels the request; it must not be called while a Read runs.
func OpenRange(ctx context.Context, client Client, object Object, from, to int64, opts Options) io.ReadCloser {
	b := &body{ctx: ctx, client: client, object: &object, at: from, to: to, opts: opts.withDefaults(), counts: &counts{}}
	if from < 0 || from > to || to > object.Size {
		b.err = b.failure(fmt.Errorf("asked for bytes %d to %d of %d", from, to, object.Size))
	}
	return b
}

// A body reads what is left of a range of an object and asks again when an
// answer breaks off.
type body struct {
	ctx     context.Context
	client  Client
	object  *Object
	at, to  int64 // what is left; to is unknown until an answer says where the object ends
	opts    Options
	counts  *counts
	pace    *pace            // nil where nobody asks how fast it was
	learned func(size int64) // of an object that was not listed; may be nil

	answer   io.ReadCloser // nil when it must be asked for
	watch    *watch        // of the answer
	failures int           // since the last progress
	progress int64         // where that was made
	cuts     atomic.Int32  // requests cut for being slow
	corrupt  int           // how often the object was not what its checksum says
	err      error         // what Read returns from now on

	current atomic.Pointer[watch] // watch, for who looks on

	sum *sum // of the object, where the first answer is all of it and has one

	conn  *splice.Conn // of the answer, where the kernel may move its bytes
	plain bool         // it may
	mover *splice.Move // nil until it does
}

// unknown is the size of an object that was not listed, and the end of its body.
const unknown = -1

// enough bytes make a new try of a request that failed: a server that gives a
// few bytes each time is no better than one that gives none.
const enough = 64 << 10

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	for b.err == nil && (len(p) > 0 || b.at == b.to) {
		if b.answer == nil && b.at != b.to {
			if err := b.ask(); err != nil {
				b.failed(err)
				continue
			}
		}
		if b.at == b.to {
			b.drop()
			b.err = io.EOF
			break
		}
		n, err := b.receive(p)
		if err != nil {
			b.failed(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, b.err
}

// Close cancels the request.
func (b *body) Close() error {
	b.drop()
	if b.err == nil {
		b.err = errClosed
	}
	return nil
}

// rest says that nothing is read for a while, which is not the answer's fault.
func (b *body) rest() {
	if b.watch != nil {
		b.watch.rest()
	}
}

// drop lets go of the answer.
func (b *body) drop() {
	if b.watch != nil {
		b.watch.end()
		b.watch = nil
	}
	if b.conn != nil {
		b.conn.Begin(nil)
	}
	if b.answer != nil {
		b.answer.Close()
		b.answer = nil
	}
}

// receive reads from the answer. The end of the range is only reached when the
// answer ends well, and the object is the one that S3 has a checksum of.
func (b *body) receive(p []byte) (int, error) {
	p = p[:min(int64(len(p)), b.to-b.at)]
	b.watch.wait()
	n, err := b.answer.Read(p)
	b.watch.alive(n)
	b.counts.fetched.Add(int64(n))
	if b.at+int64(n) == b.to {
		return b.finish(p[:n], err)
	}
	b.sum.write(p[:n])
	b.at += int64(n)
	switch err {
	case nil:
		return n, nil
	case io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, broken{b.watch.explain(err)}
}

// finish takes the last bytes of the range, with which err came.
func (b *body) finish(last []byte, err error) (int, error) {
	if err == nil {
		b.watch.wait()
		_, err = io.ReadFull(b.answer, make([]byte, 1))
	}
	switch {
	case err == nil:
		err = errors.New("the answer is longer than what was asked for")
	case err == io.EOF:
		b.sum.write(last)
		if err := b.sum.check(); err != nil {
			return 0, err // what came before is wrong or right, nobody knows
		}
		b.at = b.to
		if b.pace != nil {
			b.pace.answered(b.watch)
		}
		b.drop()
		return len(last), nil
	}
	if b.mover != nil {
		return 0, err // there is no asking for them again
	}
	return 0, broken{b.watch.explain(err)}
}

// ask sends a request for what is left.
func (b *body) ask() error {
	b.counts.requests.Add(1)
	ctx, w := newWatch(b.ctx, b.opts.Idle)
	b.watch = w
	b.current.Store(w)
	in := &s3.GetObjectInput{Bucket: &b.object.Bucket, Key: &b.object.Key}
	if b.object.ETag != "" {
		in.IfMatch = &b.object.ETag
	}
	ranged := b.to != unknown && (b.at != 0 || b.to != b.object.Size)
	if ranged {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", b.at, b.to-1))
	}
	b.conn = nil
	options := []func(*s3.Options){once}
	if !ranged {
		options = append(options, withChecksum)
	}
	out, err := b.client.GetObject(b.trace(ctx), in, options...)
	if err != nil {
		return w.explain(explain(err))
	}
	w.alive(0)
	b.answer = out.Body
	if !ranged {
		b.sum = checksums{aws.ToString(out.ETag), out.ChecksumType, out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ChecksumSHA256, out.ChecksumSHA1}.sum()
	}
	b.plain = b.conn != nil && b.sum == nil && out.ContentLength != nil
	if b.plain && b.mover != nil {
		b.conn.Begin(b.mover)
	}
	return b.check(out, ranged)
}

// once has the SDK send a request once: who reads a body asks again when it
// breaks off, and so may as well when it does not begin. Nor does the SDK verify
// checksums, which a body does over all its answers.
func once(o *s3.Options) {
	o.Retryer = aws.NopRetryer{}
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	o.Logger = logging.Nop{} // which is told when an answer is cut short
}

// withChecksum has S3 say which checksum an object has.
func withChecksum(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Amz-Checksum-Mode", "ENABLED"))
}

// check refuses an answer that is not what was asked for: not every server
// heeds If-Match or Range. It learns what the list did not say.
func (b *body) check(out *s3.GetObjectOutput, ranged bool) error {
	if b.to == unknown {
		if out.ContentLength == nil {
			return errors.New("the answer does not say how long the object is")
		}
		known := *b.object
		known.ETag, known.Size = aws.ToString(out.ETag), *out.ContentLength
		b.object, b.to = &known, known.Size
		if b.learned != nil {
			b.learned(known.Size)
		}
		return nil
	}
	tag := func(s *string) string { return strings.Trim(aws.ToString(s), `"`) }
	same := b.object.ETag != "" && tag(out.ETag) == tag(&b.object.ETag)
	if b.object.ETag != "" && out.ETag != nil && !same {
		return ErrChanged
	}
	if ranged {
		if want := fmt.Sprintf("bytes %d-%d/%d", b.at, b.to-1, b.object.Size); aws.ToString(out.ContentRange) != want {
			return broken{fmt.Errorf("asked for %q, got %q", want, aws.ToString(out.ContentRange))}
		}
	}
	if out.ContentLength != nil && *out.ContentLength != b.to-b.at {
		if !same {
			return ErrChanged
		}
		return broken{fmt.Errorf("asked for %d bytes, got an answer of %d", b.to-b.at, *out.ContentLength)}
	}
	return nil
}

// again begins the object anew, of which nothing has been used, because it is not
// the one that S3 has a checksum of. If that happens again and again, it is S3's copy.
func (b *body) again(err error) {
	b.drop()
	if b.corrupt++; b.corrupt >= 3 {
		b.err = b.failure(err)
		return
	}
	b.counts.retries.Add(1)
	b.log("asking again", err)
	b.at, b.progress, b.err, b.sum = 0, 0, nil, nil
}

// failed waits before the next try, or sets err when there is none.
func (b *body) failed(err error) {
	rested, asked := b.watch != nil && b.watch.rested.Load(), time.Time{}
	if b.watch != nil {
		asked = b.watch.asked
	}
	b.drop()
	if b.mover != nil && b.mover.Err != nil {
		b.err = b.mover.Err
		return
	}
	if b.ctx.Err() != nil {
		b.err = context.Cause(b.ctx)
		return
	}
	if b.at-b.progress >= enough {
		b.failures, b.progress = 0, b.at
	}
	if errors.Is(err, errSlow) {
		b.counts.cut.Add(1)
		b.cuts.Add(1)
		b.log("asking again: slow", err)
		return // at once: nothing says that S3 is in trouble
	}
	b.failures++
	if !passing(err) || b.failures >= b.opts.Tries {
		b.err = b.failure(err)
		return
	}
	b.counts.retries.Add(1)
	if expired(err) {
		renewCredentials(b.client, asked, &b.counts.renewed)
	}
	if throttled(err) {
		b.counts.throttled.Add(1)
	}
	delay, _ := retry.NewExponentialJitterBackoff(b.opts.MaxBackoff).BackoffDelay(b.failures-1, err) // fails only without randomness
	if rested && b.failures == 1 {
		delay = 0 // it was we who let it wait
	}
	b.log("asking again", err, slog.Int("failures", b.failures), slog.Duration("after", delay))
	pause(b.ctx, delay)
}

func (b *body) failure(err error) error {
	return &ObjectError{b.object.Bucket, b.object.Key, b.at, err}
}

// A broken answer ended before its time, without a word from S3.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
