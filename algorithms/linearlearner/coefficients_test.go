package linearlearner_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// output trains and returns the directory of the job's output.
func output(t *testing.T, m hyperparams.Map, channels map[string][]byte) string {
	t.Helper()
	var log bytes.Buffer
	job := &algospec.Job{
		Model: algospec.Dir(t.TempDir()), Output: algospec.Dir(t.TempDir()), Stdout: &log, Channels: map[string]*channel.Channel{}, HyperParameters: m,
	}
	for name, data := range channels {
		job.Channels[name] = &channel.Channel{Name: name, Source: channel.Memory(data)}
	}
	require.NoError(t, algospec.Bind(linearlearner.Train)(t.Context(), job))
	require.NotContains(t, log.String(), "There are no")
	return string(job.Output)
}

// A program that has nothing but the file predicts what the model predicts.
func TestCoefficientsAreInUnitsOfTheData(t *testing.T) {
	var rows table
	for i := range 100 {
		income, age := float32(20_000+1000*(i*37%100)), float32(20+i*11%60)
		rows = append(rows, []float32{500 + 0.01*income - 3*age, income, age})
	}
	dir := output(t, regression("100", "_exact", "true", "_feature_names", `["income","age"]`), map[string][]byte{"train": rows.encode(t, false)})
	text, err := os.ReadFile(filepath.Join(dir, linearlearner.CoefficientsFile))
	require.NoError(t, err)
	var c linearlearner.Coefficients
	require.NoError(t, json.Unmarshal(text, &c))
	require.Equal(t, "regressor", c.PredictorType)
	require.Nil(t, c.Threshold)
	require.Len(t, c.Features, 2)
	require.Equal(t, "income", c.Features[0].Name)
	require.Equal(t, "age", c.Features[1].Name)
	require.InDelta(t, 500, c.Intercept[0], 1e-2)
	require.InDelta(t, 0.01, c.Features[0].Coefficient[0], 1e-6)
	require.InDelta(t, -3, c.Features[1].Coefficient[0], 1e-4)
}

func TestCoefficientsOfManyClassesWithoutNames(t *testing.T) {
	dir := output(t, multiclass("4", "50", "num_models", "2"), map[string][]byte{"train": random("multiclass_classifier", 500, 3, false, 1).encode(t, false)})
	text, err := os.ReadFile(filepath.Join(dir, linearlearner.CoefficientsFile))
	require.NoError(t, err)
	var c linearlearner.Coefficients
	require.NoError(t, json.Unmarshal(text, &c))
	require.Len(t, c.Intercept, 4)
	for j, f := range c.Features {
		require.Equal(t, j, f.Feature)
		require.Empty(t, f.Name)
		require.Len(t, f.Coefficient, 4)
	}
	require.NotContains(t, string(text), "threshold")
}

func TestNamesOfOtherFeaturesAreRefused(t *testing.T) {
	rows := random("regressor", 20, 3, false, 1).encode(t, false)
	_, err := linearlearner.Fit(t.Context(), channel.Memory(rows), parse(t, regression("10", "_feature_names", `["a","b"]`)))
	require.EqualError(t, err, "hyperparameter _feature_names: 2 names of 3 features")
	_, err = hyperparams.Parse[linearlearner.Params](regression("10", "_feature_names", "a,b"))
	require.ErrorContains(t, err, `hyperparameter _feature_names`)
	require.ErrorContains(t, err, `want a JSON list of names, as in ["age","income"]`)
}

// The picture has the best model's losses as the log has them.
func TestTheLossOfTheBestModelIsDrawn(t *testing.T) {
	for _, c := range []struct {
		parameters hyperparams.Map
		validation bool
		names      []string
	}{
		{binary("50", "epochs", "4"), true, []string{"loss"}},
		{binary("50", "epochs", "4"), false, []string{"loss"}},
		{regression("50", "epochs", "4"), true, []string{"loss", "validation-loss"}},
	} {
		rows := random(c.parameters["predictor_type"], 500, 3, false, 1).encode(t, false)
		channels := map[string][]byte{"train": rows}
		if c.validation {
			channels["validation"] = rows
		}
		file, err := os.Open(filepath.Join(output(t, c.parameters, channels), algospec.PicturesFile))
		require.NoError(t, err)
		defer file.Close()
		pictures, err := algospec.ReadPictures(file)
		require.NoError(t, err)
		var names []string
		for _, p := range pictures {
			names = append(names, p.Name)
			for _, line := range p.Lines {
				require.Len(t, line.Y, 4)
				require.Less(t, line.Y[3], line.Y[0])
			}
		}
		require.Equal(t, c.names, names)
	}
}
