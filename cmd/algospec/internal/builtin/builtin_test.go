package builtin

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnImageIsKnownByTheLastPartOfItsName(t *testing.T) {
	for image, want := range map[string]string{
		"382416733822.dkr.ecr.us-east-1.amazonaws.com/pca:latest": "pca",
		"438346466558.dkr.ecr.eu-west-1.amazonaws.com/pca:1":      "pca",
		"localhost:5000/pca":                      "pca",
		"localhost:5000/team/pca:1@sha256:abcdef": "pca",
		"pca@sha256:abcdef":                       "pca",
		"pca":                                     "pca",
		"registry/PCA:1":                          "PCA",
		"registry/my-pca:1":                       "my-pca",
		"registry/":                               "",
		"":                                        "",
	} {
		require.Equal(t, want, Name(image), image)
	}
}

func TestABuiltInAlgorithmRunsAsThisProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	command, err := Command("382416733822.dkr.ecr.us-east-1.amazonaws.com/pca:1")
	require.NoError(t, err)
	require.Equal(t, []string{self, "container", "pca"}, command)
	command, err = Command("registry/my-pca:1")
	require.NoError(t, err)
	require.Nil(t, command)
}

func TestAnAlgorithmThatThisVersionLacksIsAnErrorAndNoImageToPull(t *testing.T) {
	for name, run := range containers {
		_, err := Command("382416733822.dkr.ecr.us-east-1.amazonaws.com/" + name + ":1")
		if run == nil {
			require.ErrorContains(t, err, "the built-in algorithm "+name+" is not part of this version, which has kmeans, linear-learner, pca")
		} else {
			require.NoError(t, err)
		}
	}
}
