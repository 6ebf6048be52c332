package checkpoints

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

func TestRunStoresWhatTheAlgorithmWrites(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{Interval: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { h.mirror.Run(ctx) })
	eventually := func(want map[string]string) {
		t.Helper()
		require.Eventually(t, func() bool { return equal(want, objects(t, server.Client())) }, time.Minute, time.Millisecond)
	}
	h.write("a", "1")
	eventually(map[string]string{"a": "1"})
	h.write("b/c", "2")
	h.write("a", "3")
	eventually(map[string]string{"a": "3", "b/c": "2"})
	h.remove("a")
	eventually(map[string]string{"b/c": "2"})
	h.write("last", "4")
	h.final()
	eventually(map[string]string{"b/c": "2", "last": "4"})
	running.Wait() // which Final ends
}

func equal(a, b map[string]string) bool {
	for name := range a {
		if a[name] != b[name] {
			return false
		}
	}
	return len(a) == len(b)
}

// The instance is lost in the middle of an upload.
func TestACancelledRunEndsAtOnceAndKeepsTheOldVersions(t *testing.T) {
	server := startServer(t)
	put(t, server, "ckpt/step", "old")
	h := newHost(t, server.Client(), t.TempDir(), Options{Interval: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started := make(chan struct{})
	var once sync.Once
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method != http.MethodPut {
			return nil
		}
		once.Do(func() { close(started) })
		<-r.Context().Done()
		return &s3test.Fault{Cut: true, Status: 500}
	})
	h.write("step", large)
	var running sync.WaitGroup
	running.Go(func() { h.mirror.Run(ctx) })
	<-started
	cancel()
	running.Wait()
	require.False(t, h.mirror.files["step"].busy, "no upload outlives Run")
	server.SetFault(nil)
	require.Equal(t, map[string]string{"step": "old"}, objects(t, server.Client()))
	require.Empty(t, h.marks("step"))
	require.NotContains(t, h.log.String(), "not stored", "nothing went wrong")
}

// One large upload keeps nothing else waiting, and Final waits for it.
func TestALargeUploadHoldsUpNoOther(t *testing.T) {
	server := startServer(t)
	client := &meddler{Client: server.Client()}
	h := newHost(t, client, t.TempDir(), Options{Interval: time.Millisecond})
	release, begun := make(chan struct{}), make(chan struct{})
	var once sync.Once
	client.before = func(key string) {
		if key == "ckpt/large" {
			once.Do(func() { close(begun) })
			<-release
		}
	}
	h.write("large", large)
	var running sync.WaitGroup
	running.Go(func() { h.mirror.Run(t.Context()) })
	<-begun
	h.write("small", "x")
	require.Eventually(t, func() bool { return objects(t, client)["small"] == "x" }, time.Minute, time.Millisecond)
	final := make(chan error)
	go func() { final <- h.mirror.Final(t.Context()) }()
	running.Go(func() { <-h.mirror.ended; close(release) })
	require.NoError(t, <-final)
	running.Wait()
	require.Equal(t, 1, client.completed, "what Run had begun was not begun anew")
	require.True(t, objects(t, client)["large"] == large)
}

func TestFinalIsBoundedByItsContext(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(impatient), t.TempDir(), Options{})
	reason := errors.New("took too long")
	ctx, cancel := context.WithCancelCause(t.Context())
	server.SetFault(func(r *http.Request) *s3test.Fault {
		if r.Method == http.MethodPut {
			cancel(reason)
			<-r.Context().Done()
		}
		return nil
	})
	h.write("step", "x")
	require.ErrorIs(t, h.mirror.Final(ctx), reason)
}

// A memory is a Client in whose bubble time can pass. It has only what small files need.
type memory struct {
	Client
	mu    sync.Mutex
	puts  []time.Time
	fails bool
}

func (m *memory) ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	return &s3.ListObjectsV2Output{}, nil
}

func (m *memory) PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts = append(m.puts, time.Now())
	if m.fails {
		return nil, errors.New("a bad day")
	}
	return &s3.PutObjectOutput{}, nil
}

func (m *memory) tries() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.puts)
}

func (m *memory) heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = false
}

func TestWhatFailsIsTriedEverMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &memory{fails: true}
		h := newHost(t, client, t.TempDir(), Options{})
		h.write("step", "x")
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		go h.mirror.Run(ctx)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		var seconds []int
		for _, at := range client.tries()[:9] {
			seconds = append(seconds, int(at.Sub(began).Seconds()))
		}
		require.Equal(t, []int{0, 1, 3, 7, 15, 31, 63, 123, 183}, seconds)
		client.heal()
		h.write("step", "y") // another version starts anew
		tried := len(client.tries())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, client.tries(), tried+1)
		cancel()
		synctest.Wait()
		require.NoError(t, h.mirror.Final(t.Context()))
	})
}

// Files of the same size may follow each other within one tick of the file system's clock.
func TestAFileThatWasJustWrittenWaits(t *testing.T) {
	server := startServer(t)
	h := newHost(t, server.Client(), t.TempDir(), Options{})
	now := time.Now()
	require.NoError(t, os.WriteFile(h.path("step"), []byte("1"), 0o644))
	for age, want := range map[time.Duration]bool{0: false, 10 * time.Millisecond: false, 30 * time.Millisecond: true, -time.Hour: true} {
		require.NoError(t, os.Chtimes(h.path("step"), now, now.Add(-age)))
		info, err := os.Lstat(h.path("step"))
		require.NoError(t, err)
		require.Equal(t, want, quiet(info, now), age)
	}
	synctest.Test(t, func(t *testing.T) {
		client := &memory{}
		h := newHost(t, client, t.TempDir(), Options{})
		require.NoError(t, os.WriteFile(h.path("step"), []byte("1"), 0o644))
		require.NoError(t, os.Chtimes(h.path("step"), time.Now(), time.Now()))
		h.look()
		require.Empty(t, client.puts)
		time.Sleep(30 * time.Millisecond)
		h.look()
		require.Len(t, client.puts, 1)
	})
	ahead := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(h.path("step"), ahead, ahead))
	h.look()
	require.Equal(t, map[string]string{"step": "1"}, objects(t, server.Client()), "a clock that is ahead keeps no file")
}

func BenchmarkScan(b *testing.B) {
	server := startServer(b)
	h := newHost(b, server.Client(), b.TempDir(), Options{})
	for i := range 100 {
		dir := filepath.Join(h.dir, strings.Repeat("d", i+1))
		require.NoError(b, os.Mkdir(dir, 0o755))
		for j := range 100 {
			require.NoError(b, os.WriteFile(filepath.Join(dir, strings.Repeat("f", j+1)), nil, 0o644))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		h.mirror.scan()
	}
	require.Len(b, h.mirror.files, 10_000)
}
