package checkpoints

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/algospec/algospec/platform/s3test"
)

// Whatever the algorithm does, with looks in between and S3 failing now and then: after Final, S3 holds what
// the directory does, and another host restores just that.
func TestAfterFinalS3IsAsTheDirectory(t *testing.T) {
	server := startServer(t)
	rapid.Check(t, func(rt *rapid.T) {
		server.SetFault(nil)
		clear := newHost(rt, server.Client(), t.TempDir(), Options{})
		for name := range clear.files() {
			clear.remove(name)
		}
		clear.final()
		require.Empty(rt, objects(rt, server.Client()))

		put(t, server, "ckpt/restored", "before")
		put(t, server, "ckpt/d/restored", "before")
		h := newHost(rt, server.Client(impatient), t.TempDir(), Options{Interval: 1})
		act(rt, server, h)
		server.SetFault(nil)
		h.final()
		want := withoutMarkers(h.files())
		require.Equal(rt, want, objects(rt, server.Client()))
		again := newHost(rt, server.Client(), t.TempDir(), Options{})
		require.Equal(rt, want, again.files())
		again.final()
	})
}

// act does what an algorithm might, and has the mirror look.
func act(rt *rapid.T, server *s3test.Server, h *host) {
	names := rapid.SampledFrom([]string{"a", "b", "d/a", "d/b", "d/e/a", "d", "ü\n", "x.sagemaker-ignore"})
	content := rapid.StringN(0, 5, -1)
	present := func() []string {
		found := keys(withoutMarkers(h.files()))
		return append(found, "nothing")
	}
	rt.Repeat(map[string]func(*rapid.T){
		"write": func(rt *rapid.T) {
			name := names.Draw(rt, "name")
			if os.MkdirAll(path.Dir(h.path(name)), 0o755) == nil && os.WriteFile(h.path(name), []byte(content.Draw(rt, "content")), 0o644) == nil {
				h.age(name)
			}
		},
		"rename": func(rt *rapid.T) {
			os.Rename(h.path(rapid.SampledFrom(present()).Draw(rt, "from")), h.path(names.Draw(rt, "to")))
		},
		"rename dir": func(rt *rapid.T) { os.Rename(h.path("d"), h.path("moved")) },
		"delete":     func(rt *rapid.T) { os.Remove(h.path(rapid.SampledFrom(present()).Draw(rt, "name"))) },
		"delete dir": func(rt *rapid.T) { os.RemoveAll(h.path("d")) },
		"link":       func(rt *rapid.T) { os.Symlink("a", h.path(names.Draw(rt, "name"))) },
		"look":       func(rt *rapid.T) { h.look() },
		"scan":       func(rt *rapid.T) { h.mirror.scan() },
		"fail": func(rt *rapid.T) {
			every := rapid.IntRange(1, 4).Draw(rt, "every")
			n := 0
			count(server, func(string, string) *s3test.Fault {
				h.mirror.mu.Lock()
				defer h.mirror.mu.Unlock()
				if n++; n%every == 0 {
					return &s3test.Fault{Status: []int{503, 403}[n%2], Code: "SlowDown"}
				}
				return nil
			})
		},
		"heal": func(rt *rapid.T) { server.SetFault(nil) },
		"": func(rt *rapid.T) { // every marker is one of a file that is or was there
			for _, name := range keys(h.files()) {
				if stem, ok := strings.CutSuffix(name, uploading); ok {
					require.Fail(rt, fmt.Sprintf("%s is not being stored", stem))
				}
			}
			stray := slices.DeleteFunc(keys(objects(rt, h.client)), func(name string) bool { return !privatePath(name) })
			require.Empty(rt, stray, "private names in S3")
		},
	})
}
