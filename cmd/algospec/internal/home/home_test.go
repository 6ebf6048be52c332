package home

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAShellReadsTheExportsAsTheyWere(t *testing.T) {
	e := Environment{
		{"PLAIN", "http://127.0.0.1:8080"}, {"EMPTY", ""}, {"SPACES", "a b"}, {"QUOTES", `it's "so"`},
		{"COMMANDS", "$(touch x) `touch x` ; touch x"}, {"LINES", "a\nb"}, {"BACK", `\n\`}, {"TILDE", "~/x"},
	}
	script := e.Exports() + `printf '%s|' "$PLAIN" "$EMPTY" "$SPACES" "$QUOTES" "$COMMANDS" "$LINES" "$BACK" "$TILDE"`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	want := ""
	for _, v := range e {
		want += v.Value + "|"
	}
	require.Equal(t, want, string(out))
	left, err := os.ReadDir(cmd.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestATokenOfOtherKeysDoesNotGoAlong(t *testing.T) {
	e := Environment{{"AWS_ACCESS_KEY_ID", "x"}}
	require.Equal(t, []string{"HOME=/", "AWS_ACCESS_KEY_ID=x"}, e.Over([]string{"HOME=/", "AWS_SESSION_TOKEN=t", "AWS_SECURITY_TOKEN=t"}))
	e = Environment{{"AWS_REGION", "x"}}
	require.Equal(t, []string{"AWS_SESSION_TOKEN=t", "AWS_REGION=x"}, e.Over([]string{"AWS_SESSION_TOKEN=t"}))
}

func TestAHomeIsPublishedToItsOwnerAndTakenBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	_, err := Running(dir)
	require.ErrorIs(t, err, ErrNotRunning)
	h, err := Open(dir)
	require.NoError(t, err)
	require.NoError(t, h.Publish(Environment{{"A", "1"}}))
	info, err := os.Stat(h.path())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, h.Close())
	require.NoFileExists(t, h.path())
	_, err = Running(dir)
	require.ErrorIs(t, err, ErrNotRunning)
	h, err = Open(dir)
	require.NoError(t, err)
	require.NoError(t, h.Close())
}
