package s3test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

const benchmarkSize = 256 << 20

func benchmarkObject(b *testing.B) (*Server, *s3.Client) {
	server, client := startTest(b)
	require.NoError(b, server.Put("data", "big", bytes.NewReader(make([]byte, benchmarkSize))))
	b.SetBytes(benchmarkSize)
	b.ReportAllocs()
	return server, client
}

// BenchmarkGet reads one object in one request: the yardstick for who streams
// from this server.
func BenchmarkGet(b *testing.B) {
	server, client := benchmarkObject(b)
	drain := func(b *testing.B, body io.ReadCloser) {
		n, err := io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{body}, make([]byte, 256<<10))
		require.NoError(b, err)
		require.EqualValues(b, benchmarkSize, n)
		require.NoError(b, body.Close())
	}
	b.Run("net-http", func(b *testing.B) {
		b.SetBytes(benchmarkSize)
		plain := &http.Client{Transport: server.transport}
		for b.Loop() {
			response, err := plain.Get(server.URL + "/data/big")
			require.NoError(b, err)
			drain(b, response.Body)
		}
	})
	b.Run("sdk", func(b *testing.B) {
		b.SetBytes(benchmarkSize)
		for b.Loop() {
			out, err := client.GetObject(b.Context(), &s3.GetObjectInput{Bucket: aws.String("data"), Key: aws.String("big")})
			require.NoError(b, err)
			drain(b, out.Body)
		}
	})
	files := http.Server{Handler: http.FileServer(http.Dir(server.store.bucketDir("data") + "/data"))}
	b.Run("http.FileServer", func(b *testing.B) {
		b.SetBytes(benchmarkSize)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		go files.Serve(listener)
		defer files.Close()
		o, _ := server.store.buckets["data"].objects.Get("big")
		plain := &http.Client{Transport: server.transport}
		for b.Loop() {
			response, err := plain.Get("http://" + listener.Addr().String() + "/" + o.File)
			require.NoError(b, err)
			drain(b, response.Body)
		}
	})
}

type onlyWriter struct{ io.Writer }

func BenchmarkPut(b *testing.B) {
	server, _ := benchmarkObject(b)
	body := make([]byte, benchmarkSize)
	for b.Loop() {
		require.NoError(b, server.Put("data", "again", bytes.NewReader(body)))
	}
}

func BenchmarkPutSmall(b *testing.B) {
	server, _ := startTest(b)
	for i := 0; b.Loop(); i++ {
		require.NoError(b, server.Put("data", strconv.Itoa(i), strings.NewReader("small")))
	}
}
