package container

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programs makes the directory that PATH names, with scripts.
func programs(t *testing.T, scripts map[string]string) {
	dir := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", dir)
}

const (
	podman    = `case "$*" in *--version) echo podman version 9.9;; *) ;; esac`
	dockerCLI = `case "$*" in *--version) echo Docker version 99.9;; *) ;; esac`
	noDaemon  = `case "$*" in *--version) echo Docker version 99.9;; *) echo "Cannot connect to the Docker daemon" >&2; exit 1;; esac`
)

func TestPodmanIsFoundBeforeDocker(t *testing.T) {
	for _, test := range []struct {
		name    string
		scripts map[string]string
		want    string
		podman  bool
	}{
		{"both", map[string]string{"podman": podman, "docker": dockerCLI}, "podman", true},
		{"docker only", map[string]string{"docker": dockerCLI}, "docker", false},
		{"podman that calls itself docker", map[string]string{"docker": podman}, "docker", true},
		{"podman that fails", map[string]string{"podman": "exit 125", "docker": dockerCLI}, "docker", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			programs(t, test.scripts)
			r, err := Find(t.Context(), func(string) string { return "" })
			require.NoError(t, err)
			require.Equal(t, test.want, r.String())
			require.Equal(t, test.podman, r.podman)
		})
	}
}

func TestTheEnvironmentNamesTheRuntimeAndItsFlags(t *testing.T) {
	programs(t, map[string]string{"podman": podman, "mine": `[ "$1 $2" = "--root /x" ] || exit 1; echo podman version 9.9`})
	r, err := Find(t.Context(), func(key string) string {
		return map[string]string{RuntimeVariable: " mine --root  /x", FlagsVariable: "--gpus all"}[key]
	})
	require.NoError(t, err)
	require.Equal(t, "mine", r.String())
	require.Equal(t, []string{"--root", "/x", "ps"}, r.with([]string{"ps"}))
	require.Equal(t, []string{"--gpus", "all"}, r.flags)
}

func TestWithoutARuntimeItIsSaidWhatToInstall(t *testing.T) {
	none := func(string) string { return "" }
	programs(t, nil)
	_, err := Find(t.Context(), none)
	require.EqualError(t, err, "no container runtime: podman: not installed; docker: not installed "+
		"(install podman with netavark and aardvark-dns, or docker, or name one in ALGOSPEC_CONTAINER_RUNTIME)")

	programs(t, map[string]string{"docker": noDaemon})
	_, err = Find(t.Context(), none)
	require.ErrorContains(t, err, "podman: not installed; docker ps: Cannot connect to the Docker daemon (install")

	_, err = Find(t.Context(), func(key string) string { return strings.TrimPrefix(key, "ALGOSPEC_CONTAINER_") })
	require.EqualError(t, err, "container runtime that ALGOSPEC_CONTAINER_RUNTIME names: RUNTIME: not installed")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errGrace)
	_, err = Find(ctx, none)
	require.Equal(t, errGrace, err)
}

func TestANetworkThatResolvesNoNamesIsRefused(t *testing.T) {
	programs(t, map[string]string{"podman": `case "$*" in *--version) echo podman version 9.9;; *DNSEnabled*) echo false;; esac`})
	r, err := Find(t.Context(), func(string) string { return "" })
	require.NoError(t, err)
	_, err = r.Network(t.Context(), NetworkSpec{Name: "job"})
	require.EqualError(t, err, "network job: podman would resolve no names there (install netavark and aardvark-dns)")
}

func TestAMessageIsTheErrorOnOneLine(t *testing.T) {
	for said, want := range map[string]string{
		"":             "",
		"Error: one\n": "one",
		"time=1 level=warning\nError: one:\n  two\n":         "one: two",
		"Error: first\nError response from daemon: second\n": "Error response from daemon: second",
		"Cannot connect":                         "Cannot connect",
		"Error: \xff" + strings.Repeat("x", 700): "�" + strings.Repeat("x", 599) + "…",
	} {
		require.Equal(t, want, message(said))
	}
}

func TestOnlyTheEndOfALongAnswerIsKept(t *testing.T) {
	var kept tail
	for range 10 * maxAnswer / 1000 {
		kept.Write(make([]byte, 1000))
	}
	kept.Write([]byte("end"))
	require.LessOrEqual(t, len(kept.bytes), 2*maxAnswer)
	require.True(t, strings.HasSuffix(string(kept.bytes), "end"))
}
