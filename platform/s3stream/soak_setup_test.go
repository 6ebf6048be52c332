package s3stream_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/algospec/algospec/internal/faultproxy"
	"github.com/algospec/algospec/platform/s3stream"
)

// A soak is one seed: objects, a proxy before their server, and a Source of them.
type soak struct {
	seed      uint64
	random    *rand.Rand
	heals     bool // what fails passes, so every stream must be whole
	form      form
	data      *changing
	proxy     *faultproxy.Proxy
	transport *http.Transport
	client    *s3.Client
	opts      s3stream.Options

	slow   atomic.Bool // Idle is too short for this machine
	waited *waits      // since the last change of Idle
	source *s3stream.Source
	listed listing
	number int // of the next epoch
	tally
}

// newSoak draws everything from the seed. Half of the seeds leave out what no new try helps against
// and try often; the others have everything and give up soon.
func newSoak(t *testing.T, b *bucket, seed uint64) *soak {
	random := rand.New(rand.NewPCG(seed, 0))
	part := int64(2<<10) << random.IntN(8)
	s := &soak{
		seed:   seed,
		random: random,
		heals:  seed%2 == 0,
		form:   forms[seed/2%uint64(len(forms))],
		opts: s3stream.Options{
			PartSize:    part,
			ReadAhead:   part * int64(2+random.IntN(15)),
			Concurrency: 1 + random.IntN(16),
			Tries:       12,
			MaxBackoff:  time.Millisecond,
			Idle:        60 * time.Millisecond,
		},
	}
	s.form.options(&s.opts)
	s.data = newChanging(t, b, s.form, soakSizes(random, part), seed)
	faults := faultproxy.Options{Rate: 0.02 + 0.2*random.Float64(), Pause: 2 * time.Millisecond, Replace: s.data.replace}
	var without []faultproxy.Fault
	if s.heals {
		without = append(without, faultproxy.Replace, faultproxy.FlipByte)
	} else {
		s.opts.Tries = 2 + random.IntN(4)
	}
	var options []func(*s3.Options)
	if b.ours {
		options = append(options, renewable)
	} else { // may refuse tokens that are not its own
		without = append(without, faultproxy.ExpiredToken)
	}
	faults.Faults = faultproxy.Without(without...)
	s.proxy = faultproxy.New(b.endpoint, seed, faults)
	s.transport = newTransport()
	s.transport.DialContext = s.proxy.DialContext
	s3stream.Spliceable(s.transport)
	s.client = b.clientOf(s.proxy.URL, s.transport, options...)
	return s
}

// soakSizes draws those of the objects: some around the size of a part, and one of many parts.
func soakSizes(random *rand.Rand, part int64) []int64 {
	sizes := []int64{0, 1, part - 1, part, part + 1, 2 * part, min(100*part, 4<<20), 0}
	for range 10 + random.IntN(30) {
		sizes = append(sizes, random.Int64N(3*part))
	}
	random.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// renewable gives a client credentials that differ each time they are retrieved, by a session token.
func renewable(o *s3.Options) {
	provider := o.Credentials
	var n atomic.Int64
	o.Credentials = aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		c, err := provider.Retrieve(ctx)
		c.SessionToken = fmt.Sprintf("token %d", n.Add(1))
		return c, err
	}))
}

func (s *soak) close() {
	s.transport.CloseIdleConnections()
	s.proxy.Close()
	s.data.bucket.idle()
	s.faults = map[faultproxy.Fault]int{}
	for _, e := range s.proxy.Log() {
		s.faults[e.Fault]++
	}
}

// epochs streams one epoch, or two at a time, of the objects as they are now.
func (s *soak) epochs(ctx context.Context) error {
	listed, err := s.data.list(ctx)
	if err != nil {
		return err
	}
	slow := s.slow.Swap(false)
	if slow {
		s.opts.Idle *= 2
	}
	if slow || s.waited == nil {
		s.waited = newWaits()
		s.opts.Logger = slog.New(s.waited)
	}
	if s.source == nil || slow || listed.version != s.listed.version {
		s.source, s.listed = s3stream.NewSource(s.client, listed.objects, s.opts), listed
	}
	var group errgroup.Group
	for range 1 + s.random.IntN(2) {
		s.number++
		number, random := s.number, rand.New(rand.NewPCG(s.seed, uint64(s.number)))
		group.Go(func() error {
			if err := s.epoch(ctx, number, random); err != nil {
				return fmt.Errorf("seed %d, epoch %d: %w", s.seed, number, err)
			}
			return nil
		})
	}
	return group.Wait()
}

var errHang = errors.New("the stream hangs")

// epoch streams one, and leaves some before their end.
func (s *soak) epoch(ctx context.Context, number int, random *rand.Rand) error {
	want := s.form.want(s.listed, number)
	ctx, cancel := context.WithTimeoutCause(ctx, soakHang, errHang)
	defer cancel()
	r, err := s.source.Open(ctx, number)
	if err != nil {
		return err
	}
	defer r.Close()
	if random.IntN(6) == 0 {
		got := make([]byte, random.IntN(len(want)))
		n, err := io.ReadFull(r, got)
		return s.judge(got[:n], want, err, true)
	}
	var got bytes.Buffer
	switch random.IntN(3) {
	case 0:
		_, err = io.CopyBuffer(&got, struct{ io.Reader }{r}, make([]byte, 1+random.IntN(1<<16)))
	case 1:
		_, err = io.Copy(&got, r)
	default:
		err = throughPipe(&got, r)
	}
	if n, again := r.Read(make([]byte, 1)); n != 0 || (err != nil && again != err) || (err == nil && again != io.EOF) {
		return fmt.Errorf("the stream ended with %v, and then with %v and %d bytes", err, again, n)
	}
	return s.judge(got.Bytes(), want, err, false)
}

// throughPipe streams into a pipe, which the kernel may move bytes to.
func throughPipe(got *bytes.Buffer, r io.Reader) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	done := make(chan error, 1)
	go func() {
		_, err := got.ReadFrom(out)
		done <- err
	}()
	_, err = r.(io.WriterTo).WriteTo(in)
	in.Close()
	return cmp.Or(err, <-done)
}
