package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// samples are the sample jobs at noon, and the handler of their pages at that time.
func samples() (*fakeJobs, http.Handler) {
	jobs := sampleJobs(noon)
	return jobs, (&pages{jobs: jobs, now: func() time.Time { return noon }}).handler()
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestTheListShowsEachJobInWords(t *testing.T) {
	_, h := samples()
	w := get(h, "/")
	require.Equal(t, 200, w.Code)
	page := w.Body.String()
	for _, want := range []string{
		`<a href="/jobs/kmeans-customers-2026-11-21">`, "InProgress</span> <span class=\"secondary\">Training", "17 minutes ago",
		"Stopped</span> <span class=\"secondary\">MaxRuntimeExceeded", "1d 02h", // what it took
		"Pending", "43m 05s", `title="382416733822.dkr.ecr.us-east-1.amazonaws.com/kmeans:1">kmeans:1<`,
	} {
		require.Contains(t, page, want)
	}
}

var jobLink = regexp.MustCompile(`<th scope="row"><a href="/jobs/([^"]*)"`)

func names(page string) []string {
	var all []string
	for _, match := range jobLink.FindAllStringSubmatch(page, -1) {
		all = append(all, match[1])
	}
	return all
}

var older = regexp.MustCompile(`<a href="([^"]*)" rel="next">`)

// walk returns the names on all pages of the list from a path on.
func walk(t *testing.T, h http.Handler, path string) (all []string, pages int) {
	t.Helper()
	for ; path != ""; pages++ {
		w := get(h, path)
		require.Equal(t, 200, w.Code, "%s", w.Body)
		all = append(all, names(w.Body.String())...)
		path = ""
		if next := older.FindStringSubmatch(w.Body.String()); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	return all, pages
}

func TestPagesOfTheListHoldEachJobOnce(t *testing.T) {
	jobs, h := samples()
	all, pages := walk(t, h, "/")
	require.Equal(t, 2, pages)
	require.Len(t, all, len(jobs.jobs))
	for i, j := range jobs.jobs {
		require.Equal(t, *j.TrainingJobName, all[i])
	}
}

func TestTheListIsFilteredByNameAndStatus(t *testing.T) {
	_, h := samples()
	for _, c := range []struct {
		query string
		want  int
	}{
		{"?name=sweep-00", 10}, {"?name=nothing-like-this", 0}, {"?status=Failed", 1}, {"?status=InProgress", 3},
		{"?status=Completed", 72}, {"?name=sweep&status=Completed", 70}, {"?name=sweep&status=Failed", 0}, {"?name=" + strings.Repeat("x", 64), 0},
	} {
		all, _ := walk(t, h, "/"+c.query)
		require.Len(t, all, c.want, c.query)
	}
	require.Contains(t, get(h, "/?status=Failed").Body.String(), "<option selected>Failed</option>")
}

// The service cuts its pages before it looks at the status: the failed job here is its 120th.
func TestAFilteredPageLooksThroughSeveralOfTheServices(t *testing.T) {
	jobs, h := samples()
	var first []*fakeJob
	for i := range 119 {
		first = append(first, newJob(fmt.Sprintf("newer-%d", i), noon).ends("Completed", "Completed", time.Minute))
	}
	jobs.jobs = append(first, jobs.jobs[4:]...)
	require.Equal(t, []string{failed}, names(get(h, "/?status=Failed").Body.String()))
}

func TestEmptyListsSayWhy(t *testing.T) {
	jobs, h := samples()
	require.Contains(t, get(h, "/?name=nothing").Body.String(), "No job is like this.")
	jobs.jobs = nil
	require.Contains(t, get(h, "/").Body.String(), "There are no jobs yet.")
}

func TestWrongQueriesAreTheUsersFault(t *testing.T) {
	_, h := samples()
	for _, path := range []string{"/?page=no-token", "/?status=Nonsense", "/jobs/" + completed + "?from=-1", "/jobs/" + completed + "?from=x",
		"/jobs/" + completed + "/live?from=99999999999999999999"} {
		require.Equal(t, 400, get(h, path).Code, path)
	}
}

func TestWhatIsNotThereIsAPageWithStatus404(t *testing.T) {
	_, h := samples()
	for _, path := range []string{"/jobs/none", "/jobs/none/live", "/jobs/none/logs/algo-1", "/jobs/none/model", "/jobs/none/output", "/elsewhere",
		"/assets/none.js", "/assets/..%2fpage.go", "/jobs/" + completed + "/logs/algo-7", "/jobs/" + failed + "/model", "/jobs/" + running + "/output"} {
		w := get(h, path)
		require.Equal(t, 404, w.Code, path)
		require.Contains(t, w.Body.String(), "<h1>Not Found</h1>", path)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/jobs/none/stop", nil))
	require.Equal(t, 404, w.Code)
}

func TestAJobsPageTellsAllThereIsWithoutAScript(t *testing.T) {
	_, h := samples()
	page := get(h, "/jobs/"+running).Body.String()
	for _, want := range []string{
		"<strong>Downloading</strong>", "1m 15s", "Training image download completed. Training in progress.", "15m 25s so far",
		"<th scope=\"row\">k</th><td><div>100</div></td>", "[&#34;msd&#34;,&#34;ssd&#34;]",
		"s3://data/customers/2026/train/part-", "sharded", "shuffled", "110 GB", "58%", "110 MB/s", "algo-3, test: epoch 1 was opened",
		`aria-label="train:msd over time: 7500 values`, `data-host="algo-3"`, "step=2499", "3 × ml.m5.xlarge", "OMP_NUM_THREADS", "Interrupt",
	} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "step=2199", "only the last lines")
	require.Contains(t, get(h, "/jobs/"+downloading).Body.String(), "3.4 GB of 9.1 GB")
	require.Contains(t, get(h, "/jobs/"+pending).Body.String(), "The job waits for its turn.")
	require.Contains(t, get(h, "/jobs/"+failed).Body.String(), "bad magic number\n&lt;b&gt;not bold")
}

func TestWhatAJobHoldsIsOnlyEverText(t *testing.T) {
	_, h := samples()
	tag := regexp.MustCompile(`<(script|img)[^>]*>`)
	for _, path := range []string{"/", "/jobs/" + hostile, "/?name=" + url.QueryEscape(evil[:60]), "/jobs/" + url.PathEscape(evil)} {
		page := get(h, path).Body.String()
		require.Equal(t, []string{`<script src="` + assetURL("page.js") + `" defer>`}, tag.FindAllString(page, -1), path)
		require.NotContains(t, page, ` style="`)
		require.NotRegexp(t, `(?i)(href|src|action)="(javascript|https?|//|data:)`, page, path)
	}
	page := get(h, "/jobs/"+hostile).Body.String()
	require.True(t, strings.Contains(page, "a\ufffdb") && !strings.Contains(page, "\xff"))
	var live struct{ Fragments []fragment }
	require.NoError(t, json.Unmarshal(get(h, "/jobs/"+hostile+"/live").Body.Bytes(), &live))
	require.NotEmpty(t, live.Fragments)
	for _, f := range live.Fragments {
		require.Empty(t, tag.FindAllString(string(f.HTML), -1))
	}
}

func TestEveryAnswerGuardsThePage(t *testing.T) {
	_, h := samples()
	for _, path := range []string{"/", "/jobs/" + running, "/jobs/" + running + "/live", "/jobs/none", assetURL("page.js"), "/jobs/" + completed + "/model"} {
		header := get(h, path).Header()
		policy := header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
			require.Contains(t, policy, want, path)
		}
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
	}
	require.Equal(t, "no-store", get(h, "/").Header().Get("Cache-Control"))
	require.Contains(t, get(h, "/").Header().Get("Content-Type"), "text/html")
}

func TestAssetsAreKeptByTheBrowserForAsLongAsTheyAreTheSame(t *testing.T) {
	_, h := samples()
	for name, contentType := range map[string]string{"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		w := get(h, assetURL(name))
		require.Equal(t, 200, w.Code)
		require.Contains(t, w.Header().Get("Content-Type"), contentType)
		require.Contains(t, w.Header().Get("Cache-Control"), "immutable")
		require.NotContains(t, get(h, "/assets/"+name+"?v=old").Header().Get("Cache-Control"), "immutable")
		r := httptest.NewRequest("GET", "/assets/"+name, nil)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		again := httptest.NewRecorder()
		h.ServeHTTP(again, r)
		require.Equal(t, 304, again.Code)
	}
}

func TestNothingIsFetchedFromElsewhere(t *testing.T) {
	for _, dir := range []string{"assets", "templates"} {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, file := range files {
			content, err := os.ReadFile(dir + "/" + file.Name())
			require.NoError(t, err)
			text := strings.ReplaceAll(string(content), `xmlns="http://www.w3.org/2000/svg"`, "")
			require.NotRegexp(t, `https?://|url\(|@import`, text, file.Name())
		}
	}
}

func TestOnlyOurOwnFormsStopAJob(t *testing.T) {
	for _, c := range []struct {
		name   string
		header map[string]string
		want   int
	}{
		{"our form", map[string]string{"Sec-Fetch-Site": "same-origin"}, 303},
		{"a program", nil, 303},
		{"another site", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"another port of this host", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"another site, by an old browser", map[string]string{"Origin": "https://elsewhere.example"}, 403},
		{"a frame without an origin", map[string]string{"Origin": "null"}, 403},
	} {
		for _, action := range []string{"stop", "interrupt"} {
			t.Run(c.name+" "+action, func(t *testing.T) {
				jobs, h := samples()
				r := httptest.NewRequest("POST", "/jobs/"+running+"/"+action, nil)
				for key, value := range c.header {
					r.Header.Set(key, value)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				require.Equal(t, c.want, w.Code)
				if c.want == 303 {
					require.Equal(t, "/jobs/"+running, w.Header().Get("Location"))
					require.Equal(t, []string{action + " " + running}, jobs.acts)
				} else {
					require.Empty(t, jobs.acts)
				}
			})
		}
	}
	jobs, h := samples()
	require.Equal(t, 404, get(h, "/jobs/"+running+"/stop").Code)
	require.Empty(t, jobs.acts)
}

func TestStoppingAJobThatIsOverIsAConflict(t *testing.T) {
	_, h := samples()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/jobs/"+completed+"/stop", nil))
	require.Equal(t, 409, w.Code)
	require.Contains(t, w.Body.String(), "is in status Completed")
	require.NotContains(t, get(h, "/jobs/"+completed).Body.String(), "/stop")
}

func TestArtifactsAreDownloadedAsTheyAre(t *testing.T) {
	jobs, h := samples()
	page := get(h, "/jobs/"+completed).Body.String()
	for what, uri := range map[string]string{"model": *jobs.jobs[3].ModelArtifacts.S3ModelArtifacts, "output": jobs.jobs[3].output} {
		require.Contains(t, page, `<a href="/jobs/`+completed+`/`+what+`" download>`)
		w := get(h, "/jobs/"+completed+"/"+what)
		require.Equal(t, 200, w.Code)
		require.Equal(t, `attachment; filename=`+completed+`-`+what+`.tar.gz`, w.Header().Get("Content-Disposition"))
		require.Equal(t, fmt.Sprint(len(jobs.objects[uri])), w.Header().Get("Content-Length"))
		require.Equal(t, jobs.objects[uri], w.Body.Bytes())
	}
	delete(jobs.objects, jobs.jobs[3].output)
	require.Equal(t, 404, get(h, "/jobs/"+completed+"/output").Code, "what is described but not there")
}

func TestFilesBelowAPrefixHaveOnlyAURI(t *testing.T) {
	_, h := samples()
	page := get(h, "/jobs/"+stopped).Body.String()
	require.Contains(t, page, "s3://models/pca/forecast-max-runtime/output/model/")
	require.NotContains(t, page, `/model" download`)
	require.Equal(t, 404, get(h, "/jobs/"+stopped+"/model").Code)
}

// brokenBody fails after some bytes.
type brokenBody struct{ io.Reader }

func (brokenBody) Close() error { return nil }

func TestADownloadThatBreaksOffIsSeenToBeShort(t *testing.T) {
	jobs, _ := samples()
	h := Handler(&breaking{fakeJobs: jobs})
	server := httptest.NewServer(h)
	defer server.Close()
	answer, err := http.Get(server.URL + "/jobs/" + completed + "/model")
	require.NoError(t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	require.Error(t, err)
}

func TestWhatFailsInsideIsToldInItsPlace(t *testing.T) {
	jobs, h := samples()
	jobs.broken = errors.New("the disk <is> gone")
	w := get(h, "/jobs/"+running)
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), "The metrics cannot be had: the disk &lt;is&gt; gone")
	require.Contains(t, w.Body.String(), "The logs cannot be had: the disk &lt;is&gt; gone")
	require.Contains(t, w.Body.String(), "<strong>Training</strong>")
	require.Equal(t, 500, get(h, "/jobs/"+completed+"/model").Code)
	require.Equal(t, 500, get(h, "/jobs/"+completed+"/logs/algo-1").Code)
}
