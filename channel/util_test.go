package channel_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

// openEpoch opens the first epoch of a channel called train.
func openEpoch(t *testing.T, src channel.Source) *channel.Epoch {
	t.Helper()
	epoch, err := (&channel.Channel{Name: "train", Source: src}).Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { epoch.Close() })
	return epoch
}

// noise returns bytes that cannot be compressed and do not repeat.
func noise(n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(data)
	return data
}
