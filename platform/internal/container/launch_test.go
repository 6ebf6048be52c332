package container

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
)

// A report is what the probe says of itself.
type report struct {
	Args, Env []string
	Dir       string
	PID, UID  int
	Hostname  string
}

func (w *world) report(t *testing.T, spec Spec) (r report) {
	t.Helper()
	end, said := w.run(t, spec)
	require.Equal(t, End{}, end, said)
	require.NoError(t, json.Unmarshal([]byte(said), &r), said)
	return r
}

// Container contract, 1.1.
func TestAnImageIsLaunchedInAllForms(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, test := range []struct {
			name                  string
			entrypoint, arguments []string
			want                  []string
		}{
			{"entry point and arguments", []string{"/probe", "report=", "a b"}, []string{"c", "", "-d", "--name", "$HOME"},
				[]string{"/probe", "report=", "a b", "c", "", "-d", "--name", "$HOME"}},
			{"entry point only", []string{"/probe", "report="}, nil, []string{"/probe", "report="}},
			{"entry point of one word", []string{"/probe"}, []string{"report="}, []string{"/probe", "report="}},
			{"arguments only", nil, []string{"report=", "c"}, []string{"/probe", "image=entrypoint", "report=", "c"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				got := w.report(t, Spec{Entrypoint: test.entrypoint, Arguments: test.arguments})
				require.Equal(t, test.want, got.Args)
				require.Equal(t, "/", got.Dir)
				require.Equal(t, 1, got.PID)
				require.Equal(t, 0, got.UID)
			})
		}
	})
}

func TestTheEntryPointGetsTheArgumentTrain(t *testing.T) {
	testenv.Containers(t)
	reporting := testenv.Image(t, testenv.ImageSpec{
		Programs: map[string]string{"/probe": "./platform/internal/container/testdata/probe"},
		Changes:  []string{`ENTRYPOINT ["/probe", "report="]`, `CMD ["discarded"]`, `WORKDIR /`},
	})
	each(t, func(t *testing.T, w *world) {
		require.Equal(t, []string{"/probe", "report=", "train"}, w.report(t, Spec{Image: reporting}).Args)
	})
}

func TestAnImageWithoutEntryPointRunsTrainOnThePath(t *testing.T) {
	testenv.Containers(t)
	bare := testenv.Image(t, testenv.ImageSpec{
		Programs: map[string]string{"/opt/program/train": "./platform/internal/container/testdata/probe"},
		Changes:  []string{`ENV PATH=/opt/program:/bin`},
	})
	each(t, func(t *testing.T, w *world) {
		end, said := w.run(t, Spec{Image: bare})
		require.Equal(t, End{}, end)
		require.Empty(t, said)
		require.Equal(t, []string{"train", "report="}, w.report(t, Spec{Image: bare, Arguments: []string{"train", "report="}}).Args)
	})
}

func TestTheEnvironmentArrivesAsItIs(t *testing.T) {
	env := map[string]string{
		"EMPTY": "", "LINES": "a\nb\n\n", "QUOTES": `"it's" \ $HOME`, "UNICODE": "Größe 数 🎉", "EQUALS": "a=b=c",
		"COMMA": "a,b", "BLANKS": "  x\t", "lower-case.key": "v", "KIND": "job", "STAR*": "v",
	}
	t.Setenv("http_proxy", "http://not-for-containers:1")
	t.Setenv("EMPTY", "the platform's own")
	each(t, func(t *testing.T, w *world) {
		got := map[string]string{}
		for _, pair := range w.report(t, Spec{Arguments: []string{"report="}, Env: env, Hostname: "ip-10-0-0-1"}).Env {
			key, value, _ := strings.Cut(pair, "=")
			require.NotContains(t, got, key)
			got[key] = value
		}
		require.Subset(t, got, env)
		require.Equal(t, "ip-10-0-0-1", got["HOSTNAME"])
		require.NotContains(t, got, "http_proxy")
		require.Contains(t, got["PATH"], "/bin")
	})
}

func TestExitCodesAreTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, code := range []string{"0", "1", "2", "137", "143", "255"} {
			end, _ := w.run(t, Spec{Arguments: []string{"exit=" + code}})
			require.Equal(t, code, jsonOf(t, end.ExitCode))
			require.False(t, end.OOMKilled)
		}
	})
}

func jsonOf(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func TestAMissingImageIsTheClientsError(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Start(t.Context(), Spec{Name: "algo-1", Image: "localhost:1/no/such:image", Labels: w.labels()})
		require.ErrorContains(t, err, "container algo-1: image localhost:1/no/such:image: not on this machine, and it cannot be pulled: "+w.String()+" pull: ")
		require.ErrorContains(t, err, "connection refused")
		require.Less(t, len(err.Error()), 1000)
		requireClientError(t, err)
	})
}

func TestAMissingProgramIsTheClientsError(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, entrypoint := range []string{"/no/such/program", "not-on-the-path", "/proc"} {
			said := &transcript{}
			_, err := w.Start(t.Context(), Spec{Name: w.name(), Image: w.image, Entrypoint: []string{entrypoint}, Labels: w.labels(), Stdout: said})
			require.Error(t, err)
			if w.podman { // its service does not tell docker
				require.ErrorContains(t, err, "image "+w.image+": "+w.String()+" init: ")
				require.ErrorContains(t, err, entrypoint)
				requireClientError(t, err)
			}
			require.Empty(t, said.String(), "the log is the program's")
			w.requireNothing(t)
		}
	})
}

func TestWhatTheEnginesSayOfAMissingProgramIsTheClientsError(t *testing.T) {
	for _, said := range []string{
		`Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/x": stat /x: no such file or directory: unknown`,
		"crun: executable file `/x` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found",
		"exec /x: exec format error",
	} {
		requireClientError(t, classify("i", &callError{text: said, err: errGrace}))
	}
	machine := &callError{text: "error setting rlimit type 7: operation not permitted", err: errGrace}
	require.Equal(t, error(machine), classify("i", machine))
}

func requireClientError(t *testing.T, err error) {
	t.Helper()
	var client interface{ ClientError() bool }
	require.ErrorAs(t, err, &client)
	require.True(t, client.ClientError())
}

func TestWhatTheCommandLineWouldMisunderstandIsRefused(t *testing.T) {
	whole := Spec{Name: "n", Image: "i"}
	require.NoError(t, whole.validate())
	for text, spoil := range map[string]func(*Spec){
		`name "": want`:              func(s *Spec) { s.Name = "" },
		`name "-v": want`:            func(s *Spec) { s.Alias = "-v" },
		`name "a:b": want`:           func(s *Spec) { s.Network = "a:b" },
		`name "a b": want`:           func(s *Spec) { s.Hostname = "a b" },
		`image "": not`:              func(s *Spec) { s.Image = "" },
		`image "--privileged": not`:  func(s *Spec) { s.Image = "--privileged" },
		`entry point is an empty`:    func(s *Spec) { s.Entrypoint = []string{"", "x"} },
		`variable "": not`:           func(s *Spec) { s.Env = map[string]string{"": "x"} },
		`variable "a=b": not`:        func(s *Spec) { s.Env = map[string]string{"a=b": "x"} },
		`"tree" on "/opt/ml": want`:  func(s *Spec) { s.Mounts = []Mount{{Source: "tree", Target: "/opt/ml"}} },
		`"/tree" on "opt/ml": want`:  func(s *Spec) { s.Mounts = []Mount{{Source: "/tree", Target: "opt/ml"}} },
		`"A=\x00" holds a NUL byte`:  func(s *Spec) { s.Env = map[string]string{"A": "\x00"} },
		`"x\x00" holds a NUL byte`:   func(s *Spec) { s.Arguments = []string{"x\x00"} },
		`"/\x00" holds a NUL byte`:   func(s *Spec) { s.Mounts = []Mount{{Source: "/\x00", Target: "/x"}} },
		`"k=v\x00" holds a NUL byte`: func(s *Spec) { s.Labels = map[string]string{"k": "v\x00"} },
		`limit is negative`:          func(s *Spec) { s.Memory = -1 },
	} {
		spec := whole
		spoil(&spec)
		require.ErrorContains(t, spec.validate(), text)
	}
}

func TestAMountThatIsNotThereIsAnError(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Start(t.Context(), Spec{Name: w.name(), Image: w.image, Labels: w.labels(), Mounts: []Mount{{Source: "/no/such/tree", Target: "/opt/ml"}}})
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, `mount of "/no/such/tree"`)
	})
}
