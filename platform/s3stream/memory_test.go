//go:build unix && !race

package s3stream_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/rusage"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// The memory of a process that streams is its budget and 64 MB, however much it streams:
// ALGOSPEC_STREAM_GB gigabytes, 1 without it. The objects are one, under many names. S3 takes 20 ms
// for each answer, so that the budget is wanted.
func TestAStreamStaysWithinTheMemory(t *testing.T) {
	if url := os.Getenv("STREAM_FROM"); url != "" {
		streamAll(t, url)
		return
	}
	gigabytes := 1
	if n, err := strconv.Atoi(os.Getenv("ALGOSPEC_STREAM_GB")); err == nil {
		gigabytes = n
	}
	server := s3test.New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	const size = 20_000_000
	require.NoError(t, server.Put("data", "part-0", io.LimitReader(zeros{}, size)))
	count := gigabytes * 1_000_000_000 / size
	for i := 1; i < count; i++ {
		_, err := server.Client().CopyObject(t.Context(), &s3.CopyObjectInput{
			Bucket: aws.String("data"), Key: aws.String(fmt.Sprintf("part-%d", i)), CopySource: aws.String("data/part-0"),
		})
		require.NoError(t, err)
	}
	server.SetFault(func(r *http.Request) *s3test.Fault { return &s3test.Fault{Delay: 20 * time.Millisecond} })

	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAStreamStaysWithinTheMemory$", "-test.v")
	child.Env = append(os.Environ(), "STREAM_FROM="+server.URL, fmt.Sprint("STREAM_BYTES=", count*size))
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var peak int64
	_, text, _ := strings.Cut(string(out), "peak memory: ")
	_, err = fmt.Sscan(text, &peak)
	require.NoError(t, err, "%s", out)
	t.Logf("%d GB, peak %d MB\n%s", gigabytes, peak/1e6, out)
	require.Less(t, peak, int64(256<<20+64e6))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// streamAll reads everything at the endpoint.
func streamAll(t *testing.T, url string) {
	twin := s3test.New() // for its client's settings
	defer twin.Close()
	config := twin.Config()
	config.BaseEndpoint = aws.String(url)
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	objects, err := s3stream.List(context.Background(), client, "s3://data/")
	require.NoError(t, err)
	source := s3stream.NewSource(client, objects, s3stream.Options{})
	epoch, err := source.Open(context.Background(), 0)
	require.NoError(t, err)
	defer epoch.Close()
	n, err := io.Copy(io.Discard, epoch)
	require.NoError(t, err)
	require.Equal(t, os.Getenv("STREAM_BYTES"), fmt.Sprint(n))
	t.Logf("%+v", source.Stats())
	fmt.Println("peak memory:", peakMemory(t))
}

// peakMemory is that of this process alone: what wait4 tells of a child began as its parent's.
func peakMemory(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return rusage.Self()
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	_, err = fmt.Sscan(text, &kilobytes)
	require.NoError(t, err)
	return kilobytes << 10
}
