package linearlearner_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// Acceptance L8 (builtin-algorithms, 10.3).
func TestTheExactSolutionOfNoiselessDataIsTheirLaw(t *testing.T) {
	rows := random("regressor", 200, 6, false, 1)
	law := []float32{-0.25, 3, 0, 0.5, 40, -7}
	for _, row := range rows {
		row[0] = 12
		for j, w := range law {
			row[0] += w * row[1+j]
		}
	}
	model, log := train(t, regression("200", "_exact", "true"), "", map[string][]byte{"train": rows.encode(t, false)})
	require.InDelta(t, 12, model.Bias[0], 1e-3)
	for j, w := range law {
		require.InDelta(t, w, model.Weights.Data[j], 1e-5*math.Max(1, math.Abs(float64(w))), "feature %d", j)
	}
	require.InDelta(t, 1, quality(t, log, "train r2 <loss>"), 1e-9)
}

// At the exact solution the derivatives of its objective are 0: here of raw features, which differ from scaled ones by the deviations
// in the penalty only.
func TestTheExactSolutionIsAMinimum(t *testing.T) {
	const wd, n, d = 0.01, 500, 4
	rows := random("binary_classifier", n, d, false, 2)
	for i := range rows { // labels that no plane separates
		if i%5 == 0 {
			rows[i][0] = 1 - rows[i][0]
		}
	}
	model, _ := train(t, binary("500", "_exact", "true", "wd", "0.01", "normalize_data", "false"), "", map[string][]byte{"train": rows.encode(t, false)})
	gradient := make([]float64, d+1)
	for i, p := range model.Predict(rows.features()) {
		slope := (float64(p.Score[0]) - float64(rows[i][0])) / n
		for j, x := range rows[i][1:] {
			gradient[j] += slope * float64(x)
		}
		gradient[d] += slope
	}
	for j := range d {
		require.InDelta(t, 0, gradient[j]+wd*float64(model.Weights.Data[j]), 1e-6)
	}
	require.InDelta(t, 0, gradient[d], 1e-6)
}

func TestTheExactSolutionOfThreeHostsIsThatOfOne(t *testing.T) {
	for _, m := range []hyperparams.Map{regression("50", "wd", "0.1"), binary("50", "wd", "0.1"), multiclass("4", "50")} {
		rows := random(m["predictor_type"], 900, 5, false, 3)
		m["_exact"], m["num_point_for_scaler"] = "true", "100000"
		m["binary_classifier_model_selection_criteria"] = "loss_function"
		one, _, err := run(t, t.Context(), m, []table{rows}, nil, "", same)
		require.NoError(t, err)
		three, _, err := run(t, t.Context(), m, []table{rows[:100], rows[100:300], rows[300:]}, nil, "", same)
		require.NoError(t, err)
		a, b := read(t, one), read(t, three)
		require.InDeltaSlice(t, a.Weights.Data, b.Weights.Data, 1e-4, m["predictor_type"])
		require.InDeltaSlice(t, a.Bias, b.Bias, 1e-3, m["predictor_type"])
	}
}

func read(t *testing.T, file []byte) *linearlearner.Model {
	t.Helper()
	var m linearlearner.Model
	_, err := m.ReadFrom(strings.NewReader(string(file)))
	require.NoError(t, err)
	return &m
}

// Data that determine no solution have one that is finite: features that are constant, double, or fewer rows than features, and
// classes that a plane separates where the squares of weights count nothing.
func TestExactSolutionsOfDataThatDetermineNone(t *testing.T) {
	for _, m := range []hyperparams.Map{regression("10"), binary("10"), binary("10", "wd", "0"), multiclass("4", "10"), multiclass("4", "10", "wd", "0")} {
		m["_exact"] = "true"
		rows := random(m["predictor_type"], 10, 12, false, 4)
		for _, row := range rows {
			row[2], row[5] = row[1], 3
		}
		model, log := train(t, m, "", map[string][]byte{"train": rows.encode(t, false)})
		for _, w := range slices.Concat(model.Weights.Data, model.Bias) {
			require.False(t, math.IsNaN(float64(w)) || math.IsInf(float64(w), 0), m)
		}
		require.Contains(t, log, "Exact solution, pass 0:")
		right := 0
		for i, p := range model.Predict(rows.features()) {
			if m["predictor_type"] == "regressor" && math.Abs(float64(p.Score[0]-rows[i][0])) < 0.1 || m["predictor_type"] != "regressor" && p.PredictedLabel == rows[i][0] {
				right++
			}
		}
		require.Equal(t, 10, right, m)
	}
}

func TestWhatHasNoExactSolutionIsRefused(t *testing.T) {
	for want, m := range map[string]hyperparams.Map{
		"hyperparameter _exact: true: there is no exact solution for loss hinge_loss here, but for squared_loss, logistic and softmax_loss": binary("10", "loss", "hinge_loss"),
		"hyperparameter _exact: true: there is no exact solution with l1 here; leave l1 out, or set it to 0":                                regression("10", "l1", "0.1"),
		"hyperparameter _exact: true: there is one exact solution, and num_models is 32; leave it out":                                      regression("10", "num_models", "32"),
	} {
		m["_exact"] = "true"
		_, err := hyperparams.Parse[linearlearner.Params](m)
		require.EqualError(t, err, want)
	}
	many, _ := train(t, multiclass("100", "10", "_exact", "true"), "", map[string][]byte{"train": random("multiclass_classifier", 20, 2, false, 1).encode(t, false)})
	require.Len(t, many.Bias, 100)
	wide := make(table, 10)
	for i := range wide {
		wide[i] = make([]float32, 5001)
	}
	_, err := linearlearner.Fit(t.Context(), channel.Memory(wide.encode(t, false)), parse(t, regression("10", "_exact", "true")))
	require.EqualError(t, err, "hyperparameter _exact: 5000 features and 1 outputs have 5001 weights with biases, more than 4096; leave _exact out")
}

// Wherever it is stopped, it leaves a model once a pass is over, and says so if not.
func TestAStoppedExactSolutionIsAModel(t *testing.T) {
	rows := random("binary_classifier", 1000, 5, false, 5)
	size := len(rows.encode(t, false))
	m := binary("100", "_exact", "true")
	for passes, want := range map[float64]bool{0.5: false, 1.5: false, 2.5: true, 4.5: true} { // the scaler's is the first
		ctx, cancel := context.WithCancelCause(t.Context())
		left := int(passes * float64(size))
		model, logs, err := run(t, ctx, m, []table{rows}, nil, "", func(s channel.Source) channel.Source {
			return stopAt{s, new(sync.Mutex), &left, func() { cancel(algospec.ErrStopped) }}
		})
		cancel(nil)
		if !want {
			require.ErrorIs(t, err, algospec.ErrStopped)
			require.Contains(t, logs[0], "Stopped, and there is no model")
			continue
		}
		require.NoError(t, err)
		require.Contains(t, logs[0], "Stopped in epoch")
		require.Equal(t, 5, read(t, model).Features())
	}
}
