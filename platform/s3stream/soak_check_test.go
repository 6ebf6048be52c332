package s3stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/algospec/algospec/internal/faultproxy"
	"github.com/algospec/algospec/platform/s3stream"
)

// judge says what is wrong with how a stream ended: err is nil at its end or where it was left.
func (s *soak) judge(got, want []byte, err error, left bool) error {
	right := commonPrefix(got, want)
	if err == nil {
		switch {
		case right < len(got):
			return fmt.Errorf("byte %d of %d is not the source's", right, len(want))
		case !left && len(got) < len(want):
			return fmt.Errorf("the stream ends at byte %d of %d without an error", len(got), len(want))
		case left:
			s.left.Add(1)
		default:
			s.whole.Add(1)
		}
		return nil
	}
	if s.heals && !s.forgive(err) {
		return fmt.Errorf("byte %d of %d: what should have healed: %w", len(got), len(want), err)
	}
	s.failed.Add(1)
	place, found := errors.AsType[*s3stream.ObjectError](err)
	if !found {
		return fmt.Errorf("byte %d of %d: the error names no object: %w", len(got), len(want), err)
	}
	start, size, found := s.listed.find(place.Key)
	switch {
	case !found || place.Offset < 0 || place.Offset > size:
		return fmt.Errorf("the error names no byte of the source: %w", err)
	case errors.Is(err, s3stream.ErrVanished):
		return fmt.Errorf("nothing was deleted: %w", err)
	case errors.Is(err, s3stream.ErrChanged) && !s.data.changed(place.Key, s.listed.version):
		return fmt.Errorf("the object was not replaced: %w", err)
	case errors.Is(err, s3stream.ErrChecksum) && !s.flipped(place.Key):
		return fmt.Errorf("no byte of the object was changed: %w", err)
	case right < len(got) && !(errors.Is(err, s3stream.ErrChecksum) && (!s.form.raw || int64(right) >= start)):
		return fmt.Errorf("byte %d of %d is not the source's, before: %w", right, len(want), err)
	case s.form.raw && int64(len(got)) != start+place.Offset:
		return fmt.Errorf("%d bytes came, the error names byte %d: %w", len(got), start+place.Offset, err)
	}
	return nil
}

// forgive says whether it may be the machine that is slow: requests for the object have waited too long, if not the
// last one. The next streams are more patient.
func (s *soak) forgive(err error) bool {
	place, found := errors.AsType[*s3stream.ObjectError](err)
	if !found || s.opts.Idle >= soakIdle || !strings.Contains(err.Error(), noByte) && !s.waited.has(place.Key) {
		return false
	}
	s.slow.Store(true)
	return true
}

// noByte is what a request says that waited too long.
const noByte = "no byte came"

// waits are the objects of which no byte came for too long, as the Source logs it.
type waits struct {
	slog.Handler
	mu   sync.Mutex
	keys map[string]bool
}

func newWaits() *waits { return &waits{Handler: slog.DiscardHandler, keys: map[string]bool{}} }

func (*waits) Enabled(context.Context, slog.Level) bool { return true }

func (w *waits) Handle(_ context.Context, r slog.Record) error {
	var key, cause string
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "key":
			key = a.Value.String()
		case "error":
			cause = a.Value.String()
		}
		return true
	})
	if strings.Contains(cause, noByte) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.keys[key] = true
	}
	return nil
}

func (w *waits) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[key]
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	if bytes.Equal(a[:n], b[:n]) {
		return n
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i
}

func (s *soak) flipped(key string) bool {
	for _, e := range s.proxy.Log() {
		if e.Fault == faultproxy.FlipByte && e.Path == "/"+s.data.bucket.name+"/"+key {
			return true
		}
	}
	return false
}

// explainFailure prints what a failed test needs to be understood and run again.
func (s *soak) explainFailure(t *testing.T) {
	if !t.Failed() {
		return
	}
	t.Logf("again: ALGOSPEC_SOAK_SEED=%d go test -run %s ./platform/s3stream", s.seed, "WhateverFails")
	t.Logf("form %s, options %+v", s.form.name, s.opts)
	for _, e := range s.proxy.Log() {
		t.Log(e)
	}
}

// A tally counts how streams ended, and what happened to them.
type tally struct {
	whole, failed, left atomic.Int64
	faults              map[faultproxy.Fault]int
}

func (y *tally) add(other *tally) {
	y.whole.Add(other.whole.Load())
	y.failed.Add(other.failed.Load())
	y.left.Add(other.left.Load())
	for fault, n := range other.faults {
		y.faults[fault] += n
	}
}

func (y *tally) String() string {
	return fmt.Sprintf("%d streams whole, %d with an error, %d left", y.whole.Load(), y.failed.Load(), y.left.Load())
}
