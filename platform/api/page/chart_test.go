package page

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/internal/axis"
)

func labels(ticks []axis.Tick) (all []string) {
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return all
}

func TestTicksOfTimeAreNice(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		want string
	}{
		{0, "0"}, {time.Nanosecond, "0"}, {700 * time.Millisecond, "0 200ms 400ms 600ms"}, {50 * time.Second, "0 10s 20s 30s 40s 50s"},
		{17 * time.Minute, "0 5m 10m 15m"}, {100 * time.Minute, "0 30m 1h 1h30m"}, {26 * time.Hour, "0 6h 12h 18h 1d"},
		{30 * 24 * time.Hour, "0 8d 16d 24d"},
	} {
		require.Equal(t, c.want, strings.Join(labels(timeTicks(c.span, 6)), " "), "%v", c.span)
	}
	require.LessOrEqual(t, len(timeTicks(math.MaxInt64, 6)), 6)
}

// Whatever numbers a log holds, the chart stays within its frame, ticks rise, and each has a label of its own.
func TestAnyNumbersMakeAChart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64(), 1, 30).Draw(t, "values")
		var metrics []platform.Metric
		for i, value := range values {
			at := noon.Add(time.Duration(rapid.Int64().Draw(t, "time")))
			metrics = append(metrics, platform.Metric{Name: "m", Host: "h" + strconv.Itoa(i%3), Value: value, Time: at})
		}
		all := curves(metrics)
		if len(all) == 0 {
			return
		}
		start, end := extent(all)
		view := draw(all[0], start, end)
		seen := map[string]bool{}
		for i, mark := range view.Y {
			if seen[mark.Label] {
				t.Fatalf("label %s twice", mark.Label)
			}
			seen[mark.Label] = true
			if !(mark.At >= plotTop-0.01 && mark.At <= plotTop+plotHeight+0.01) || i > 0 && mark.At >= view.Y[i-1].At {
				t.Fatalf("tick %v", mark)
			}
		}
		if len(view.Y) < 2 || len(view.Y) > 16 {
			t.Fatalf("%d ticks", len(view.Y))
		}
		for _, line := range view.Lines {
			for _, pair := range strings.Fields(line.Points) {
				xs, ys, _ := strings.Cut(pair, ",")
				x, errX := strconv.ParseFloat(xs, 64)
				y, errY := strconv.ParseFloat(ys, 64)
				if errX != nil || errY != nil || !(x >= plotLeft && x <= plotLeft+plotWidth && y >= plotTop && y <= plotTop+plotHeight) {
					t.Fatalf("point %s", pair)
				}
			}
		}
	})
}

func TestThinningKeepsWhatAPixelShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const width = 20
		dots := make([]dot, rapid.IntRange(0, 400).Draw(t, "n"))
		x := 0.0
		for i := range dots {
			x = min(width, x+rapid.Float64Range(0, 0.3).Draw(t, "step"))
			dots[i] = dot{X: x, Value: rapid.Float64Range(-5, 5).Draw(t, "value")}
		}
		kept := thin(dots, width)
		if len(kept) > max(4*width+4, 0) && len(kept) != len(dots) {
			t.Fatalf("%d of %d kept", len(kept), len(dots))
		}
		if wantKept, gotKept := columns(dots), columns(kept); len(wantKept) != len(gotKept) {
			t.Fatalf("columns %v, want %v", gotKept, wantKept)
		} else {
			for column, want := range wantKept {
				if gotKept[column] != want {
					t.Fatalf("column %d: %v, want %v", column, gotKept[column], want)
				}
			}
		}
		for i := 1; i < len(kept); i++ {
			if kept[i].X < kept[i-1].X {
				t.Fatal("out of order")
			}
		}
	})
}

// columns returns the first, last, least and greatest value of each pixel.
func columns(dots []dot) map[int][4]float64 {
	all := map[int][4]float64{}
	for _, d := range dots {
		c, ok := all[int(d.X)]
		if !ok {
			c = [4]float64{d.Value, d.Value, d.Value, d.Value}
		}
		all[int(d.X)] = [4]float64{c[0], d.Value, min(c[2], d.Value), max(c[3], d.Value)}
	}
	return all
}

func TestManyValuesMakeAShortLine(t *testing.T) {
	var metrics []platform.Metric
	for i := range 100_000 {
		metrics = append(metrics, platform.Metric{Name: "m", Host: "h", Value: float64(i * 7919 % 1000), Time: noon.Add(time.Duration(i) * time.Millisecond)})
	}
	all := curves(metrics)
	start, end := extent(all)
	view := draw(all[0], start, end)
	require.Len(t, view.Lines, 1)
	points := len(strings.Fields(view.Lines[0].Points))
	require.Less(t, points, 4*(plotWidth+1))
	require.Greater(t, points, plotWidth)
	require.Equal(t, points, len(strings.Fields(view.Lines[0].Values)))
	require.Equal(t, 100_000, view.Count)
}

func TestWhatIsNoNumberIsNotDrawn(t *testing.T) {
	require.Empty(t, curves([]platform.Metric{{Name: "m", Value: math.NaN()}, {Name: "m", Value: math.Inf(1)}, {Name: "m", Value: math.Inf(-1)}}))
}

func TestDurationsAreReadable(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1200 * time.Millisecond: "1.2s", 9960 * time.Millisecond: "10s", 59 * time.Second: "59s",
		59600 * time.Millisecond: "1m 00s", 200 * time.Second: "3m 20s", 3600 * time.Second: "1h 00m", 49 * time.Hour: "2d 01h",
	} {
		require.Equal(t, want, duration(d))
	}
	require.Equal(t, "", rate(5, 0))
	require.Equal(t, "120 MB/s", rate(240e6, 2*time.Second))
}

func BenchmarkChartsOfThreeHosts(b *testing.B) {
	jobs := sampleJobs(noon)
	metrics, err := jobs.Metrics(running)
	require.NoError(b, err)
	for b.Loop() {
		_, err := chartFragments(curves(metrics))
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(metrics)), "values")
}
