package linearlearner_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/linearlearner"
)

func TestAnUnknownEngineIsTheUsersMistake(t *testing.T) {
	t.Setenv(compute.Variable, "avx1024")
	err := linearlearner.Train(t.Context(), &algospec.Job{}, linearlearner.Params{})
	require.ErrorContains(t, err, `environment variable ALGOSPEC_COMPUTE: "avx1024": no engine`)
	var client interface{ ClientError() bool }
	require.True(t, errors.As(err, &client) && client.ClientError())
}
