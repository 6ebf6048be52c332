package s3test

import (
	"context"
	"net/http"
	"time"
)

// A Fault is one way in which a request fails. Either Status is set and the
// request is answered with that error, or the request is served and its
// response suffers at one byte of its body.
type Fault struct {
	Status int    // answer this status, such as 503; 0 means to serve the request
	Code   string // the S3 error code with it, such as SlowDown

	At    int64         // the byte of the body before which the following happen
	Delay time.Duration // pause there, or before the error
	Stall bool          // pause there until the client or the server closes
	Cut   bool          // sever the connection there
}

func (f *Fault) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if f.Status != 0 {
		pause(r.Context(), f.Delay)
		writeError(w, r, &apiError{f.Status, f.Code, "The server was told to fail."})
		return
	}
	body := &faultyWriter{ResponseWriter: w, fault: f, request: r, left: f.At}
	next.ServeHTTP(body, r)
	body.passed(0)
}

// A faultyWriter passes a body on up to the byte of its fault. It has no
// ReadFrom: only requests without a fault go by sendfile.
type faultyWriter struct {
	http.ResponseWriter
	fault   *Fault
	request *http.Request
	left    int64 // bytes before the fault
	done    bool
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if w.done || int64(len(p)) <= w.left {
		n, err := w.ResponseWriter.Write(p)
		w.left -= int64(n)
		return n, err
	}
	head := int(w.left)
	n, err := w.ResponseWriter.Write(p[:head])
	if err != nil {
		return n, err
	}
	w.passed(n)
	m, err := w.ResponseWriter.Write(p[head:])
	return n + m, err
}

// passed counts n bytes and has the fault happen if they were the last before.
func (w *faultyWriter) passed(n int) {
	if w.left -= int64(n); w.left > 0 || w.done {
		return
	}
	w.done = true
	if w.request.Method != http.MethodHead { // its answer would be whole
		http.NewResponseController(w.ResponseWriter).Flush()
	}
	pause(w.request.Context(), w.fault.Delay)
	if w.fault.Stall {
		<-w.request.Context().Done()
	}
	if w.fault.Cut || w.fault.Stall {
		panic(http.ErrAbortHandler) // net/http closes the connection without a word
	}
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
