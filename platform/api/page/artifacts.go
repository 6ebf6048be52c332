package page

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
)

// An artifact is something that a job left in S3.
type artifact struct {
	Label, URI string
	Download   string // path of the download; "" for files below a prefix, which only S3 has
}

func (p *pages) artifacts(job *sagemaker.DescribeTrainingJobOutput) []artifact {
	var all []artifact
	add := func(label, uri, path string) {
		if uri == "" {
			return
		}
		a := artifact{Label: label, URI: uri}
		if archived(uri) {
			a.Download = jobURL(aws.ToString(job.TrainingJobName)) + path
		}
		all = append(all, a)
	}
	add("Model", modelURI(job), "/model")
	add("Output", p.jobs.OutputArtifacts(aws.ToString(job.TrainingJobName)), "/output")
	return all
}

// modelURI is where the model is; "" while the job goes on, as nothing is there then, whatever is said.
func modelURI(job *sagemaker.DescribeTrainingJobOutput) string {
	if job.ModelArtifacts == nil || !ended(job.TrainingJobStatus) || job.TrainingJobStatus == "Failed" {
		return ""
	}
	return aws.ToString(job.ModelArtifacts.S3ModelArtifacts)
}

// archived reports whether a URI is an object, and not the prefix of uncompressed ones.
func archived(uri string) bool { return strings.HasSuffix(uri, ".tar.gz") }

func (p *pages) model(w http.ResponseWriter, r *http.Request) error {
	job, err := p.describe(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return p.download(w, r, modelURI(job), "model")
}

func (p *pages) output(w http.ResponseWriter, r *http.Request) error {
	job, err := p.describe(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return p.download(w, r, p.jobs.OutputArtifacts(aws.ToString(job.TrainingJobName)), "output")
}

// download sends an archive from S3 as it comes.
func (p *pages) download(w http.ResponseWriter, r *http.Request, uri, what string) error {
	switch {
	case uri == "":
		return notFound("The job has left no " + what + ".")
	case !archived(uri):
		return notFound("The " + what + " is not one file but all that is below " + uri + ".")
	}
	body, size, err := p.jobs.OpenObject(r.Context(), uri)
	if err != nil {
		return err
	}
	defer body.Close()
	attachment(w, "application/gzip", r.PathValue("name")+"-"+what+".tar.gz")
	if size >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, body); err != nil {
		panic(http.ErrAbortHandler) // so that the browser sees that the file is not whole
	}
	return nil
}

// attachment has the browser keep what follows as a file.
func attachment(w http.ResponseWriter, contentType, name string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}
