package api

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3test"
)

// The real engine runs a small program for a request that came over HTTP.
func TestAJobRunsInTheEngine(t *testing.T) {
	server := s3test.New()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	require.NoError(t, server.Put("data", "train/part-0", strings.NewReader("1,2,3\n")))
	programs := map[string]string{
		"copy": `cp "$SAGEMAKER_BASE_DIR"/input/data/train/part-0 "$SAGEMAKER_BASE_DIR"/model/copy`,
		"fail": `echo "no luck" > "$SAGEMAKER_BASE_DIR"/output/failure; exit 3`,
		"wait": `trap 'echo saved > "$SAGEMAKER_BASE_DIR"/model/saved; exit 0' TERM; while :; do sleep 0.01; done`,
	}
	dir := filepath.Join(t.TempDir(), "platform")
	s, err := Open(Options{Dir: dir, S3: server.Client(), Resolve: func(image string) (Algorithm, error) {
		return Algorithm{Command: []string{"sh", "-c", programs[image]}}, nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	client := sagemaker.NewFromConfig(config(serve(t, s).URL, "any", "thing"))
	run := func(image string) {
		in := request(image)
		in.AlgorithmSpecification = &types.AlgorithmSpecification{TrainingImage: aws.String(image), TrainingInputMode: types.TrainingInputModeFile}
		_, err := client.CreateTrainingJob(t.Context(), in)
		require.NoError(t, err)
	}
	model := func(uri *string) (name, content string) {
		body, _, err := s.OpenObject(t.Context(), *uri)
		require.NoError(t, err)
		defer body.Close()
		unpacked, err := gzip.NewReader(body)
		require.NoError(t, err)
		archive := tar.NewReader(unpacked)
		header, err := archive.Next()
		require.NoError(t, err)
		text, err := io.ReadAll(archive)
		require.NoError(t, err)
		return header.Name, string(text)
	}

	run("copy")
	out := ended(t, s, "copy")
	require.Equal(t, types.TrainingJobStatusCompleted, out.TrainingJobStatus, aws.ToString(out.FailureReason))
	name, content := model(out.ModelArtifacts.S3ModelArtifacts)
	require.Equal(t, []string{"copy", "1,2,3\n"}, []string{name, content})

	run("fail")
	out = ended(t, s, "fail")
	require.Equal(t, types.TrainingJobStatusFailed, out.TrainingJobStatus)
	require.Contains(t, *out.FailureReason, "AlgorithmError: no luck")

	run("wait")
	_, err = client.StopTrainingJob(t.Context(), &sagemaker.StopTrainingJobInput{TrainingJobName: aws.String("wait")})
	require.NoError(t, err)
	require.Equal(t, types.TrainingJobStatusStopped, ended(t, s, "wait").TrainingJobStatus)
	left, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
