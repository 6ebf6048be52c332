package s3test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
)

// Options say where a server listens and keeps its objects. The zero value is
// a free loopback port and a temporary directory.
type Options struct {
	Dir   string                     // holds the objects, and keeps them after Close; "" means a temporary directory
	Addr  string                     // to listen on; "" means a free port of 127.0.0.1
	Fault func(*http.Request) *Fault // see Server.SetFault
}

// A Server is an S3 endpoint on a loopback port. All its methods may be called
// from several goroutines.
type Server struct {
	URL string // the endpoint, such as http://127.0.0.1:40123, without a slash at the end

	store     *store
	handler   http.Handler
	http      *http.Server
	transport *http.Transport // of the clients made by Config
	fault     atomic.Pointer[func(*http.Request) *Fault]
	close     func() error
	stop      context.CancelFunc // ends faults that wait

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup // requests, and the accept loop
}

// New starts a server with an empty store in a temporary directory. As
// httptest.NewServer, it panics when no port or directory can be had.
func New() *Server {
	s, err := Start(Options{})
	if err != nil {
		panic(err)
	}
	return s
}

// Start starts a server as the options say. A directory that an earlier server
// filled still holds its buckets and objects; only one server may use a
// directory at a time.
func Start(opts Options) (*Server, error) {
	temporary := opts.Dir == ""
	if temporary {
		dir, err := os.MkdirTemp("", "s3test-")
		if err != nil {
			return nil, fmt.Errorf("s3test: %w", err)
		}
		opts.Dir = dir
	}
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	s, err := start(opts)
	if err != nil {
		if temporary {
			os.RemoveAll(opts.Dir)
		}
		return nil, fmt.Errorf("s3test: %w", err)
	}
	s.close = sync.OnceValue(func() error {
		s.shutdown()
		if temporary {
			return os.RemoveAll(opts.Dir)
		}
		return nil
	})
	return s, nil
}

func start(opts Options) (*Server, error) {
	store, err := openStore(opts.Dir)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		store.close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		URL:       "http://" + listener.Addr().String(),
		store:     store,
		handler:   &api{store: store},
		transport: newTransport(),
		stop:      stop,
	}
	s.SetFault(opts.Fault)
	s.http = &http.Server{
		Handler:     http.HandlerFunc(s.serve),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	s.active.Go(func() { s.http.Serve(listener) })
	return s, nil
}

// SetFault has f look at each request from now on: where it returns a Fault
// the request fails in that way, where it returns nil the request is served.
// A nil f ends all faults. f is called from many goroutines at once and must
// not read the request's body.
func (s *Server) SetFault(f func(*http.Request) *Fault) {
	if f == nil {
		f = func(*http.Request) *Fault { return nil }
	}
	s.fault.Store(&f)
}

// Close cuts the connections, waits for the requests to end and removes the
// directory if it was a temporary one. Further calls do nothing.
func (s *Server) Close() error { return s.close() }

func (s *Server) shutdown() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.http.Close()
	s.transport.CloseIdleConnections()
	s.active.Wait()
	s.store.close()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.active.Done()
	if fault := (*s.fault.Load())(r); fault != nil {
		fault.serve(w, r, s.handler)
		return
	}
	s.handler.ServeHTTP(w, r)
}

// enter counts a request in, unless the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.active.Add(1)
	return true
}
