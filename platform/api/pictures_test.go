package api

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

func TestPicturesOutliveThePlatformAndGoWithTheJob(t *testing.T) {
	want := []algospec.Picture{{Name: "loss", Lines: []algospec.Series{{Y: []float64{3, 2, 1}}}}}
	e := &script{run: func(r *scripted) (*platform.Result, error) {
		if r.Name == "wrong" {
			return &platform.Result{PicturesErr: errors.New("pictures.json: EOF")}, nil
		}
		return &platform.Result{Pictures: want}, nil
	}}
	dir := filepath.Join(t.TempDir(), "platform")
	s := newService(t, e, func(o *Options) { o.Dir = dir })
	for _, name := range []string{"job", "wrong"} {
		create(t, s, request(name))
		ended(t, s, name)
	}
	pictures, err := s.Pictures("wrong")
	require.NoError(t, err)
	require.Empty(t, pictures)
	_, err = s.Pictures("none")
	require.Error(t, err)
	require.NoError(t, s.Close())

	s = newService(t, e, func(o *Options) { o.Dir = dir })
	pictures, err = s.Pictures("job")
	require.NoError(t, err)
	require.Equal(t, want, pictures)
	require.NoError(t, os.WriteFile(s.lines.pictures("job"), []byte("[{"), 0o644))
	_, err = s.Pictures("job")
	require.ErrorContains(t, err, "training job job: pictures.json: unexpected EOF")
	_, err = s.DeleteTrainingJob(t.Context(), &sagemaker.DeleteTrainingJobInput{TrainingJobName: aws.String("job")})
	require.NoError(t, err)
	require.NoFileExists(t, s.lines.pictures("job"))
}
