package algospec_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/checkpoint"
)

// live runs train in a tree, and stops it after so long.
func live(t *testing.T, stop time.Duration, options algospec.Options, train algospec.Trainer) (base string, err error) {
	t.Helper()
	base = tree(t, nil)
	options.BaseDir, options.NoModel = base, true
	if options.Getenv == nil {
		options.Getenv = func(string) string { return "" }
	}
	options.Stdout = io.Discard
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	timer := time.AfterFunc(stop, func() { cancel(algospec.ErrStopped) })
	defer timer.Stop()
	return base, algospec.Run(ctx, train, options)
}

func TestTheDeadlineIsTwoMinutesAfterTheStop(t *testing.T) {
	for _, c := range []struct {
		name    string
		options algospec.Options
		env     string
		grace   time.Duration
		reserve time.Duration
	}{
		{"default", algospec.Options{}, "", 120 * time.Second, 20 * time.Second},
		{"of the environment", algospec.Options{}, "30s", 30 * time.Second, 5 * time.Second},
		{"of the options", algospec.Options{Grace: time.Hour, Reserve: time.Minute}, "30s", time.Hour, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.options.Getenv = func(key string) string { return map[string]string{"ALGOSPEC_GRACE": c.env}[key] }
				began := time.Now()
				_, err := live(t, time.Hour, c.options, func(ctx context.Context, job *algospec.Job) error {
					_, ok := job.Deadline()
					require.False(t, ok)
					save, cancel := job.SaveContext(ctx)
					defer cancel()
					<-ctx.Done()
					time.Sleep(time.Second) // the signal's time counts, not that of the question
					deadline, ok := job.Deadline()
					require.True(t, ok)
					require.Equal(t, began.Add(time.Hour+c.grace), deadline)

					require.NoError(t, save.Err())
					late, cancel := job.SaveContext(ctx)
					defer cancel()
					until, ok := late.Deadline()
					require.True(t, ok)
					require.Equal(t, deadline.Add(-c.reserve), until)
					for _, ctx := range []context.Context{save, late} {
						<-ctx.Done()
						require.Equal(t, until, time.Now())
						require.ErrorContains(t, context.Cause(ctx), "the time to save is over")
					}
					return context.Cause(ctx)
				})
				require.ErrorIs(t, err, algospec.ErrStopped)
			})
		})
	}
}

func TestABadGraceIsOneClearError(t *testing.T) {
	for _, text := range []string{"120", "-1s", "soon"} {
		_, err := live(t, time.Hour, algospec.Options{Getenv: func(key string) string {
			return map[string]string{"ALGOSPEC_GRACE": text}[key]
		}}, nil)
		require.EqualError(t, err, `ALGOSPEC_GRACE: "`+text+`" is no duration such as 120s`)
	}
}

func TestSavingIsNotEndedWithoutAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := live(t, time.Hour, algospec.Options{}, func(ctx context.Context, job *algospec.Job) error {
			save, cancel := job.SaveContext(ctx)
			time.Sleep(59 * time.Minute)
			require.NoError(t, save.Err())
			cancel()
			require.Error(t, save.Err())
			return nil
		})
		require.NoError(t, err)
	})
}

func TestAJobMadeByHandHasTimeToSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		save, release := new(algospec.Job).SaveContext(ctx)
		defer release()
		began := time.Now()
		cancel(algospec.ErrStopped)
		<-save.Done()
		require.Equal(t, 100*time.Second, time.Since(began))
		_, ok := new(algospec.Job).Deadline()
		require.False(t, ok)
	})
}

func TestThereIsNoTimeToSaveWhereTheContextEndsForAnotherReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		save, release := new(algospec.Job).SaveContext(ctx)
		defer release()
		cancel(io.ErrClosedPipe)
		synctest.Wait()
		require.Equal(t, io.ErrClosedPipe, context.Cause(save))
		late, release := new(algospec.Job).SaveContext(ctx)
		defer release()
		synctest.Wait()
		require.Equal(t, io.ErrClosedPipe, context.Cause(late))
	})
}

// Each row is a job with save hooks that is stopped after a second, unless it ends before.
func TestSaveHooks(t *testing.T) {
	broken := errors.New("it broke")
	wait := func(ctx context.Context, _ *algospec.Job) error { <-ctx.Done(); return context.Cause(ctx) }
	for _, c := range []struct {
		name    string
		train   algospec.Trainer
		saves   []func(context.Context) error
		called  int
		took    time.Duration
		want    string // of the error
		stopped bool
	}{
		{"are called in order after a stop", wait, []func(context.Context) error{nil, nil, nil}, 3, time.Second, "", true},
		{"are not called by who has saved", func(ctx context.Context, job *algospec.Job) error { wait(ctx, job); return nil },
			[]func(context.Context) error{nil}, 0, time.Second, "", false},
		{"are not called after an error", func(ctx context.Context, job *algospec.Job) error { wait(ctx, job); return broken },
			[]func(context.Context) error{nil}, 0, time.Second, "it broke", false},
		{"are not called without a stop", func(context.Context, *algospec.Job) error { return nil },
			[]func(context.Context) error{nil}, 0, 0, "", false},
		{"that fail do not keep the others from being called", wait,
			[]func(context.Context) error{func(context.Context) error { return broken }, nil}, 2, time.Second, "save hook 1 of 2: it broke", false},
		{"that panic fail", wait,
			[]func(context.Context) error{func(context.Context) error { panic("at the disco") }, nil}, 2, time.Second, "save hook 1 of 2: panic: at the disco, in ", false},
		{"that say stopped fail", wait,
			[]func(context.Context) error{func(context.Context) error { return algospec.ErrStopped }}, 1, time.Second, "save hook 1 of 1: algospec: stopped", false},
		{"that take too long are told", wait,
			[]func(context.Context) error{nil, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, nil}, 2, 101 * time.Second,
			"save hook 2 of 3: algospec: the time to save is over: the platform is about to kill the process\nsave hook 3 of 3: algospec: the time to save is over", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called, began := 0, time.Now()
				base, err := live(t, time.Second, algospec.Options{}, func(ctx context.Context, job *algospec.Job) error {
					for i, save := range c.saves {
						job.OnStop(func(ctx context.Context) error {
							called++
							require.NoError(t, ctx.Err())
							if save != nil {
								return save(ctx)
							}
							require.Equal(t, i+1, called)
							return nil
						})
					}
					return c.train(ctx, job)
				})
				require.Equal(t, c.called, called)
				require.Equal(t, c.took, time.Since(began))
				require.Equal(t, c.stopped, errors.Is(err, algospec.ErrStopped))
				if c.want == "" {
					require.Zero(t, algospec.ExitStatus(err))
					require.Empty(t, failure(t, base))
					return
				}
				require.ErrorContains(t, err, c.want)
				require.Equal(t, 1, algospec.ExitStatus(err))
				require.Contains(t, failure(t, base), "AlgorithmError: "+c.want)
			})
		})
	}
}

func TestThePlaceOfCheckpoints(t *testing.T) {
	for _, c := range []struct {
		name   string
		config string
		dir    bool // /opt/ml/checkpoints is there
		want   string
	}{
		{"none", "", false, ""},
		{"an empty file", "{}", false, ""},
		{"a directory that is there", "", true, "BASE/checkpoints"},
		{"configured", `{"LocalPath": "/state/"}`, true, "/state"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := tree(t, map[string]string{"config/checkpointconfig.json": c.config})
			if c.dir {
				require.NoError(t, os.Mkdir(base+"/checkpoints", 0o755))
			}
			require.NoError(t, run(t, base, func(_ context.Context, job *algospec.Job) error {
				require.Equal(t, algospec.Dir(replaceBase(c.want, base)), job.CheckpointDir)
				return save(t.Context(), job, params{})
			}))
		})
	}
	base := tree(t, map[string]string{"config/checkpointconfig.json": `{"LocalPath": 3}`})
	require.ErrorContains(t, run(t, base, nil), "checkpointconfig.json: json: cannot unmarshal number")
}

func replaceBase(path, base string) string { return strings.Replace(path, "BASE", base, 1) }

// A run closes the stores of its job, so that the next one can save; and there is none without checkpoints.
func TestARunLeavesItsCheckpointsToTheNext(t *testing.T) {
	base := tree(t, map[string]string{"config/hyperparameters.json": `{"k": "3"}`})
	keep := func(ctx context.Context, job *algospec.Job) error {
		store := job.Checkpoints(checkpoint.Options{})
		if store == nil {
			return errors.New("no checkpoints")
		}
		snapshot, err := store.Restore(ctx, new(bytes.Buffer))
		if err != nil && err != checkpoint.ErrNone {
			return err
		}
		if err := store.Save(ctx, checkpoint.Snapshot{Step: snapshot.Step + 1}, strings.NewReader("state")); err != nil {
			return err
		}
		return job.Model.Save("step", algospec.JSON(snapshot.Step+1))
	}
	require.EqualError(t, run(t, base, keep), "no checkpoints")
	require.NoError(t, os.Mkdir(base+"/checkpoints", 0o755))
	for step := range 3 {
		require.NoError(t, run(t, base, keep))
		text, err := os.ReadFile(base + "/model/step")
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(step+1)+"\n", string(text))
	}
	require.NoError(t, os.WriteFile(base+"/input/config/hyperparameters.json", []byte(`{"k": "4"}`), 0o644))
	err := run(t, base, keep)
	require.ErrorContains(t, err, `k was "3", now "4"`)
	require.Equal(t, 2, algospec.ExitStatus(err))
}
