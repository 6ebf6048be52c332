package algospec_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/cluster"
)

// scrape finds what a definition finds in each line.
func scrape(t *testing.T, d algospec.MetricDefinition, log string) (values []float64) {
	t.Helper()
	regex := regexp.MustCompile(d.Regex)
	for line := range strings.Lines(log) {
		if found := regex.FindStringSubmatch(line); found != nil {
			x, err := strconv.ParseFloat(found[1], 64)
			require.NoError(t, err)
			values = append(values, x)
		}
	}
	return values
}

func TestMetricsAreScrapedAsTheyWerePrinted(t *testing.T) {
	names := []string{"loss", "val_loss", "train:loss", "a.b", "a+b", "(x)", "é", "with blank", "with=sign", "with;end", "two\nlines", "x y"}
	values := []float64{0, -1, 0.1, 1e-300, 1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, -2.5e-7, 3, 1 << 53, 123456789.125, 7}
	var log bytes.Buffer
	job := &algospec.Job{Stdout: &log}
	var metrics []algospec.Metric
	for i, name := range names {
		metrics = append(metrics, algospec.Metric{Name: name, Value: values[i]})
	}
	job.Metrics(metrics...)     // in one line
	for _, m := range metrics { // and in one each
		job.Metrics(m)
	}
	for i, d := range algospec.MetricDefinitions(names...) {
		require.Equal(t, names[i], d.Name)
		require.Equal(t, []float64{values[i], values[i]}, scrape(t, d, log.String()), d.Name)
	}
}

func TestAMetricThatIsNoNumberIsAWarning(t *testing.T) {
	var log bytes.Buffer
	job := &algospec.Job{Stdout: &log, Host: "algo-1"}
	job.Metrics(algospec.Metric{"loss", math.NaN()}, algospec.Metric{"epoch", 3}, algospec.Metric{"norm", math.Inf(-1)})
	job.Metrics(algospec.Metric{"loss", math.NaN()})
	require.Equal(t, "warning: metric loss is NaN\nwarning: metric norm is -Inf\n#metric: host=algo-1, epoch=3;\nwarning: metric loss is NaN\n", log.String())
	for _, d := range algospec.MetricDefinitions("loss", "norm") {
		require.Empty(t, scrape(t, d, log.String()))
	}
}

func TestOnlyTheLeaderPrintsMetricsAndProgress(t *testing.T) {
	for rank, host := range cluster.Loopback(2) {
		var log bytes.Buffer
		job := &algospec.Job{Stdout: &log, Cluster: host}
		job.Metrics(algospec.Metric{"loss", 1})
		job.Progress("rows", 1).End()
		require.Equal(t, rank == 0, log.Len() > 0)
	}
}

func TestHostsHaveDirectoriesOfTheirOwnForOutput(t *testing.T) {
	dir := t.TempDir()
	one := &algospec.Job{Output: algospec.Dir(dir), Host: "algo-1"}
	require.Equal(t, one.Output, one.HostOutput())
	for i, host := range cluster.Loopback(2) {
		job := &algospec.Job{Output: algospec.Dir(dir), Host: "algo-" + strconv.Itoa(i+1), Cluster: host}
		require.NoError(t, job.HostOutput().Save("scores.json", algospec.JSON(i)))
		text, err := os.ReadFile(filepath.Join(dir, job.Host, "scores.json"))
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(i)+"\n", string(text))
	}
}

func TestProgressInALogIsTwiceAMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		job := &algospec.Job{Stdout: &log}
		progress := job.Progress("rows", 6000)
		for range 6000 {
			time.Sleep(20 * time.Millisecond) // two minutes in all
			progress.Add(1)
		}
		progress.End()
		progress.End()
		require.Equal(t, []float64{25, 50, 75, 100, 100}, scrape(t, algospec.ProgressDefinition, log.String()))
		require.True(t, strings.HasPrefix(log.String(), "#progress_metric: host=algo-1, completed 25.0 % of rows\n"), log.String())
	})
}

func TestProgressWithoutATotalCounts(t *testing.T) {
	var log bytes.Buffer
	progress := (&algospec.Job{Stdout: &log}).Progress("rows", 0)
	progress.Add(7)
	progress.End()
	require.Equal(t, "progress: 7 rows\n", log.String())
}

func TestProgressNeverPassesItsTotal(t *testing.T) {
	var log bytes.Buffer
	progress := (&algospec.Job{Stdout: &log}).Progress("rows", 5)
	progress.Add(-3)
	progress.End()
	progress = (&algospec.Job{Stdout: &log}).Progress("rows", 5)
	progress.Add(8)
	progress.End()
	require.Equal(t, []float64{0, 100}, scrape(t, algospec.ProgressDefinition, log.String()))
}
