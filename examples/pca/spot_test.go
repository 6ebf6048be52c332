package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3test"
)

// The instances are taken away while the first host waits for its second object. The job that starts again goes on
// from what is in S3, and its model is that of a job that was left alone, bit for bit.
func TestASpotJobThatIsInterruptedMakesTheSameModel(t *testing.T) {
	for _, c := range []struct {
		hosts       int
		unannounced bool
	}{{1, false}, {1, true}, {3, false}, {3, true}} {
		t.Run(fmt.Sprintf("%d hosts, unannounced=%t", c.hosts, c.unannounced), func(t *testing.T) {
			server := newData(t)
			job := newHostsJob(t, server, "Pipe", c.hosts)
			job.Command = []string{os.Args[0]}
			_, want := model(t, job)

			var held atomic.Bool
			held.Store(true)
			server.SetFault(func(r *http.Request) *s3test.Fault {
				if held.Load() && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/train/3") {
					return &s3test.Fault{Stall: true}
				}
				return nil
			})
			job.Spot, job.Unannounced = true, c.unannounced
			job.Environment["ALGOSPEC_CHECKPOINT_EVERY"] = "1ns"
			job.Checkpoints = platform.Checkpoints{S3URI: "s3://models/checkpoints/", Interval: 10 * time.Millisecond}
			for _, d := range pca.Metrics() {
				job.MetricDefinitions = append(job.MetricDefinitions, platform.MetricDefinition(d))
			}
			var log logged
			job.Log = &log
			running, err := platform.Start(t.Context(), job)
			require.NoError(t, err)
			awaitSnapshot(t, job.S3)
			held.Store(false)
			running.Interrupt()
			result, err := running.Wait()
			require.NoError(t, err, log.String())
			require.Equal(t, 2, result.Attempts)
			require.Contains(t, log.String(), "Going on after ")
			_, got := modelOf(t, job, result)
			require.Equal(t, want, got)
			require.InDelta(t, 0.5, result.Metrics["train:explained_variance"], 0.5)
			require.Equal(t, 100.0, result.Metrics["train:progress"])
			require.Positive(t, result.Metrics["train:throughput"])
		})
	}
}

// awaitSnapshot waits until a snapshot of the first host is in S3.
func awaitSnapshot(t *testing.T, client *s3.Client) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("models"), Prefix: aws.String("checkpoints/step-")})
		require.NoError(t, err)
		for _, object := range list.Contents {
			if strings.Contains(*object.Key, ".algo-1.") {
				return true
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond)
}

// logged is what a job has logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
