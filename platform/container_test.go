package platform_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform"
)

// What the root of a container may not see, the platform does not show it.
func TestLinksDoNotLeadOutOfAContainer(t *testing.T) {
	testenv.Containers(t)
	image := testenv.Image(t, testenv.ImageSpec{
		Programs: map[string]string{"/links": "./platform/testdata/links"},
		Changes:  []string{`ENTRYPOINT ["/links"]`},
	})
	secret := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(secret, "file"), []byte("secret"), 0o600))
	for _, fail := range []string{"", "1"} {
		job := newJob(t, newServer(t))
		job.Trainer, job.Channels, job.Image = nil, nil, image
		job.Environment = map[string]string{"SECRET": secret, "FAIL": fail}
		job.Checkpoints = platform.Checkpoints{S3URI: "s3://models/checkpoints", Interval: 10 * time.Millisecond}
		_, err := run(t, t.Context(), job)
		require.ErrorContains(t, err, "escapes")
		require.NotContains(t, err.Error(), "secret")
		list, err := job.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("models")})
		require.NoError(t, err)
		require.Empty(t, list.Contents)
	}
}

func TestARelativeDirectoryIsMounted(t *testing.T) {
	testenv.Containers(t)
	image := testenv.Image(t, testenv.ImageSpec{
		Programs: map[string]string{"/links": "./platform/testdata/links"},
		Changes:  []string{`ENTRYPOINT ["/links"]`},
	})
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("data", 0o755))
	job := newJob(t, newServer(t))
	job.Trainer, job.Image = nil, image
	job.Channels = []platform.Channel{{Name: "train", Directory: "data"}}
	_, err := run(t, t.Context(), job)
	require.NoError(t, err)
}

func TestAJobIsStoppedBeforeARuntimeIsFound(t *testing.T) {
	testenv.Containers(t)
	job := newJob(t, newServer(t))
	job.Trainer, job.Image = nil, "localhost/none"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := platform.Run(ctx, job)
	require.ErrorIs(t, err, platform.ErrStopped)
}
