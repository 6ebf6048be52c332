package page

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
)

func (p *pages) stop(w http.ResponseWriter, r *http.Request) error {
	return p.act(w, r, func(name string) error {
		_, err := p.jobs.StopTrainingJob(r.Context(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String(name)})
		return err
	})
}

func (p *pages) interrupt(w http.ResponseWriter, r *http.Request) error {
	return p.act(w, r, func(name string) error { return p.jobs.Interrupt(r.Context(), name) })
}

// act does something to a job and leads back to its page.
func (p *pages) act(w http.ResponseWriter, r *http.Request, do func(name string) error) error {
	name := r.PathValue("name")
	if _, err := p.describe(r.Context(), name); err != nil {
		return err
	}
	if err := do(name); err != nil {
		if told := understood(err); told.status == http.StatusBadRequest { // the job is there: its status is at odds with this
			return &problem{http.StatusConflict, told.text}
		}
		return err
	}
	http.Redirect(w, r, jobURL(name), http.StatusSeeOther)
	return nil
}
