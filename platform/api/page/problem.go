package page

import (
	"errors"
	"net/http"

	"github.com/aws/smithy-go"
)

// A problem is an error that the user is told with a status of its own.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func notFound(text string) error { return &problem{http.StatusNotFound, text} }

// understood returns err as a problem: the codes of the service and of S3 have the statuses that people know.
func understood(err error) *problem {
	var known *problem
	if errors.As(err, &known) {
		return known
	}
	var coded smithy.APIError
	if !errors.As(err, &coded) {
		return &problem{http.StatusInternalServerError, err.Error()}
	}
	text := coded.ErrorMessage()
	if text == "" {
		text = coded.ErrorCode()
	}
	switch coded.ErrorCode() {
	case "ResourceNotFound", "NoSuchKey", "NoSuchBucket", "NotFound":
		return &problem{http.StatusNotFound, text}
	case "ValidationException":
		return &problem{http.StatusBadRequest, text}
	case "AccessDeniedException", "AccessDenied":
		return &problem{http.StatusForbidden, text}
	}
	return &problem{http.StatusInternalServerError, text}
}

// fail answers with a page that says what is wrong.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	p := understood(err)
	html, err := render("problem.html", struct {
		Status int
		Title  string
		Text   string
	}{p.status, http.StatusText(p.status), p.text})
	if err != nil {
		http.Error(w, p.text, p.status)
		return
	}
	write(w, p.status, html)
}
