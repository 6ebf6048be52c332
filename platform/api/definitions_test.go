package api

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

var builtinMetrics = []platform.MetricDefinition{{Name: "test:mse", Regex: `mse=(\S+)`}, {Name: "train:throughput", Regex: `throughput=(\S+)`}}

// builtin has a service whose images are built-in algorithms.
func builtin(o *Options) {
	o.Resolve = func(string) (Algorithm, error) {
		return Algorithm{Command: []string{"true"}, Metrics: builtinMetrics}, nil
	}
}

func TestAJobOfABuiltInAlgorithmHasItsMetrics(t *testing.T) {
	var got platform.Job
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		got = r.Job
		r.Metric(platform.Metric{Name: "test:mse", Host: "algo-1", Value: 0.25, Time: time.Now()})
		return &platform.Result{Metrics: map[string]float64{"test:mse": 0.25}}, nil
	}}, builtin)
	client := sagemaker.NewFromConfig(config(serve(t, s).URL, "any", "thing"))
	_, err := client.CreateTrainingJob(t.Context(), request("job"))
	require.NoError(t, err)
	out := ended(t, s, "job")
	require.Equal(t, []types.MetricDefinition{
		{Name: aws.String("test:mse"), Regex: aws.String(`mse=(\S+)`)}, {Name: aws.String("train:throughput"), Regex: aws.String(`throughput=(\S+)`)},
	}, out.AlgorithmSpecification.MetricDefinitions)
	require.Equal(t, builtinMetrics, got.MetricDefinitions)
	require.Len(t, out.FinalMetricDataList, 1)
	require.Equal(t, "test:mse", *out.FinalMetricDataList[0].MetricName)
	require.Equal(t, float32(0.25), *out.FinalMetricDataList[0].Value)
}

// The service's own words, by which programs recognize this and try again without definitions.
func TestTheMetricsOfABuiltInAlgorithmCannotBeOverridden(t *testing.T) {
	s := newService(t, &script{}, builtin)
	in := request("job")
	withMetric(in)
	_, err := s.CreateTrainingJob(t.Context(), in)
	require.ErrorContains(t, err, "ValidationException: You can't override the metric definitions for Amazon SageMaker algorithms. Please retry the request without specifying metric definitions.")
	require.Len(t, in.AlgorithmSpecification.MetricDefinitions, 1, "the caller's request")
	in.AlgorithmSpecification.MetricDefinitions = nil
	create(t, s, in)
	require.Empty(t, in.AlgorithmSpecification.MetricDefinitions, "the caller's request")
}

// What runs a request without a service may add metrics to an algorithm's, or define one of them otherwise.
func TestARequestThatIsRunWithoutAServiceMayHaveMoreMetrics(t *testing.T) {
	var opts Options
	builtin(&opts)
	in := request("job")
	in.AlgorithmSpecification.MetricDefinitions = []types.MetricDefinition{
		{Name: aws.String("loss"), Regex: aws.String("loss=(.)")}, {Name: aws.String("test:mse"), Regex: aws.String("other=(.)")},
	}
	job, err := opts.Job(in)
	require.NoError(t, err)
	require.Equal(t, []platform.MetricDefinition{{Name: "loss", Regex: "loss=(.)"}, {Name: "test:mse", Regex: "other=(.)"}, builtinMetrics[1]}, job.MetricDefinitions)
}
