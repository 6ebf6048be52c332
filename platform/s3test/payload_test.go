package s3test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

// Over TLS and from a stream the SDK sends aws-chunked with the checksum in a
// trailer, which it does not over plain HTTP.
func TestTrailingChecksumAsTheSDKSendsIt(t *testing.T) {
	server, plain := startTest(t)
	var content string
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			content = r.Header.Get("X-Amz-Content-Sha256")
		}
		server.handler.ServeHTTP(w, r)
	}))
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	client := server.Client(func(o *s3.Options) {
		o.BaseEndpoint = aws.String(secure.URL)
		o.HTTPClient = &http.Client{Transport: transport}
	})
	body := strings.Repeat("0123456789", 30_000)
	_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("data"), Key: aws.String("k"), Body: io.MultiReader(strings.NewReader(body)),
		ContentLength: aws.Int64(int64(len(body))),
	})
	require.NoError(t, err)
	require.Equal(t, "STREAMING-UNSIGNED-PAYLOAD-TRAILER", content)
	got, out, err := get(t.Context(), plain, &s3.GetObjectInput{Key: aws.String("k")})
	require.NoError(t, err)
	require.True(t, got == body)
	require.NotEmpty(t, aws.ToString(out.ChecksumCRC32))
	require.Empty(t, aws.ToString(out.ContentEncoding))
}

func TestWrappedBodies(t *testing.T) {
	server, client := startTest(t)
	signature := ";chunk-signature=" + strings.Repeat("0a", 32)
	for name, test := range map[string]struct {
		header map[string]string
		body   string
		status int
	}{
		"signed chunks": {
			map[string]string{"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "X-Amz-Decoded-Content-Length": "9"},
			"5" + signature + "\r\nhello\r\n4" + signature + "\r\n you\r\n0" + signature + "\r\n\r\n", 200,
		},
		"signed trailer": {
			map[string]string{"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "X-Amz-Trailer": "x-amz-checksum-crc32"},
			"9" + signature + "\r\nhello you\r\n0" + signature + "\r\nx-amz-checksum-crc32:iOOe2w==\r\nx-amz-trailer-signature:00\r\n\r\n", 200,
		},
		"nothing after the last chunk": {
			map[string]string{"Content-Encoding": "aws-chunked"}, "9\r\nhello you\r\n0\r\n", 200,
		},
		"wrong trailer": {
			map[string]string{"Content-Encoding": "aws-chunked", "X-Amz-Trailer": "x-amz-checksum-crc32"},
			"9\r\nhello you\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", 400,
		},
		"missing trailer": {
			map[string]string{"Content-Encoding": "aws-chunked", "X-Amz-Trailer": "x-amz-checksum-crc32"},
			"9\r\nhello you\r\n0\r\n\r\n", 400,
		},
		"another length": {
			map[string]string{"Content-Encoding": "aws-chunked", "X-Amz-Decoded-Content-Length": "8"}, "9\r\nhello you\r\n0\r\n\r\n", 400,
		},
		"cut chunk":            {map[string]string{"Content-Encoding": "aws-chunked"}, "9\r\nhel", 400},
		"wrong MD5":            {map[string]string{"Content-Md5": "AAAAAAAAAAAAAAAAAAAAAA=="}, "hello you", 400},
		"wrong plain checksum": {map[string]string{"X-Amz-Checksum-Crc32": "AAAAAA=="}, "hello you", 400},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, server.store.remove("data", "k"))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/data/k", strings.NewReader(test.body))
			require.NoError(t, err)
			for name, value := range test.header {
				request.Header.Set(name, value)
			}
			response, err := (&http.Client{Transport: server.transport}).Do(request)
			require.NoError(t, err)
			answer, _ := io.ReadAll(response.Body)
			response.Body.Close()
			require.Equal(t, test.status, response.StatusCode, string(answer))
			got, _, err := get(t.Context(), client, &s3.GetObjectInput{Key: aws.String("k")})
			if test.status != 200 {
				requireAPIError(t, err, 404, "NoSuchKey")
				return
			}
			require.NoError(t, err)
			require.Equal(t, "hello you", got)
		})
	}
}
