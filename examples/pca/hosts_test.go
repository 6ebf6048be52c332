package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3test"
	"github.com/algospec/algospec/recordio"
)

const features, shards, rowsOfShard = 6, 5, 200

// newData starts a server with random rows in several objects, the last of which is empty.
func newData(t *testing.T) *s3test.Server {
	t.Helper()
	server := s3test.New()
	t.Cleanup(func() { server.Close() })
	require.NoError(t, server.CreateBucket("models"))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range shards {
		var b bytes.Buffer
		w := recordio.NewWriter(&b)
		for range rowsOfShard {
			row := make([]float32, features)
			for j := range row {
				row[j] = float32(j)*100 + float32(features-j)*float32(rng.NormFloat64())
			}
			require.NoError(t, w.WriteRow(row))
		}
		require.NoError(t, w.Flush())
		require.NoError(t, server.Put("data", fmt.Sprintf("train/%d", i), &b))
	}
	return server
}

func newHostsJob(t *testing.T, server *s3test.Server, mode string, hosts int) platform.Job {
	return platform.Job{
		Name: "pca-hosts", InstanceCount: hosts,
		HyperParameters: hyperparams.Map{"feature_dim": fmt.Sprint(features), "num_components": "3", "mini_batch_size": "50"},
		Channels: []platform.Channel{{
			Name: "train", S3URI: "s3://data/train/", InputMode: mode, S3DataDistributionType: "ShardedByS3Key",
			ContentType: "application/x-recordio-protobuf",
		}},
		Environment: map[string]string{"GORACE": "atexit_sleep_ms=0"},
		OutputPath:  "s3://models", S3: server.Client(), Dir: t.TempDir(), Grace: 20 * time.Second,
	}
}

// A road is a way to run the algorithm.
type road struct {
	name string
	take func(t *testing.T, job *platform.Job)
}

var roads = []road{
	{"goroutines", func(t *testing.T, job *platform.Job) { job.Trainer = algospec.Bind(pca.Train) }},
	{"processes", func(t *testing.T, job *platform.Job) { job.Command = []string{os.Args[0]} }},
	{"containers", func(t *testing.T, job *platform.Job) {
		testenv.Containers(t)
		job.Image = testenv.Image(t, testenv.ImageSpec{Programs: map[string]string{"/pca": "./examples/pca"}, Changes: []string{`ENTRYPOINT ["/pca"]`}})
	}},
}

// model runs the job and returns its model.
func model(t *testing.T, job platform.Job) (pca.Model, []byte) {
	t.Helper()
	var log bytes.Buffer
	job.Log = &log
	result, err := platform.Run(t.Context(), job)
	require.NoError(t, err, log.String())
	return modelOf(t, job, result)
}

// modelOf returns the model of a job that has completed, and checks that nothing else is left.
func modelOf(t *testing.T, job platform.Job, result *platform.Result) (pca.Model, []byte) {
	t.Helper()
	left, err := os.ReadDir(job.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
	object, err := job.S3.GetObject(t.Context(), &s3.GetObjectInput{
		Bucket: aws.String("models"), Key: aws.String(strings.TrimPrefix(result.ModelArtifacts, "s3://models/")),
	})
	require.NoError(t, err)
	defer object.Body.Close()
	text, err := gzip.NewReader(object.Body)
	require.NoError(t, err)
	archive := tar.NewReader(text)
	_, err = archive.Next()
	require.NoError(t, err)
	var m pca.Model
	whole, err := io.ReadAll(archive)
	require.NoError(t, err)
	_, err = m.ReadFrom(bytes.NewReader(whole))
	require.NoError(t, err)
	_, err = archive.Next()
	require.ErrorIs(t, err, io.EOF, "one model of all hosts")
	return m, whole
}

// However the hosts are run and the data arrive, three of them make the same model, to the bit; and
// that of one host, to the rounding of sums that are cut otherwise.
func TestThreeHostsMakeTheModelOfOne(t *testing.T) {
	server := newData(t)
	one := newHostsJob(t, server, "Pipe", 1)
	one.Command = []string{os.Args[0]}
	want, _ := model(t, one)
	modes := []string{"Pipe", "File"}
	if os.Geteuid() == 0 {
		modes = append(modes, "FastFile")
	}
	var first []byte
	for _, road := range roads {
		t.Run(road.name, func(t *testing.T) {
			job := newHostsJob(t, server, "", 3)
			road.take(t, &job)
			for _, mode := range modes {
				job.Channels[0].InputMode = mode
				got, bits := model(t, job)
				if first == nil {
					first = bits
				}
				require.Equal(t, first, bits, mode)
				require.InDeltaSlice(t, want.S, got.S, 1e-3)
				require.InDeltaSlice(t, want.V.Data, got.V.Data, 1e-5)
				require.InDeltaSlice(t, want.Mean, got.Mean, 1e-4)
			}
		})
	}
}

// A host that is killed from outside fails the job at once and by its name.
func TestAKilledHostIsNamed(t *testing.T) {
	server := newData(t)
	server.SetFault(stallAfter(2)) // the hosts wait for their second objects
	defer server.SetFault(nil)
	for _, road := range roads[1:] {
		t.Run(road.name, func(t *testing.T) {
			job := newHostsJob(t, server, "Pipe", 3)
			road.take(t, &job)
			var once sync.Once
			var killed error
			job.Progress = func(p platform.Progress) {
				reading := 0
				for _, c := range p.Channels {
					if c.Bytes > 0 {
						reading++
					}
				}
				if reading == 3 {
					once.Do(func() { killed = kill(t, job.Dir, "algo-2") })
				}
			}
			began := time.Now()
			_, err := platform.Run(t.Context(), job)
			require.NoError(t, killed)
			var failed *platform.FailedError
			require.ErrorAs(t, err, &failed)
			require.Contains(t, failed.Reason, "AlgorithmError: algo-2: ")
			require.Contains(t, failed.Reason, ", exit code: 137")
			require.Less(t, time.Since(began), job.Grace+time.Minute)
			left, err := os.ReadDir(job.Dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// kill kills the process of a host, whose tree is below dir; in a container by the runtime.
func kill(t *testing.T, dir, host string) error {
	pids, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, environ := range pids {
		text, _ := os.ReadFile(environ)
		for variable := range strings.SplitSeq(string(text), "\x00") {
			if strings.HasPrefix(variable, "SAGEMAKER_BASE_DIR="+dir) && strings.HasSuffix(variable, "/"+host) {
				return exec.Command("kill", "-9", filepath.Base(filepath.Dir(environ))).Run()
			}
		}
	}
	trees, err := filepath.Glob(filepath.Join(dir, "algospec-*"))
	if err != nil || len(trees) != 1 {
		return fmt.Errorf("trees %q: %v", trees, err)
	}
	command := testenv.Containers(t)
	return exec.Command(command[0], append(command[1:len(command):len(command)], "kill", "--signal", "9", filepath.Base(trees[0])+"-"+host)...).Run()
}

// stallAfter lets the objects from number n on begin and never end.
func stallAfter(n int) func(*http.Request) *s3test.Fault {
	return func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/data/train/") && r.URL.Path >= fmt.Sprintf("/data/train/%d", n) {
			return &s3test.Fault{At: 100, Stall: true}
		}
		return nil
	}
}
