package pca_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
)

// job trains on rows, and on what an earlier job left, and returns the model directory and that of the output.
func job(t *testing.T, p pca.Params, rows table, before channel.Source) (model, output algospec.Dir, err error) {
	t.Helper()
	model, output = algospec.Dir(t.TempDir()), algospec.Dir(t.TempDir())
	job := &algospec.Job{Model: model, Output: output, Channels: map[string]*channel.Channel{
		"train": {Name: "train", Source: channel.Memory(rows.encode(t))},
	}}
	if before != nil {
		job.Channels["model"] = &channel.Channel{Name: "model", Source: before, Config: channel.Config{ContentType: "application/x-sagemaker-model"}}
	}
	return model, output, pca.Train(t.Context(), job, p)
}

func files(t *testing.T, dir algospec.Dir) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	entries, err := os.ReadDir(string(dir))
	require.NoError(t, err)
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(string(dir), entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = content
	}
	return found
}

// archive returns the files as a platform stores them.
func archive(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := w.Write(files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zip(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestAJobGoesOnFromTheModelOfAnother(t *testing.T) {
	rows := random(900, 60, 51)
	for mode, k := range map[string]int{"regular": 5, "randomized": 2} { // 12 directions: a sketch
		p := params(60, k)
		p.AlgorithmMode, p.ExtraComponents, p.SaveState = mode, -1, true
		want := fit(t, rows, p)
		first, _, err := job(t, p, rows[:400], nil)
		require.NoError(t, err)
		left := files(t, first)
		require.Len(t, left, 2)
		dir := string(first)
		for name, before := range map[string]channel.Source{
			"model.tar.gz":              channel.Memory(zip(t, archive(t, left))),
			"an archive":                channel.Memory(archive(t, left)),
			"the files":                 channel.Files{Dir: dir},
			"the files, through a pipe": channel.Memory(append(bytes.Clone(left[pca.StateFile]), left[pca.ModelFile]...)),
		} {
			t.Run(mode+", "+name, func(t *testing.T) {
				second, _, err := job(t, p, rows[400:], before)
				require.NoError(t, err)
				got := readModel(t, string(second))
				if mode == "regular" {
					requireSame(t, want, got)
				}
				for j := range want.S {
					require.InEpsilon(t, want.S[j], got.S[j], 0.02)
				}
				require.Contains(t, files(t, second), pca.StateFile)
			})
		}
	}
}

// What was learned serves other numbers of components, and needs no data.
func TestAStateServesAnyNumberOfComponents(t *testing.T) {
	rows := random(300, 9, 52)
	p := params(9, 2)
	p.SaveState = true
	first, _, err := job(t, p, rows, nil)
	require.NoError(t, err)
	p.NumComponents, p.SubtractMean = 8, false
	second, _, err := job(t, p, nil, channel.Files{Dir: string(first)})
	require.NoError(t, err)
	requireSame(t, fit(t, rows, p), readModel(t, string(second)))
}

func TestSeveralHostsGoOnFromOneModel(t *testing.T) {
	rows := random(300, 9, 53)
	p := params(9, 4)
	p.SaveState = true
	first, _, err := job(t, p, rows[:100], nil)
	require.NoError(t, err)
	state, err := os.ReadFile(filepath.Join(string(first), pca.StateFile))
	require.NoError(t, err)
	dirs, _, errs := trainHosts(t, p, []shard{{"train": rows[100:150]}, {"train": nil}, {"train": rows[150:]}}, withChannel("model", state))
	require.Equal(t, []error{nil, nil, nil}, errs)
	requireSame(t, fit(t, rows, p), readModel(t, dirs[0]))
}

func TestAModelThatCannotBeGoneOnFromIsOneClearError(t *testing.T) {
	rows := random(100, 6, 54)
	p := params(6, 2)
	p.SaveState = true
	dir, _, err := job(t, p, rows, nil)
	require.NoError(t, err)
	left := files(t, dir)
	state := left[pca.StateFile]
	delete(left, pca.StateFile)
	damaged := bytes.Clone(state)
	damaged[len(damaged)/2] ^= 1
	other := params(6, 2)
	randomized := params(60, 1)
	randomized.AlgorithmMode = "randomized"
	const alone = "channel model: no state to go on from: the model file alone does not hold what training needs; " +
		"a job with the hyperparameter _save_state=true leaves it beside the model, as algo-1.state"
	for _, c := range []struct {
		name   string
		p      pca.Params
		rows   table
		before []byte
		want   string
	}{
		{"the model file alone", p, rows, left[pca.ModelFile], alone},
		{"an archive of the model file alone", p, rows, zip(t, archive(t, left)), alone},
		{"nothing", p, rows, nil, alone},
		{"text", p, rows, bytes.Repeat([]byte("text "), 100), alone},
		{"a damaged state", p, rows, damaged, "channel model: the state is damaged: checksum mismatch"},
		{"half a state", p, rows, state[:len(state)/2], "channel model: the state is damaged: unexpected EOF"},
		{"half an archive", p, rows, zip(t, archive(t, files(t, dir)))[:200], "channel model: "},
		{"other features", other, random(100, 7, 1), state, "channel model: a model of 6 features, and the data have 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := job(t, c.p, c.rows, channel.Memory(c.before))
			require.ErrorContains(t, err, c.want)
			require.True(t, algospec.IsClientError(err))
		})
	}
	wide := random(100, 60, 1)
	regular := params(60, 1)
	regular.SaveState = true
	dir, _, err = job(t, regular, wide, nil)
	require.NoError(t, err)
	_, _, err = job(t, randomized, wide, channel.Files{Dir: string(dir)})
	require.ErrorContains(t, err, "channel model: pca: algorithm_mode, or subtract_mean in randomized mode, was another")
	require.True(t, algospec.IsClientError(err))
}

// The job's output says what each component explains, the largest first.
func TestTheOutputSaysWhatEachComponentExplains(t *testing.T) {
	rows := random(500, 5, 55)
	_, output, err := job(t, params(5, 5), rows, nil)
	require.NoError(t, err)
	var e pca.Explained
	require.NoError(t, json.Unmarshal(files(t, output)[pca.ExplainedFile], &e))
	m := fit(t, rows, pca.NewParams(5))
	require.Equal(t, m.Explained(), e)
	require.Equal(t, int64(500), e.Rows)
	require.InDelta(t, 1, e.Cumulative[4], 1e-6)
	require.InEpsilon(t, e.Variance[0]/e.TotalVariance, e.Ratio[0], 1e-6)
	require.IsDecreasing(t, e.Ratio)
}

// A Learner that is written and read goes on as if nothing had been.
func TestALearnerGoesOnWhereItWasWritten(t *testing.T) {
	rows := random(400, 60, 56)
	for mode, k := range map[string]int{"regular": 5, "randomized": 1} {
		p := pca.NewParams(k)
		p.AlgorithmMode = mode
		want, err := pca.FitBatches(t.Context(), batches(t, rows, 37), p)
		require.NoError(t, err)
		learner := pca.NewLearner(p)
		for batch, err := range batches(t, rows, 37) {
			require.NoError(t, err)
			require.NoError(t, learner.Observe(t.Context(), batch))
			var text bytes.Buffer
			_, err = learner.WriteTo(&text)
			require.NoError(t, err)
			learner = pca.NewLearner(p)
			_, err = learner.ReadFrom(io.MultiReader(&text))
			require.NoError(t, err)
		}
		got, err := learner.Model()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
