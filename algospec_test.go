package algospec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/fleet"
	"github.com/algospec/algospec/internal/leaks"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("ALGOSPEC_TEST_CONTAINER"); mode != "" {
		container(mode) // see main_test.go
	}
	if mode, ok := fleet.Member(); ok {
		host(mode) // see hosts_test.go
	}
	leaks.Main(m)
}

// tree lays out a base directory; files maps paths below input/ to their text.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	base := t.TempDir()
	for _, dir := range []string{"input/config", "input/data", "model", "output/data"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	for name, text := range files {
		path := filepath.Join(base, "input", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return base
}

func failure(t *testing.T, base string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(base, "output", "failure"))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(t, err)
	return string(text)
}

type params struct {
	K    int    `hyperparameter:"k,required" range:"[1,)"`
	Mode string `hyperparameter:"mode" default:"fast" enum:"fast,exact"`
}

// save is a train function that saves a model.
func save(_ context.Context, job *algospec.Job, p params) error {
	return job.Model.Save("model.json", algospec.JSON(p))
}

func run(t *testing.T, base string, train algospec.Trainer) error {
	t.Helper()
	return algospec.Run(t.Context(), train, algospec.Options{BaseDir: base, Getenv: func(string) string { return "" }})
}

func TestARunReadsTheTreeAndSavesAModel(t *testing.T) {
	base := tree(t, map[string]string{
		"config/hyperparameters.json": `{"k": "3"}`,
		"config/inputdataconfig.json": `{"train": {"TrainingInputMode": "File", "ContentType": "text/csv", "New": 1}}`,
		"config/resourceconfig.json":  `{"current_host": "algo-1", "hosts": ["algo-1"]}`,
		"data/train/part":             "1,2",
	})
	err := run(t, base, algospec.Bind(func(ctx context.Context, job *algospec.Job, p params) error {
		require.Equal(t, params{3, "fast"}, p)
		require.Equal(t, "algo-1", job.Host)
		epoch, err := job.Channel("train").Open(ctx)
		require.NoError(t, err)
		defer epoch.Close()
		require.Equal(t, "text/csv", epoch.ContentType)
		return save(ctx, job, p)
	}))
	require.NoError(t, err)
	require.Empty(t, failure(t, base))
	text, err := os.ReadFile(filepath.Join(base, "model", "model.json"))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"K\": 3,\n  \"Mode\": \"fast\"\n}\n", string(text))
}

func TestConfigurationFilesMayBeMissingOrEmpty(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"missing": nil,
		"empty":   {"config/hyperparameters.json": "", "config/inputdataconfig.json": " \n", "config/resourceconfig.json": ""},
		"{}":      {"config/hyperparameters.json": "{}", "config/inputdataconfig.json": "{}", "config/resourceconfig.json": "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, run(t, tree(t, files), func(_ context.Context, job *algospec.Job) error {
				require.Empty(t, job.Channels)
				require.Equal(t, 1, job.Cluster.Size())
				return job.Model.Save("m", strings.NewReader("x"))
			}))
		})
	}
}

// Each row is a job that must fail with one clear error, in the failure file too.
func TestFailures(t *testing.T) {
	const hyperparameters, channels = "config/hyperparameters.json", "config/inputdataconfig.json"
	for _, c := range []struct {
		name   string
		files  map[string]string
		train  algospec.Trainer
		want   string // in the failure file
		status int
	}{
		{"every bad hyperparameter is named at once",
			map[string]string{hyperparameters: `{"k": "ten", "mode": "slow", "kk": "1"}`}, nil,
			`ClientError: hyperparameter k: "ten": not an integer`, 2},
		{"a missing hyperparameter", nil, nil,
			"ClientError: No value(s) were specified for 'k' which are required hyperparameter(s)", 2},
		{"an unknown hyperparameter",
			map[string]string{hyperparameters: `{"k": "3", "mod": "fast"}`}, nil,
			"hyperparameter mod: unknown (did you mean mode?)", 2},
		{"one out of range", map[string]string{hyperparameters: `{"k": "0"}`}, nil, "hyperparameter k: 0: must be", 2},
		{"broken JSON", map[string]string{hyperparameters: `{"k": `}, nil, "hyperparameters.json: unexpected end of JSON input", 1},
		{"an unknown input mode", map[string]string{channels: `{"train": {"TrainingInputMode": "Tape"}}`}, nil,
			`channel train: TrainingInputMode "Tape" is none of File, FastFile, Pipe`, 1},
		{"a channel that leaves the tree", map[string]string{channels: `{"../x": {"TrainingInputMode": "File"}}`}, nil,
			`bad channel name "../x"`, 1},
		{"a missing channel",
			map[string]string{channels: `{"test": {"TrainingInputMode": "File"}}`},
			func(ctx context.Context, job *algospec.Job) error {
				_, err := job.Channel("train").Open(ctx)
				return err
			},
			"ClientError: channel train: the algorithm needs it, and the job has only test", 2},
		{"no model", nil, func(context.Context, *algospec.Job) error { return nil },
			"AlgorithmError: the training ended and left the model directory empty", 1},
		{"an error", nil, func(context.Context, *algospec.Job) error { return errors.New("it broke") },
			"AlgorithmError: it broke", 1},
		{"a panic", nil, func(context.Context, *algospec.Job) error { panic("at the disco") },
			"AlgorithmError: panic: at the disco, in github.com/algospec/algospec_test.TestFailures.func", 1},
		{"a panic of the runtime", nil, func(context.Context, *algospec.Job) error {
			var none []int
			_ = none[len(none)]
			return nil
		}, "panic: runtime error: index out of range [0] with length 0, in github.com/algospec/algospec_test.TestFailures.func", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := tree(t, c.files)
			train := c.train
			if train == nil {
				train = algospec.Bind(save)
			}
			err := run(t, base, train)
			require.Error(t, err)
			require.Contains(t, failure(t, base), c.want)
			require.Equal(t, c.status, algospec.ExitStatus(err))
		})
	}
}

func TestTheFailureFileIsCutAt1024CharactersBetweenRunes(t *testing.T) {
	base := tree(t, nil)
	long := "most useful first " + strings.Repeat("é😀\xff", 2000)
	err := run(t, base, func(context.Context, *algospec.Job) error { return errors.New(long) })
	require.EqualError(t, err, long)
	text := failure(t, base)
	require.True(t, utf8.ValidString(text))
	require.Equal(t, 1024, utf8.RuneCountInString(text))
	require.True(t, strings.HasPrefix(text, "AlgorithmError: most useful first é😀"))
}

func TestTheFirstFailureIsKept(t *testing.T) {
	base := tree(t, nil)
	path := filepath.Join(base, "output", "failure")
	require.NoError(t, os.WriteFile(path, []byte("the first"), 0o644))
	require.Error(t, run(t, base, func(context.Context, *algospec.Job) error { return errors.New("a second") }))
	require.Equal(t, "the first", failure(t, base))
}

// stopWith runs a train function that is stopped and returns what end makes of its context.
func stopWith(t *testing.T, end func(ctx context.Context) error) (base string, err error) {
	t.Helper()
	base = tree(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	return base, algospec.Run(ctx, func(ctx context.Context, _ *algospec.Job) error {
		cancel(algospec.ErrStopped)
		return end(ctx)
	}, algospec.Options{BaseDir: base})
}

func TestAStopThatIsReturnedIsNoFailure(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context) error{
		"cause":          context.Cause,
		"ctx.Err":        func(ctx context.Context) error { return ctx.Err() },
		"wrapped":        func(ctx context.Context) error { return fmt.Errorf("epoch 3: %w", context.Cause(ctx)) },
		"several of it":  func(ctx context.Context) error { return errors.Join(context.Cause(ctx), ctx.Err()) },
		"nothing, saved": func(context.Context) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			base, err := stopWith(t, end)
			if name != "nothing, saved" {
				require.ErrorIs(t, err, algospec.ErrStopped)
			}
			require.Zero(t, algospec.ExitStatus(err))
			require.Empty(t, failure(t, base))
		})
	}
}

func TestAnotherErrorAfterAStopIsAFailure(t *testing.T) {
	full := errors.New("disk full")
	for name, end := range map[string]func(ctx context.Context) error{
		"alone":              func(context.Context) error { return full },
		"joined to the stop": func(ctx context.Context) error { return errors.Join(context.Cause(ctx), full) },
	} {
		t.Run(name, func(t *testing.T) {
			base, err := stopWith(t, end)
			require.ErrorIs(t, err, full)
			require.Equal(t, 1, algospec.ExitStatus(err))
			require.Contains(t, failure(t, base), "disk full")
		})
	}
}

func TestAStopThatNobodyAskedForIsAFailure(t *testing.T) {
	base := tree(t, nil)
	err := run(t, base, func(context.Context, *algospec.Job) error { return algospec.ErrStopped })
	require.Equal(t, 1, algospec.ExitStatus(err))
	require.Contains(t, failure(t, base), "and nobody stopped it")
}

func TestAJobMadeByHandHasNoEnvironmentAndNoLog(t *testing.T) {
	var job algospec.Job
	require.Empty(t, job.Getenv("HOME"))
	job.Println("discarded")
}

func TestADirSavesOnlyInside(t *testing.T) {
	dir := algospec.Dir(t.TempDir())
	require.NoError(t, dir.Save("a/b.txt", strings.NewReader("x")))
	for _, name := range []string{"", "../x", "/x", "a/../../x"} {
		require.ErrorContains(t, dir.Save(name, strings.NewReader("x")), "cannot save")
	}
	require.ErrorContains(t, algospec.Dir("").Save("x", strings.NewReader("x")), "cannot save")
	require.ErrorContains(t, dir.Save("c", algospec.JSON(func() {})), "save c: json: unsupported type")
}

// An algorithm is tested with a Job made by hand.
func Example_testing() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	job := &algospec.Job{
		Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory("data")}},
		Model:    algospec.Dir(dir),
	}
	err = save(context.Background(), job, params{K: 3})
	fmt.Println(err)
	// Output: <nil>
}
