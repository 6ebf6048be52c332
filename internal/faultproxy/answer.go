package faultproxy

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
)

// answer gives one in place of the server's.
func (f *failure) answer(w http.ResponseWriter) {
	f.happens(0)
	switch f.fault {
	case InternalError:
		writeError(w, http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again.")
	case SlowDown:
		writeError(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
	case ExpiredToken:
		f.proxy.expire(f.request)
		writeError(w, http.StatusBadRequest, "ExpiredToken", "The provided token has expired.")
	case Reset:
		reset(w)
	case Silence:
		f.proxy.wait(f.request.Context())
		panic(http.ErrAbortHandler)
	}
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}

// reset ends the request with a TCP reset, which may overtake bytes that were written.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	panic(http.ErrAbortHandler)
}

var accessKey = regexp.MustCompile(`Credential=([^/]*)`)

// credentials tells apart those of a request: by access key and session token.
func credentials(r *http.Request) string {
	return accessKey.FindString(r.Header.Get("Authorization")) + " " + r.Header.Get("X-Amz-Security-Token")
}

func (p *Proxy) expire(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired[credentials(r)] = true
}

func (p *Proxy) outdated(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expired[credentials(r)]
}
