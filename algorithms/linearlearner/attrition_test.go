package linearlearner_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/compute"
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

var attrition = hyperparams.Map{"predictor_type": "binary_classifier", "mini_batch_size": "100"}

func attritionRows(t *testing.T) []byte {
	return unzipped(t, "golden", "sagemaker-models", "attrition", "train.csv.gz")
}

func goldenLog(t *testing.T) string {
	text, err := os.ReadFile(filepath.Join(testenv.Shared(t), "golden", "sagemaker-models", "logs", "linear_2024.txt"))
	require.NoError(t, err)
	return string(text)
}

// Acceptance L1 (builtin-algorithms, 10.3): the training of a published job, all 32 models of it, whose random starts are others.
func TestAPublishedJobIsReproduced(t *testing.T) {
	want := losses(t, goldenLog(t))
	require.Len(t, want, 10)
	model, log := train(t, attrition, "text/csv", map[string][]byte{"train": attritionRows(t)})
	got := losses(t, log)
	require.Len(t, got, 10, "it stops after epoch 9")
	for epoch, tolerance := range map[int]float64{4: 1.5e-3, 9: 2e-4} {
		require.InDeltaSlice(t, want[epoch], got[epoch], tolerance, "epoch %d", epoch)
	}
	requireLine(t, log, "Early stop condition met. Stopping training.")
	requireLine(t, log, `Best model found for hyperparameters: {"optimizer": "adam", "learning_rate": 0.005, "wd": 0.0001, "l1": 0, "lr_scheduler_step": 10,`)
	require.InDelta(t, 0.5551001572652641, quality(t, log, "train binary_classification_cross_entropy_objective <loss>"), 1e-3)
	require.GreaterOrEqual(t, quality(t, log, "train binary_classification_accuracy <score>"), 0.711)
	require.InDelta(t, 0.7852394233934931, quality(t, log, "train roc_auc_score <score>"), 1e-3)
	require.InDelta(t, 0.53153, model.Threshold, 0.05)
	// The scaler's, of the first 6,500 rows.
	text := log[strings.Index(log, "Scaling model computed"):]
	require.Regexp(t, `'stdev_weight': \n\[1.214069.e\+01 4.97415..e-01 1.131692.e\+01`, text[:500])
	require.Regexp(t, `'mean_weight': \n\[3.86693..e\+01 5.507692.e-01 1.56433..e\+01`, text[:900])
}

// With the last weights in the place of their averages the scores are closer yet to the original's.
func TestTheLastWeightsAreThoseOfTheOriginal(t *testing.T) {
	parameters := maps.Clone(attrition)
	parameters["_average_weights"] = "false"
	_, log := train(t, parameters, "text/csv", map[string][]byte{"train": attritionRows(t)})
	require.InDelta(t, 0.5551001572652641, quality(t, log, "train binary_classification_cross_entropy_objective <loss>"), 5e-4)
}

// requireLine requires a log, which is long, to have the text.
func requireLine(t *testing.T, log, text string) {
	t.Helper()
	require.True(t, strings.Contains(log, text), "no %q", text)
}

// quality returns the last value that the log has of a series.
func quality(t *testing.T, log, series string) float64 {
	t.Helper()
	matches := regexp.MustCompile(`#quality_metric: host=\S+, `+regexp.QuoteMeta(series)+`=(\S+)`).FindAllStringSubmatch(log, -1)
	require.NotEmpty(t, matches, "no %s", series)
	value, err := strconv.ParseFloat(matches[len(matches)-1][1], 64)
	require.NoError(t, err)
	return value
}

// golden reads a model of the service's own.
func golden(t *testing.T, name string) (*linearlearner.Model, []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.Shared(t), "golden", "sagemaker-models", name))
	require.NoError(t, err)
	if strings.HasSuffix(name, ".tar.gz") {
		text, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		archive := tar.NewReader(text)
		_, err = archive.Next()
		require.NoError(t, err)
		data, err = io.ReadAll(archive)
		require.NoError(t, err)
	}
	var model linearlearner.Model
	n, err := model.ReadFrom(bytes.NewReader(data))
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	return &model, data
}

// The service's log says what its model is worth on its training data.
func TestAPublishedModelPredictsWhatItsLogSays(t *testing.T) {
	model, _ := golden(t, "attrition/linear_binary.model_algo-1")
	require.Equal(t, 20, model.Features())
	require.InDelta(t, 0.5315272808074951, model.Threshold, 1e-15)
	rows := blas32.General{Cols: 20, Stride: 20}
	var labels []float32
	for line := range strings.Lines(string(attritionRows(t))) {
		for i, text := range strings.Split(strings.TrimSpace(line), ",") {
			x, err := strconv.ParseFloat(text, 32)
			require.NoError(t, err)
			if i == 0 {
				labels = append(labels, float32(x))
				continue
			}
			rows.Data = append(rows.Data, float32(x))
		}
	}
	rows.Rows = len(labels)
	predictions := model.Predict(compute.Matrix{X: rows})
	for i, want := range []float64{0.5040602395711021, 0.38273150431818914, 0.6276185009299792, 0.3299303248532037, 0.7850819699474776} {
		require.InDelta(t, want, predictions[i].Score[0], 1e-7)
	}
	right := 0
	for i, p := range predictions {
		if p.PredictedLabel == labels[i] {
			right++
		}
	}
	require.Equal(t, 0.7112095296273672, float64(right)/float64(len(labels)))
}

// What is written has the members of the service's files, stored, and reads as the same model.
func TestModelFilesAreThoseOfTheService(t *testing.T) {
	for _, name := range []string{"attrition/linear_binary.model_algo-1", "other/linear_binary_d5000.tar.gz", "other/linear_regressor_d513.tar.gz"} {
		t.Run(name, func(t *testing.T) {
			model, data := golden(t, name)
			var written bytes.Buffer
			n, err := model.WriteTo(&written)
			require.NoError(t, err)
			require.EqualValues(t, written.Len(), n)
			want, got := members(t, data), members(t, written.Bytes())
			for member, content := range want {
				switch {
				case strings.HasSuffix(member, ".params"):
					require.Len(t, got[member], len(content))
				case member == "mx-mod-symbol.json":
					counter := regexp.MustCompile(`"(dot|broadcast_plus|[a-z]+output)\d+"`)
					require.JSONEq(t, counter.ReplaceAllString(string(content), `"${1}0"`), string(got[member]))
				default:
					require.JSONEq(t, string(content), string(got[member]))
				}
			}
			require.Len(t, got, len(want))
			var again linearlearner.Model
			_, err = again.ReadFrom(&written)
			require.NoError(t, err)
			require.Equal(t, model, &again)
		})
	}
}

func members(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	all := map[string][]byte{}
	for _, f := range archive.File {
		require.Equal(t, zip.Store, f.Method)
		member, err := f.Open()
		require.NoError(t, err)
		all[f.Name], err = io.ReadAll(member)
		require.NoError(t, err)
	}
	return all
}

// shapes returns the lines of a log from the data on without what differs from run to run: times, numbers, and those of models
// and epochs but the first.
func shapes(log string) (lines []string) {
	number := regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)
	prefix := regexp.MustCompile(`^\[[^\]]* (INFO|WARNING) \d+\] `)
	metric := regexp.MustCompile(`"([A-Za-z_ .]+)": {"sum"`)
	for line := range strings.Lines(log) {
		line = prefix.ReplaceAllString(strings.TrimSpace(line), "$1 ")
		if strings.HasPrefix(line, "#metrics") {
			var names []string
			for _, m := range metric.FindAllStringSubmatch(line, -1) {
				names = append(names, m[1])
			}
			slices.Sort(names)
			dimensions := regexp.MustCompile(`"Dimensions": {[^}]*}`).FindString(line)
			line = "#metrics " + dimensions + " " + strings.Join(names, ", ")
		}
		if i := strings.Index(line, "hyperparameters: {"); i >= 0 {
			line = line[:i]
		}
		line = strings.Replace(line, "100 % epochs", "100 % of epochs", 1)
		line = number.ReplaceAllString(line, "N")
		lines = append(lines, line)
	}
	return lines
}

// Each line of the original that platforms and people look at comes, in its order.
func TestTheLogIsThatOfTheOriginal(t *testing.T) {
	_, log := train(t, attrition, "text/csv", map[string][]byte{"train": attritionRows(t)})
	got := shapes(log)
	// Lines of the original that mean nothing here.
	without := regexp.MustCompile(`^N-N-N |^Running default|Loggers have already|Reading default|Merging with|Final configuration|nvidia-smi|` +
		`^<|^\[?N|^ |Saved checkpoint|wait_for_all_workers|^\{|^Training seconds|^Billable|^$`)
	at := 0
	for _, line := range shapes(goldenLog(t)) {
		if without.MatchString(line) {
			continue
		}
		found := slices.Index(got[at:], line)
		require.GreaterOrEqual(t, found, 0, "%q after %q", line, got[max(0, at-1)])
		at += found + 1
	}
}
