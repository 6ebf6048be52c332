package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/faultproxy"
)

var content = strings.Repeat("0123456789abcdef", 1000)

// newServer serves content with a checksum, whatever the path.
func newServer(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"tag"`)
		w.Header().Set("X-Host", r.Host)
		if r.Header.Get("Range") == "" {
			w.Header().Set("X-Amz-Checksum-Crc32", "AAAAAA==")
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return server
}

// How long a client waits for what comes, and for what does not.
const (
	patience   = time.Minute
	impatience = 200 * time.Millisecond
)

// get returns what a client sees of bytes 100 to 1099, or of the whole object. It waits so long for the answer, and then so
// long for the rest of its body.
func get(t *testing.T, proxy *faultproxy.Proxy, ranged bool, answers, rest time.Duration) (*http.Response, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DialContext: proxy.DialContext, DisableKeepAlives: true, ResponseHeaderTimeout: answers,
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, proxy.URL+"/bucket/key", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=KEY/20260101/us-east-1/s3/aws4_request")
	if ranged {
		request.Header.Set("Range", "bytes=100-1099")
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	timer := time.AfterFunc(rest, cancel)
	defer timer.Stop()
	body, err := io.ReadAll(answer.Body)
	return answer, string(body), err
}

func TestEachFaultIsWhatItsNameSays(t *testing.T) {
	status := func(want int, code string) func(*testing.T, *http.Response, string, error) {
		return func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.Equal(t, want, answer.StatusCode)
			require.Contains(t, body, "<Code>"+code+"</Code>")
		}
	}
	wanted := content[100:1100]
	for _, c := range []struct {
		fault faultproxy.Fault
		whole bool
		check func(*testing.T, *http.Response, string, error)
	}{
		{fault: faultproxy.InternalError, check: status(500, "InternalError")},
		{fault: faultproxy.SlowDown, check: status(503, "SlowDown")},
		{fault: faultproxy.ExpiredToken, check: status(400, "ExpiredToken")},
		{fault: faultproxy.Reset, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}},
		{fault: faultproxy.Silence, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.True(t, isTimeout(err), "%v", err)
			require.Nil(t, answer)
		}},
		{fault: faultproxy.CutBody, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.EqualValues(t, len(wanted), answer.ContentLength)
			require.True(t, strings.HasPrefix(wanted, body))
		}},
		{fault: faultproxy.ResetBody, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.ErrorIs(t, err, syscall.ECONNRESET)
			require.True(t, strings.HasPrefix(wanted, body))
		}},
		{fault: faultproxy.StallBody, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.ErrorIs(t, err, context.Canceled)
			require.NotNil(t, answer)
			require.True(t, strings.HasPrefix(wanted, body))
		}},
		{fault: faultproxy.Trickle, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.Equal(t, wanted, body)
		}},
		{fault: faultproxy.FlipByte, whole: true, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.Len(t, body, len(content))
			different := 0
			for i := range body {
				if body[i] != content[i] {
					different++
				}
			}
			require.Equal(t, 1, different)
		}},
		{fault: faultproxy.NoSuchHost, check: func(t *testing.T, answer *http.Response, body string, err error) {
			var lookup *net.DNSError
			require.ErrorAs(t, err, &lookup)
		}},
		{fault: faultproxy.ShortLength, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.EqualValues(t, len(body), answer.ContentLength)
			require.Less(t, len(body), len(wanted))
			require.True(t, strings.HasPrefix(wanted, body))
		}},
		{fault: faultproxy.LongLength, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.Greater(t, answer.ContentLength, int64(len(wanted)))
			require.Equal(t, wanted, body)
		}},
		{fault: faultproxy.LongBody, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.Greater(t, len(body), len(wanted))
			require.EqualValues(t, len(body), answer.ContentLength)
		}},
		{fault: faultproxy.ShortChunks, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.EqualValues(t, -1, answer.ContentLength)
			require.Less(t, len(body), len(wanted))
		}},
		{fault: faultproxy.LongChunks, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.EqualValues(t, -1, answer.ContentLength)
			require.Greater(t, len(body), len(wanted))
		}},
		{fault: faultproxy.WrongRange, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.Equal(t, "bytes 101-1100/16000", answer.Header.Get("Content-Range"))
			require.Equal(t, wanted[1:], body[:len(body)-1])
			require.Len(t, body, len(wanted))
		}},
		{fault: faultproxy.NoRange, check: func(t *testing.T, answer *http.Response, body string, err error) {
			require.NoError(t, err)
			require.Equal(t, 200, answer.StatusCode)
			require.Empty(t, answer.Header.Get("Content-Range"))
			require.Equal(t, wanted[1:], body[:len(body)-1])
		}},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			for seed := range uint64(4) {
				opts := faultproxy.Options{Rate: 1, Faults: []faultproxy.Fault{c.fault}, Pause: time.Millisecond}
				proxy := faultproxy.New(newServer(t).URL, seed, opts)
				answers, rest := patience, patience
				switch c.fault {
				case faultproxy.Silence:
					answers = impatience
				case faultproxy.StallBody:
					rest = impatience
				}
				answer, body, err := get(t, proxy, !c.whole, answers, rest)
				c.check(t, answer, body, err)
				require.Len(t, proxy.Log(), 1)
				require.Equal(t, c.fault, proxy.Log()[0].Fault)
				proxy.Close()
			}
		})
	}
}

func TestTheObjectIsReplacedWhileItIsRead(t *testing.T) {
	var replaced []string
	opts := faultproxy.Options{Rate: 1, Faults: []faultproxy.Fault{faultproxy.Replace}, Replace: func(bucket, key string) {
		replaced = append(replaced, bucket+" "+key)
	}}
	proxy := faultproxy.New(newServer(t).URL, 1, opts)
	get(t, proxy, true, patience, patience)
	proxy.Close()
	require.Equal(t, []string{"bucket key"}, replaced)
}

func TestOnlyABodyWithAChecksumIsFlipped(t *testing.T) {
	proxy := faultproxy.New(newServer(t).URL, 1, faultproxy.Options{Rate: 1, Faults: []faultproxy.Fault{faultproxy.FlipByte}})
	defer proxy.Close()
	_, body, err := get(t, proxy, true, patience, patience)
	require.NoError(t, err)
	require.Equal(t, content[100:1100], body)
	require.Empty(t, proxy.Log())
}

func TestWithoutFaultsRequestsPassWithTheirHost(t *testing.T) {
	proxy := faultproxy.New(newServer(t).URL, 1, faultproxy.Options{})
	defer proxy.Close()
	answer, body, err := get(t, proxy, false, patience, patience)
	require.NoError(t, err)
	require.Equal(t, content, body)
	require.Equal(t, strings.TrimPrefix(proxy.URL, "http://"), answer.Header.Get("X-Host"))
	require.Equal(t, 1, proxy.Requests())
}

func TestASeedBringsTheSameFaultsAgain(t *testing.T) {
	faults := func(seed uint64) (all string) {
		opts := faultproxy.Options{Rate: 0.5, Faults: []faultproxy.Fault{faultproxy.SlowDown, faultproxy.CutBody, faultproxy.LongBody}}
		proxy := faultproxy.New(newServer(t).URL, seed, opts)
		defer proxy.Close()
		for i := range 40 {
			get(t, proxy, i%2 == 0, patience, patience)
		}
		return fmt.Sprint(proxy.Log())
	}
	first := faults(7)
	require.NotEmpty(t, first)
	require.Equal(t, first, faults(7))
	require.NotEqual(t, first, faults(8))
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
