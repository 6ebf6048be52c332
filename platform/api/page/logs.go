package page

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/api"
)

const (
	window = 300 // lines of a log on a page, and in an answer to the script
	step   = 100 // lines asked for at once: each may have 256 KiB
)

// A position is a place in a job's logs.
type position struct {
	stream string // as its tab calls it; "" means the first host's last one
	from   int    // the first line; -1 means that the last lines are wanted
}

// positionOf reads log and from in the request.
func positionOf(r *http.Request) (position, error) {
	query := r.URL.Query()
	at := position{stream: query.Get("log"), from: -1}
	if text := query.Get("from"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return at, &problem{http.StatusBadRequest, fmt.Sprintf("from: %.40q: not the number of a line", text)}
		}
		at.from = n
	}
	return at, nil
}

// A logView is a stretch of a log stream.
type logView struct {
	Job        string
	Stream     string // as its tab calls it; "" where there is none
	Host       string
	From, Next int
	Total      int
	More       bool // there are lines from Next on
	Fixed      bool // the stretch was asked for, so it does not move on
	Lines      []logLine
	Streams    []tab
	Problem    string // why there are no lines
}

// A tab leads to a log stream.
type tab struct {
	Stream, Label, Host string
	Selected            bool
}

type logLine struct {
	Time time.Time
	Text string
	Cut  string // how much of the line is not shown; "" for nothing
}

// First counts the first line from 1, as people do.
func (v *logView) First() int { return min(v.From+1, v.Next) }

// Earlier and Later are the first lines of the stretches before and after this one.
func (v *logView) Earlier() int { return max(0, v.From-window) }

func (v *logView) Later() int { return v.Next }

// tabs returns the fragment that leads to the other streams.
func (v *logView) tabs() (fragment, error) { return newFragment("streams", "streams.html", v) }

// logView reads the stretch at a position. What cannot be read is told in its place: the rest of the page
// stands without it.
func (p *pages) logView(job string, at position) *logView {
	view := &logView{Job: job, Fixed: at.from >= 0}
	streams, err := p.jobs.LogStreams(job)
	if err != nil {
		view.Problem = "The logs cannot be had: " + err.Error()
		return view
	}
	stream := view.choose(streams, at.stream)
	if stream == nil {
		return view
	}
	view.Total = stream.Lines
	view.From = at.from
	if at.from < 0 {
		view.From = max(0, stream.Lines-window)
	}
	view.From = min(view.From, stream.Lines)
	view.Next = view.From
	for len(view.Lines) < window {
		lines, err := p.jobs.LogLines(stream.Name, view.Next, min(step, window-len(view.Lines)))
		if err != nil {
			view.Problem = "The log cannot be had: " + err.Error()
			break
		}
		if len(lines) == 0 {
			break
		}
		view.Next += len(lines)
		for _, line := range lines {
			view.Lines = append(view.Lines, shown(line))
		}
	}
	view.More = view.Problem == "" && view.Next < stream.Lines
	return view
}

// choose makes the tabs and returns the stream that is wanted; nil where there is none.
func (v *logView) choose(streams []api.LogStream, want string) *api.LogStream {
	streams = slices.Clone(streams)
	slices.SortStableFunc(streams, func(a, b api.LogStream) int {
		if c := compareHosts(a.Host, b.Host); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	perHost := map[string]int{}
	for _, s := range streams {
		perHost[s.Host]++
	}
	chosen, attempt := -1, map[string]int{}
	for i, s := range streams {
		attempt[s.Host]++
		t := tab{Stream: s.Name[strings.LastIndexByte(s.Name, '/')+1:], Label: s.Host, Host: s.Host}
		if perHost[s.Host] > 1 { // one for each time that it was started
			t.Label += fmt.Sprintf(" (%d)", attempt[s.Host])
		}
		v.Streams = append(v.Streams, t)
		if t.Stream == want || want == "" && s.Host == streams[0].Host {
			chosen = i
		}
	}
	if chosen < 0 {
		return nil
	}
	v.Streams[chosen].Selected = true
	v.Stream, v.Host = v.Streams[chosen].Stream, streams[chosen].Host
	return &streams[chosen]
}

// compareHosts has algo-2 before algo-10.
func compareHosts(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// log sends a host's whole log as text, just as the algorithm wrote it. Where the host was started several
// times, it is their logs one after another.
func (p *pages) log(w http.ResponseWriter, r *http.Request) error {
	name, host := r.PathValue("name"), r.PathValue("host")
	if _, err := p.describe(r.Context(), name); err != nil {
		return err
	}
	streams, err := p.jobs.LogStreams(name)
	if err != nil {
		return err
	}
	streams = slices.DeleteFunc(slices.Clone(streams), func(s api.LogStream) bool { return s.Host != host })
	if len(streams) == 0 {
		return notFound("The job has no log of this host.")
	}
	attachment(w, "text/plain; charset=utf-8", name+"-"+host+".log")
	out := bufio.NewWriter(w)
	for _, stream := range streams {
		for from := 0; from < stream.Lines; {
			lines, err := p.jobs.LogLines(stream.Name, from, min(step, stream.Lines-from))
			if err != nil || len(lines) == 0 {
				panic(http.ErrAbortHandler) // so that the reader sees that it is not all
			}
			if writeLines(out, lines) != nil {
				return nil // the reader has left
			}
			from += len(lines)
		}
	}
	out.Flush()
	return nil
}

func writeLines(out *bufio.Writer, lines []platform.Line) error {
	for _, line := range lines {
		out.WriteString(line.Text)
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}
