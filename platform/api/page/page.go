// Package page shows the training jobs of a service to people: a list of jobs, and a page for each with its
// timeline, inputs, metric curves, pictures of the results, logs and artifacts.
//
// Pages are HTML made on the server, and say everything without a script. Where scripts run, a small one asks
// once a second for the parts of a job's page that have changed, and for new lines of the log. Everything a
// page needs comes from the same port, and a Content-Security-Policy has the browser hold to that.
//
// Names, hyperparameters and logs come from others and may hold anything: they are shown as text.
package page

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sagemaker"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/api"
)

// Jobs are the training jobs to show. An api.Service is one; see there for what each method does.
type Jobs interface {
	DescribeTrainingJob(ctx context.Context, in *sagemaker.DescribeTrainingJobInput) (*sagemaker.DescribeTrainingJobOutput, error)
	ListTrainingJobs(ctx context.Context, in *sagemaker.ListTrainingJobsInput) (*sagemaker.ListTrainingJobsOutput, error)
	StopTrainingJob(ctx context.Context, in *sagemaker.StopTrainingJobInput) (*sagemaker.StopTrainingJobOutput, error)
	Interrupt(ctx context.Context, name string) error

	Progress(name string) (platform.Progress, bool)
	Metrics(name string) ([]platform.Metric, error)
	LogStreams(name string) ([]api.LogStream, error)
	LogLines(stream string, from, limit int) ([]platform.Line, error)

	Pictures(name string) ([]algospec.Picture, error)
	OutputArtifacts(name string) string
	OpenObject(ctx context.Context, uri string) (body io.ReadCloser, size int64, err error)
}

var _ Jobs = (*api.Service)(nil)

type pages struct {
	jobs Jobs
	now  func() time.Time
}

// Handler serves the page: the list of jobs at /, a job at /jobs/{name}, and what belongs to them below
// /jobs/ and /assets/. It refuses what other sites have a browser post.
func Handler(jobs Jobs) http.Handler {
	return (&pages{jobs: jobs, now: time.Now}).handler()
}

func (p *pages) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, serve func(w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				fail(w, r, err)
			}
		})
	}
	handle("GET /{$}", p.list)
	handle("GET /jobs/{name}", p.job)
	handle("GET /jobs/{name}/live", p.live)
	handle("GET /jobs/{name}/logs/{host}", p.log)
	handle("GET /jobs/{name}/pictures/{file}", p.picture)
	handle("GET /jobs/{name}/model", p.model)
	handle("GET /jobs/{name}/output", p.output)
	handle("POST /jobs/{name}/stop", p.stop)
	handle("POST /jobs/{name}/interrupt", p.interrupt)
	handle("GET /assets/{file}", asset)
	handle("/", func(http.ResponseWriter, *http.Request) error { return notFound("There is no such page.") })

	var own http.CrossOriginProtection
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, &problem{http.StatusForbidden, "Another site asked for this; nothing was done."})
	}))
	return guarded(own.Handler(mux))
}

// guarded has the browser load nothing from elsewhere, run no script but ours, guess no types and show the
// pages in no frame.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		// With no-referrer the Origin of a form would be null, and over plain HTTP from another machine there is
		// nothing else to tell our own form by.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
