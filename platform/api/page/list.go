package page

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

const (
	listed  = 50 // jobs on a page of the list
	looks   = 40 // pages of the service, at most, that are looked through for one of ours
	longest = 63 // letters of a job's name
)

// A row is a job in the list.
type row struct {
	Name     string
	Badge    badge
	Created  time.Time
	Duration time.Duration
	Image    string
	Lasting  bool
}

type listView struct {
	Rows         []row
	Now          time.Time
	Name, Status string                    // what the list is filtered by
	Statuses     []types.TrainingJobStatus // that it can be filtered by
	Filtered     bool
	First, Older string // URLs of other pages; "" where this is it, or none is
}

func (p *pages) list(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	view := listView{
		Now:      p.now(),
		Name:     strings.TrimSpace(query.Get("name")),
		Status:   query.Get("status"),
		Statuses: types.TrainingJobStatus("").Values(),
	}
	view.Filtered = view.Name != "" || view.Status != ""
	jobs, token, err := p.find(r, view.Name, view.Status, query.Get("page"))
	if err != nil {
		return err
	}
	for _, job := range jobs {
		view.Rows = append(view.Rows, p.row(r, job, view.Now))
	}
	link := url.Values{}
	for _, key := range []string{"name", "status"} {
		if value := query.Get(key); value != "" {
			link.Set(key, value)
		}
	}
	if query.Get("page") != "" {
		view.First = "/?" + link.Encode()
	}
	if token != "" {
		link.Set("page", token)
		view.Older = "/?" + link.Encode()
	}
	html, err := render("list.html", view)
	if err != nil {
		return err
	}
	write(w, http.StatusOK, html)
	return nil
}

// find returns the jobs of one page of the list, from token on, and the token of the next. The service cuts
// its pages before it looks at the status, so one page here may take several there.
func (p *pages) find(r *http.Request, name, status, token string) ([]types.TrainingJobSummary, string, error) {
	if len(name) > longest {
		return nil, "", nil
	}
	in := &sagemaker.ListTrainingJobsInput{
		MaxResults:   aws.Int32(listed),
		SortBy:       types.SortByCreationTime,
		SortOrder:    types.SortOrderDescending,
		StatusEquals: types.TrainingJobStatus(status),
	}
	if name != "" {
		in.NameContains = aws.String(name)
	}
	var jobs []types.TrainingJobSummary
	for range looks {
		if token != "" {
			in.NextToken = aws.String(token)
		}
		out, err := p.jobs.ListTrainingJobs(r.Context(), in)
		if err != nil {
			return nil, "", err
		}
		jobs = append(jobs, out.TrainingJobSummaries...)
		if token = aws.ToString(out.NextToken); token == "" || len(jobs) >= listed {
			break
		}
	}
	return jobs, token, nil
}

func (p *pages) row(r *http.Request, job types.TrainingJobSummary, now time.Time) row {
	name := aws.ToString(job.TrainingJobName)
	line := row{
		Name:     name,
		Badge:    badgeOf(job.TrainingJobStatus, job.SecondaryStatus),
		Created:  aws.ToTime(job.CreationTime),
		Duration: between(job.CreationTime, job.TrainingEndTime, now),
		Lasting:  !ended(job.TrainingJobStatus),
	}
	if !line.Lasting && job.TrainingEndTime == nil { // it ended before it started
		line.Duration = between(job.CreationTime, job.LastModifiedTime, now)
	}
	// A job that is deleted meanwhile stays a line with less in it.
	if full, err := p.describe(r.Context(), name); err == nil {
		line.Image = algorithm(full)
		line.Badge = badgeOf(full.TrainingJobStatus, full.SecondaryStatus)
	} else if !errors.Is(err, errNoJob) {
		line.Image = "?"
	}
	return line
}
