package axis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTicksAreNiceNumbers(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0.31, 2.6, "0 1 2 3"},
		{0, 1, "0.0 0.5 1.0"},
		{0.12, 0.19, "0.12 0.14 0.16 0.18 0.20"},
		{-3, 7, "-5 0 5 10"},
		{80, 129000, "0 50000 100000 150000"},
		{1e6, 5e6, "1e+06 2e+06 3e+06 4e+06 5e+06"},
		{1e-5, 4e-5, "1e-05 2e-05 3e-05 4e-05"},
		{5, 5, "4.5 5.0 5.5"},
		{0, 0, "-1.0 -0.5 0.0 0.5 1.0"},
	} {
		var labels []string
		for _, tick := range Over(c.low, c.high, 4).Ticks {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, c.want, strings.Join(labels, " "), "%v to %v", c.low, c.high)
	}
}
