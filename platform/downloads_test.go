package platform_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// awaitParts waits until so many objects of the channel train are whole files of it.
func awaitParts(t *testing.T, job platform.Job, parts int) {
	assert.NoError(t, until(t.Context(), func() bool {
		for i := range parts {
			if !exists(fmt.Sprintf("%s/%s/train/part-%d", job.Downloads, job.Name, i)) {
				return false
			}
		}
		return true
	}))
}

func TestADownloadGoesOnWhereTheJobBeforeEnded(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	job.Channels[0].InputMode = "File"
	job.Downloads = t.TempDir()
	job.Dir = t.TempDir()
	job.Stream = s3stream.Options{Tries: 1, MaxBackoff: time.Millisecond}

	var mu sync.Mutex
	asked := map[string]int{}
	broken := true
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "part-") {
			return nil
		}
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		if broken && strings.HasSuffix(r.URL.Path, "part-2") {
			awaitParts(t, job, 2)
			return &s3test.Fault{Status: 500, Code: "InternalError"}
		}
		return nil
	})
	_, err := run(t, t.Context(), job)
	require.ErrorContains(t, err, "Data download failed: s3://data/train/part-2 at byte 0")
	require.DirExists(t, job.Downloads+"/"+job.Name+"/train")

	broken = false
	clear(asked)
	result, err := run(t, t.Context(), job)
	require.NoError(t, err)
	require.NotEmpty(t, result.ModelArtifacts)
	require.Equal(t, map[string]int{"/data/train/part-2": 1}, asked)
	for _, dir := range []string{job.Downloads, job.Dir} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestADownloadOfSeveralChannelsGoesOnWhereTheJobBeforeEnded(t *testing.T) {
	server := newServer(t)
	job := newJob(t, server)
	job.Channels[0].InputMode = "File"
	job.Channels = append(job.Channels, platform.Channel{Name: "test", S3URI: "s3://data/test/", InputMode: "File"})
	job.Downloads = t.TempDir()
	job.Stream = s3stream.Options{Tries: 1, MaxBackoff: time.Millisecond}
	var mu sync.Mutex
	asked := map[string]int{}
	broken := true
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "part") {
			return nil
		}
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		if broken && strings.HasPrefix(r.URL.Path, "/data/test/") {
			awaitParts(t, job, 3)
			return &s3test.Fault{Status: 500, Code: "InternalError"}
		}
		return nil
	})
	_, err := run(t, t.Context(), job)
	require.Error(t, err)
	broken = false
	clear(asked)
	_, err = run(t, t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"/data/test/part": 1}, asked)
	left, err := os.ReadDir(job.Downloads)
	require.NoError(t, err)
	require.Empty(t, left)
}
