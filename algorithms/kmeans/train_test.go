package kmeans_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/recordio"
)

// The defaults are those that the service's containers print (golden sagemaker-models, defaults.json), but for its own that have no effect here, and ours.
func TestTheDefaultsAreTheOriginals(t *testing.T) {
	defaults := hyperparams.Defaults[kmeans.Params]()
	for name := range defaults {
		if strings.HasPrefix(name, "_") && name != "_num_slices" {
			delete(defaults, name)
		}
	}
	require.Equal(t, hyperparams.Map{
		"mini_batch_size": "5000", "epochs": "1", "init_method": "random", "extra_center_factor": "auto", "half_life_time_size": "0",
		"local_lloyd_init_method": "kmeans++", "local_lloyd_max_iter": "300", "local_lloyd_num_trials": "auto", "local_lloyd_tol": "0.0001",
		"eval_metrics": `["msd"]`, "force_dense": "true", "_num_slices": "1",
	}, defaults)
}

func TestBadHyperparametersAreOneClearError(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"k", "0", "hyperparameter k: 0: must be in [1,2147483647]"},
		{"k", "ten", `hyperparameter k: "ten": not an integer`},
		{"init_method", "best", `hyperparameter init_method: "best": must be one of random, kmeans++, kmeans||`},
		{"local_lloyd_init_method", "kmeans||", `hyperparameter local_lloyd_init_method: "kmeans||": must be one of random, kmeans++`},
		{"extra_center_factor", "0", "hyperparameter extra_center_factor: 0: must be in [1,2147483647] or auto"},
		{"epochs", "0", "hyperparameter epochs: 0: must be in [1,2147483647]"},
		{"local_lloyd_tol", "1.5", "hyperparameter local_lloyd_tol: 1.5: must be in [0,1]"},
		{"half_life_time_size", "-1", "hyperparameter half_life_time_size: -1: must be in [0,)"},
		{"eval_metrics", `["mse"]`, `hyperparameter eval_metrics: "mse": must be one of msd, ssd`},
		{"center_factor", "3", "hyperparameter center_factor: unknown (did you mean extra_center_factor?)"},
		{"k", "2147483647", "hyperparameter k: 2147483647: 21474836470 centers of 4 features (k × extra_center_factor × feature_dim) are more than 268435456 numbers"},
	} {
		_, err := hyperparams.Parse[kmeans.Params](hyperparams.Map{"feature_dim": "4", "k": "3", c.name: c.value})
		require.ErrorContains(t, err, c.want)
		require.True(t, algospec.IsClientError(err))
	}
	_, err := hyperparams.Parse[kmeans.Params](hyperparams.Map{})
	require.ErrorContains(t, err, "No value(s) were specified for 'feature_dim', 'k' which are required hyperparameter(s)")
}

func TestBadInputIsOneClearClientError(t *testing.T) {
	rows := blobs(100, 4, 3, 61)
	nan := blobs(100, 4, 3, 61)
	nan[70][2] = float32(nanValue())
	for _, c := range []struct {
		name   string
		rows   table
		change hyperparams.Map
		want   string
	}{
		{"fewer rows than centers", rows[:20], nil, "channel train: the first batch has 20 rows, fewer than the 30 centers to draw from it (3·10: k·extra_center_factor); a smaller extra_center_factor or a larger mini_batch_size may help"},
		{"a batch smaller than the centers", rows, hyperparams.Map{"mini_batch_size": "29"}, "hyperparameter mini_batch_size: 29: fewer than the 30 centers to draw from the first batch (3·10: k·extra_center_factor)"},
		{"no records", nil, nil, "channel train: no record in it"},
		{"NaN", nan, nil, "channel train, epoch 0: recordio: record 70 at byte 2800: feature 2 is NaN"},
		{"other features", blobs(100, 5, 3, 62), nil, "channel train, epoch 0: recordio: record 0 at byte 0: 5 features, want 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(c.rows.encode(t))}}}
			err := kmeans.Train(t.Context(), job, params(t, 4, 3, c.change))
			require.EqualError(t, err, c.want)
			require.True(t, algospec.IsClientError(err))
		})
	}
	_, err := kmeans.Fit(t.Context(), channel.Memory(nil), kmeans.Params{})
	require.EqualError(t, err, "kmeans: 0 clusters")
}

func nanValue() float64 { zero := 0.0; return zero / zero }

// Every definition of Metrics finds a value in a run's log.
func TestTheMetricDefinitionsMatchTheLog(t *testing.T) {
	rows := blobs(200, 4, 3, 63)
	m, log := train(t, params(t, 4, 3, hyperparams.Map{"eval_metrics": `["msd", "ssd"]`}), map[string]table{"train": rows, "test": rows[:50]})
	names := map[string]bool{}
	for _, d := range kmeans.Metrics() {
		names[d.Name] = true
		found := regexp.MustCompile(d.Regex).FindStringSubmatch(log)
		require.NotNil(t, found, d.Name)
		_, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
	}
	for _, name := range []string{"test:msd", "test:ssd", "train:msd", "train:progress", "train:throughput", "train:data_msd"} {
		require.True(t, names[name], name)
	}
	require.InEpsilon(t, inertia(m, rows[:50]), metric(t, log, "test ssd <loss>"), 1e-5)
	require.InEpsilon(t, inertia(m, rows[:50])/50, metric(t, log, "test msd <loss>"), 1e-5)
	require.InEpsilon(t, inertia(m, rows)/200, metric(t, log, "train data_msd <loss>"), 1e-5)
}

func TestWithoutExtraCentersNothingIsShrunk(t *testing.T) {
	_, log := train(t, params(t, 4, 3, hyperparams.Map{"extra_center_factor": "1"}), map[string]table{"train": blobs(200, 4, 3, 64)})
	require.Contains(t, log, "No shrinking is required as extra_center_factor is 1.")
	require.NotContains(t, log, "shrinking 3")
	require.NotContains(t, log, "evaluated to 10")
}

// The loss of the data takes another pass, which Pipe and FastFile mode make on demand only.
func TestTheLossOfTheDataIsLeftOutWhereItsPassIsDear(t *testing.T) {
	rows := blobs(200, 4, 3, 65)
	for _, c := range []struct {
		mode, wanted string
		logged       bool
	}{{"File", "auto", true}, {"Pipe", "auto", false}, {"FastFile", "auto", false}, {"Pipe", "true", true}, {"File", "false", false}} {
		var log bytes.Buffer
		job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Stdout: &log, Channels: map[string]*channel.Channel{
			"train": {Name: "train", Config: channel.Config{TrainingInputMode: c.mode}, Source: channel.Memory(rows.encode(t))},
		}}
		require.NoError(t, kmeans.Train(t.Context(), job, params(t, 4, 3, hyperparams.Map{"_data_msd": c.wanted})))
		require.Equal(t, c.logged, strings.Contains(log.String(), "train data_msd"), "%+v", c)
	}
}

func TestDataThatDoNotFitAreNotPolished(t *testing.T) {
	rows := blobs(200, 4, 3, 66)
	want, _ := train(t, params(t, 4, 3, nil), map[string]table{"train": rows})
	got, log := train(t, params(t, 4, 3, hyperparams.Map{"_full_lloyd": "true", "_max_memory_mb": "1"}), map[string]table{"train": rows})
	require.Contains(t, log, "The data take more than the 1 MiB of _max_memory_mb: _full_lloyd is left out.")
	require.Equal(t, want.Centers.Data, got.Centers.Data)
	better, log := train(t, params(t, 4, 3, hyperparams.Map{"_full_lloyd": "true"}), map[string]table{"train": rows})
	require.Contains(t, log, "full_lloyd.time")
	require.LessOrEqual(t, inertia(better, rows), inertia(want, rows)*(1+1e-6))
}

// Sparse records make the same model whether they are made dense or not.
func TestSparseRowsMakeTheModelOfDenseOnes(t *testing.T) {
	rows := blobs(300, 6, 4, 67)
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for i, row := range rows {
		var keys []int32
		var values []float32
		for j := range row {
			if (i+j)%3 == 0 {
				row[j] = 0
				continue
			}
			keys, values = append(keys, int32(j)), append(values, row[j])
		}
		require.NoError(t, w.WriteSparseRow(6, keys, values))
	}
	require.NoError(t, w.Flush())
	for _, method := range []string{"random", "kmeans++", "kmeans||"} {
		more := hyperparams.Map{"init_method": method, "mini_batch_size": "120", "_full_lloyd": "true"}
		dense, _ := train(t, params(t, 6, 4, more), map[string]table{"train": rows})
		for _, force := range []string{"true", "false"} {
			more["force_dense"] = force
			job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(b.Bytes())}}}
			require.NoError(t, kmeans.Train(t.Context(), job, params(t, 6, 4, more)))
			require.InDeltaSlice(t, dense.Centers.Data, readModel(t, string(job.Model)).Centers.Data, 1e-4, "%s, force_dense=%s", method, force)
		}
	}
}

// A sparse row may say that it is as wide as an integer can be. What it does not fill takes no memory.
func TestWidthAloneTakesNoMemory(t *testing.T) {
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for range 40 {
		require.NoError(t, w.WriteSparseRow(1<<30, []int32{1 << 29}, []float32{1}))
	}
	require.NoError(t, w.Flush())
	_, err := kmeans.Fit(t.Context(), channel.Memory(b.Bytes()), kmeans.Params{K: 3})
	require.ErrorContains(t, err, "channel train, epoch 0: ")
	require.True(t, algospec.IsClientError(err))
}

// The same model however the data arrive, and the same bits for the same seed.
func TestTheRoadOfTheDataDoesNotMatter(t *testing.T) {
	rows := blobs(500, 4, 5, 68)
	p := params(t, 4, 5, hyperparams.Map{"mini_batch_size": "130", "epochs": "2"})
	want := fit(t, p, rows)
	dir := t.TempDir()
	var text strings.Builder
	for _, row := range rows {
		for j, x := range row {
			if j > 0 {
				text.WriteByte(',')
			}
			fmt.Fprint(&text, x)
		}
		text.WriteByte('\n')
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.pbr"), rows[:200].encode(t), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.pbr"), rows[200:].encode(t), 0o644))
	for name, c := range map[string]*channel.Channel{
		"files": {Name: "train", Source: channel.Files{Dir: dir}},
		"gzip":  {Name: "train", Source: channel.ReadAhead(channel.Files{Dir: dir}, 0)},
		"CSV":   {Name: "train", Source: channel.Memory([]byte(text.String())), Config: channel.Config{ContentType: "text/csv; label_size = 0"}},
	} {
		got, err := kmeans.FitChannel(t.Context(), c, p)
		require.NoError(t, err, name)
		require.Equal(t, want.Centers.Data, got.Centers.Data, name)
	}
}

// As a library: k and the data are all that is needed; the rest is the defaults.
func TestFitNeedsNothingButK(t *testing.T) {
	rows := blobs(300, 4, 5, 69)
	m, err := kmeans.Fit(t.Context(), channel.Memory(rows.encode(t)), kmeans.Params{K: 5, Seed: hyperparams.Fixed(int64(1))})
	require.NoError(t, err)
	want := fit(t, params(t, 4, 5, nil), rows)
	require.Equal(t, want.Centers.Data, m.Centers.Data)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	_, err = kmeans.Fit(ctx, channel.Memory(rows.encode(t)), kmeans.Params{K: 5})
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// More passes over more batches come nearer to the best; half-life and both ways to begin keep it so.
func TestEpochsHalfLifeAndDraws(t *testing.T) {
	rows := blobs(2000, 4, 8, 70)
	for _, change := range []hyperparams.Map{
		{"mini_batch_size": "200", "epochs": "3"}, {"mini_batch_size": "200", "half_life_time_size": "300"},
		{"mini_batch_size": "200", "init_method": "kmeans++", "local_lloyd_init_method": "random", "local_lloyd_num_trials": "30"},
		{"init_method": "kmeans||"}, {"extra_center_factor": "1", "init_method": "kmeans++", "epochs": "3"},
	} {
		m := fit(t, params(t, 4, 8, change), rows)
		require.Less(t, inertia(m, rows)/2000, 4.5, "%v: 4 in the blobs themselves", change)
	}
}
