package s3stream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/platform/s3test"
)

// A tape plays ticks to a pace.
type tape struct {
	pace *pace
	sample
}

func newTape(opts Options) *tape {
	p := &tape{newPace(opts.withDefaults()), sample{at: time.Unix(1e9, 0)}}
	p.pace.adapt(p.sample)
	return p
}

// starved plays a tick in which the reader waits for S3, at so many bytes per second.
func (p *tape) starved(rate float64) { p.tick(rate, rate, tick, 0) }

// content plays a tick in which it does not.
func (p *tape) content(rate float64) { p.tick(rate, rate, 0, 0) }

func (p *tape) tick(fetched, delivered float64, waited time.Duration, throttled int64) {
	p.at = p.at.Add(tick)
	p.fetched += int64(fetched * tick.Seconds())
	p.delivered += int64(delivered * tick.Seconds())
	p.waited += waited
	p.throttled += throttled
	p.pace.adapt(p.sample)
}

// answers tells a pace of requests of so many bytes, with this wait for the
// first byte and this rate from there on.
func answers(p *pace, count int, bytes int64, first time.Duration, rate float64) {
	for range count {
		w := &watch{asked: time.Now().Add(-first - time.Duration(float64(bytes)/rate*1e9))}
		w.first.Store(int64(first))
		w.bytes.Store(bytes)
		p.answered(w)
	}
}

func TestRequestsGrowTwofoldWhileThatRaisesTheThroughput(t *testing.T) {
	p := newTape(Options{})
	seen := []int{p.pace.limit()}
	for range 40 {
		p.starved(float64(p.pace.limit()) * 1e6) // as S3 does: the more requests the more bytes
		if last := seen[len(seen)-1]; p.pace.limit() != last {
			seen = append(seen, p.pace.limit())
		}
	}
	require.Equal(t, []int{16, 32, 64}, seen)
}

// The growth to the last is judged once, as the others are: a moment of a
// slower network later on does not take it back.
func TestGrowthThatHasProvedItselfStays(t *testing.T) {
	p := newTape(Options{Concurrency: 16})
	for range 10 {
		p.starved(float64(p.pace.limit()) * 1e6)
	}
	require.Equal(t, 16, p.pace.limit())
	p.starved(8e6)
	require.Equal(t, 16, p.pace.limit())
}

func TestGrowthThatBringsNothingIsTakenBack(t *testing.T) {
	p := newTape(Options{})
	most := 0
	for range 20 {
		p.starved(20e6) // all that the network has
		most = max(most, p.pace.limit())
	}
	require.Equal(t, 32, most)
	require.Equal(t, 16, p.pace.limit())
	for range contentment - 10 {
		p.starved(20e6)
		require.Equal(t, 16, p.pace.limit(), "not at once")
	}
	for range 100 { // it tries again, by a quarter
		p.starved(20e6)
		require.LessOrEqual(t, p.pace.limit(), 20)
		if p.pace.limit() == 20 {
			return
		}
	}
	t.Fatal("it never tried again")
}

func TestThrottlingHalvesTheRequests(t *testing.T) {
	p := newTape(Options{})
	for range 20 {
		p.starved(float64(p.pace.limit()) * 1e6)
	}
	for _, want := range []int{32, 16, 8, 4, 2, 1, 1} {
		p.tick(1e6, 1e6, tick, 3)
		require.Equal(t, want, p.pace.limit())
	}
	for range contentment {
		p.starved(1e6)
		require.Equal(t, 1, p.pace.limit(), "not at once")
	}
	for range measuring + 1 {
		p.starved(1e6)
	}
	require.Equal(t, 2, p.pace.limit(), "one by one: it does not double any more")
}

// Little's law: at 100 MB/s with 100 ms before the first byte and 50 MB/s from
// there on, a part of n bytes is on its way for 0.1 s + n/50e6.
func TestPaceRelaxesToWhatTheReaderNeeds(t *testing.T) {
	p := newTape(Options{})
	answers(p.pace, 32, 4<<20, 100*time.Millisecond, 50e6)
	for range 40 {
		p.starved(float64(p.pace.limit()) * 50e6)
	}
	require.Equal(t, 64, p.pace.limit())
	require.Equal(t, 1024, p.pace.window())
	for range 300 {
		p.content(100e6)
	}
	part := float64(p.pace.partSize())
	inFlight := 100e6 * (0.1 + part/50e6)
	require.InDelta(t, 2+2*inFlight/part, p.pace.limit(), 3)
	require.Greater(t, p.pace.window(), int(inFlight/maxBlock), "some are held while others come")
	for range 300 {
		p.content(0)
	}
	require.Equal(t, 2, p.pace.limit())
	require.Equal(t, 2*p.pace.share(), p.pace.window())
	for range 100 {
		p.starved(float64(p.pace.limit()) * 50e6)
	}
	require.Equal(t, 64, p.pace.limit(), "and back")
	require.Equal(t, 1024, p.pace.window())
}

func TestTicksThatSayNothingChangeNothing(t *testing.T) {
	p := newTape(Options{})
	before := p.pace.limit()
	p.at = p.at.Add(tick / 2) // another epoch's
	p.waited += tick
	p.pace.adapt(p.sample)
	p.at = p.at.Add(11 * tick) // nobody looked
	p.throttled++
	p.pace.adapt(p.sample)
	require.Equal(t, before, p.pace.limit())
}

func TestPartsAreAsLargeAsTheWaitBeforeThemDemands(t *testing.T) {
	for _, c := range []struct {
		first time.Duration
		rate  float64
		want  float64
	}{
		{time.Millisecond, 50e6, minPart}, {20 * time.Millisecond, 20e6, 3.2e6}, {time.Second, 100e6, 256 << 20 / 64},
	} {
		p := newPace(Options{}.withDefaults())
		require.EqualValues(t, 2<<20, p.partSize(), "before anything is known: the share of a request")
		answers(p, 15, 4<<20, c.first, c.rate)
		require.EqualValues(t, 2<<20, p.partSize(), "before enough is known")
		answers(p, 17, 4<<20, c.first, c.rate)
		require.InEpsilon(t, c.want, p.partSize(), 0.05)
	}
	require.EqualValues(t, 12_345, newPace(Options{PartSize: 12_345}.withDefaults()).partSize())
}

// Whatever happens, a pace stays within what the options allow.
func TestPaceStaysWithinItsOptions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			ReadAhead:   rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 1<<30)).Draw(t, "read ahead"),
			Concurrency: rapid.IntRange(1, 300).Draw(t, "concurrency"),
			PartSize:    rapid.SampledFrom([]int64{0, 0, 1, 5 << 20, 1 << 40}).Draw(t, "part size"),
		}.withDefaults()
		p := newTape(opts)
		for range rapid.IntRange(0, 150).Draw(t, "ticks") {
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				p.tick(1e6, 1e6, 0, 1)
			case 1, 2:
				p.starved(rapid.Float64Range(0, 1e11).Draw(t, "rate"))
			case 3, 4:
				p.content(rapid.Float64Range(0, 1e11).Draw(t, "rate"))
			case 5:
				answers(p.pace, rapid.IntRange(1, 40).Draw(t, "answers"), rapid.Int64Range(0, 64<<20).Draw(t, "bytes"),
					time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "first")), rapid.Float64Range(1e3, 1e10).Draw(t, "rate"))
			}
			limit, window, share, part := p.pace.limit(), p.pace.window(), p.pace.share(), p.pace.partSize()
			require.True(t, 1 <= limit && limit <= opts.Concurrency, "%d requests", limit)
			require.True(t, opts.leastBlocks() <= window && window <= opts.blockCount(), "%d blocks", window)
			require.True(t, share >= 1 && (share == 1 || share*limit <= opts.blockCount()), "%d blocks for each", share)
			if opts.PartSize > 0 {
				require.Equal(t, opts.PartSize, part)
			} else {
				require.True(t, 1 <= part && part <= min(maxPart, int64(share)*opts.blockSize()), "parts of %d", part)
			}
		}
	})
}

func TestQuantilesAreOfTheLastMeasurements(t *testing.T) {
	var w window
	for i := range 15 {
		w.add(float64(i))
		require.False(t, w.full())
	}
	w.add(15)
	require.True(t, w.full())
	require.Equal(t, 8.0, w.quantile(0.5))
	require.Equal(t, 15.0, w.quantile(1))
	require.Equal(t, 0.0, w.quantile(0))
	for i := range 1_000 {
		w.add(float64(i % 32 * 10))
	}
	require.Equal(t, 300.0, w.quantile(0.95))
}

// The reader waits for seconds, for one request: that is seen while it lasts,
// and the pace does not take it for a reader that needs little.
func TestAWaitCountsWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &ram{objects: map[string][]byte{"a": make([]byte, 100)}, meddle: func(ctx context.Context, _ *s3.GetObjectInput, out *s3.GetObjectOutput) error {
			time.Sleep(5 * time.Second)
			return nil
		}}
		source := NewSource(client, client.list(client.sized, "a"), Options{})
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		go io.ReadAll(stream)
		time.Sleep(2 * time.Second)
		require.InDelta(t, 2, source.Stats().WaitedForS3.Seconds(), 0.01)
		time.Sleep(4 * time.Second)
		require.InDelta(t, 5, source.Stats().WaitedForS3.Seconds(), 0.01)
	})
}

// Parts wait for memory, and the pace takes memory away meanwhile, because the
// reader pauses. They must not go on to wait for more than there will ever be.
func TestMemoryThatIsTakenAwayIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSource(nil, nil, Options{Concurrency: 1})
		answers(s.pace, 32, 4<<20, time.Second, 100e6) // large parts pay: of 32 MiB
		blocks := newBlocks(s)
		first, err := blocks.take(t.Context(), 128)
		require.NoError(t, err)
		require.Len(t, first, 128)
		taken := make(chan int)
		go func() {
			second, _ := blocks.take(t.Context(), 128)
			taken <- len(second)
		}()
		synctest.Wait()
		answers(s.pace, 32, 4<<20, time.Millisecond, 50e6) // and now they do not
		require.Equal(t, 16, s.pace.window())
		for _, block := range first {
			blocks.give(block)
		}
		select {
		case n := <-taken:
			require.Equal(t, 16, n)
		case <-time.After(time.Hour):
			t.Fatal("it waits for 128 of 16 blocks")
		}
		blocks.leave()
	})
}

// The same from outside: a reader that reads, pauses for long and goes on.
func TestAReaderMayPauseForLong(t *testing.T) {
	for _, opts := range []Options{{}, {Concurrency: 1}, {Concurrency: 2, ReadAhead: 64 << 20}, {PartSize: 32 << 20}} {
		t.Run(fmt.Sprintf("%d requests, parts of %d", opts.Concurrency, opts.PartSize), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const object, objects = 64 << 20, 24
				client := &virtual{size: object, rate: 100e6, first: 30 * time.Millisecond}
				var list Objects
				for i := range objects {
					list = append(list, Object{Bucket: "data", Key: fmt.Sprint(i), Size: object})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				stream, err := NewSource(client, list, opts).Open(ctx, 0)
				require.NoError(t, err)
				defer stream.Close()
				for _, pause := range []time.Duration{0, time.Minute, time.Second, 10 * time.Second, 0} {
					_, err := io.CopyN(io.Discard, stream, objects*object/5)
					require.NoError(t, err)
					time.Sleep(pause)
				}
			})
		})
	}
}

// virtual serves objects of zeros at a rate, in the time of the bubble.
type virtual struct {
	Client
	size  int64
	rate  float64 // bytes per second of each request
	first time.Duration
}

func (v *virtual) HeadObject(context.Context, *s3.HeadObjectInput, ...func(*s3.Options)) (*s3.HeadObjectOutput, error) {
	return &s3.HeadObjectOutput{}, nil
}

func (v *virtual) GetObject(ctx context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	time.Sleep(v.first)
	from, last := int64(0), v.size-1
	out := &s3.GetObjectOutput{}
	if in.Range != nil {
		fmt.Sscanf(*in.Range, "bytes=%d-%d", &from, &last)
		text := fmt.Sprintf("bytes %d-%d/%d", from, last, v.size)
		out.ContentRange = &text
	}
	left := last + 1 - from
	out.ContentLength = &left
	out.Body = whileAlive{ctx, readerFunc(func(p []byte) (int, error) {
		if left == 0 {
			return 0, io.EOF
		}
		n := min(int64(len(p)), left)
		time.Sleep(time.Duration(float64(n) / v.rate * 1e9))
		left -= n
		return int(n), nil
	})}
	return out, nil
}

func TestPaceFindsTheRequestsThatAFastReaderNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const object = 256 << 20
		client := &virtual{size: object, rate: 80e6, first: 30 * time.Millisecond}
		var list Objects
		for i := range 40 {
			list = append(list, Object{Bucket: "data", Key: fmt.Sprint(i), Size: object})
		}
		source := NewSource(client, list, Options{})
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		began := time.Now()
		_, err = stream.(io.WriterTo).WriteTo(io.Discard)
		require.NoError(t, err)
		rate := 40 * object / time.Since(began).Seconds()
		require.Greater(t, rate, 2.0e9, "bytes per second; 64 requests for parts of 2 MiB bring 2.4e9")
		require.Equal(t, 64, source.Stats().Limit)
		require.LessOrEqual(t, source.Stats().PartSize, int64(maxPart))
	})
}

// Throttling for real: not more requests at a time than the limit, which is
// halved when S3 says so.
func TestRequestsAtATimeAreHalvedBySlowDown(t *testing.T) {
	server := startServer(t)
	sizes := make([]int, 400)
	for i := range sizes {
		sizes[i] = 300
	}
	want := fillBucket(t, server, sizes...)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	var mu sync.Mutex
	refused := 0
	server.SetFault(func(r *http.Request) *s3test.Fault {
		mu.Lock()
		defer mu.Unlock()
		if isGet(r) && refused < 100 {
			refused++
			return &s3test.Fault{Status: 503, Code: "SlowDown", Delay: 10 * time.Millisecond}
		}
		if isGet(r) {
			return &s3test.Fault{Delay: 2 * time.Millisecond}
		}
		return nil
	})
	source := NewSource(server.Client(), objects, Options{ReadAhead: 64 << 10, Tries: 50, MaxBackoff: 20 * time.Millisecond})
	stream, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	least := source.Stats().Limit
	var got []byte
	for {
		piece := make([]byte, 500)
		n, err := stream.Read(piece)
		got = append(got, piece[:n]...)
		stats := source.Stats()
		least = min(least, stats.Limit)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	requireSame(t, want, got)
	require.LessOrEqual(t, least, 4)
	require.EqualValues(t, 100, source.Stats().Throttled)
}

func TestRequestsAtATimeStayWithinConcurrency(t *testing.T) {
	server := startServer(t)
	sizes := make([]int, 60)
	for i := range sizes {
		sizes[i] = 2_000
	}
	want := fillBucket(t, server, sizes...)
	var mu sync.Mutex
	running, most := 0, 0
	inner := server.Client()
	client := &gauged{inner, func(delta int) {
		mu.Lock()
		defer mu.Unlock()
		running += delta
		most = max(most, running)
	}}
	objects, err := List(t.Context(), inner, "s3://data/")
	require.NoError(t, err)
	for _, concurrency := range []int{1, 3, 7} {
		most = 0
		got, err := io.ReadAll(openList(t, client, objects, Options{ReadAhead: 64 << 10, Concurrency: concurrency, PartSize: 500}))
		require.NoError(t, err)
		requireSame(t, want, got)
		require.LessOrEqual(t, most, concurrency)
		require.Positive(t, most)
	}
}

// gauged tells of requests that begin and whose body ends.
type gauged struct {
	*s3.Client
	count func(delta int)
}

func (c *gauged) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	c.count(1)
	out, err := c.Client.GetObject(ctx, in, opts...)
	if err != nil {
		c.count(-1)
		return nil, err
	}
	out.Body = &countedBody{ReadCloser: out.Body, end: sync.OnceFunc(func() { c.count(-1) })}
	return out, nil
}

type countedBody struct {
	io.ReadCloser
	end func()
}

func (b *countedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func TestSlowRequestsAreCutAndAskedForAgain(t *testing.T) {
	for name, slow := range map[string]func(ctx context.Context, body io.Reader) (wait time.Duration, trickle io.Reader){
		"before the first byte": func(_ context.Context, body io.Reader) (time.Duration, io.Reader) { return 20 * time.Second, body },
		"a body that trickles": func(ctx context.Context, body io.Reader) (time.Duration, io.Reader) {
			return 0, readerFunc(func(p []byte) (int, error) {
				if pause(ctx, time.Second); ctx.Err() != nil {
					return 0, ctx.Err()
				}
				return body.Read(p[:min(len(p), 1_000)])
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, list := manyParts(40)
				var mu sync.Mutex
				asked := map[string]int{}
				client.meddle = func(ctx context.Context, in *s3.GetObjectInput, out *s3.GetObjectOutput) error {
					mu.Lock()
					asked[*in.Key]++
					tries := asked[*in.Key]
					mu.Unlock()
					wait := 20 * time.Millisecond
					body := out.Body.(whileAlive)
					if *in.Key == "30" && tries == 1 || *in.Key == "33" { // the other one is always slow
						var trickle io.Reader
						if wait, trickle = slow(ctx, body.Reader); trickle != nil {
							body.Reader = trickle
							out.Body = body
						}
					}
					pause(ctx, wait)
					return ctx.Err()
				}
				source := NewSource(client, list, Options{Concurrency: 4})
				stream, err := source.Open(t.Context(), 0)
				require.NoError(t, err)
				defer stream.Close()
				began := time.Now()
				got, err := io.ReadAll(stream)
				require.NoError(t, err)
				requireSame(t, client.all(list), got)
				require.Equal(t, 2, asked["30"])
				require.Equal(t, 3, asked["33"], "it is cut twice and then let be")
				require.EqualValues(t, 3, source.Stats().Cut)
				require.Zero(t, source.Stats().Retries, "nothing failed")
				require.Less(t, time.Since(began), 5*time.Minute)
				for key, n := range asked {
					if key != "30" && key != "33" {
						require.Equal(t, 1, n, key)
					}
				}
			})
		})
	}
}

// A request that is slow and gets on: cut and asked for again from where it
// stands, twice and no more.
func TestARequestIsCutTwiceAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, list := manyParts(40)
		client.objects["33"] = make([]byte, 4<<20)
		list[33].Size = 4 << 20
		var mu sync.Mutex
		requests := 0
		client.meddle = func(ctx context.Context, in *s3.GetObjectInput, out *s3.GetObjectOutput) error {
			pause(ctx, 10*time.Millisecond)
			if *in.Key == "33" {
				mu.Lock()
				requests++
				mu.Unlock()
				body := out.Body.(whileAlive)
				inner := body.Reader
				body.Reader = readerFunc(func(p []byte) (int, error) { // 100 kB/s
					if pause(ctx, 100*time.Millisecond); ctx.Err() != nil {
						return 0, ctx.Err()
					}
					return inner.Read(p[:min(len(p), 10_000)])
				})
				out.Body = body
			}
			return nil
		}
		source := NewSource(client, list, Options{Concurrency: 4, PartSize: 8 << 20})
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		got, err := io.ReadAll(stream)
		require.NoError(t, err)
		requireSame(t, client.all(list), got)
		require.EqualValues(t, maxCuts, source.Stats().Cut)
		require.Equal(t, 1+maxCuts, requests)
	})
}

func TestUniformlySlowS3IsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, list := manyParts(60)
		client.meddle = func(ctx context.Context, _ *s3.GetObjectInput, out *s3.GetObjectOutput) error {
			pause(ctx, 3*time.Second)
			body := out.Body.(whileAlive)
			inner := body.Reader
			body.Reader = readerFunc(func(p []byte) (int, error) {
				pause(ctx, time.Second)
				return inner.Read(p[:min(len(p), 10_000)])
			})
			out.Body = body
			return nil
		}
		source := NewSource(client, list, Options{})
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		got, err := io.ReadAll(stream)
		require.NoError(t, err)
		requireSame(t, client.all(list), got)
		require.Zero(t, source.Stats().Cut)
	})
}

// A reader that is slow makes requests that slide wait. They are not slow, and
// S3 does not stall.
func TestRequestsThatWaitForTheReaderAreNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, list := manyParts(60)
		opts := Options{ReadAhead: 32 << 10, PartSize: 1 << 20, Concurrency: 4, Slow: time.Second, Idle: 2 * time.Second}
		source := NewSource(client, list, opts)
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		var got []byte
		for piece := make([]byte, 50_000); ; {
			n, err := io.ReadFull(stream, piece)
			got = append(got, piece[:n]...)
			if err != nil {
				break
			}
			time.Sleep(3 * time.Second)
		}
		requireSame(t, client.all(list), got)
		stats := source.Stats()
		require.Zero(t, stats.Cut)
		require.Zero(t, stats.Retries)
		require.EqualValues(t, 60, stats.Requests)
	})
}

// manyParts are objects of 100 kB, as many as a pace needs to know what is slow.
func manyParts(n int) (*ram, Objects) {
	client := &ram{objects: map[string][]byte{}}
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprint(i))
		client.objects[keys[i]] = noise(i, 100_000)
	}
	return client, client.list(client.sized, keys...)
}

// all is the concatenation of a list.
func (r *ram) all(list Objects) []byte {
	var all strings.Builder
	for _, object := range list {
		all.Write(r.objects[object.Key])
	}
	return []byte(all.String())
}

// What is delivered from memory says nothing of how fast answers can be moved.
func TestMovingIsJudgedByWhatWasMoved(t *testing.T) {
	p := newTape(Options{})
	p.pace.pipe(1)
	require.True(t, p.pace.direct(), "tried at first")
	for range 20 {
		p.content(100e6) // of what had been copied
		require.False(t, p.pace.proven())
	}
	for range settling + 2 {
		p.starved(10e6)
	}
	require.False(t, p.pace.direct(), "one connection is too slow")

	for range 1 << 10 {
		p.content(100e6)
		p.moved += int64(100e6 * tick.Seconds())
	}
	require.True(t, p.pace.proven(), "it was tried again, and the reader did not wait")
	require.EqualValues(t, maxMoved, p.pace.partSize())
	require.Equal(t, min(movedAhead, p.pace.limit()), p.pace.limit())
	for range 2 * settling {
		p.starved(10e6)
	}
	require.False(t, p.pace.direct(), "S3 became slow")

	p.pace.refuse()
	for range 1 << 10 {
		p.content(100e6)
	}
	require.False(t, p.pace.direct(), "it is not possible")
}
