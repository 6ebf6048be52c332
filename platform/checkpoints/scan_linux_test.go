package checkpoints

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asNobody runs f without root's right to read everything.
func asNobody(t *testing.T, f func()) {
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, syscall.Setfsuid(65534))
	defer syscall.Setfsuid(0)
	f()
}

// What cannot be looked at is not gone.
func TestWhatIsInAnUnreadableDirectoryIsNotDeleted(t *testing.T) {
	server := startServer(t)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // the test's own, too
	h := newHost(t, server.Client(), dir, Options{})
	h.write("deep/sub/step", "1")
	h.write("other", "1")
	h.look()
	h.remove("other")
	require.NoError(t, os.Chmod(h.path("deep/sub"), 0))
	defer os.Chmod(h.path("deep/sub"), 0o755)
	asNobody(t, func() { h.mirror.scan() })
	require.Equal(t, []*file{h.mirror.files["other"]}, h.mirror.gone(true))
	h.mirror.deleteGone(t.Context(), true)
	h.mirror.workers.Wait()
	require.Equal(t, map[string]string{"deep/sub/step": "1"}, objects(t, server.Client()))
	require.ErrorContains(t, h.mirror.failures(), `"deep/sub": `)
	require.Contains(t, h.log.String(), "cannot be looked at")
}

// fewDescriptors calls f where only so many more files can be open.
func fewDescriptors(t *testing.T, n int, f func()) {
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	low := limit
	low.Cur = 256
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low))
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	var taken []*os.File
	defer func() {
		for _, file := range taken {
			file.Close()
		}
	}()
	for {
		file, err := os.Open("/")
		if err != nil {
			break
		}
		taken = append(taken, file)
	}
	for range n {
		taken[len(taken)-1].Close()
		taken = taken[:len(taken)-1]
	}
	f()
}

func TestNothingIsDeletedWhereDescriptorsRunOut(t *testing.T) {
	for n := range 5 {
		server := startServer(t)
		h := newHost(t, server.Client(), t.TempDir(), Options{})
		h.write("step", "1")
		h.write("deep/step", "1")
		h.look()
		fewDescriptors(t, n, h.mirror.scan)
		require.Empty(t, h.mirror.gone(true), "%d descriptors", n)
	}
}
