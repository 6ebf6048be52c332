package linearlearner_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/testenv"
)

func unzipped(t *testing.T, path ...string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join(append([]string{testenv.Shared(t)}, path...)...))
	require.NoError(t, err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	require.NoError(t, err)
	data, err := io.ReadAll(text)
	require.NoError(t, err)
	return data
}

// train runs Train on channels in memory and returns the model as it was saved, and the log.
func train(t *testing.T, parameters hyperparams.Map, contentType string, channels map[string][]byte) (*linearlearner.Model, string) {
	t.Helper()
	var log bytes.Buffer
	job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Stdout: &log, Channels: map[string]*channel.Channel{}, HyperParameters: parameters}
	for name, data := range channels {
		job.Channels[name] = &channel.Channel{Name: name, Source: channel.Memory(data), Config: channel.Config{ContentType: contentType}}
	}
	require.NoError(t, algospec.Bind(linearlearner.Train)(t.Context(), job))
	file, err := os.Open(filepath.Join(string(job.Model), linearlearner.ModelFile))
	require.NoError(t, err)
	defer file.Close()
	var model linearlearner.Model
	_, err = model.ReadFrom(file)
	require.NoError(t, err)
	return &model, log.String()
}

// losses returns the train objective of each model by epoch, as a log has it.
func losses(t *testing.T, log string) [][]float64 {
	t.Helper()
	var epochs [][]float64
	for line := range strings.Lines(log) {
		text, ok := strings.CutPrefix(line, "#metrics ")
		if !ok {
			continue
		}
		var record struct {
			Dimensions struct {
				Epoch, Model *int
			}
			Metrics map[string]struct{ Sum float64 }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &record))
		loss, ok := record.Metrics["train_binary_classification_cross_entropy_objective"]
		if record.Dimensions.Model == nil || !ok {
			continue
		}
		if *record.Dimensions.Epoch == len(epochs) {
			epochs = append(epochs, nil)
		}
		require.Len(t, epochs[*record.Dimensions.Epoch], *record.Dimensions.Model)
		epochs[*record.Dimensions.Epoch] = append(epochs[*record.Dimensions.Epoch], loss.Sum)
	}
	return epochs
}

// Acceptance L1 (builtin-algorithms, 10.3): the training of a published job, all 32 models of it, epoch by epoch.
func TestAPublishedJobIsReproduced(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join(testenv.Shared(t), "golden", "sagemaker-models", "logs", "linear_2024.txt"))
	require.NoError(t, err)
	want := losses(t, string(golden))
	require.Len(t, want, 10)
	data := unzipped(t, "golden", "sagemaker-models", "attrition", "train.csv.gz")
	model, log := train(t, hyperparams.Map{"predictor_type": "binary_classifier", "mini_batch_size": "100"}, "text/csv", map[string][]byte{"train": data})
	got := losses(t, log)
	for epoch := 1; epoch < min(len(got), len(want)); epoch++ {
		worst := 0.0
		for m := range want[epoch] {
			worst = max(worst, got[epoch][m]-want[epoch][m], want[epoch][m]-got[epoch][m])
		}
		t.Logf("epoch %d: %.6f", epoch, worst)
	}
	t.Log(model.Threshold)
	t.Log(log[len(log)-6000:])
}
