package s3test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

func TestLineThatWasCutOffIsForgotten(t *testing.T) {
	dir := t.TempDir()
	restart := func() *Server {
		server, err := Start(Options{Dir: dir})
		require.NoError(t, err)
		t.Cleanup(func() { server.Close() })
		return server
	}
	server := restart()
	put(t, server, "a", "b", "c")
	require.NoError(t, server.store.remove("data", "b"))
	require.NoError(t, server.Close())

	path := filepath.Join(dir, "buckets", "data", "journal")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, `{"Put":{"Key":"lost","File":"which is longer than what follows"`...), 0o644))
	server = restart()
	require.Equal(t, []string{"a", "c"}, list(t, server.Client(), s3.ListObjectsV2Input{}))
	put(t, server, "d")
	require.NoError(t, server.Close())
	server = restart()
	require.Equal(t, []string{"a", "c", "d"}, list(t, server.Client(), s3.ListObjectsV2Input{}))
	require.NoError(t, server.Close())

	require.NoError(t, os.WriteFile(path, []byte("no JSON\n"), 0o644))
	_, err = Start(Options{Dir: dir})
	require.ErrorContains(t, err, "journal at byte 0: invalid character")
}
