package s3test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

func TestFaultAnswersAnError(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "a")
	server.SetFault(func(r *http.Request) *Fault {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/a") {
			return &Fault{Status: 503, Code: "SlowDown"}
		}
		return nil
	})
	_, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("a")})
	requireAPIError(t, err, 503, "SlowDown")
	require.Equal(t, []string{"a"}, list(t, client, s3.ListObjectsV2Input{}))
	server.SetFault(nil)
	_, _, err = get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("a")})
	require.NoError(t, err)
}

func TestFaultCutsTheBodyAtItsByte(t *testing.T) {
	server, client := startTest(t)
	content := strings.Repeat("x", 300_000)
	require.NoError(t, server.Put("data", "a", strings.NewReader(content)))
	for _, at := range []int64{0, 1, 299_999, 100_000} {
		server.SetFault(func(*http.Request) *Fault { return &Fault{At: at, Cut: true} })
		body, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("a")})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.EqualValues(t, at, len(body))
	}
	server.SetFault(func(*http.Request) *Fault { return &Fault{At: 300_001, Cut: true} })
	body, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("a")})
	require.NoError(t, err)
	require.Len(t, body, 300_000)
}

func TestFaultStallsUntilTheClientLeaves(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "a")
	server.SetFault(func(*http.Request) *Fault { return &Fault{At: 3, Stall: true} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String("a")})
	require.NoError(t, err)
	defer out.Body.Close()
	body := make([]byte, 4)
	n, err := io.ReadFull(out.Body, body[:3])
	require.NoError(t, err)
	require.Equal(t, "bod", string(body[:n]))
	more := make(chan error, 1)
	go func() {
		_, err := out.Body.Read(body[3:])
		more <- err
	}()
	select {
	case err := <-more:
		t.Fatal("it does not stall: ", err)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	require.ErrorIs(t, <-more, context.Canceled)
}

func TestCloseEndsStalledRequests(t *testing.T) {
	server, client := startTest(t)
	put(t, server, "a")
	server.SetFault(func(*http.Request) *Fault { return &Fault{Stall: true} })
	out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String("a")})
	require.NoError(t, err)
	require.NoError(t, server.Close())
	_, err = io.ReadAll(out.Body)
	require.Error(t, err)
	out.Body.Close()
}
