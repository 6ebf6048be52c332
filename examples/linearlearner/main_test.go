package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/platform"
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

const rows, features = 600, 5

// shard returns rows whose label says whether a linear function of them, with some noise, is positive.
func shard(t *testing.T, seed uint64) []byte {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for range rows {
		row, sum := make([]float32, features), random.NormFloat64()/10
		for j := range row {
			row[j] = float32(10*j) + float32(random.NormFloat64())
			sum += float64(j-2) * (float64(row[j]) - float64(10*j))
		}
		label := float32(0)
		if sum > 0 {
			label = 1
		}
		require.NoError(t, w.WriteRow(row, label))
	}
	require.NoError(t, w.Flush())
	return b.Bytes()
}

func newJob(t *testing.T, server *s3test.Server, mode string, hosts int) platform.Job {
	channel := func(name, distribution string) platform.Channel {
		return platform.Channel{Name: name, S3URI: "s3://data/" + name + "/", InputMode: mode, S3DataDistributionType: distribution}
	}
	return platform.Job{
		Name: "linear", Command: []string{os.Args[0]}, InstanceCount: hosts,
		HyperParameters: hyperparams.Map{"predictor_type": "binary_classifier", "mini_batch_size": "50", "epochs": "4"},
		Environment:     map[string]string{"GORACE": "atexit_sleep_ms=0"},
		Channels:        []platform.Channel{channel("train", "ShardedByS3Key"), channel("validation", "FullyReplicated"), channel("test", "FullyReplicated")},
		OutputPath:      "s3://models", S3: server.Client(), Dir: t.TempDir(), Grace: time.Minute,
	}
}

func newData(t *testing.T) *s3test.Server {
	t.Helper()
	server := s3test.New()
	t.Cleanup(func() { server.Close() })
	require.NoError(t, server.CreateBucket("models"))
	for i := range 3 {
		require.NoError(t, server.Put("data", fmt.Sprintf("train/%d", i), bytes.NewReader(shard(t, uint64(i)))))
	}
	for i, name := range []string{"validation", "test"} {
		require.NoError(t, server.Put("data", name+"/0", bytes.NewReader(shard(t, uint64(10+i)))))
	}
	return server
}

// run runs the job and returns its model file and its log.
func run(t *testing.T, job platform.Job) ([]byte, string) {
	t.Helper()
	var log bytes.Buffer
	job.Log = &log
	result, err := platform.Run(t.Context(), job)
	require.NoError(t, err, log.String())
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
	header, err := archive.Next()
	require.NoError(t, err)
	require.Equal(t, linearlearner.ModelFile, header.Name)
	model, err := io.ReadAll(archive)
	require.NoError(t, err)
	_, err = archive.Next()
	require.ErrorIs(t, err, io.EOF, "one model of all hosts")
	return model, log.String()
}

// Through pipes, of which there is one for each pass, and from files the models are the same, bit for bit, on one host and on
// several.
func TestTheModelIsTheSameThroughPipesAndFromFiles(t *testing.T) {
	server := newData(t)
	for _, hosts := range []int{1, 3} {
		t.Run(fmt.Sprint(hosts, " hosts"), func(t *testing.T) {
			piped, log := run(t, newJob(t, server, "Pipe", hosts))
			filed, _ := run(t, newJob(t, server, "File", hosts))
			require.Equal(t, piped, filed)
			var model linearlearner.Model
			_, err := model.ReadFrom(bytes.NewReader(piped))
			require.NoError(t, err)
			require.Equal(t, features, model.Features())
			require.Contains(t, log, "test binary_classification_accuracy <score>=0.9")
		})
	}
}

func TestBadInputIsOneClearError(t *testing.T) {
	server := newData(t)
	for _, c := range []struct {
		name       string
		parameters hyperparams.Map
		want       string
	}{
		{"a loss of another predictor type", hyperparams.Map{"predictor_type": "multiclass_classifier", "num_classes": "3", "loss": "logistic"},
			"hyperparameter loss: logistic: not a loss of predictor_type multiclass_classifier, which has [softmax_loss]"},
		{"no predictor type", hyperparams.Map{"predictor_type": ""}, "No value(s) were specified for 'predictor_type' which are required hyperparameter(s)"},
		{"an unknown name", hyperparams.Map{"epoch": "3"}, "hyperparameter epoch: unknown (did you mean epochs?)"},
		{"another width", hyperparams.Map{"feature_dim": "6"}, "channel train, epoch 0: recordio: record 0 at byte 0: 5 features, want 6"},
		{"no whole batch", hyperparams.Map{"mini_batch_size": "5000"}, "channel train: 1800 records are fewer than mini_batch_size, 5000: there is no whole batch to train on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := newJob(t, server, "File", 1)
			for name, value := range c.parameters {
				if job.HyperParameters[name] = value; value == "" {
					delete(job.HyperParameters, name)
				}
			}
			_, err := platform.Run(t.Context(), job)
			var failed *platform.FailedError
			require.ErrorAs(t, err, &failed)
			require.Contains(t, failed.Reason, "ClientError: "+c.want)
		})
	}
}
