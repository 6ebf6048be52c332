package page

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

func TestALineIsShownAsATerminalLeavesIt(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"colours", "\x1b[1;31mred\x1b[0m and \x1b[Kplain", "red and plain"},
		{"a title", "\x1b]0;title\x07text\x1b]8;;https://x\x1b\\link", "textlink"},
		{"a sequence without an end", "a\x1b[31", "a␛[31"},
		{"a string without an end", "a\x1b]0;never", "a"},
		{"a progress bar", "10%\r50%\r100%\r", "100%"},
		{"control characters", "a\x00b\x08c\x7f\td", "a␀b␈c␡\td"},
		{"no UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"C1 controls", "a\u009b31m", "a\ufffd31m"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, logLine{Text: c.want}, shown(platform.Line{Text: c.line}))
		})
	}
}

func TestALongLineIsCutBetweenCharacters(t *testing.T) {
	line := shown(platform.Line{Text: "x" + strings.Repeat("é", 128<<10)})
	require.Equal(t, "x"+strings.Repeat("é", 2047), line.Text)
	require.Equal(t, "262 kB", line.Cut)
	line = shown(platform.Line{Text: strings.Repeat("\xff", 10_000)})
	require.NotEmpty(t, line.Cut)
	require.LessOrEqual(t, len(line.Text), longLine)
	require.Empty(t, shown(platform.Line{Text: strings.Repeat("\x1b[31mred\x1b[0m", 300)}).Cut, "3600 letters, most of them not shown")
}

var lineText = regexp.MustCompile(`<div><time[^>]*>[^<]*</time><span>([^<]*)</span>`)

func linesOf(html string) []string {
	var all []string
	for _, match := range lineText.FindAllStringSubmatch(html, -1) {
		all = append(all, match[1])
	}
	return all
}

func TestALogIsReadInStretches(t *testing.T) {
	jobs, h := samples()
	page := get(h, "/jobs/"+completed).Body.String()
	lines := linesOf(page)
	require.Len(t, lines, window)
	require.Contains(t, lines[window-1], "line 999 ")
	require.Contains(t, page, "Lines 701 to 1000 of 1000")
	require.Contains(t, page, "&amp;from=400#logs\">Earlier")
	require.NotContains(t, page, "Later")

	lines = linesOf(get(h, "/jobs/"+completed+"?from=0").Body.String())
	require.Contains(t, lines[0], "line 0 ")
	require.Contains(t, get(h, "/jobs/"+completed+"?from=0").Body.String(), "from=300#logs\">Later")
	require.Empty(t, linesOf(get(h, "/jobs/"+completed+"?from=1000000").Body.String()))
	for _, limit := range jobs.asked {
		require.LessOrEqual(t, limit, step)
	}
}

func TestEachAttemptOfAHostHasItsTab(t *testing.T) {
	_, h := samples()
	page := get(h, "/jobs/"+failed).Body.String()
	require.Regexp(t, `(?s)algo-1 \(1\)</a>.*aria-current="true">algo-1 \(2\)</a>.*>algo-2</a>`, page)
	require.Equal(t, []string{"second attempt"}, linesOf(page))
	tab := regexp.MustCompile(`href="([^"#]*)[^"]*" data-stream="algo-2-`).FindStringSubmatch(page)
	require.Equal(t, []string{"on the second host"}, linesOf(get(h, strings.ReplaceAll(tab[1], "&amp;", "&")).Body.String()))
	require.Empty(t, linesOf(get(h, "/jobs/"+failed+"?log=algo-9").Body.String()))
}

func TestAWholeLogIsWhatWasWritten(t *testing.T) {
	jobs, h := samples()
	w := get(h, "/jobs/"+failed+"/logs/algo-1")
	require.Equal(t, "first attempt\nsecond attempt\n", w.Body.String())
	require.Equal(t, "attachment; filename="+failed+"-algo-1.log", w.Header().Get("Content-Disposition"))
	require.Contains(t, w.Header().Get("Content-Type"), "text/plain")

	var want strings.Builder
	for _, j := range jobs.jobs {
		if *j.TrainingJobName == hostile {
			for _, line := range j.streams[0].lines {
				want.WriteString(line.Text + "\n")
			}
		}
	}
	require.Equal(t, want.String(), get(h, "/jobs/"+hostile+"/logs/algo-1").Body.String())
	require.Len(t, strings.Split(get(h, "/jobs/"+completed+"/logs/algo-1").Body.String(), "\n"), 1001)
}

func TestHostTenComesAfterHostTwo(t *testing.T) {
	require.Negative(t, compareHosts("algo-2", "algo-10"))
	require.Positive(t, compareHosts("algo-3", "algo-2"))
	require.Zero(t, compareHosts("algo-3", "algo-3"))
}

// An update is what live answers.
type update struct {
	Fragments []fragment
	Log       liveLog
	Over      bool
}

func TestTheScriptGetsWhatIsNewAndNothingElse(t *testing.T) {
	jobs, h := samples()
	ask := func(query url.Values) (u update) {
		w := get(h, "/jobs/"+running+"/live?"+query.Encode())
		require.Equal(t, 200, w.Code)
		require.Contains(t, w.Header().Get("Content-Type"), "application/json")
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &u))
		return u
	}
	first := ask(nil)
	require.Len(t, first.Fragments, 9+4)
	require.Equal(t, 2500, first.Log.Next)
	require.Len(t, linesOf(string(first.Log.HTML)), window)

	query := url.Values{"log": {first.Log.Stream}, "from": {fmt.Sprint(first.Log.Next)}}
	page := get(h, "/jobs/"+running).Body.String()
	for _, f := range first.Fragments {
		require.Contains(t, page, `<div id="`+f.ID+`" data-hash="`+f.Hash+`">`+string(f.HTML)+`</div>`, "the page holds the same")
		query.Add("have", f.ID+"."+f.Hash)
	}
	again := ask(query)
	require.Empty(t, again.Fragments)
	require.Empty(t, again.Log.HTML)
	require.False(t, again.Over)

	jobs.train(running, 2, 0)
	later := ask(query)
	require.Len(t, linesOf(string(later.Log.HTML)), 2)
	require.Equal(t, 2502, later.Log.Next)
	ids := map[string]bool{}
	for _, f := range later.Fragments {
		ids[f.ID] = true
	}
	require.Equal(t, map[string]bool{"metric-" + hash("train:msd"): true, "metric-" + hash("train:throughput"): true, "metric-" + hash("train:progress"): true}, ids)
}

func TestTheScriptIsToldToCatchUpAndWhenAllIsOver(t *testing.T) {
	_, h := samples()
	var u update
	require.NoError(t, json.Unmarshal(get(h, "/jobs/"+completed+"/live?from=100").Body.Bytes(), &u))
	require.True(t, u.Log.More)
	require.False(t, u.Over, "there are lines left")
	require.Equal(t, 400, u.Log.Next)
	require.NoError(t, json.Unmarshal(get(h, "/jobs/"+completed+"/live?from=900").Body.Bytes(), &u))
	require.True(t, u.Over)
	require.NoError(t, json.Unmarshal(get(h, "/jobs/"+pending+"/live").Body.Bytes(), &u))
	require.Equal(t, liveLog{}, u.Log)
}
