package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform"
)

// config is what AWS clients of a server at url need.
func config(url, key, secret string) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
}

// everything is a request with every member that the service takes here.
func everything(name string) *sagemaker.CreateTrainingJobInput {
	in := request(name)
	in.HyperParameters = map[string]string{"k": "10", "größe": "ü", "empty": ""}
	in.Environment = map[string]string{"A": "1", "B_2": "multi\nline"}
	in.EnableNetworkIsolation, in.EnableInterContainerTrafficEncryption = aws.Bool(true), aws.Bool(false)
	in.EnableManagedSpotTraining = aws.Bool(true)
	in.StoppingCondition = &types.StoppingCondition{MaxRuntimeInSeconds: aws.Int32(3600), MaxWaitTimeInSeconds: aws.Int32(3600), MaxPendingTimeInSeconds: aws.Int32(7200)}
	in.CheckpointConfig = &types.CheckpointConfig{S3Uri: aws.String("s3://data/checkpoints"), LocalPath: aws.String("/state")}
	in.RetryStrategy = &types.RetryStrategy{MaximumRetryAttempts: aws.Int32(3)}
	in.VpcConfig = &types.VpcConfig{SecurityGroupIds: []string{"sg-1"}, Subnets: []string{"subnet-1", "subnet-2"}}
	in.ExperimentConfig = &types.ExperimentConfig{ExperimentName: aws.String("e"), TrialName: aws.String("t")}
	in.DebugHookConfig = &types.DebugHookConfig{S3OutputPath: aws.String("s3://data/debug"), CollectionConfigurations: []types.CollectionConfiguration{
		{CollectionName: aws.String("losses"), CollectionParameters: map[string]string{"save_interval": "5"}},
	}}
	in.DebugRuleConfigurations = []types.DebugRuleConfiguration{{RuleConfigurationName: aws.String("r"), RuleEvaluatorImage: aws.String("i"), VolumeSizeInGB: aws.Int32(0)}}
	in.ProfilerConfig = &types.ProfilerConfig{S3OutputPath: aws.String("s3://data/profile"), ProfilingIntervalInMilliseconds: aws.Int64(500), DisableProfiler: aws.Bool(true)}
	in.ProfilerRuleConfigurations = []types.ProfilerRuleConfiguration{{RuleConfigurationName: aws.String("p"), RuleEvaluatorImage: aws.String("i")}}
	in.TensorBoardOutputConfig = &types.TensorBoardOutputConfig{S3OutputPath: aws.String("s3://data/board")}
	in.RemoteDebugConfig = &types.RemoteDebugConfig{EnableRemoteDebug: aws.Bool(false)}
	in.InfraCheckConfig = &types.InfraCheckConfig{EnableInfraCheck: aws.Bool(false)}
	in.SessionChainingConfig = &types.SessionChainingConfig{EnableSessionTagChaining: aws.Bool(true)}
	in.MlflowConfig = &types.MlflowConfig{MlflowResourceArn: aws.String("arn:aws:sagemaker:us-east-1:000000000000:mlflow-tracking-server/x")}
	in.Tags = []types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}}
	in.OutputDataConfig = &types.OutputDataConfig{S3OutputPath: aws.String("s3://data/models/"), KmsKeyId: aws.String("alias/key"), CompressionType: types.OutputCompressionTypeNone}
	in.ResourceConfig = &types.ResourceConfig{VolumeSizeInGB: aws.Int32(1), VolumeKmsKeyId: aws.String("k"), InstanceGroups: []types.InstanceGroup{
		{InstanceGroupName: aws.String("g"), InstanceType: types.TrainingInstanceTypeMlM5Large, InstanceCount: aws.Int32(2)},
	}}
	a := in.AlgorithmSpecification
	a.EnableSageMakerMetricsTimeSeries = aws.Bool(true)
	a.ContainerEntrypoint, a.ContainerArguments = []string{"/bin/a"}, []string{"x", ""}
	a.MetricDefinitions = []types.MetricDefinition{{Name: aws.String("loss"), Regex: aws.String(`loss=(\S+)`)}}
	a.TrainingImageConfig = &types.TrainingImageConfig{TrainingRepositoryAccessMode: types.TrainingRepositoryAccessModePlatform}
	c := &in.InputDataConfig[0]
	c.ContentType, c.CompressionType, c.RecordWrapperType = aws.String("text/csv"), types.CompressionTypeGzip, types.RecordWrapperRecordio
	c.InputMode, c.ShuffleConfig = types.TrainingInputModePipe, &types.ShuffleConfig{Seed: aws.Int64(-1 << 62)}
	c.DataSource.S3DataSource.S3DataType = types.S3DataTypeAugmentedManifestFile
	c.DataSource.S3DataSource.AttributeNames = []string{"a", "b-ref"}
	c.DataSource.S3DataSource.InstanceGroupNames = []string{"g"}
	c.DataSource.S3DataSource.S3DataDistributionType = types.S3DataDistributionShardedByS3Key
	c.DataSource.S3DataSource.ModelAccessConfig = &types.ModelAccessConfig{AcceptEula: aws.Bool(true)}
	return in
}

func TestTheGoSDKGetsBackEveryMemberThatItSent(t *testing.T) {
	var got platform.Job
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		got = r.Job
		r.enter(platform.Starting)
		r.enter(platform.Training)
		at := time.Now()
		r.Line(platform.Line{Host: "algo-1", Time: at, Text: "loss=1"})
		r.Metric(platform.Metric{Name: "loss", Host: "algo-1", Value: 1, Time: at})
		r.Metric(platform.Metric{Name: "loss", Host: "algo-1", Value: 0.5, Time: at.Add(time.Second)})
		return &platform.Result{ModelArtifacts: "s3://data/models/job/output/model/", Output: "s3://data/o", TrainingTime: 1500 * time.Millisecond, BillableTime: time.Second}, nil
	}})
	client := sagemaker.NewFromConfig(config(serve(t, s).URL, "any", "thing"))
	sent := everything("job")
	created, err := client.CreateTrainingJob(t.Context(), sent)
	require.NoError(t, err)
	require.Equal(t, "arn:aws:sagemaker:us-east-1:000000000000:training-job/job", *created.TrainingJobArn)
	ended(t, s, "job")

	out, err := client.DescribeTrainingJob(t.Context(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String("job")})
	require.NoError(t, err)
	want := &sagemaker.DescribeTrainingJobOutput{}
	echo(want, sent)
	back := &sagemaker.CreateTrainingJobInput{}
	echo(back, out)
	lost := *sent
	lost.Tags, lost.SessionChainingConfig = nil, nil // which DescribeTrainingJob does not tell
	require.Equal(t, &lost, back)

	require.Equal(t, types.TrainingJobStatusCompleted, out.TrainingJobStatus)
	require.Equal(t, "s3://data/models/job/output/model/", *out.ModelArtifacts.S3ModelArtifacts)
	require.Equal(t, "s3://data/o", s.OutputArtifacts("job"))
	require.EqualValues(t, 2, *out.TrainingTimeInSeconds)
	require.EqualValues(t, 1, *out.BillableTimeInSeconds)
	require.Len(t, out.FinalMetricDataList, 1)
	require.Equal(t, float32(0.5), *out.FinalMetricDataList[0].Value)
	points, err := s.Metrics("job")
	require.NoError(t, err)
	require.Len(t, points, 2)
	tags, err := client.ListTags(t.Context(), &sagemaker.ListTagsInput{ResourceArn: created.TrainingJobArn})
	require.NoError(t, err)
	require.Equal(t, sent.Tags, tags.Tags)

	require.Equal(t, map[string]string{"IMAGE": "pca", "A": "1", "B_2": "multi\nline"}, got.Environment)
	require.Equal(t, platform.Channel{
		Name: "train", S3URI: "s3://data/train/", S3DataType: "AugmentedManifestFile", AttributeNames: []string{"a", "b-ref"},
		S3DataDistributionType: "ShardedByS3Key", InstanceGroupNames: []string{"g"}, InputMode: "Pipe", ContentType: "text/csv",
		CompressionType: "Gzip", RecordWrapperType: "RecordIO", ShuffleSeed: aws.Int64(-1 << 62),
	}, got.Channels[0])
	require.Equal(t, []platform.InstanceGroup{{Name: "g", InstanceType: "ml.m5.large", InstanceCount: 2}}, got.InstanceGroups)
	require.Equal(t, platform.Checkpoints{S3URI: "s3://data/checkpoints", LocalPath: "/state"}, got.Checkpoints)
	require.Equal(t, []any{true, 3, time.Hour, time.Hour, "NONE", *created.TrainingJobArn}, []any{got.Spot, got.Retries, got.MaxRuntime.Round(2 * time.Minute), got.MaxWait.Round(2 * time.Minute), got.OutputCompression, got.ARN})
	require.LessOrEqual(t, got.MaxRuntime, got.MaxWait, "or the engine would refuse the job")
	require.Equal(t, []any{[]string{"true"}, []string{"/bin/a"}, []string{"x", ""}}, []any{got.Command, got.Entrypoint, got.Arguments})
	require.Equal(t, []platform.MetricDefinition{{Name: "loss", Regex: `loss=(\S+)`}}, got.MetricDefinitions)
	require.EqualValues(t, sent.HyperParameters, got.HyperParameters)
}

func TestTheGoSDKKnowsTheErrors(t *testing.T) {
	s := newService(t, &script{run: untilStopped})
	client := sagemaker.NewFromConfig(config(serve(t, s).URL, "any", "thing"))
	_, err := client.CreateTrainingJob(t.Context(), request("job"))
	require.NoError(t, err)
	_, err = client.CreateTrainingJob(t.Context(), request("JOB"))
	var inUse *types.ResourceInUse
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, "Training job names must be unique within an AWS account and region, and a training job with this name already exists (arn:aws:sagemaker:us-east-1:000000000000:training-job/job)", *inUse.Message)

	_, err = client.DescribeTrainingJob(t.Context(), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String("other")})
	var known smithy.APIError
	require.ErrorAs(t, err, &known)
	require.Equal(t, []string{"ValidationException", "Requested resource not found."}, []string{known.ErrorCode(), known.ErrorMessage()})
	_, err = client.DeleteTrainingJob(t.Context(), &sagemaker.DeleteTrainingJobInput{TrainingJobName: aws.String("job")})
	require.ErrorAs(t, err, &inUse)
}

func TestTheGoSDKReadsALog(t *testing.T) {
	const lines = 1000
	s := newService(t, &script{run: func(r *scripted) (*platform.Result, error) {
		for i := range lines {
			r.Line(platform.Line{Host: "algo-1", Time: time.UnixMilli(1_700_000_000_000 + int64(i)*10), Text: fmt.Sprint("line ", i)})
		}
		r.Line(platform.Line{Host: "algo-2", Time: time.UnixMilli(1_700_000_000_000), Text: "\xff\x00 odd"})
		return &platform.Result{}, nil
	}})
	client := logs.NewFromConfig(config(serve(t, s).URL, "any", "thing"))
	create(t, s, request("job"))
	ended(t, s, "job")

	streams, err := client.DescribeLogStreams(t.Context(), &logs.DescribeLogStreamsInput{LogGroupName: aws.String(logGroup), LogStreamNamePrefix: aws.String("job/")})
	require.NoError(t, err)
	require.Len(t, streams.LogStreams, 2)
	require.Equal(t, "job/algo-1-1700000000", *streams.LogStreams[0].LogStreamName)
	require.EqualValues(t, 1_700_000_009_990, *streams.LogStreams[0].LastEventTimestamp)

	var got []string
	in := &logs.GetLogEventsInput{LogGroupName: aws.String(logGroup), LogStreamName: streams.LogStreams[0].LogStreamName, StartFromHead: aws.Bool(true), Limit: aws.Int32(300)}
	for range 10 {
		page, err := client.GetLogEvents(t.Context(), in)
		require.NoError(t, err)
		for _, e := range page.Events {
			got = append(got, *e.Message)
		}
		if in.NextToken != nil && *in.NextToken == *page.NextForwardToken {
			require.Empty(t, page.Events)
			break
		}
		in.NextToken = page.NextForwardToken
	}
	require.Len(t, got, lines)
	require.Equal(t, "line 999", got[999])

	end := func(change func(*logs.GetLogEventsInput)) *logs.GetLogEventsOutput {
		in := &logs.GetLogEventsInput{LogGroupName: aws.String(logGroup), LogStreamName: streams.LogStreams[0].LogStreamName, Limit: aws.Int32(2)}
		change(in)
		out, err := client.GetLogEvents(t.Context(), in)
		require.NoError(t, err)
		return out
	}
	texts := func(out *logs.GetLogEventsOutput) (all []string) {
		for _, e := range out.Events {
			all = append(all, *e.Message)
		}
		return all
	}
	last := end(func(in *logs.GetLogEventsInput) {})
	require.Equal(t, []string{"line 998", "line 999"}, texts(last))
	before := end(func(in *logs.GetLogEventsInput) { in.NextToken = last.NextBackwardToken })
	require.Equal(t, []string{"line 996", "line 997"}, texts(before))
	require.Equal(t, []string{"line 998", "line 999"}, texts(end(func(in *logs.GetLogEventsInput) { in.NextToken = before.NextForwardToken })))
	require.Equal(t, []string{"line 500", "line 501"}, texts(end(func(in *logs.GetLogEventsInput) {
		in.StartTime, in.StartFromHead = aws.Int64(1_700_000_004_995), aws.Bool(true)
	})))
	require.Equal(t, []string{"line 498", "line 499"}, texts(end(func(in *logs.GetLogEventsInput) { in.EndTime = aws.Int64(1_700_000_005_000) })))
	require.Empty(t, end(func(in *logs.GetLogEventsInput) { in.StartTime = aws.Int64(1 << 60) }).Events)
	odd, err := s.LogLines(*streams.LogStreams[1].LogStreamName, 0, 10)
	require.NoError(t, err)
	require.Equal(t, "\xff\x00 odd", odd[0].Text)

	var absent *logtypes.ResourceNotFoundException
	for _, name := range []string{"job/algo-3-1700000000", "other/algo-1-1", "job/../job/algo-1-1700000000", "../records", "", "job/algo-1-1700000000.log"} {
		_, err = client.GetLogEvents(t.Context(), &logs.GetLogEventsInput{LogGroupName: aws.String(logGroup), LogStreamName: aws.String(name)})
		require.ErrorAs(t, err, &absent, name)
	}
	_, err = client.GetLogEvents(t.Context(), &logs.GetLogEventsInput{LogGroupName: aws.String("/aws/other"), LogStreamName: aws.String("x")})
	require.ErrorAs(t, err, &absent)
}

func TestTheGoSDKsWaiterEnds(t *testing.T) {
	s := newService(t, &script{})
	client := sagemaker.NewFromConfig(config(serve(t, s).URL, "any", "thing"))
	create(t, s, request("job"))
	ended(t, s, "job")
	waiter := sagemaker.NewTrainingJobCompletedOrStoppedWaiter(client)
	require.NoError(t, waiter.Wait(context.WithoutCancel(t.Context()), &sagemaker.DescribeTrainingJobInput{TrainingJobName: aws.String("job")}, time.Minute))
}
