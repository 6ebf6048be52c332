package checkpoints

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform/s3test"
)

// childURL names the server to a process that mirrors and writes until it is killed; childDir, its directory.
const (
	childURL = "CHECKPOINTS_TEST_URL"
	childDir = "CHECKPOINTS_TEST_DIR"
)

// killSize is the size of a version's filling: one request's or a multipart upload's.
func killSize(name int) int { return []int{100_000, 12 << 20}[name%2] }

func child(url string) {
	client := s3.New(s3.Options{
		BaseEndpoint: &url, UsePathStyle: true, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	ctx := context.Background()
	dir := os.Getenv(childDir)
	m, err := Restore(ctx, client, uri, dir, Options{Interval: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go m.Run(ctx)
	for n := 1; ; n++ {
		for name := range 4 {
			body := strings.NewReader(version(n, killSize(name)))
			if err := atomicfile.Write(filepath.Join(dir, fmt.Sprint("f", name)), body); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Killed at any moment, the platform leaves each object in one whole version.
func TestWhoIsKilledLeavesWholeObjects(t *testing.T) {
	server := startServer(t)
	for round := range 4 {
		underway := make(chan struct{})
		var seconds atomic.Int32 // parts of f1
		server.SetFault(func(r *http.Request) *s3test.Fault {
			if r.URL.Path == "/data/ckpt/f1" && r.URL.Query().Get("partNumber") == "2" && seconds.Add(1) == int32(round+1) {
				close(underway)
				<-r.Context().Done()
			}
			return nil
		})
		process := exec.CommandContext(t.Context(), os.Args[0])
		process.Env = append(os.Environ(), childURL+"="+server.URL, childDir+"="+t.TempDir())
		process.Stdout, process.Stderr = os.Stderr, os.Stderr
		require.NoError(t, process.Start())
		<-underway
		require.NoError(t, process.Process.Kill())
		require.ErrorContains(t, process.Wait(), "killed")
		server.SetFault(nil)
		restored := newHost(t, server.Client(), t.TempDir(), Options{}).files()
		require.Equal(t, round > 0, restored["f1"] != "")
		for name, body := range restored {
			require.Equal(t, killSize(int(name[1]-'0')), len(fillingOf(t, body)), name)
		}
	}
}

// fillingOf returns what is in a whole version.
func fillingOf(t testing.TB, body string) string {
	t.Helper()
	first, rest, _ := strings.Cut(body, ":")
	filling, last, _ := strings.Cut(rest, ":")
	require.Equal(t, first, last)
	return filling
}
