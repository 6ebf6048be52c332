package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
)

// maxBody is how large a request may be.
const maxBody = 1 << 20

// Handler serves the API of the Service, and the page for people, on one port.
//
// A request with the header X-Amz-Target is one of the API, of SageMaker or of CloudWatch Logs; so is a form posted to /
// that asks STS who the caller is. All others go to Options.Page.
//
// Where Options has Credentials, requests of the API must be signed with one of them, or bring the Token as
// "Authorization: Bearer <token>"; a browser brings the Token as a cookie, which it gets once it
// has opened the page with ?token=<token>. Where Options has neither, whoever reaches the port may use it; so that a page of
// another site does not, through a browser on this machine, only hosts by the names of this machine are served.
func (s *Service) Handler() http.Handler {
	page := http.Handler(http.NotFoundHandler())
	if s.opts.Page != nil {
		page = http.NewCrossOriginProtection().Handler(s.opts.Page)
	}
	guard := access{credentials: s.opts.Credentials, token: s.opts.Token, now: time.Now}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !guard.host(r) {
			http.Error(w, "This platform answers to the names of its machine only: "+strconv.Quote(r.Host)+" is none.", http.StatusForbidden)
			return
		}
		switch {
		case r.Method == http.MethodPost && r.Header.Get("X-Amz-Target") != "":
			s.serve(w, r, guard)
		case r.Method == http.MethodPost && r.URL.Path == "/" && isForm(r):
			s.serveSTS(w, r, guard)
		case r.Method == http.MethodPost && r.URL.Path == "/":
			refuse(w, "sagemaker", clientError(codeUnknown, "X-Amz-Target is missing."))
		default:
			guard.page(w, r, page)
		}
	})
}

// An operation decodes a request and answers it.
type operation func(s *Service, ctx context.Context, body []byte) (any, error)

// op is the operation that a method is.
func op[In, Out any](d dialect, method func(*Service, context.Context, *In) (*Out, error)) operation {
	return func(s *Service, ctx context.Context, body []byte) (any, error) {
		in := new(In)
		if err := d.unmarshal(body, in); err != nil {
			return nil, err
		}
		out, err := method(s, ctx, in)
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// A service is one of AWS's, as far as it is played here.
type service struct {
	name       string // in signatures
	dialect    dialect
	operations map[string]operation
}

// services are the services by the first part of X-Amz-Target.
var services = map[string]service{
	"SageMaker": {"sagemaker", dialect{}, map[string]operation{
		"CreateTrainingJob":   op(dialect{}, (*Service).CreateTrainingJob),
		"DescribeTrainingJob": op(dialect{}, (*Service).DescribeTrainingJob),
		"ListTrainingJobs":    op(dialect{}, (*Service).ListTrainingJobs),
		"StopTrainingJob":     op(dialect{}, (*Service).StopTrainingJob),
		"DeleteTrainingJob":   op(dialect{}, (*Service).DeleteTrainingJob),
		"AddTags":             op(dialect{}, (*Service).AddTags),
		"ListTags":            op(dialect{}, (*Service).ListTags),
		"DeleteTags":          op(dialect{}, (*Service).DeleteTags),
		"CreateAlgorithm":     op(dialect{}, (*Service).CreateAlgorithm),
		"DescribeAlgorithm":   op(dialect{}, (*Service).DescribeAlgorithm),
		"DeleteAlgorithm":     op(dialect{}, (*Service).DeleteAlgorithm),
		"ListAlgorithms":      op(dialect{}, (*Service).ListAlgorithms),
	}},
	"Logs_20140328": {"logs", dialect{lower: true}, map[string]operation{
		"DescribeLogGroups":  op(dialect{lower: true}, (*Service).describeLogGroups),
		"DescribeLogStreams": op(dialect{lower: true}, (*Service).describeLogStreams),
		"GetLogEvents":       op(dialect{lower: true}, (*Service).getLogEvents),
	}},
}

const jsonType = "application/x-amz-json-1.1"

// serve answers a request of AWS JSON 1.1.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, guard access) {
	prefix, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	target, known := services[prefix]
	if !known {
		target = services["SageMaker"]
	}
	out, err := s.call(w, r, guard, target, name, known)
	if err == nil {
		var body []byte
		if body, err = target.dialect.marshal(out); err == nil {
			if empty := bytes.Equal(body, []byte("{}")); empty && !alwaysBody[name] {
				body = nil // as of StopTrainingJob
			}
			answer(w, http.StatusOK, jsonType, body)
			return
		}
	}
	s.note(r, name, err)
	refuse(w, target.name, err)
}

// alwaysBody are the operations whose answer is an object even if it has no members.
var alwaysBody = map[string]bool{"DeleteTags": true}

func (s *Service) call(w http.ResponseWriter, r *http.Request, guard access, target service, name string, known bool) (any, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if err := guard.api(r, body, target.name); err != nil {
		return nil, err
	}
	operation := target.operations[name]
	if !known || operation == nil {
		return nil, clientError(codeUnknown, "The operation %.100q is not one of this platform.", r.Header.Get("X-Amz-Target"))
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != jsonType {
		return nil, clientError(codeUnknown, "The content type %.100q is not %s.", r.Header.Get("Content-Type"), jsonType)
	}
	return operation(s, r.Context(), body)
}

// note logs what is not the caller's fault.
func (s *Service) note(r *http.Request, name string, err error) {
	var known smithy.APIError
	if r.Context().Err() == nil && (!errors.As(err, &known) || known.ErrorFault() != smithy.FaultClient) {
		s.logger.Error("a request failed", "operation", name, "error", err)
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, clientError("RequestEntityTooLargeException", "The request is larger than %d bytes.", maxBody)
	}
	if err != nil {
		return nil, serialization("the body cannot be read: %v", err)
	}
	return body, nil
}

func answer(w http.ResponseWriter, status int, kind string, body []byte) {
	if len(body) > 0 {
		w.Header().Set("Content-Type", kind)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("X-Amzn-Requestid", requestID())
	w.WriteHeader(status)
	w.Write(body)
}

// requestID is a random UUID.
func requestID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// apiError is an error as clients know it. One that is not of the API is ours.
func apiError(err error) (known smithy.APIError, status int) {
	if !errors.As(err, &known) {
		known = &smithy.GenericAPIError{Code: codeInternal, Message: err.Error(), Fault: smithy.FaultServer}
	}
	switch {
	case known.ErrorCode() == "RequestEntityTooLargeException":
		return known, http.StatusRequestEntityTooLarge
	case known.ErrorCode() == errClosed.Code:
		return known, http.StatusServiceUnavailable
	case known.ErrorFault() == smithy.FaultClient:
		return known, http.StatusBadRequest
	}
	return known, http.StatusInternalServerError
}

// refuse answers with an error. The message's member is Message in the errors that SageMaker's model
// has, and message in all others.
func refuse(w http.ResponseWriter, namespace string, err error) {
	known, status := apiError(err)
	member := "message"
	switch known.ErrorCode() {
	case codeInUse, codeNotFound, codeLimitExceeded:
		member = "Message"
	}
	w.Header().Set("X-Amzn-ErrorType", known.ErrorCode())
	answer(w, status, jsonType, mustJSON(map[string]string{
		"__type": "com.amazonaws." + namespace + "#" + known.ErrorCode(), member: known.ErrorMessage(),
	}))
}
