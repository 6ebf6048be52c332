package api

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/platform"
)

// boto3 and the SageMaker Python SDK find what they expect, and sign what they ask.
func TestThePythonSDKsDriveTheService(t *testing.T) {
	python := testenv.PythonSDK(t)
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		r.enter(platform.Starting)
		switch {
		case r.Name == "forever":
			return untilStopped(r)
		case r.Name == "fails":
			return &platform.Result{}, errFailed("AlgorithmError: , exit code: 1")
		}
		r.enter(platform.Training)
		r.Line(platform.Line{Host: "algo-1", Time: time.Now(), Text: "the algorithm's line"})
		r.Metric(platform.Metric{Name: "loss", Value: 0.25, Time: time.Now()})
		r.enter(platform.Uploading)
		return &platform.Result{TrainingTime: time.Second, BillableTime: time.Second}, nil
	}}, withKeys)
	cmd := exec.CommandContext(t.Context(), python, "testdata/boto.py", "estimator")
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+serve(t, s).URL, "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_EC2_METADATA_DISABLED=true", "AWS_DEFAULT_REGION=us-east-1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.True(t, strings.HasSuffix(strings.TrimSpace(string(out)), "done"), "%s", out)
}
