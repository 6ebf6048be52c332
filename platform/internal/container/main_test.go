package container

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
)

// childTask is set where the test binary plays a platform that gets killed.
const childTask = "CONTAINER_TEST_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childTask); task != "" {
		os.Exit(child(strings.Split(task, "\n")))
	}
	leaks.Main(m)
}

// each runs a test with the runtime of this machine, and, where that is podman, docker's command is
// installed and ALGOSPEC_DOCKER is set, with the latter, too, in front of podman's implementation of
// docker's engine.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	command := testenv.Containers(t)
	image := testenv.Image(t, testenv.ImageSpec{
		Programs: map[string]string{"/probe": "./platform/internal/container/testdata/probe"},
		Changes:  []string{`ENTRYPOINT ["/probe", "image=entrypoint"]`, `CMD ["image=cmd"]`, `ENV KIND=image`, `VOLUME /scratch`},
	})
	with := func(command []string) func(*testing.T) {
		return func(t *testing.T) {
			r := find(t, command)
			w := &world{Runtime: r, image: image, label: "algospec.test=" + rand.Text()}
			t.Cleanup(func() { w.requireNothing(t) })
			test(t, w)
		}
	}
	t.Run(filepath.Base(command[0]), with(command))
	if _, err := exec.LookPath("docker"); err == nil && os.Getenv("ALGOSPEC_DOCKER") != "" && filepath.Base(command[0]) == "podman" {
		t.Run("docker", func(t *testing.T) { with(docker(t, command))(t) })
	}
}

func find(t *testing.T, command []string) *Runtime {
	r, err := Find(t.Context(), func(key string) string {
		if key == RuntimeVariable {
			return strings.Join(command, " ")
		}
		return os.Getenv(key)
	})
	require.NoError(t, err)
	return r
}

// docker starts podman's service and returns docker's command for it.
func docker(t *testing.T, podman []string) []string {
	dir, err := os.MkdirTemp("", "podman") // the path of a socket is short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	address := "unix://" + dir + "/s"
	service := exec.Command(podman[0], append(podman[1:len(podman):len(podman)], "system", "service", "--time", "0", address)...)
	require.NoError(t, service.Start())
	t.Cleanup(func() {
		service.Process.Kill()
		service.Wait()
	})
	eventually(t, "podman's service", func() bool {
		_, err := os.Stat(dir + "/s")
		return err == nil
	})
	return []string{"docker", "--host", address}
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	require.Eventually(t, ask, time.Minute, 20*time.Millisecond, what)
}

// A world is a runtime and what a test makes with it.
type world struct {
	*Runtime
	image string
	label string // of all that is made
}

func (w *world) labels() map[string]string {
	key, value, _ := strings.Cut(w.label, "=")
	return map[string]string{key: value}
}

// name returns a name that nothing has.
func (w *world) name() string { return "algospec-test-" + strings.ToLower(rand.Text()) }

// start starts a container that goes with the test.
func (w *world) start(t *testing.T, spec Spec) (*Container, *transcript) {
	t.Helper()
	spec.Name, spec.Labels = w.name(), w.labels()
	if spec.Image == "" {
		spec.Image = w.image
	}
	said := &transcript{grown: make(chan struct{}, 1)}
	if spec.Stdout == nil {
		spec.Stdout = said
	}
	c, err := w.Start(t.Context(), spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Remove(t.Context())) })
	return c, said
}

// run runs a container to its end.
func (w *world) run(t *testing.T, spec Spec) (End, string) {
	t.Helper()
	c, said := w.start(t, spec)
	return wait(t, c), said.String()
}

func wait(t *testing.T, c *Container) End {
	t.Helper()
	end, err := c.Wait(t.Context())
	require.NoError(t, err)
	return end
}

func (w *world) network(t *testing.T, isolated bool) string {
	t.Helper()
	name := w.name()
	n, err := w.Network(t.Context(), NetworkSpec{Name: name, Labels: w.labels(), Isolated: isolated})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Remove(t.Context())) })
	return name
}

// left returns the containers and networks of the test.
func (w *world) left(t *testing.T) []string {
	containers, err := w.containers(context.WithoutCancel(t.Context()), "label="+w.label)
	require.NoError(t, err)
	networks, err := w.networks(t.Context(), "label="+w.label)
	require.NoError(t, err)
	return append(containers, networks...)
}

func (w *world) requireNothing(t *testing.T) {
	t.Helper()
	require.Empty(t, w.left(t), "left behind")
}

// A transcript is what a program wrote.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return s.text.Write(b)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits for a text.
func (s *transcript) await(t *testing.T, text string) {
	t.Helper()
	limit := time.After(time.Minute)
	for !strings.Contains(s.String(), text) {
		select {
		case <-s.grown:
		case <-limit:
			require.Contains(t, s.String(), text)
		}
	}
}
