package algorithms_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms"
)

func TestTrainingStopsAfterBadEpochsInARow(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   algorithms.EarlyStopping
		values []float64
		want   int // the epoch after which it stops; -1 never
		best   float64
	}{
		// As the public runs of linear learner: the last improvement at epoch 5, the stop after epoch 9.
		{"patience 3", algorithms.EarlyStopping{Patience: 3, Tolerance: 0.001}, []float64{9, 8, 7, 6, 5, 4, 4, 4, 4, 4, 1}, 9, 4},
		{"a small improvement is bad and yet the best", algorithms.EarlyStopping{Patience: 1, Tolerance: 0.1}, []float64{100, 95, 94}, 2, 94},
		{"improvement in between", algorithms.EarlyStopping{Patience: 1, Tolerance: 0.1}, []float64{100, 99, 50, 49, 20, 19}, -1, 19},
		{"greater is better", algorithms.EarlyStopping{Maximize: true, Tolerance: 0.01}, []float64{0.5, 0.8, 0.8}, 2, 0.8},
		{"negative values", algorithms.EarlyStopping{Tolerance: 0.01}, []float64{-1, -2, -2.01}, 2, -2.01},
		{"from zero", algorithms.EarlyStopping{Maximize: true}, []float64{0, 0.1, 0.1}, 2, 0.1},
		{"no improvement without a tolerance", algorithms.EarlyStopping{}, []float64{3, 3}, 1, 3},
		{"NaN at first", algorithms.EarlyStopping{Patience: 1}, []float64{math.NaN(), 5, math.NaN(), 4}, -1, 4},
		{"NaN for ever", algorithms.EarlyStopping{Patience: 2}, []float64{math.NaN(), math.NaN(), math.NaN()}, 2, math.NaN()},
		{"from infinity", algorithms.EarlyStopping{}, []float64{math.Inf(1), 5, 4}, -1, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			stopped := -1
			for epoch, value := range c.values {
				if c.rule.Observe(value) {
					stopped = epoch
					break
				}
			}
			require.Equal(t, c.want, stopped)
			if math.IsNaN(c.best) {
				require.True(t, math.IsNaN(c.rule.Best))
			} else {
				require.Equal(t, c.best, c.rule.Best)
			}
		})
	}
}
