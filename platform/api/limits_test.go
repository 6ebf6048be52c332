package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"
)

type input = sagemaker.CreateTrainingJobInput

// text is a string of n characters.
func text(n int) *string { return aws.String(strings.Repeat("a", n)) }

func pairs(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint("k", i)] = "v"
	}
	return m
}

func repeat[T any](n int, make func(i int) T) []T {
	all := []T{}
	for i := range n {
		all = append(all, make(i))
	}
	return all
}

// padded is prefix with as many characters after it as make n.
func padded(prefix string, n int) *string {
	return aws.String((prefix + strings.Repeat("a", max(0, n-len(prefix))))[:max(0, n)])
}

// TestEveryLimitAtBelowAndAbove has the numbers of the container contract, 4.2, written down by hand: limits.json, which
// came by machine, has to agree.
func TestEveryLimitAtBelowAndAbove(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		path      string // in messages
		low, high int    // none where there is no limit
		kind      string // of message
		set       func(in *input, n int)
	}{
		{"trainingJobName", 1, 63, "length", func(in *input, n int) { in.TrainingJobName = text(n) }},
		{"roleArn", 20, 2048, "length", func(in *input, n int) { in.RoleArn = padded("arn:aws:iam::000000000000:role/", n) }},
		{"hyperParameters", none, 100, "length", func(in *input, n int) { in.HyperParameters = pairs(n) }},
		{"hyperParameters", none, 256, "keys", func(in *input, n int) { in.HyperParameters = map[string]string{*text(n): ""} }},
		{"hyperParameters", none, 2500, "values", func(in *input, n int) { in.HyperParameters = map[string]string{"k": *text(n)} }},
		{"environment", none, 100, "length", func(in *input, n int) { in.Environment = pairs(n) }},
		{"environment", none, 512, "keys", func(in *input, n int) { in.Environment = map[string]string{*text(n): ""} }},
		{"environment", none, 512, "values", func(in *input, n int) { in.Environment = map[string]string{"k": *text(n)} }},
		{"inputDataConfig", 1, 20, "length", func(in *input, n int) {
			in.InputDataConfig = repeat(n, func(i int) types.Channel { return channel(fmt.Sprint("c", i)) })
		}},
		{"inputDataConfig.1.member.channelName", 1, 64, "length", func(in *input, n int) { in.InputDataConfig[0].ChannelName = text(n) }},
		{"inputDataConfig.1.member.contentType", none, 256, "length", func(in *input, n int) { in.InputDataConfig[0].ContentType = text(n) }},
		{"inputDataConfig.1.member.dataSource.s3DataSource.s3Uri", none, 1024, "length", func(in *input, n int) {
			in.InputDataConfig[0].DataSource.S3DataSource.S3Uri = padded("s3://data/", n)
		}},
		{"inputDataConfig.1.member.dataSource.s3DataSource.attributeNames", none, 16, "length", func(in *input, n int) {
			in.InputDataConfig[0].DataSource.S3DataSource.S3DataType = types.S3DataTypeAugmentedManifestFile
			in.InputDataConfig[0].DataSource.S3DataSource.AttributeNames = repeat(n, func(i int) string { return fmt.Sprint(i) })
		}},
		{"inputDataConfig.1.member.dataSource.s3DataSource.attributeNames", 1, 256, "elements", func(in *input, n int) {
			in.InputDataConfig[0].DataSource.S3DataSource.S3DataType = types.S3DataTypeAugmentedManifestFile
			in.InputDataConfig[0].DataSource.S3DataSource.AttributeNames = []string{*text(n)}
		}},
		{"inputDataConfig.1.member.dataSource.s3DataSource.instanceGroupNames", none, 5, "length", func(in *input, n int) {
			withGroups(in, 5)
			in.InputDataConfig[0].DataSource.S3DataSource.InstanceGroupNames = repeat(n, func(i int) string { return fmt.Sprint("g", i) })
		}},
		{"inputDataConfig.1.member.dataSource.s3DataSource.instanceGroupNames", 1, 64, "elements", func(in *input, n int) {
			withGroups(in, 1)
			if n > 0 && n <= 64 {
				in.ResourceConfig.InstanceGroups[0].InstanceGroupName = text(n)
			}
			in.InputDataConfig[0].DataSource.S3DataSource.InstanceGroupNames = []string{*text(n)}
		}},
		{"inputDataConfig.1.member.dataSource.fileSystemDataSource.fileSystemId", 11, 21, "length", func(in *input, n int) {
			withFileSystem(in).FileSystemId = padded("fs-", n)
		}},
		{"inputDataConfig.1.member.dataSource.fileSystemDataSource.directoryPath", none, 4096, "length", func(in *input, n int) {
			withFileSystem(in).DirectoryPath = padded("/", n)
		}},
		{"algorithmSpecification.trainingImage", none, 255, "length", func(in *input, n int) { in.AlgorithmSpecification.TrainingImage = text(n) }},
		{"algorithmSpecification.algorithmName", 1, 170, "length", func(in *input, n int) {
			in.AlgorithmSpecification.TrainingImage = nil
			in.AlgorithmSpecification.AlgorithmName = aws.String("")
			if n > 0 {
				name := "arn:aws:sagemaker:" + strings.Repeat("r", max(0, n-43)) + ":000000000000:algorithm/a"
				in.AlgorithmSpecification.AlgorithmName = aws.String(name[max(0, len(name)-n):])
			}
		}},
		{"algorithmSpecification.metricDefinitions", none, 40, "length", func(in *input, n int) {
			in.AlgorithmSpecification.MetricDefinitions = repeat(n, func(i int) types.MetricDefinition {
				return types.MetricDefinition{Name: aws.String(fmt.Sprint(i)), Regex: aws.String("(.)")}
			})
		}},
		{"algorithmSpecification.metricDefinitions.1.member.name", 1, 255, "length", func(in *input, n int) { withMetric(in).Name = text(n) }},
		{"algorithmSpecification.metricDefinitions.1.member.regex", 1, 500, "length", func(in *input, n int) { withMetric(in).Regex = padded("(.)", n) }},
		{"algorithmSpecification.containerEntrypoint", 1, 100, "length", func(in *input, n int) {
			in.AlgorithmSpecification.ContainerEntrypoint = repeat(n, func(int) string { return "a" })
		}},
		{"algorithmSpecification.containerEntrypoint", none, 256, "elements", func(in *input, n int) {
			in.AlgorithmSpecification.ContainerEntrypoint = []string{*text(n)}
		}},
		{"algorithmSpecification.containerArguments", 1, 100, "length", func(in *input, n int) {
			in.AlgorithmSpecification.ContainerArguments = repeat(n, func(int) string { return "a" })
		}},
		{"algorithmSpecification.containerArguments", none, 256, "elements", func(in *input, n int) {
			in.AlgorithmSpecification.ContainerArguments = []string{*text(n)}
		}},
		{"outputDataConfig.s3OutputPath", none, 1024, "length", func(in *input, n int) { in.OutputDataConfig.S3OutputPath = padded("s3://data/", n) }},
		{"outputDataConfig.kmsKeyId", none, 2048, "length", func(in *input, n int) { in.OutputDataConfig.KmsKeyId = text(n) }},
		{"resourceConfig.instanceCount", 0, none, "value", func(in *input, n int) { in.ResourceConfig.InstanceCount = aws.Int32(int32(n)) }},
		{"resourceConfig.volumeSizeInGB", 0, none, "value", func(in *input, n int) { in.ResourceConfig.VolumeSizeInGB = aws.Int32(int32(n)) }},
		{"resourceConfig.volumeKmsKeyId", none, 2048, "length", func(in *input, n int) { in.ResourceConfig.VolumeKmsKeyId = text(n) }},
		{"resourceConfig.keepAlivePeriodInSeconds", 0, 21600, "value", func(in *input, n int) {
			in.ResourceConfig.KeepAlivePeriodInSeconds = aws.Int32(int32(n))
		}},
		{"resourceConfig.instanceGroups", none, 5, "length", func(in *input, n int) { withGroups(in, n) }},
		{"resourceConfig.instanceGroups.1.member.instanceGroupName", 1, 64, "length", func(in *input, n int) {
			withGroups(in, 1)
			in.ResourceConfig.InstanceGroups[0].InstanceGroupName = text(n)
		}},
		{"stoppingCondition.maxRuntimeInSeconds", 1, 2419200, "value", func(in *input, n int) { in.StoppingCondition.MaxRuntimeInSeconds = aws.Int32(int32(n)) }},
		{"stoppingCondition.maxWaitTimeInSeconds", 1, none, "value", func(in *input, n int) {
			in.EnableManagedSpotTraining = aws.Bool(true)
			in.StoppingCondition = &types.StoppingCondition{MaxRuntimeInSeconds: aws.Int32(1), MaxWaitTimeInSeconds: aws.Int32(int32(n))}
		}},
		{"stoppingCondition.maxPendingTimeInSeconds", 7200, 2419200, "value", func(in *input, n int) {
			in.StoppingCondition.MaxPendingTimeInSeconds = aws.Int32(int32(n))
		}},
		{"vpcConfig.securityGroupIds", 1, 5, "length", func(in *input, n int) {
			in.VpcConfig = &types.VpcConfig{SecurityGroupIds: repeat(n, func(int) string { return "s" }), Subnets: []string{"s"}}
		}},
		{"vpcConfig.subnets", 1, 16, "length", func(in *input, n int) {
			in.VpcConfig = &types.VpcConfig{Subnets: repeat(n, func(int) string { return "s" }), SecurityGroupIds: []string{"s"}}
		}},
		{"tags", none, 50, "length", func(in *input, n int) {
			in.Tags = repeat(n, func(i int) types.Tag { return types.Tag{Key: aws.String(fmt.Sprint(i)), Value: aws.String("")} })
		}},
		{"tags.1.member.key", 1, 128, "length", func(in *input, n int) { in.Tags = []types.Tag{{Key: text(n), Value: text(1)}} }},
		{"tags.1.member.value", none, 256, "length", func(in *input, n int) { in.Tags = []types.Tag{{Key: text(1), Value: text(n)}} }},
		{"checkpointConfig.s3Uri", none, 1024, "length", func(in *input, n int) {
			in.CheckpointConfig = &types.CheckpointConfig{S3Uri: padded("s3://data/", n)}
		}},
		{"checkpointConfig.localPath", none, 4096, "length", func(in *input, n int) {
			in.CheckpointConfig = &types.CheckpointConfig{S3Uri: aws.String("s3://data/"), LocalPath: padded("/", n)}
		}},
		{"retryStrategy.maximumRetryAttempts", 1, 30, "value", func(in *input, n int) {
			in.RetryStrategy = &types.RetryStrategy{MaximumRetryAttempts: aws.Int32(int32(n))}
		}},
		{"debugHookConfig.hookParameters", none, 20, "length", func(in *input, n int) {
			in.DebugHookConfig = &types.DebugHookConfig{S3OutputPath: aws.String("s3://data/"), HookParameters: pairs(n)}
		}},
		{"debugHookConfig.collectionConfigurations", none, 20, "length", func(in *input, n int) {
			in.DebugHookConfig = &types.DebugHookConfig{S3OutputPath: aws.String("s3://data/"), CollectionConfigurations: make([]types.CollectionConfiguration, n)}
		}},
		{"debugRuleConfigurations", none, 20, "length", func(in *input, n int) {
			in.DebugRuleConfigurations = repeat(n, func(int) types.DebugRuleConfiguration {
				return types.DebugRuleConfiguration{RuleConfigurationName: text(1), RuleEvaluatorImage: text(1)}
			})
		}},
		{"profilerRuleConfigurations", none, 20, "length", func(in *input, n int) {
			in.ProfilerRuleConfigurations = repeat(n, func(int) types.ProfilerRuleConfiguration {
				return types.ProfilerRuleConfiguration{RuleConfigurationName: text(1), RuleEvaluatorImage: text(1)}
			})
		}},
		{"profilerConfig.profilingParameters", none, 20, "length", func(in *input, n int) {
			in.ProfilerConfig = &types.ProfilerConfig{ProfilingParameters: pairs(n)}
		}},
		{"experimentConfig.experimentName", 1, 120, "length", func(in *input, n int) {
			in.ExperimentConfig = &types.ExperimentConfig{ExperimentName: text(n)}
		}},
	} {
		t.Run(c.path+" "+c.kind, func(t *testing.T) {
			check := func(n int) error {
				in := request("job")
				c.set(in, n)
				return Validate(in)
			}
			words := map[string]string{
				"length": "Member must have length %s than or equal to %d", "value": "Member must have value %s than or equal to %d",
				"keys": "Map keys must satisfy constraint: [Member must have length %s than or equal to %d", "values": "Map value must satisfy constraint: [Member must have length %s than or equal to %d",
				"elements": "Member must satisfy constraint: [Member must have length %s than or equal to %d",
			}[c.kind]
			broken := func(n int, which string, bound int) {
				err := check(n)
				require.Equal(t, codeValidation, code(err), "%d: %v", n, err)
				constraint := fmt.Sprintf(words, which, bound)
				if c.kind == "elements" && which == "greater" {
					constraint = fmt.Sprintf("Member must have length greater than or equal to %d", bound)
				}
				require.Contains(t, err.Error(), "at '"+c.path+"' failed to satisfy constraint: ")
				require.Contains(t, err.Error(), constraint)
			}
			clean := func(n int) {
				if err := check(n); err != nil {
					require.NotContains(t, err.Error(), "validation error", "%d", n) // rules between members may say no
				}
			}
			if c.low != none {
				broken(c.low-1, "greater", c.low)
				if c.path != "roleArn" { // whose pattern wants more
					clean(c.low)
				}
				switch c.path {
				case "roleArn", "resourceConfig.instanceCount", "algorithmSpecification.metricDefinitions.1.member.regex": // rules want more
				default:
					require.NoError(t, check(c.low))
				}
			}
			if c.high != none {
				clean(c.high - 1)
				require.NoError(t, check(c.high))
				broken(c.high+1, "less", c.high)
			}
		})
	}
}

func withGroups(in *input, n int) {
	in.ResourceConfig.InstanceType, in.ResourceConfig.InstanceCount = "", nil
	in.ResourceConfig.InstanceGroups = repeat(n, func(i int) types.InstanceGroup {
		return types.InstanceGroup{InstanceGroupName: aws.String(fmt.Sprint("g", i)), InstanceType: "ml.m5.large", InstanceCount: aws.Int32(1)}
	})
}

func withFileSystem(in *input) *types.FileSystemDataSource {
	fs := &types.FileSystemDataSource{
		FileSystemId: aws.String("fs-00000000"), FileSystemType: types.FileSystemTypeEfs, FileSystemAccessMode: types.FileSystemAccessModeRo, DirectoryPath: aws.String("/"),
	}
	in.InputDataConfig[0].DataSource = &types.DataSource{FileSystemDataSource: fs}
	in.InputDataConfig[0].InputMode = types.TrainingInputModeFile
	return fs
}

func withMetric(in *input) *types.MetricDefinition {
	in.AlgorithmSpecification.MetricDefinitions = []types.MetricDefinition{{Name: aws.String("loss"), Regex: aws.String("(.)")}}
	return &in.AlgorithmSpecification.MetricDefinitions[0]
}

func TestMembersThatMustBeThere(t *testing.T) {
	for path, remove := range map[string]func(*input){
		"trainingJobName":                                     func(in *input) { in.TrainingJobName = nil },
		"roleArn":                                             func(in *input) { in.RoleArn = nil },
		"outputDataConfig":                                    func(in *input) { in.OutputDataConfig = nil },
		"outputDataConfig.s3OutputPath":                       func(in *input) { in.OutputDataConfig.S3OutputPath = nil },
		"algorithmSpecification":                              func(in *input) { in.AlgorithmSpecification = nil },
		"algorithmSpecification.trainingInputMode":            func(in *input) { in.AlgorithmSpecification.TrainingInputMode = "" },
		"resourceConfig":                                      func(in *input) { in.ResourceConfig = nil },
		"stoppingCondition":                                   func(in *input) { in.StoppingCondition = nil },
		"inputDataConfig.1.member.channelName":                func(in *input) { in.InputDataConfig[0].ChannelName = nil },
		"inputDataConfig.1.member.dataSource":                 func(in *input) { in.InputDataConfig[0].DataSource = nil },
		"inputDataConfig.1.member.shuffleConfig.seed":         func(in *input) { in.InputDataConfig[0].ShuffleConfig = &types.ShuffleConfig{} },
		"vpcConfig.subnets":                                   func(in *input) { in.VpcConfig = &types.VpcConfig{SecurityGroupIds: []string{"s"}} },
		"retryStrategy.maximumRetryAttempts":                  func(in *input) { in.RetryStrategy = &types.RetryStrategy{} },
		"tags.1.member.value":                                 func(in *input) { in.Tags = []types.Tag{{Key: text(1)}} },
		"checkpointConfig.s3Uri":                              func(in *input) { in.CheckpointConfig = &types.CheckpointConfig{} },
		"resourceConfig.instanceGroups.2.member.instanceType": func(in *input) { withGroups(in, 2); in.ResourceConfig.InstanceGroups[1].InstanceType = "" },
	} {
		in := request("job")
		remove(in)
		require.EqualError(t, Validate(in), "api error ValidationException: 1 validation error detected: Value null at '"+path+"' failed to satisfy constraint: Member must not be null")
	}
}

func TestPatternsAndEnums(t *testing.T) {
	for _, c := range []struct {
		set  func(*input)
		want string // after the count; the beginning of it
	}{
		{func(in *input) { in.TrainingJobName = aws.String("a-") }, "Value 'a-' at 'trainingJobName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"},
		{func(in *input) { in.TrainingJobName = aws.String("a\nb") }, "Value 'a\nb' at 'trainingJobName' failed"},
		{func(in *input) { in.RoleArn = aws.String("arn:aws:iam::00000000000:role/x") }, "Value 'arn:aws:iam::00000000000:role/x' at 'roleArn' failed"},
		{func(in *input) { in.InputDataConfig[0].ChannelName = aws.String("../../etc") }, "Value '../../etc' at 'inputDataConfig.1.member.channelName' failed to satisfy constraint: Member must satisfy regular expression pattern: [A-Za-z0-9\\.\\-_]+"},
		{func(in *input) { in.InputDataConfig[0].ChannelName = aws.String("a/b") }, "Value 'a/b' at 'inputDataConfig.1.member.channelName' failed"},
		{func(in *input) { in.InputDataConfig[0].ChannelName = aws.String("a\x00") }, "Value 'a\x00' at 'inputDataConfig.1.member.channelName' failed"},
		{func(in *input) { in.InputDataConfig[0].InputMode = "file" }, "Value 'file' at 'inputDataConfig.1.member.inputMode' failed to satisfy constraint: Member must satisfy enum value set: [Pipe, File, FastFile]"},
		{func(in *input) { in.OutputDataConfig.CompressionType = "ZIP" }, "Value 'ZIP' at 'outputDataConfig.compressionType' failed to satisfy constraint: Member must satisfy enum value set: [GZIP, NONE]"},
		{func(in *input) { in.OutputDataConfig.S3OutputPath = aws.String("data/models") }, "Value 'data/models' at 'outputDataConfig.s3OutputPath' failed to satisfy constraint: Member must satisfy regular expression pattern: (https|s3)://([^/]+)/?(.*)"},
		{func(in *input) { in.Environment = map[string]string{"1": "x"} }, "Value '{1=x}' at 'environment' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length less than or equal to 512, Member must have length greater than or equal to 0, Member must satisfy regular expression pattern: [a-zA-Z_][a-zA-Z0-9_]*]"},
		{func(in *input) { in.HyperParameters = map[string]string{"a": "b\nc"} }, "Value '{a=b\nc}' at 'hyperParameters' failed to satisfy constraint: Map value must satisfy constraint: ["},
		{func(in *input) { withFileSystem(in).FileSystemId = aws.String("fs-0000000g") }, "Value 'fs-0000000g' at 'inputDataConfig.1.member.dataSource.fileSystemDataSource.fileSystemId' failed"},
	} {
		in := request("job")
		c.set(in)
		err := Validate(in)
		want := "api error ValidationException: 1 validation error detected: " + c.want
		require.ErrorContains(t, err, want)
	}
}

func TestEveryViolationIsReportedAtOnce(t *testing.T) {
	in := request("-")
	in.RoleArn = nil
	in.ResourceConfig.InstanceType = "ml.none"
	err := Validate(in)
	require.ErrorContains(t, err, "3 validation errors detected: Value null at 'roleArn' failed to satisfy constraint: Member must not be null; Value '-' at 'trainingJobName' failed")
	require.ErrorContains(t, err, "; Value 'ml.none' at 'resourceConfig.instanceType' failed")
}
