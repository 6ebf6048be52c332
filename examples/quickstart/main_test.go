package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform"
)

// TestMain is also the container, as main is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "train" {
		algospec.Main(pca.Train)
	}
	leaks.Main(m)
}

func testSettings(t *testing.T) settings {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	return settings{rows: 20_000, components: 5, seed: 1, model: filepath.Join(t.TempDir(), "m", "model.tar.gz"), log: true}
}

// requireNothingLeft checks the directory for temporary files.
func requireNothingLeft(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestTheDirectionsInGeneratedDataAreFound(t *testing.T) {
	s := testSettings(t)
	var out, messages bytes.Buffer
	require.NoError(t, run(t.Context(), s, &out, &messages), messages.String())
	require.Regexp(t, `rows +20,000 of 50 features
bytes +4\.\d MB
throughput +\d+\.\d MB/s while training
time to first record +\d+ ms after the job's start
training time +\d+\.\d s
explained variance +99\.\d\d % by 5 components
directions +at most [0-4]\.\d\d° from the true ones
peak memory +\d+\.\d MB the container, \d+\.\d MB this program with S3 in it
model +`+s.model+`
 +stored as s3://quickstart/models/quickstart-pca/output/model\.tar\.gz
`, out.String())
	require.Contains(t, messages.String(), "training on the stream: 4.")
	require.Contains(t, messages.String(), "50 feature(s) found in 'data'.")
	require.FileExists(t, s.model)
	requireNothingLeft(t)
}

// The whole road, from a file to a model, against scikit-learn 1.2.1: ten singular values and
// directions of the taxi trips, to 1e-5.
func TestTheTaxiTripsGiveScikitLearnsComponents(t *testing.T) {
	shared := testenv.Shared(t)
	s := testSettings(t)
	s.data, s.components = filepath.Join(shared, "data", "nyc_taxi_50.csv.gz"), 10
	job, err := newJob(t.Context(), s, io.Discard)
	require.NoError(t, err)
	defer job.close()
	require.NoError(t, job.train(t.Context(), s, io.Discard))
	model, err := job.model(t.Context())
	require.NoError(t, err)

	text, err := os.ReadFile(filepath.Join(shared, "data", "reference.json"))
	require.NoError(t, err)
	var reference struct {
		Results struct {
			Taxi struct {
				PCA struct {
					SingularValues []float64 `json:"singular_values"`
					Components     [][]float64
				}
			} `json:"nyc_taxi_50"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &reference))
	want := reference.Results.Taxi.PCA
	for j := range 10 {
		column := 9 - j
		require.InEpsilon(t, want.SingularValues[j], model.S[column], 1e-5, "singular value %d", j)
		squares := 0.0
		for i, x := range want.Components[j] {
			e := x - float64(model.V.Data[i*10+column])
			squares += e * e
		}
		require.Less(t, math.Sqrt(squares), 1e-5, "direction %d", j)
	}
}

func TestBadFilesAreNamedByPlace(t *testing.T) {
	for want, text := range map[string]string{
		`line 3, column 2: "x": not a number`:                 "1,2\n3,4\n5,x\n",
		`line 1, column 1: "a": not a number (a header line?`: "a,b\n1,2\n",
		"there are no rows to train on":                       "",
		"line 3":                                              "1,2\n3,4\n5\n",
		`line 2, column 2: "NaN": not a finite number`:        "1,2\n3,NaN\n5,6\n",
	} {
		t.Run(want, func(t *testing.T) {
			s := testSettings(t)
			s.data = filepath.Join(t.TempDir(), "data.csv")
			require.NoError(t, os.WriteFile(s.data, []byte(text), 0o644))
			require.ErrorContains(t, run(t.Context(), s, io.Discard, io.Discard), want)
			requireNothingLeft(t)
		})
	}
	s := testSettings(t)
	s.components = 0
	require.ErrorContains(t, run(t.Context(), s, io.Discard, io.Discard), "must be at least 1")
}

// The directories of a job may take long to appear, on a machine that is busy.
func TestTheBarWaitsForTheChannels(t *testing.T) {
	var messages bytes.Buffer
	bar := &trainingBar{messages: &messages, began: time.Now()}
	bar.show(platform.Progress{})
	bar.done()
	require.Empty(t, messages.String())
	bar.show(platform.Progress{Channels: []platform.ChannelProgress{{Bytes: 1_000_000, EpochBytes: 2_000_000}}})
	bar.done()
	require.Contains(t, messages.String(), "training on the stream")
}

func TestCtrlCWhileTheModelIsFetchedIsAStop(t *testing.T) {
	s := testSettings(t)
	s.rows = 2_000
	job, err := newJob(t.Context(), s, io.Discard)
	require.NoError(t, err)
	defer job.close()
	require.NoError(t, job.train(t.Context(), s, io.Discard))
	late, stop := context.WithTimeoutCause(t.Context(), 0, context.Canceled)
	defer stop()
	require.Equal(t, context.Canceled, job.conclude(late, s, io.Discard))
}

func TestCtrlCEndsItCleanlyAtAnyMoment(t *testing.T) {
	s := testSettings(t)
	s.rows = 60_000
	began := time.Now()
	require.NoError(t, run(t.Context(), s, io.Discard, io.Discard))
	whole := time.Since(began)
	stopped := 0
	for i := range 8 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), whole*time.Duration(i)/8, context.Canceled)
		if err := run(ctx, s, io.Discard, io.Discard); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			stopped++
		}
		cancel()
		requireNothingLeft(t)
	}
	require.Positive(t, stopped)
}
