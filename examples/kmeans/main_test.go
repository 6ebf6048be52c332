package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3test"
	"github.com/algospec/algospec/recordio"
)

// TestMain is also the container, which the platform starts with the argument that the contract names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "train" {
		main()
	}
	leaks.Main(m)
}

const shards, rowsOfShard = 5, 200

// newData starts a server with rows about four places, in several objects.
func newData(t *testing.T) *s3test.Server {
	t.Helper()
	server := s3test.New()
	t.Cleanup(func() { server.Close() })
	require.NoError(t, server.CreateBucket("models"))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range shards {
		var b bytes.Buffer
		w := recordio.NewWriter(&b)
		for n := range rowsOfShard {
			row := make([]float32, 3)
			for j := range row {
				row[j] = float32(100*(n%4)) + float32(rng.NormFloat64())
			}
			require.NoError(t, w.WriteRow(row))
		}
		require.NoError(t, w.Flush())
		require.NoError(t, server.Put("data", fmt.Sprintf("train/%d", i), &b))
	}
	return server
}

// run runs this container as processes and returns its model, the model's bytes, the metrics and the log.
func run(t *testing.T, server *s3test.Server, mode string, hosts int) (kmeans.Model, []byte, map[string]float64) {
	t.Helper()
	var log bytes.Buffer
	job := platform.Job{
		Name: "kmeans", Command: []string{os.Args[0]}, InstanceCount: hosts,
		HyperParameters: hyperparams.Map{"feature_dim": "3", "k": "4", "mini_batch_size": "100", "epochs": "2", "_seed": "1", "_data_msd": "true"},
		Channels: []platform.Channel{
			{Name: "train", S3URI: "s3://data/train/", InputMode: mode, S3DataDistributionType: "ShardedByS3Key"},
			{Name: "test", S3URI: "s3://data/train/", InputMode: mode},
		},
		Environment: map[string]string{"GORACE": "atexit_sleep_ms=0"},
		OutputPath:  "s3://models", S3: server.Client(), Dir: t.TempDir(), Grace: time.Minute, Log: &log,
	}
	for _, d := range kmeans.Metrics() {
		job.MetricDefinitions = append(job.MetricDefinitions, platform.MetricDefinition(d))
	}
	result, err := platform.Run(t.Context(), job)
	require.NoError(t, err, log.String())
	object, err := job.S3.GetObject(t.Context(), &s3.GetObjectInput{
		Bucket: aws.String("models"), Key: aws.String(strings.TrimPrefix(result.ModelArtifacts, "s3://models/")),
	})
	require.NoError(t, err)
	defer object.Body.Close()
	text, err := gzip.NewReader(object.Body)
	require.NoError(t, err)
	archive := tar.NewReader(text)
	header, err := archive.Next()
	require.NoError(t, err)
	require.Equal(t, kmeans.ModelFile, header.Name)
	var whole bytes.Buffer
	_, err = whole.ReadFrom(archive)
	require.NoError(t, err)
	var m kmeans.Model
	_, err = m.ReadFrom(bytes.NewReader(whole.Bytes()))
	require.NoError(t, err)
	return m, whole.Bytes(), result.Metrics
}

// One host and three, by pipe and by file, find the four places; and the mode changes no bit.
func TestTheContainerFindsTheClusters(t *testing.T) {
	server := newData(t)
	for _, hosts := range []int{1, 3} {
		var first []byte
		for _, mode := range []string{"Pipe", "File"} {
			t.Run(fmt.Sprintf("%d hosts, %s", hosts, mode), func(t *testing.T) {
				m, bits, metrics := run(t, server, mode, hosts)
				if first == nil {
					first = bits
				}
				require.Equal(t, first, bits)
				places := map[int]bool{}
				for j := range 4 {
					places[int(m.Centers.Data[3*j]+50)/100] = true
				}
				require.Len(t, places, 4, "%v", m.Centers.Data)
				require.InDelta(t, 3, metrics["test:msd"], 0.5)
				require.InDelta(t, 3, metrics["train:data_msd"], 0.5)
				require.Equal(t, 100.0, metrics["train:progress"])
				require.Contains(t, metrics, "train:msd")
				require.Positive(t, metrics["train:throughput"])
			})
		}
	}
}
