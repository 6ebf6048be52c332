package algorithms_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms"
)

func TestNoStepBeginsThatWouldNotEndInTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit algorithms.TimeLimit
		steps []time.Duration // in minutes
		want  int             // how many begin
	}{
		{"no limit", algorithms.TimeLimit{}, []time.Duration{1, 100, 1000}, 3},
		{"equal steps", algorithms.TimeLimit{Max: 35 * time.Minute}, []time.Duration{10, 10, 10, 10}, 3},
		{"the longest counts", algorithms.TimeLimit{Max: 35 * time.Minute}, []time.Duration{1, 20, 1, 1}, 2},
		{"a reserve", algorithms.TimeLimit{Max: 35 * time.Minute, Reserve: 10 * time.Minute}, []time.Duration{10, 10, 10}, 2},
		{"a resumed run", algorithms.TimeLimit{Max: 35 * time.Minute, Spent: 20 * time.Minute}, []time.Duration{10, 10}, 1},
		{"nothing left", algorithms.TimeLimit{Max: time.Minute, Spent: time.Hour}, []time.Duration{1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := 0
				for _, minutes := range c.steps {
					if !c.limit.Next() {
						break
					}
					begun++
					time.Sleep(minutes * time.Minute)
				}
				require.Equal(t, c.want, begun)
			})
		})
	}
}
