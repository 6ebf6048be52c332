package page

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
)

// A browserTab is a page in headless Chromium. It notes what a sound page does not do.
type browserTab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	problems []string // console errors, exceptions, violations of the Content-Security-Policy
}

func openTab(t *testing.T) *browserTab {
	path := testenv.Chromium(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithAllocatorOptions(
		chromedp.NoSandbox, chromedp.ExecPath(path), chromedp.WSURLReadTimeout(2*time.Minute)))
	t.Cleanup(func() { chromedp.Cancel(ctx); cancel() })
	tab := &browserTab{T: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, tab.note))
	return tab
}

func (b *browserTab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, "console: "+string(e.Type))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			b.problems = append(b.problems, string(e.Entry.Source)+": "+e.Entry.Text)
		}
	}
}

// sound fails the test where the tab saw a problem, or a request that went elsewhere than to the server.
func (b *browserTab) sound(origin string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b, b.problems)
	require.NotEmpty(b, b.requests)
	for _, url := range b.requests {
		require.True(b, strings.HasPrefix(url, origin+"/"), url)
	}
}

// asked counts the requests so far whose addresses hold a text.
func (b *browserTab) asked(text string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if strings.Contains(url, text) {
			n++
		}
	}
	return n
}

func (b *browserTab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, steps...))
}

// open goes to a page, by an address or by what leads there.
func (b *browserTab) open(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	answer, err := chromedp.RunResponse(b.ctx, steps...)
	require.NoError(b, err)
	require.EqualValues(b, 200, answer.Status)
}

func (b *browserTab) click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(selector))
}

// comes waits until a condition of the page is true.
func (b *browserTab) comes(condition string) {
	b.Helper()
	promise := "new Promise((done) => { const look = () => (" + condition + ") ? done(true) : requestAnimationFrame(look); look(); })"
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](promise, chromedp.EvalAwaitPromise))
	require.NoError(b, err, condition)
}

// step runs a part of a story as a test of its own.
func (b *browserTab) step(name string, part func(t *testing.T)) {
	whole := b.T
	defer func() { b.T = whole }()
	whole.Run(name, func(t *testing.T) {
		b.T = t
		part(t)
	})
}

func eval[T any](b *browserTab, expression string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b, err, expression)
	return value
}

func (b *browserTab) text(selector string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS(selector)))
	require.NoError(b, err)
	return text
}

// serve serves the sample jobs as of now.
func serve(t *testing.T) (*fakeJobs, *httptest.Server) {
	jobs := sampleJobs(time.Now())
	server := httptest.NewServer(Handler(jobs))
	t.Cleanup(server.Close)
	return jobs, server
}

func TestInABrowserAPersonFollowsAJob(t *testing.T) {
	tab := openTab(t)
	jobs, server := serve(t)
	tab.open(chromedp.Navigate(server.URL))
	tab.open(tab.click(`a[href="/jobs/` + running + `"]`))
	require.Equal(t, running, tab.text("h1"))
	require.Contains(t, tab.text("#timeline"), "Downloading input data")
	require.Contains(t, tab.text("#inputs"), "algo-3, test: epoch 1 was opened before")
	require.EqualValues(t, 4, eval[int](tab, `document.querySelectorAll("#charts svg polyline").length - 4`))

	tab.step("metrics, inputs and log grow", func(t *testing.T) {
		curve := `document.querySelector("[data-host=algo-1]").dataset.values.split(" ").length`
		before := eval[int](tab, curve)
		require.NotContains(t, tab.text("#log"), "step=2500 ")
		jobs.train(running, 40, time.Second)
		tab.comes(fmt.Sprintf("document.querySelector('#log').innerText.includes('step=2539 ') && %s !== %d", curve, before))
		tab.comes(`document.querySelector("[data-rate='algo-1/train']").innerText === "110 MB/s"`)
		require.Equal(t, 1, strings.Count(tab.text("#log"), "step=2500 "))
	})

	tab.step("the log follows until one scrolls up", func(t *testing.T) {
		atEnd := `(() => { const l = document.querySelector("#log"); return l.scrollTop + l.clientHeight >= l.scrollHeight - 4; })()`
		checked := `document.querySelector("#follow input").checked`
		require.True(t, eval[bool](tab, atEnd))
		tab.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#log").scrollTop = 100`))
		tab.comes("!" + checked)
		jobs.train(running, 1, time.Second)
		tab.comes(`document.querySelector('#log').innerText.includes('step=2540 ')`)
		require.EqualValues(t, 100, eval[float64](tab, `document.querySelector("#log").scrollTop`))
		tab.do(tab.click("#follow input"))
		tab.comes(atEnd + " && " + checked)
		jobs.train(running, 30, time.Second)
		tab.comes(`document.querySelector('#log').innerText.includes('step=2570 ') && ` + atEnd)
		for _, width := range []int64{360, 1280, 700, 1500, 1280} {
			tab.do(chromedp.EmulateViewport(width, 800))
			tab.comes(atEnd + " && " + checked)
		}
		jobs.train(running, 1, time.Second)
		tab.comes(`document.querySelector('#log').innerText.includes('step=2571 ')`)
		require.True(t, eval[bool](tab, checked+" && "+atEnd))
	})

	tab.step("another host's log takes its place", func(t *testing.T) {
		tab.do(tab.click(`#streams a[data-stream^="algo-2"]`))
		tab.comes(`document.querySelector('#log').innerText.includes('host=algo-2') && !document.querySelector('#log').innerText.includes('host=algo-1')`)
		tab.comes(`document.querySelector("#streams [aria-current]").innerText === "algo-2"`)
		require.Contains(t, eval[string](tab, "location.search"), "log=algo-2-")
		jobs.train(running, 1, time.Second)
		tab.comes(`document.querySelector('#log').innerText.includes('step=2572 ')`)
		require.Equal(t, window+1, eval[int](tab, `document.querySelector("#log").childElementCount`))
	})

	tab.step("the pointer tells values", func(t *testing.T) {
		box := eval[map[string]float64](tab, `(() => { const e = document.querySelector("#charts svg[role=img]"); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`)
		tab.do(chromedp.MouseEvent("mouseMoved", box["x"], box["y"]))
		tab.comes(`!document.querySelector("#tip").hidden`)
		require.Regexp(t, `^after \d+m \d+s\nalgo-1  [\d.]+\nalgo-2  [\d.]+\nalgo-3  [\d.]+$`, eval[string](tab, `document.querySelector("#tip").textContent`))
		tab.do(chromedp.MouseEvent("mouseMoved", 2, 2))
		tab.comes(`document.querySelector("#tip").hidden`)
	})

	tab.step("stopping wants to be confirmed", func(t *testing.T) {
		tab.do(chromedp.ScrollIntoView(chromedp.CSS("h1")), tab.click("[popovertarget=stopping]"), chromedp.WaitVisible(chromedp.CSS("#stopping")))
		tab.do(tab.click("#stopping [popovertargetaction=hide]"), chromedp.WaitNotVisible(chromedp.CSS("#stopping")))
		require.Empty(t, jobs.did())
		tab.do(tab.click("[popovertarget=stopping]"), chromedp.WaitVisible(chromedp.CSS("#stopping")))
		tab.open(tab.click("#stopping form .strong"))
		require.Equal(t, []string{"stop " + running}, jobs.did())
		require.Contains(t, tab.text("#status"), "Stopping")
		require.True(t, eval[bool](tab, `document.querySelector("[popovertarget=stopping]").disabled`))
	})

	tab.step("the end is seen, and nothing is asked for after it", func(t *testing.T) {
		jobs.end(running)
		tab.comes(`document.querySelector("#status").innerText.includes("Stopped") && document.querySelector("#follow").hidden`)
		require.Empty(t, eval[string](tab, `document.querySelector("#actions").innerText.trim()`))
		asked := tab.asked("/live")
		tab.do(chromedp.Evaluate[chromedp.Void](`document.dispatchEvent(new Event("visibilitychange"))`))
		_, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](`fetch("/assets/icon.svg").then((a) => a.ok)`, chromedp.EvalAwaitPromise))
		require.NoError(t, err)
		require.Equal(t, asked, tab.asked("/live"))
	})
	tab.sound(server.URL)
}

func TestInABrowserAnArtifactIsDownloaded(t *testing.T) {
	tab := openTab(t)
	jobs, server := serve(t)
	dir := t.TempDir()
	_, err := chromedp.CallBrowser(tab.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, EventsEnabled: aws.Bool(true)})
	require.NoError(t, err)
	tab.open(chromedp.Navigate(server.URL + "/jobs/" + completed))
	progress := chromedp.BrowserEvents(tab.ctx, browser.DownloadProgress)
	tab.do(tab.click(`#artifacts a[href$="/model"]`))
	for event, err := range progress {
		require.NoError(t, err)
		require.NotEqual(t, browser.DownloadProgressStateCanceled, event.State)
		if event.State == browser.DownloadProgressStateCompleted {
			break
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, completed+"-model.tar.gz"))
	require.NoError(t, err)
	require.Equal(t, jobs.objects["s3://models/pca/"+completed+"/output/model.tar.gz"], content)
	tab.sound(server.URL)
}

func TestInABrowserHostileTextStaysText(t *testing.T) {
	tab := openTab(t)
	_, server := serve(t)
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(tab.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		require.NoError(t, err)
		tab.open(chromedp.Navigate(server.URL + "/jobs/" + hostile))
		require.Contains(t, tab.text("#log"), "<script>document.title = 'taken'</script>")
		require.Equal(t, hostile, eval[string](tab, "document.title"))
		require.Zero(t, eval[int](tab, `document.querySelectorAll("img, body script").length`))
	}
	require.Equal(t, "rgb(18, 21, 27)", eval[string](tab, "getComputedStyle(document.body).backgroundColor"))
	tab.sound(server.URL)
}

func TestInABrowserThePageFitsAPhone(t *testing.T) {
	tab := openTab(t)
	_, server := serve(t)
	tab.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for _, path := range []string{"/", "/jobs/" + running, "/jobs/" + hostile, "/jobs/" + failed, "/jobs/" + pending, "/jobs/none?"} {
		if path != "/jobs/none?" {
			tab.open(chromedp.Navigate(server.URL + path))
		}
		require.LessOrEqual(t, eval[int](tab, "document.documentElement.scrollWidth"), 360, path)
	}
	tab.sound(server.URL)
}

func TestInABrowserWithoutJavaScriptAllIsThere(t *testing.T) {
	tab := openTab(t)
	jobs, server := serve(t)
	_, err := chromedp.Call(tab.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	tab.open(chromedp.Navigate(server.URL + "/?name=kmeans"))
	tab.open(tab.click(`a[href="/jobs/` + running + `"]`))
	require.Contains(t, tab.text("#timeline"), "Training image download completed")
	tab.do(chromedp.WaitVisible(chromedp.CSS("#charts svg polyline")), chromedp.WaitNotVisible(chromedp.CSS("#follow")), chromedp.WaitNotVisible(chromedp.CSS("td.scripted")))
	require.Contains(t, tab.text("#log"), "step=2499 ")
	tab.open(tab.click(`#streams a[data-stream^="algo-3"]`))
	require.Contains(t, tab.text("#log"), "host=algo-3")
	tab.do(tab.click("[popovertarget=stopping]"), chromedp.WaitVisible(chromedp.CSS("#stopping")))
	tab.open(tab.click("#stopping form .strong"))
	require.Equal(t, []string{"stop " + running}, jobs.did())
	require.Contains(t, tab.text("#status"), "Stopping")
	tab.sound(server.URL)
	require.Zero(t, tab.asked("/live"))
}

func TestInABrowserALostServerIsToldAndFoundAgain(t *testing.T) {
	tab := openTab(t)
	jobs := sampleJobs(time.Now())
	var lost atomic.Bool
	page := Handler(jobs)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() {
			panic(http.ErrAbortHandler)
		}
		page.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tab.open(chromedp.Navigate(server.URL + "/jobs/" + running))
	lost.Store(true)
	tab.comes(`!document.querySelector("#connection").hidden`)
	require.Contains(t, tab.text("#connection"), "does not answer")
	jobs.train(running, 1, time.Second)
	lost.Store(false)
	tab.comes(`document.querySelector("#connection").hidden && document.querySelector('#log').innerText.includes('step=2500 ')`)
	jobs.remove(running)
	tab.comes(`document.querySelector("#connection").innerText === "This job is no longer there."`)
}

func TestInABrowserANewJobAppearsInTheList(t *testing.T) {
	tab := openTab(t)
	jobs, server := serve(t)
	tab.open(chromedp.Navigate(server.URL))
	jobs.add(newJob("just-created", time.Now()))
	tab.comes(`document.querySelector("a[href='/jobs/just-created']")`)
	tab.sound(server.URL)
}

// What the other tests take for proof: a page that does what it should not is noticed.
func TestInABrowserAnUnsoundPageIsNoticed(t *testing.T) {
	tab := openTab(t)
	server := httptest.NewServer(guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<link rel="icon" href="data:,"><script>document.title = "taken"</script><p style="color: red">`)
	})))
	t.Cleanup(server.Close)
	tab.open(chromedp.Navigate(server.URL))
	tab.do(chromedp.Evaluate[chromedp.Void](`setTimeout(() => { throw new Error("thrown") }); console.error("told"); fetch("` + strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + `/").catch(() => {})`))
	require.Eventually(t, func() bool {
		tab.mu.Lock()
		defer tab.mu.Unlock()
		all := strings.Join(tab.problems, "\n")
		return strings.Contains(all, "inline script") && strings.Contains(all, "inline style") && strings.Contains(all, "exception") &&
			strings.Contains(all, "console: error") && strings.Contains(all, "localhost")
	}, time.Minute, 20*time.Millisecond)
}

func TestInABrowserALateAnswerForAnotherHostIsDropped(t *testing.T) {
	tab := openTab(t)
	jobs := sampleJobs(time.Now())
	var holding atomic.Bool
	held, answers := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(answers) })
	page := Handler(jobs)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/live") && holding.CompareAndSwap(true, false) {
			jobs.train(running, 1, time.Second)
			answer := httptest.NewRecorder()
			page.ServeHTTP(answer, r)
			close(held)
			<-answers
			w.Write(answer.Body.Bytes())
			return
		}
		page.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(release)
	tab.open(chromedp.Navigate(server.URL + "/jobs/" + running))
	holding.Store(true)
	select {
	case <-held:
	case <-tab.ctx.Done():
		t.Fatal("the page asked for nothing")
	}
	tab.do(tab.click(`#streams a[data-stream^="algo-2"]`))
	release()
	tab.comes(`document.querySelector('#log').innerText.includes('host=algo-2')`)
	require.NotContains(t, tab.text("#log"), "host=algo-1")
	tab.sound(server.URL)
}
