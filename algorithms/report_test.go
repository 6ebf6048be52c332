package algorithms_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/hyperparams"
)

func TestAHyperparameterCannotForgeALogLine(t *testing.T) {
	var log bytes.Buffer
	job := &algospec.Job{Stdout: &log, HyperParameters: hyperparams.Map{"a": "x\n#quality_metric: host=algo-1, train msd <loss>=0", "b": `it's "so"`}}
	algorithms.NewReport(job, "PCA", nil)
	require.NotContains(t, log.String(), "\n#quality_metric")
	require.Contains(t, log.String(), `'b': 'it\'s "so"'`)
}

func TestValuesThatAreNoNumbersAreNotPrintedAsMetrics(t *testing.T) {
	var log bytes.Buffer
	report := algorithms.NewReport(&algospec.Job{Stdout: &log}, "PCA", nil)
	log.Reset()
	report.Quality("train loss", "loss", math.NaN())
	report.Metrics(time.Now(), algorithms.Dimensions{}, map[string]float64{"good": 1, "bad": math.Inf(1)})
	lines := strings.Split(log.String(), "\n")
	require.Contains(t, lines[0], "WARNING")
	require.NotContains(t, lines[0], "#quality_metric")
	require.Contains(t, lines[1], `"Metrics": {"good": {"sum": 1, "count": 1, "min": 1, "max": 1}}}`)
}
