package poll_test

import (
	"os"
	"os/signal"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/internal/poll"
)

// While signals rain on the thread that asks.
func TestSignalsDoNotHideWhatIsThere(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	signal.Notify(make(chan os.Signal, 1), unix.SIGUSR1) // for good: a late one would end the tests
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, done, stopped := unix.Gettid(), make(chan struct{}), make(chan struct{})
	defer func() { close(done); <-stopped }()
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				unix.Tgkill(os.Getpid(), thread, unix.SIGUSR1)
			}
		}
	}()
	fd := r.Fd()
	for _, want := range []int16{0, unix.POLLIN} {
		for turn := range 100_000 {
			events, err := poll.Now(fd, unix.POLLIN)
			if err != nil || events != want {
				t.Fatalf("turn %d: events %x, want %x; %v", turn, events, want, err)
			}
		}
		_, err = w.Write([]byte{1})
		require.NoError(t, err)
	}
}
