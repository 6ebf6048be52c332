package api

import (
	"encoding/xml"
	"mime"
	"net/http"
	"net/url"
)

// isForm reports whether a request is one of the Query protocol.
func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/x-www-form-urlencoded"
}

const stsNamespace = "https://sts.amazonaws.com/doc/2011-06-15/"

type callerIdentity struct {
	XMLName   xml.Name `xml:"GetCallerIdentityResponse"`
	Namespace string   `xml:"xmlns,attr"`
	ARN       string   `xml:"GetCallerIdentityResult>Arn"`
	UserID    string   `xml:"GetCallerIdentityResult>UserId"`
	Account   string   `xml:"GetCallerIdentityResult>Account"`
	RequestID string   `xml:"ResponseMetadata>RequestId"`
}

type stsError struct {
	XMLName   xml.Name `xml:"ErrorResponse"`
	Namespace string   `xml:"xmlns,attr"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

// serveSTS answers GetCallerIdentity, with which clients find the account of bucket names and roles.
func (s *Service) serveSTS(w http.ResponseWriter, r *http.Request, guard access) {
	body, err := readBody(w, r)
	if err == nil {
		err = guard.api(r, body, "sts")
	}
	var form url.Values
	if err == nil {
		if form, err = url.ParseQuery(string(body)); err != nil {
			err = clientError("MalformedQueryString", "The body is not a form: %v", err)
		}
	}
	if err == nil && form.Get("Action") != "GetCallerIdentity" {
		err = clientError("InvalidAction", "The action %.100q is not one of this platform.", form.Get("Action"))
	}
	var out any = callerIdentity{
		Namespace: stsNamespace, ARN: "arn:aws:iam::" + s.opts.account() + ":user/algospec",
		UserID: "AIDAALGOSPEC", Account: s.opts.account(), RequestID: requestID(),
	}
	status := http.StatusOK
	if err != nil {
		known, code := apiError(err)
		status = code
		out = stsError{Namespace: stsNamespace, Type: "Sender", Code: known.ErrorCode(), Message: known.ErrorMessage(), RequestID: requestID()}
	}
	text, err := xml.Marshal(out)
	if err != nil {
		panic(err) // our own types
	}
	answer(w, status, "text/xml", text)
}
