package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
	"github.com/algospec/algospec/recordio"
)

// TestMain is also the container, which the platform starts with the argument that the contract
// names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "train" {
		main()
	}
	leaks.Main(m)
}

// rows returns n rows of d features as RecordIO-protobuf.
func rows(t *testing.T, n, d int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for i := range n {
		row := make([]float32, d)
		for j := range row {
			row[j] = float32(i*j%7) + float32(j)
		}
		require.NoError(t, w.WriteRow(row))
	}
	require.NoError(t, w.Flush())
	return b.Bytes()
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// train runs this container on the objects, in order, and returns its FailureReason, "" when it
// completed. It checks that nothing is left.
func train(t *testing.T, objects [][]byte, parameters hyperparams.Map, change func(*platform.Job, *s3test.Server)) string {
	t.Helper()
	server := s3test.New()
	defer server.Close()
	require.NoError(t, server.CreateBucket("models"))
	for i, object := range objects {
		require.NoError(t, server.Put("data", "train/"+string(rune('a'+i)), bytes.NewReader(object)))
	}
	all := hyperparams.Map{"feature_dim": "4", "num_components": "2", "mini_batch_size": "3"}
	for name, value := range parameters {
		if all[name] = value; value == "" {
			delete(all, name)
		}
	}
	job := platform.Job{
		Name: "pca", Command: []string{os.Args[0]}, HyperParameters: all,
		Environment: map[string]string{"GORACE": "atexit_sleep_ms=0"},
		Channels:    []platform.Channel{{Name: "train", S3URI: "s3://data/train/"}},
		OutputPath:  "s3://models", S3: server.Client(), Dir: t.TempDir(),
		Stream: s3stream.Options{Tries: 2, MaxBackoff: time.Millisecond},
	}
	if change != nil {
		change(&job, server)
	}
	result, err := platform.Run(t.Context(), job)
	left, readErr := os.ReadDir(job.Dir)
	require.NoError(t, readErr)
	require.Empty(t, left)
	if err == nil {
		require.NotEmpty(t, result.ModelArtifacts)
		return ""
	}
	failed, ok := errors.AsType[*platform.FailedError](err)
	require.True(t, ok, "%v", err)
	require.Empty(t, result.ModelArtifacts)
	return failed.Reason
}

func TestTheContainerTrains(t *testing.T) {
	require.Empty(t, train(t, [][]byte{rows(t, 10, 4), rows(t, 5, 4)}, nil, nil))
}

// Each of these ends in one clear error that names channel, epoch, record and byte where they apply.
func TestBadInputIsOneClearError(t *testing.T) {
	good := rows(t, 3, 4) // 40 bytes a record
	for _, c := range []struct {
		name       string
		objects    [][]byte
		parameters hyperparams.Map
		want       string
	}{
		{"wrong feature count in the middle", [][]byte{good, rows(t, 1, 5), good}, nil,
			"ClientError: channel train, epoch 0: recordio: record 3 at byte 120: 5 features, want 4, exit code: 2"},
		{"gzip", [][]byte{zipped(t, good)}, nil,
			"ClientError: channel train, epoch 0: recordio: record 0 at byte 0: bad magic number 1f 8b 08 00: this looks like gzip, not RecordIO, exit code: 2"},
		{"CSV", [][]byte{[]byte("1,2,3,4\n5,6,7,8\n")}, nil,
			"ClientError: channel train, epoch 0: recordio: record 0 at byte 0: bad magic number 31 2c 32 2c: this looks like CSV, not RecordIO, exit code: 2"},
		{"JSON", [][]byte{[]byte(`{"features": [1, 2, 3, 4]}`)}, nil,
			"ClientError: channel train, epoch 0: recordio: record 0 at byte 0: bad magic number 7b 22 66 65: this looks like JSON, not RecordIO, exit code: 2"},
		{"a cut object at the end", [][]byte{good, good[:70]}, nil,
			"ClientError: channel train, epoch 0: recordio: record 4 at byte 160: the stream ends inside the record, exit code: 2"},
		{"a cut object in the middle", [][]byte{good[:70], good}, nil,
			"ClientError: channel train, epoch 0: recordio: record 2 at byte 80: bad magic number"},
		{"no records", [][]byte{{}}, nil, "ClientError: channel train: no record in it, exit code: 2"},
		{"missing hyperparameter", [][]byte{good}, hyperparams.Map{"num_components": ""},
			"ClientError: No value(s) were specified for 'num_components' which are required hyperparameter(s), exit code: 2"},
		{"mistyped hyperparameter", [][]byte{good}, hyperparams.Map{"num_components": "two"},
			`ClientError: hyperparameter num_components: "two": not an integer, exit code: 2`},
		{"hyperparameter out of range", [][]byte{good}, hyperparams.Map{"mini_batch_size": "0"},
			"ClientError: hyperparameter mini_batch_size: 0: must be in [1,), exit code: 2"},
		{"unknown hyperparameter", [][]byte{good}, hyperparams.Map{"num_component": "2"},
			"ClientError: hyperparameter num_component: unknown (did you mean num_components?)"},
		{"more components than features", [][]byte{good}, hyperparams.Map{"feature_dim": "50", "num_components": "5"},
			"ClientError: hyperparameter num_components: 5: more than the 4 features of the data, exit code: 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reason := train(t, c.objects, c.parameters, nil)
			require.True(t, strings.HasPrefix(reason, c.want), "got  %s\nwant %s", reason, c.want)
		})
	}
	t.Run("a channel that the algorithm needs", func(t *testing.T) {
		reason := train(t, [][]byte{good}, nil, func(job *platform.Job, _ *s3test.Server) { job.Channels[0].Name = "training" })
		require.Equal(t, "ClientError: channel train: the algorithm needs it, and the job has only training, exit code: 2", reason)
	})
	t.Run("object vanished", func(t *testing.T) {
		reason := train(t, [][]byte{good, good}, nil, func(_ *platform.Job, server *s3test.Server) {
			server.SetFault(func(r *http.Request) *s3test.Fault {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/train/b") {
					return &s3test.Fault{Status: 404, Code: "NoSuchKey"}
				}
				return nil
			})
		})
		require.True(t, strings.HasPrefix(reason, "ClientError: channel train, epoch 0: Data download failed: s3://data/train/b at byte 0: "), reason)
	})
	t.Run("child killed", func(t *testing.T) {
		reason := train(t, [][]byte{good, good}, nil, func(job *platform.Job, server *s3test.Server) {
			// When the second object is asked for, the container is running, and reads.
			server.SetFault(func(r *http.Request) *s3test.Fault {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/train/b") {
					return &s3test.Fault{Stall: true}
				}
				return nil
			})
			job.Log = killer{t}
		})
		require.Equal(t, "AlgorithmError: the process ended abruptly, exit code: 137", reason)
	})
}

// killer kills the container that says which process it is.
type killer struct{ t *testing.T }

func (k killer) Write(line []byte) (int, error) {
	var pid int
	if n, _ := fmt.Sscanf(string(line), "Process %d is a worker.", &pid); n == 1 {
		require.NoError(k.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	return len(line), nil
}
