// Package faultproxy stands between an S3 client and any S3 server, and has requests for objects
// fail as S3 and networks do, by chance from a seed:
//
//	proxy := faultproxy.New(server.URL, seed, faultproxy.Options{Rate: 0.2})
//	defer proxy.Close()
//	client := ... // of proxy.URL, with proxy.DialContext as its transport's
//
// Requests pass as they are, Host included, so their signatures hold. What happens to one depends
// on the seed, the object, the range and how often it was asked for, and not on the order in which
// concurrent requests come: a seed brings back nearly the same run. Log tells what happened.
package faultproxy

import (
	"cmp"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Options say how much goes wrong. The zero value is a proxy without faults.
type Options struct {
	Rate    float64                  // share of the requests for objects that fail, from 0 to 1
	Faults  []Fault                  // those to choose from; nil means all
	Pause   time.Duration            // the longest between two pieces of a Trickle; 0 means 10 ms
	Replace func(bucket, key string) // puts another body there, not through the proxy; nil means that Replace does nothing
}

// A Proxy is an HTTP server on a loopback port. Its methods may be called from several goroutines.
type Proxy struct {
	URL string // the endpoint, without a slash at the end

	seed   uint64
	opts   Options
	server *httptest.Server
	pass   *httputil.ReverseProxy
	stop   chan struct{} // closed by Close

	mu      sync.Mutex
	asked   map[string]int  // how often an object and range, or a name
	expired map[string]bool // credentials
	log     []Entry
	count   int // requests for objects
}

// New starts a proxy of the server at target, such as http://127.0.0.1:40123. As httptest.NewServer,
// it panics when no port can be had.
func New(target string, seed uint64, opts Options) *Proxy {
	upstream, err := url.Parse(target)
	if err != nil {
		panic(err)
	}
	opts.Pause = cmp.Or(opts.Pause, 10*time.Millisecond)
	if opts.Faults == nil {
		opts.Faults = All()
	}
	if opts.Replace == nil {
		opts.Replace = func(bucket, key string) {}
	}
	p := &Proxy{seed: seed, opts: opts, stop: make(chan struct{}), asked: map[string]int{}, expired: map[string]bool{}}
	p.pass = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = upstream.Scheme, upstream.Host
			r.Out.Host = r.In.Host // which is signed
		},
		Transport:    &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0), // clients that leave are why we are here
	}
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	p.URL = p.server.URL
	return p
}

// Close cuts the connections and waits for the requests to end.
func (p *Proxy) Close() {
	close(p.stop)
	p.server.CloseClientConnections()
	p.server.Close()
	p.pass.Transport.(*http.Transport).CloseIdleConnections()
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || !isObject(r.URL) {
		p.pass.ServeHTTP(w, r)
		return
	}
	f := p.choose(r)
	switch {
	case p.outdated(r):
		f.fault = ExpiredToken
		f.answer(w)
	case f.fault == none:
		p.pass.ServeHTTP(w, r)
	case f.fault.isAnswer():
		f.answer(w)
	default:
		body := &body{ResponseWriter: w, failure: f}
		p.pass.ServeHTTP(body, r)
		body.end()
	}
}

// isObject says whether a path-style URL is an object's.
func isObject(u *url.URL) bool {
	_, key := split(u)
	return key != "" && !u.Query().Has("uploadId")
}

func split(u *url.URL) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	return bucket, key
}

// wait lasts until the client leaves, or the proxy closes.
func (p *Proxy) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-p.stop:
	}
}
