package s3stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// A part that is larger than its share of the memory waits for the reader, and
// goes on when that does. That S3 brings nothing from there on is noticed.
func TestAStallAfterAWaitForTheReaderIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := noise(1, 100_000)
		client := &ram{objects: map[string][]byte{"a": body}}
		client.meddle = func(ctx context.Context, in *s3.GetObjectInput, out *s3.GetObjectOutput) error {
			if in.Range == nil {
				out.Body = whileAlive{ctx, io.MultiReader(bytes.NewReader(body[:8_192]), stalled(ctx))}
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		source := NewSource(client, client.list(client.sized, "a"), Options{ReadAhead: 64 << 10, PartSize: 1 << 20, Idle: 10 * time.Second}) // two blocks of 4 KiB for each request
		stream, err := source.Open(ctx, 0)
		require.NoError(t, err)
		defer stream.Close()
		time.Sleep(time.Minute) // the blocks fill, and the request waits
		began := time.Now()
		got, err := io.ReadAll(stream)
		require.NoError(t, err)
		requireSame(t, body, got)
		require.EqualValues(t, 1, source.Stats().Retries)
		require.Less(t, time.Since(began), time.Minute)
	})
}

// The body is there, and S3 does not say that it ends.
func TestAnEndThatDoesNotComeIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := noise(1, 1_000)
		client := &ram{objects: map[string][]byte{"a": body}}
		var once sync.Once
		client.meddle = func(ctx context.Context, _ *s3.GetObjectInput, out *s3.GetObjectOutput) error {
			once.Do(func() { out.Body = whileAlive{ctx, io.MultiReader(bytes.NewReader(body), stalled(ctx))} })
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		stream, err := NewSource(client, client.list(client.sized, "a"), Options{Idle: 10 * time.Second}).Open(ctx, 0)
		require.NoError(t, err)
		defer stream.Close()
		got, err := io.ReadAll(stream)
		require.NoError(t, err)
		requireSame(t, body, got)
	})
}

// S3 answers nothing at all, over and over.
func TestAnAnswerThatNeverBeginsIsAnErrorAfterAllTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &ram{objects: map[string][]byte{"a": []byte("x")}}
		client.meddle = func(ctx context.Context, _ *s3.GetObjectInput, _ *s3.GetObjectOutput) error {
			<-ctx.Done()
			return ctx.Err()
		}
		source := NewSource(client, client.list(client.sized, "a"), Options{})
		stream, err := source.Open(t.Context(), 0)
		require.NoError(t, err)
		defer stream.Close()
		began := time.Now()
		_, err = io.ReadAll(stream)
		requireObjectError(t, err, "a", 0, errStalled, false)
		require.ErrorContains(t, err, "no byte came for 30s")
		require.EqualValues(t, 10, source.Stats().Requests)
		require.LessOrEqual(t, time.Since(began), 10*30*time.Second+9*20*time.Second)
	})
}

// A body that gets on, however slowly, may break as often as it likes; one
// that brings a little each time is given up.
func TestTriesCountFromTheLastProgress(t *testing.T) {
	for _, c := range []struct {
		each int // bytes of each answer
		fine bool
	}{{enough, true}, {enough - 1, false}} {
		t.Run(fmt.Sprint(c.each), func(t *testing.T) {
			body := noise(1, 30*enough)
			client := &ram{objects: map[string][]byte{"a": body}}
			client.meddle = func(_ context.Context, _ *s3.GetObjectInput, out *s3.GetObjectOutput) error {
				whole := out.Body.(whileAlive)
				whole.Reader = io.LimitReader(whole.Reader, int64(c.each))
				out.Body = whole
				return nil
			}
			opts := Options{Tries: 2, MaxBackoff: time.Microsecond, PartSize: 100 * enough}
			got, err := io.ReadAll(openList(t, client, client.list(client.sized, "a"), opts))
			if c.fine {
				require.NoError(t, err)
				requireSame(t, body, got)
				return
			}
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.True(t, bytes.HasPrefix(body, got))
		})
	}
}

// keys hands out the first of its keys until it is asked again.
type keys struct {
	mu    sync.Mutex
	left  []string
	calls int
}

func (k *keys) Retrieve(context.Context) (aws.Credentials, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	key := k.left[0]
	if len(k.left) > 1 {
		k.left = k.left[1:]
	}
	return aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret", SessionToken: "token of " + key}, nil
}

// refusing is a client of the server that answers 400 to the old key.
func refusing(server *s3test.Server, provider aws.CredentialsProvider, code string) *s3.Client {
	transport := server.Config().HTTPClient.(*http.Client).Transport
	return server.Client(func(o *s3.Options) {
		o.Credentials = provider
		o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if !strings.Contains(r.Header.Get("Authorization"), "Credential=old/") {
				return transport.RoundTrip(r)
			}
			text := "<Error><Code>" + code + "</Code><Message>The provided token has expired.</Message></Error>"
			return &http.Response{
				StatusCode: 400, Header: http.Header{"Content-Type": {"application/xml"}}, ContentLength: int64(len(text)),
				Body: io.NopCloser(strings.NewReader(text)), Request: r,
			}, nil
		})}
	})
}

func TestExpiredCredentialsAreRenewed(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 100, 35_000, 100)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	for _, code := range []string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"} {
		t.Run(code, func(t *testing.T) {
			provider := &keys{left: []string{"old", "new"}}
			got, err := io.ReadAll(openList(t, refusing(server, aws.NewCredentialsCache(provider), code), objects, small))
			require.NoError(t, err)
			requireSame(t, want, got)
			require.GreaterOrEqual(t, provider.calls, 2)
		})
	}
}

func TestCredentialsThatStayExpiredAreAnErrorThatNamesTheObject(t *testing.T) {
	server := startServer(t)
	fillBucket(t, server, 100)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	provider := &keys{left: []string{"old"}}
	source := NewSource(refusing(server, aws.NewCredentialsCache(provider), "ExpiredToken"), objects, small)
	stream, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	_, err = io.ReadAll(stream)
	var failed *ObjectError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "part-000000", failed.Key)
	require.ErrorContains(t, err, "ExpiredToken")
	require.EqualValues(t, small.Tries, source.Stats().Requests)
	require.Equal(t, small.Tries, provider.calls)
}

// dialing is a client of the server that connects with dial.
func dialing(t *testing.T, server *s3test.Server, dial func(ctx context.Context, network, address string) (net.Conn, error)) *s3.Client {
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return server.Client(func(o *s3.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		o.Retryer = aws.NopRetryer{} // of HeadObject, whose pauses are long
	})
}

func TestConnectionsThatFailAreHealed(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 100, 35_000, 100)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	nobody, err := net.Listen("tcp", "127.0.0.1:0") // a port where nobody listens
	require.NoError(t, err)
	require.NoError(t, nobody.Close())
	for name, fail := range map[string]func(ctx context.Context, network, address string) (net.Conn, error){
		"no such host": func(_ context.Context, _, _ string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "s3", IsNotFound: true}}
		},
		"server misbehaving": func(_ context.Context, _, _ string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "s3", IsTemporary: true}}
		},
		"connection refused": func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, nobody.Addr().String())
		},
		"closed at once": func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil {
				conn.Close()
			}
			return conn, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var dialed atomic.Int32
			client := dialing(t, server, func(ctx context.Context, network, address string) (net.Conn, error) {
				if dialed.Add(1) <= 6 {
					return fail(ctx, network, address)
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			})
			opts := small
			opts.Tries = 8
			got, err := io.ReadAll(openList(t, client, objects, opts))
			require.NoError(t, err)
			requireSame(t, want, got)

			_, err = io.ReadAll(openList(t, dialing(t, server, fail), objects, small))
			var failed *ObjectError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, "part-000000", failed.Key)
			require.False(t, failed.ClientError())
			if name != "closed at once" {
				require.ErrorContains(t, err, name)
			}
		})
	}
}

// Answers that are not what was asked for are not believed: each is asked for
// again, and no wrong byte comes through.
func TestAnswersThatLieAreAskedForAgain(t *testing.T) {
	server := startServer(t)
	want := fillBucket(t, server, 3_000, 35_000, 100)
	objects, err := List(t.Context(), server.Client(), "s3://data/")
	require.NoError(t, err)
	for name, lie := range map[string]func(r *http.Response){
		"a range that begins too early": func(r *http.Response) {
			r.Header.Set("Content-Range", strings.Replace(r.Header.Get("Content-Range"), "bytes ", "bytes 1", 1))
		},
		"a range of another object": func(r *http.Response) { r.Header.Set("Content-Range", r.Header.Get("Content-Range")+"0") },
		"no range":                  func(r *http.Response) { r.Header.Del("Content-Range") },
		"a length that is too long": func(r *http.Response) {
			r.Header.Set("Content-Length", fmt.Sprint(r.ContentLength+1))
			r.ContentLength++
		},
		"a length that is too short": func(r *http.Response) {
			r.Header.Set("Content-Length", fmt.Sprint(r.ContentLength-1))
			r.ContentLength--
		},
		"a body that is too long": func(r *http.Response) {
			r.Body = joined{io.MultiReader(r.Body, strings.NewReader("x")), r.Body}
		},
		"a body that is too short": func(r *http.Response) { r.Body = joined{io.LimitReader(r.Body, 50), r.Body} },
		"an empty body":            func(r *http.Response) { r.Body = joined{http.NoBody, r.Body} },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			asked := map[string]int{}
			for _, always := range []bool{false, true} {
				client := through(server, func(r *http.Response) {
					mu.Lock()
					defer mu.Unlock()
					_, end, _ := strings.Cut(r.Request.Header.Get("Range"), "-") // the beginning moves
					id := r.Request.Method + r.Request.URL.Path + end
					asked[id]++
					if isGet(r.Request) && r.Request.Header.Get("Range") != "" && (always || asked[id] == 1) {
						lie(r)
					}
				})
				opts := small
				opts.Tries = 7
				got, err := io.ReadAll(openList(t, client, objects, opts))
				if !always {
					require.NoError(t, err)
					requireSame(t, want, got)
					continue
				}
				require.True(t, bytes.HasPrefix(want, got))
				var failed *ObjectError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, "part-000001", failed.Key)
				require.False(t, failed.ClientError())
			}
		})
	}
}

// joined reads from one and closes another.
type joined struct {
	io.Reader
	io.Closer
}

// A certificate that is not trusted will not be at the tenth try either.
func TestACertificateThatIsNotTrustedIsNotTriedAgain(t *testing.T) {
	impostor := httptest.NewUnstartedServer(http.NotFoundHandler())
	impostor.Config.ErrorLog = log.New(io.Discard, "", 0)
	impostor.StartTLS()
	defer impostor.Close()
	server := startServer(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := server.Client(func(o *s3.Options) {
		o.BaseEndpoint, o.HTTPClient = &impostor.URL, &http.Client{Transport: transport}
	})
	source := NewSource(client, Objects{{Bucket: "data", Key: "a", Size: 10}}, Options{})
	stream, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	defer stream.Close()
	_, err = io.ReadAll(stream)
	require.ErrorContains(t, err, "s3://data/a at byte 0")
	require.ErrorContains(t, err, "certificate")
	require.EqualValues(t, 1, source.Stats().Requests)
}

// While a reader decides to go on, Idle must not run: OpenRange has nobody else
// who reads.
func TestARangeMayBeReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &ram{objects: map[string][]byte{"a": noise(1, 1_000)}}
		object := client.list(client.sized, "a")[0]
		requests := 0
		client.meddle = func(context.Context, *s3.GetObjectInput, *s3.GetObjectOutput) error { requests++; return nil }
		r := OpenRange(t.Context(), client, object, 10, 900, Options{Idle: time.Second, Tries: 3})
		defer r.Close()
		var got []byte
		for piece := make([]byte, 50); ; {
			n, err := r.Read(piece)
			got = append(got, piece[:n]...)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			time.Sleep(time.Minute)
		}
		requireSame(t, noise(1, 1_000)[10:900], got)
		require.Equal(t, 1, requests)
	})
}

func TestCausesOfCancellationArriveWhereverAStreamWaits(t *testing.T) {
	cause := errors.New("the job was stopped")
	for name, meddle := range map[string]func(ctx context.Context, in *s3.GetObjectInput, out *s3.GetObjectOutput) error{
		"for an answer": func(ctx context.Context, _ *s3.GetObjectInput, _ *s3.GetObjectOutput) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"for a body": func(ctx context.Context, _ *s3.GetObjectInput, out *s3.GetObjectOutput) error {
			out.Body = whileAlive{ctx, stalled(ctx)}
			return nil
		},
		"between two tries": func(context.Context, *s3.GetObjectInput, *s3.GetObjectOutput) error {
			return broken{io.ErrUnexpectedEOF}
		},
	} {
		for way, change := range map[string]func(o *Options){
			"bytes": func(*Options) {}, "gzip": unzipping, "records": wrapping(0), "lines": func(o *Options) { o.Lines = true },
			"gzip records": func(o *Options) { o.Gzip, o.RecordIO = true, true },
		} {
			for _, size := range []string{"sized", "unsized"} {
				t.Run(name+"/"+way+"/"+size, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						client := &ram{objects: map[string][]byte{"a": []byte("x")}, meddle: meddle}
						list := client.list(client.sized, "a")
						if size == "unsized" {
							list = client.list(unsized, "a")
						}
						ctx, cancel := context.WithCancelCause(t.Context())
						stream, err := NewSource(client, list, Options{MaxBackoff: time.Hour, Tries: 1_000}.with(change)).Open(ctx, 0)
						require.NoError(t, err)
						time.AfterFunc(time.Minute, func() { cancel(cause) })
						_, err = io.Copy(io.Discard, stream)
						require.Equal(t, cause, err)
						require.NoError(t, stream.Close())
						_, err = stream.Read(make([]byte, 1))
						require.Equal(t, cause, err, "after Close too")
					})
				})
			}
		}
	}
}
