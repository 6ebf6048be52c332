package api

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/platform"
)

func newLineLog(t *testing.T) *lineLog { return &lineLog{dir: t.TempDir(), open: map[string]*stream{}} }

// A stream gives back what was put in, whichever part is asked for, while it is written, once it is
// finished, and when it never was or its index is lost.
func TestAStreamGivesBackItsLines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := &lineLog{dir: t.TempDir(), open: map[string]*stream{}}
		s, err := l.create("job", "algo-1", time.Unix(1_700_000_000, 0))
		require.NoError(t, err)
		var want []platform.Line
		at := int64(1_700_000_000_000)
		for i := range rapid.IntRange(0, 1000).Draw(r, "lines") {
			at += rapid.Int64Range(0, 3).Draw(r, "pause")
			line := platform.Line{Host: "algo-1", Time: time.UnixMilli(at).UTC(), Text: fmt.Sprint(i, strings.Repeat(" x", rapid.IntRange(0, 40).Draw(r, "length")))}
			want = append(want, line)
			require.NoError(t, s.append(line))
		}
		check := func() {
			found, err := l.with(s.name, func(s *stream) error {
				require.EqualValues(t, len(want), s.lines)
				from, limit := rapid.IntRange(0, len(want)).Draw(r, "from"), rapid.IntRange(1, len(want)+1).Draw(r, "limit")
				got, err := s.read(int64(from), limit, maxEvents)
				require.NoError(t, err)
				require.Equal(t, append([]platform.Line(nil), want[from:min(len(want), from+limit)]...), got)
				since := rapid.Int64Range(1_700_000_000_000-1, at+1).Draw(r, "since")
				first, err := s.since(since)
				require.NoError(t, err)
				for i, line := range want {
					require.Equal(t, int64(i) >= first, line.Time.UnixMilli() >= since, "line %d of %d, since %d", i, first, since)
				}
				return nil
			})
			require.NoError(t, err)
			require.True(t, found)
		}
		check()
		delete(l.open, s.name) // as if the platform had been killed
		check()
		require.NoError(t, l.finish(s))
		check()
		require.NoError(t, os.Remove(l.path(s.name)+".index"))
		check()
	})
}

func TestALongLogIsNotReadWhole(t *testing.T) {
	l := newLineLog(t)
	s, err := l.create("job", "algo-1", time.Unix(1, 0))
	require.NoError(t, err)
	for i := range 2000 {
		require.NoError(t, s.append(platform.Line{Time: time.UnixMilli(int64(i)), Text: strings.Repeat("x", 1000)}))
	}
	scanned := 0
	require.NoError(t, s.scan(s.marks[len(s.marks)-1], func(int64, int64, string, int64) bool { scanned++; return true }))
	require.LessOrEqual(t, scanned, markLines)
	require.NoError(t, l.finish(s))
	opened, err := openStream(s.name, l.path(s.name))
	require.NoError(t, err)
	defer opened.file.Close()
	require.EqualValues(t, 2000, opened.lines)
	require.EqualValues(t, 2000, opened.marks[len(opened.marks)-1].Line, "its end is marked")
}

// Events of a page are a mebibyte at most, at either end, and all are on some page.
func TestLongLinesComeInSmallPages(t *testing.T) {
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		for i := range 20 {
			r.Line(platform.Line{Host: "algo-1", Time: time.UnixMilli(1_700_000_000_000), Text: fmt.Sprintf("%02d", i) + strings.Repeat("x", 256<<10-2)})
		}
		return &platform.Result{}, nil
	}})
	create(t, s, request("job"))
	ended(t, s, "job")
	for _, head := range []bool{true, false} {
		in := &logs.GetLogEventsInput{LogGroupName: aws.String(logGroup), LogStreamName: aws.String("job/algo-1-1700000000"), StartFromHead: &head}
		var got []string
		for range 30 {
			out, err := s.getLogEvents(t.Context(), in)
			require.NoError(t, err)
			require.LessOrEqual(t, len(out.Events), 4)
			var page []string
			for _, e := range out.Events {
				page = append(page, (*e.Message)[:2])
			}
			next := out.NextForwardToken
			if got = append(got, page...); !head {
				got = append(page, got[:len(got)-len(page)]...)
				next = out.NextBackwardToken
			}
			if aws.ToString(in.NextToken) == *next {
				break
			}
			in.NextToken = next
		}
		require.Len(t, got, 20)
		for i, text := range got {
			require.Equal(t, fmt.Sprintf("%02d", i), text)
		}
	}
}

func TestALogIsReadWhileItIsWritten(t *testing.T) {
	l := newLineLog(t)
	log := l.job("job", nil)
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range 3000 {
			log.line(platform.Line{Host: "algo-1", Time: time.UnixMilli(int64(i)), Text: fmt.Sprint(i)})
		}
		log.close()
	})
	for seen := int64(0); seen < 3000; {
		_, err := l.with("job/algo-1-0", func(s *stream) error {
			lines, err := s.read(seen, 100, maxEvents)
			for _, line := range lines {
				require.Equal(t, fmt.Sprint(seen), line.Text)
				seen++
			}
			return err
		})
		require.NoError(t, err)
	}
	wait.Wait()
	log.line(platform.Line{Host: "algo-1", Text: "late"}) // is dropped
	names, err := l.names("job")
	require.NoError(t, err)
	require.Equal(t, []string{"job/algo-1-0"}, names)
	entries, err := filepath.Glob(filepath.Join(l.dir, "job", "*"))
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

// The points of a job are read once: one who looks again has the new ones read only.
func TestPointsAreReadAsTheyCome(t *testing.T) {
	l := newLineLog(t)
	log := l.job("job", nil)
	var want []float64
	read := func(want ...float64) []platform.Metric {
		t.Helper()
		points, err := l.points("job")
		require.NoError(t, err)
		var values []float64
		for _, p := range points {
			values = append(values, p.Value)
		}
		require.Equal(t, want, values)
		return points
	}
	read()
	for i := range 100 {
		log.metric(platform.Metric{Name: "loss", Value: float64(i), Time: time.UnixMilli(int64(i))})
		want = append(want, float64(i))
		read(want...)
	}
	first := read(want...)
	offset := l.read.offset
	read(want...)
	require.Equal(t, offset, l.read.offset)

	file, err := os.OpenFile(l.metrics("job"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"Name":"loss","Value":-1,`)
	require.NoError(t, err)
	read(want...)
	_, err = file.WriteString(`"Time":"1970-01-01T00:00:00Z"}` + "\n") // of a clock that was set back
	require.NoError(t, err)
	require.NoError(t, file.Close())
	read(append([]float64{0, -1}, want[1:]...)...)
	require.Equal(t, 1.0, first[1].Value, "what was read before stays as it was")

	log.close()
	other, err := l.points("other")
	require.NoError(t, err)
	require.Empty(t, other)
	read(append([]float64{0, -1}, want[1:]...)...)
	require.NoError(t, l.remove("job"))
	read()
}
