package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/leaks"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	leaks.Main(m)
}

// A text is a state, which writes itself any number of times.
type text string

func (t text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(t))
	return int64(n), err
}

// stateOf is the state at a step: none has another's bytes.
func stateOf(step int64) text {
	return text(strings.Repeat(fmt.Sprintf("state %d;", step), 10+int(step%7)))
}

// bytesOf returns the file of a snapshot.
func bytesOf(t testing.TB, snapshot Snapshot, state io.WriterTo) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := (&content{t.Context(), &snapshot, state}).WriteTo(&b)
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), n)
	return b.Bytes()
}

// read reads a whole file.
func read(data []byte) (Snapshot, string, error) {
	r := NewReader(bytes.NewReader(data), int64(len(data)))
	state, err := io.ReadAll(r)
	if err != nil {
		return Snapshot{}, "", err
	}
	snapshot, err := r.Snapshot()
	return snapshot, string(state), err
}

// A requirer is what tests and rapid's properties have in common.
type requirer interface {
	require.TestingT
	Helper()
	Context() context.Context
}

func save(t requirer, s *Store, steps ...int64) {
	t.Helper()
	for _, step := range steps {
		require.NoError(t, s.Save(t.Context(), Snapshot{Step: step}, stateOf(step)))
	}
}

// restored returns the step that is restored, whose state is checked.
func restored(t requirer, s *Store) int64 {
	t.Helper()
	var state bytes.Buffer
	snapshot, err := s.Restore(t.Context(), &state)
	if errors.Is(err, ErrNone) {
		return -1
	}
	require.NoError(t, err)
	require.Equal(t, string(stateOf(snapshot.Step)), state.String())
	return snapshot.Step
}

// reopen returns a store as after a restart.
func reopen(t requirer, s *Store) *Store {
	t.Helper()
	require.NoError(t, s.Close())
	again := NewStore(s.dir, s.opts)
	again.disk = s.disk
	return again
}

// steps returns the steps of the snapshots in a store's directory, of all hosts.
func steps(t requirer, s *Store) []int64 {
	t.Helper()
	entries, err := s.disk.ReadDir(s.dir)
	require.NoError(t, err)
	steps := []int64{}
	for _, entry := range entries {
		if name, ok := ParseName(entry.Name()); ok {
			steps = append(steps, name.Step)
		}
	}
	return steps
}

func pathOf(s *Store, step int64) string { return filepath.Join(s.dir, s.name(step).String()) }

// damage changes the last byte of the state of a step.
func damage(t testing.TB, s *Store, step int64) {
	t.Helper()
	data, err := os.ReadFile(pathOf(s, step))
	require.NoError(t, err)
	data[len(data)-trailerSize-1] ^= 1
	require.NoError(t, os.WriteFile(pathOf(s, step), data, 0o644))
}

func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
