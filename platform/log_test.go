package platform

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestTheLogIsPassedOnByLinesHoweverItIsWritten(t *testing.T) {
	metrics, err := compileMetrics([]MetricDefinition{{"loss", `loss=(\S+)`}})
	require.NoError(t, err)
	var shown, lines []string
	var points []float64
	all := &jobLog{metrics: metrics, job: &Job{
		Log:    writerFunc(func(b []byte) (int, error) { shown = append(shown, string(b)); return len(b), nil }),
		Line:   func(l Line) { lines = append(lines, l.Host+": "+l.Text) },
		Metric: func(m Metric) { points = append(points, m.Value) },
	}}
	log := &hostLog{host: "algo-1", to: all}
	for _, part := range []string{"one\ntw", "o loss=", "0.5\nloss=nan\nloss=", "0.25 \nloss=x\n\r\n", "last"} {
		n, err := log.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	log.close()
	log.Write([]byte("too late\n"))
	require.Equal(t, []string{"one\n", "two loss=0.5\n", "loss=nan\n", "loss=0.25 \n", "loss=x\n", "\r\n", "last\n"}, shown)
	require.Equal(t, []string{"algo-1: one", "algo-1: two loss=0.5", "algo-1: loss=nan", "algo-1: loss=0.25 ", "algo-1: loss=x", "algo-1: ", "algo-1: last"}, lines)
	require.Equal(t, []float64{0.5, 0.25}, points)
	require.Equal(t, map[string]float64{"loss": 0.25}, all.values())
}

func TestALineLongerThanAnEventIsSeveral(t *testing.T) {
	var sizes []int
	log := &hostLog{to: &jobLog{job: &Job{Line: func(l Line) { sizes = append(sizes, len(l.Text)) }}}}
	log.Write([]byte(strings.Repeat("x", maxLine) + "\n" + strings.Repeat("y", 2*maxLine+1)))
	log.Write([]byte("y\n"))
	log.close()
	require.Equal(t, []int{maxLine, maxLine, maxLine, 2}, sizes)
}

func TestLinesOfSeveralHostsAreTold(t *testing.T) {
	var shown strings.Builder
	all := &jobLog{prefix: true, job: &Job{Log: &shown}}
	one, two := &hostLog{host: "algo-1", to: all}, &hostLog{host: "algo-2", to: all}
	one.Write([]byte("a\nb"))
	two.Write([]byte("c\n"))
	one.close()
	two.close()
	require.Equal(t, "algo-1 | a\nalgo-2 | c\nalgo-1 | b\n", shown.String())
}

func TestMetricsThatCannotBeFoundAreRefused(t *testing.T) {
	for regex, want := range map[string]string{
		`loss=([0-9.]+)`:        "",
		`loss=\S+`:              `metric m: no group for the value in "loss=\\S+"`,
		`(?<=loss=)([0-9.]+)`:   "look-around and back-references are not in RE2",
		`loss=([0-9.]+)(?!x)`:   "look-around and back-references are not in RE2",
		`(a)=\1`:                "look-around and back-references are not in RE2",
		`loss=([0-9.]++)`:       "look-around and back-references are not in RE2",
		`loss=([0-9`:            "missing closing",
		`(?P<v>[0-9]+) (\d+)\.`: "",
	} {
		_, err := compileMetrics([]MetricDefinition{{"m", regex}})
		if want == "" {
			require.NoError(t, err, regex)
		} else {
			require.ErrorContains(t, err, want, regex)
		}
	}
}
