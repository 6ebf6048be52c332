package cluster

import "errors"

// A LostError says which host a cluster lost. On all other hosts it names the same one.
type LostError struct {
	Host string
	Err  error // how that was noticed
}

func (e *LostError) Error() string { return "cluster: host " + e.Host + " is lost: " + e.Err.Error() }

func (e *LostError) Unwrap() error { return e.Err }

var (
	errEnded  = errors.New("it ended before a collective that others called")
	errClosed = errors.New("cluster: closed")
	errBusy   = errors.New("cluster: a collective was called while another one is under way")
)
