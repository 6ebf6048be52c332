package api

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
	"github.com/stretchr/testify/require"
)

func TestRulesBetweenMembers(t *testing.T) {
	first := func(in *input) *types.Channel { return &in.InputDataConfig[0] }
	s3 := func(in *input) *types.S3DataSource { return first(in).DataSource.S3DataSource }
	for _, c := range []struct {
		name string
		set  func(*input)
		want string
	}{
		{"nothing", func(in *input) {}, ""},
		{"an image and an algorithm", func(in *input) { in.AlgorithmSpecification.AlgorithmName = text(1) }, "Exactly one of TrainingImage and AlgorithmName must be given in AlgorithmSpecification."},
		{"neither image nor algorithm", func(in *input) { in.AlgorithmSpecification.TrainingImage = nil }, "Exactly one of TrainingImage and AlgorithmName must be given in AlgorithmSpecification."},
		{"FastFile of a manifest", func(in *input) {
			first(in).InputMode, s3(in).S3DataType = types.TrainingInputModeFastfile, types.S3DataTypeManifestFile
		}, "Channel train: input mode FastFile is only for S3DataType S3Prefix, not ManifestFile."},
		{"files of an augmented manifest", func(in *input) {
			first(in).InputMode, s3(in).S3DataType, s3(in).AttributeNames = types.TrainingInputModeFile, types.S3DataTypeAugmentedManifestFile, []string{"a"}
		}, "Channel train: S3DataType AugmentedManifestFile is only for input mode Pipe, not File."},
		{"an augmented manifest without attributes", func(in *input) { s3(in).S3DataType = types.S3DataTypeAugmentedManifestFile }, "Channel train: AttributeNames must be given with S3DataType AugmentedManifestFile, and with no other."},
		{"attributes of a prefix", func(in *input) { s3(in).AttributeNames = []string{"a"} }, "Channel train: AttributeNames must be given with S3DataType AugmentedManifestFile, and with no other."},
		{"conversations", func(in *input) { s3(in).S3DataType = types.S3DataTypeConverse }, "Channel train: S3DataType Converse is not supported here."},
		{"a pipe of a file system", func(in *input) { withFileSystem(in); first(in).InputMode = "" }, "Channel train: FileSystemDataSource is only for input mode File, not Pipe."},
		{"compressed files", func(in *input) {
			first(in).InputMode, first(in).CompressionType = types.TrainingInputModeFile, types.CompressionTypeGzip
		}, "Channel train: CompressionType Gzip is only for input mode Pipe, not File."},
		{"wrapped files", func(in *input) {
			first(in).InputMode, first(in).RecordWrapperType = types.TrainingInputModeFastfile, types.RecordWrapperRecordio
		}, "Channel train: RecordWrapperType RecordIO is only for input mode Pipe, not FastFile."},
		{"spot without a limit", func(in *input) { in.EnableManagedSpotTraining = aws.Bool(true) }, "MaxWaitTimeInSeconds must be given in StoppingCondition when EnableManagedSpotTraining is true."},
		{"a wait shorter than the run", func(in *input) {
			in.EnableManagedSpotTraining, in.StoppingCondition.MaxWaitTimeInSeconds = aws.Bool(true), aws.Int32(3599)
		}, "MaxWaitTimeInSeconds in StoppingCondition must be at least MaxRuntimeInSeconds (3600)."},
		{"a wait shorter than a day", func(in *input) {
			in.EnableManagedSpotTraining, in.StoppingCondition = aws.Bool(true), &types.StoppingCondition{MaxWaitTimeInSeconds: aws.Int32(86399)}
		}, "MaxWaitTimeInSeconds in StoppingCondition must be at least MaxRuntimeInSeconds (86400)."},
		{"a wait as long as the run", func(in *input) {
			in.EnableManagedSpotTraining, in.StoppingCondition.MaxWaitTimeInSeconds = aws.Bool(true), aws.Int32(3600)
		}, ""},
		{"a wait without spot", func(in *input) { in.StoppingCondition.MaxWaitTimeInSeconds = aws.Int32(3600) }, "MaxWaitTimeInSeconds in StoppingCondition is only for EnableManagedSpotTraining."},
		{"a channel twice", func(in *input) { in.InputDataConfig = append(in.InputDataConfig, channel("train")) }, "Channel train is given twice."},
		{"a channel of dots", func(in *input) { first(in).ChannelName = aws.String("..") }, `Channel name ".." cannot be that of a directory.`},
		{"two sources", func(in *input) {
			s := s3(in)
			withFileSystem(in)
			first(in).DataSource.S3DataSource = s
		}, "Channel train: exactly one of S3DataSource, FileSystemDataSource and DatasetSource must be given in DataSource."},
		{"no source", func(in *input) { first(in).DataSource = &types.DataSource{} }, "Channel train: exactly one of S3DataSource, FileSystemDataSource and DatasetSource must be given in DataSource."},
		{"a file channel named as a pipe", func(in *input) {
			in.InputDataConfig = append(in.InputDataConfig, channel("train_10"))
			in.InputDataConfig[1].InputMode = types.TrainingInputModeFile
		}, "Channels train_10 and train: the data of the first would stand where the pipe of epoch 10 of the second does."},
		{"a pipe named as a pipe", func(in *input) {
			in.InputDataConfig = append(in.InputDataConfig, channel("train_0"))
		}, "Channels train_0 and train: the data of the first would stand where the pipe of epoch 0 of the second does."},
		{"a channel almost named as a pipe", func(in *input) {
			in.InputDataConfig = append(in.InputDataConfig, channel("train_00"), channel("train_"), channel("train_-1"))
		}, ""},
		{"a channel named as a list", func(in *input) {
			in.AlgorithmSpecification.TrainingInputMode = types.TrainingInputModeFile
			in.InputDataConfig = append(in.InputDataConfig, channel("train-manifest"))
		}, "Channels train-manifest and train: the data of the first would stand where the list of the second's objects does."},
		{"groups and a type", func(in *input) {
			withGroups(in, 1)
			in.ResourceConfig.InstanceType = "ml.m5.large"
		}, "InstanceGroups in ResourceConfig cannot be given together with InstanceType and InstanceCount."},
		{"a group that is not there", func(in *input) { s3(in).InstanceGroupNames = []string{"g"} }, "Channel train: instance group g is not one of ResourceConfig's."},
		{"a group twice", func(in *input) {
			withGroups(in, 2)
			in.ResourceConfig.InstanceGroups[1].InstanceGroupName = aws.String("g0")
		}, "Instance group g0 is given twice."},
		{"an empty group", func(in *input) { withGroups(in, 1); in.ResourceConfig.InstanceGroups[0].InstanceCount = aws.Int32(0) }, "Instance group g0 needs at least one instance."},
		{"no hosts", func(in *input) { in.ResourceConfig.InstanceCount = aws.Int32(0) }, "InstanceCount in ResourceConfig must be at least 1."},
		{"too many hosts", func(in *input) { in.ResourceConfig.InstanceCount = aws.Int32(101) }, "101 instances are asked for; this platform runs at most 100 for a job."},
		{"no type", func(in *input) { in.ResourceConfig.InstanceType = "" }, "InstanceType in ResourceConfig must be given where there are no InstanceGroups."},
		{"a regular expression of another kind", func(in *input) { withMetric(in).Regex = aws.String("(?=x)(y)") }, "Metric loss: error parsing regexp: invalid or unsupported Perl syntax: `(?=` (the expressions are RE2's here, without look-around and back-references)."},
		{"a regular expression without a group", func(in *input) { withMetric(in).Regex = aws.String("x") }, "Metric loss: the regular expression has no group for the value."},
		{"a tag twice", func(in *input) { in.Tags = []types.Tag{{Key: text(1), Value: text(1)}, {Key: text(1), Value: text(2)}} }, "Tag key a is given twice."},
		{"a reserved tag", func(in *input) { in.Tags = []types.Tag{{Key: aws.String("aws:x"), Value: text(1)}} }, "Tag key aws:x: keys that begin with aws: are reserved."},
		{"a serverless job", func(in *input) {
			in.ServerlessJobConfig = &types.ServerlessJobConfig{BaseModelArn: aws.String("arn:aws:sagemaker:us-east-1:aws:hub-content/h/Model/m"), JobType: types.ServerlessJobTypeFineTuning}
		}, "serverlessJobConfig: serverless training jobs are not supported here."},
		{"a relative path for checkpoints", func(in *input) {
			in.CheckpointConfig = &types.CheckpointConfig{S3Uri: aws.String("s3://data/c"), LocalPath: aws.String("../../etc")}
		}, `checkpointConfig.localPath "../../etc" is not an absolute path.`},
		{"two rules", func(in *input) {
			in.ResourceConfig.InstanceCount = nil
			in.StoppingCondition.MaxWaitTimeInSeconds = aws.Int32(1)
		}, "InstanceCount in ResourceConfig must be at least 1. MaxWaitTimeInSeconds in StoppingCondition is only for EnableManagedSpotTraining."},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := request("job")
			c.set(in)
			err := Validate(in)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "api error ValidationException: "+c.want)
		})
	}
}

func TestAFileSystemIsADirectoryThatNobodyLeaves(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
	require.NoError(t, os.Symlink("/etc", filepath.Join(root, "out")))
	opts := Options{Resolve: resolve, FileSystems: map[string]string{"fs-00000000": root}}
	for _, c := range []struct {
		id, path string
		kind     types.FileSystemType
		want     string // below root
		err      string
	}{
		{"fs-00000000", "/", types.FileSystemTypeEfs, ".", ""},
		{"fs-00000000", "/a/b", types.FileSystemTypeEfs, "a/b", ""},
		{"fs-00000000", "/mount", types.FileSystemTypeFsxlustre, ".", ""},
		{"fs-00000000", "/mount/a/", types.FileSystemTypeFsxlustre, "a", ""},
		{"fs-00000000", "/", types.FileSystemTypeFsxlustre, "", `want the mount name first`},
		{"fs-00000001", "/", types.FileSystemTypeEfs, "", "file system fs-00000001 is not known here (known: fs-00000000)"},
		{"fs-00000000", "a", types.FileSystemTypeEfs, "", "want an absolute path"},
		{"fs-00000000", "/../../etc", types.FileSystemTypeEfs, "", "leads out of the file system"},
		{"fs-00000000", "/a/../..", types.FileSystemTypeEfs, "", "leads out of the file system"},
		{"fs-00000000", "/out", types.FileSystemTypeEfs, "", "escapes"},
		{"fs-00000000", "/out/ssh", types.FileSystemTypeEfs, "", "escapes"},
		{"fs-00000000", "/absent", types.FileSystemTypeEfs, "", "no such file or directory"},
		{"fs-00000000", "/file", types.FileSystemTypeEfs, "", "not a directory"},
	} {
		t.Run(c.id+c.path+string(c.kind), func(t *testing.T) {
			in := request("job")
			fs := withFileSystem(in)
			fs.FileSystemId, fs.DirectoryPath, fs.FileSystemType = aws.String(c.id), aws.String(c.path), c.kind
			require.NoError(t, Validate(in))
			job, err := opts.Job(in)
			if c.err != "" {
				require.Equal(t, codeValidation, code(err))
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			want, err := filepath.EvalSymlinks(filepath.Join(root, c.want))
			require.NoError(t, err)
			require.Equal(t, want, job.Channels[0].Directory)
		})
	}
}

// specification is an algorithm with a hyperparameter of each type.
func specification() *types.TrainingSpecification {
	parameter := func(name string, kind types.ParameterType, r types.ParameterRange) types.HyperParameterSpecification {
		return types.HyperParameterSpecification{Name: aws.String(name), Type: kind, Range: &r}
	}
	spec := &types.TrainingSpecification{
		TrainingImage:                  aws.String("kmeans"),
		SupportedTrainingInstanceTypes: []types.TrainingInstanceType{"ml.m5.large", "ml.c5.xlarge"},
		SupportedHyperParameters: []types.HyperParameterSpecification{
			parameter("k", types.ParameterTypeInteger, types.ParameterRange{IntegerParameterRangeSpecification: &types.IntegerParameterRangeSpecification{MinValue: aws.String("1"), MaxValue: aws.String("9007199254740993")}}),
			parameter("rate", types.ParameterTypeContinuous, types.ParameterRange{ContinuousParameterRangeSpecification: &types.ContinuousParameterRangeSpecification{MinValue: aws.String("0"), MaxValue: aws.String("1e-1")}}),
			parameter("init", types.ParameterTypeCategorical, types.ParameterRange{CategoricalParameterRangeSpecification: &types.CategoricalParameterRangeSpecification{Values: []string{"random", "kmeans++"}}}),
			{Name: aws.String("note"), Type: types.ParameterTypeFreeText},
		},
		MetricDefinitions: []types.MetricDefinition{{Name: aws.String("loss"), Regex: aws.String("(.)")}},
		TrainingChannels: []types.ChannelSpecification{
			{Name: aws.String("train"), IsRequired: aws.Bool(true), SupportedContentTypes: []string{"text/csv"}, SupportedInputModes: []types.TrainingInputMode{"Pipe"}, SupportedCompressionTypes: []types.CompressionType{"None", "Gzip"}},
			{Name: aws.String("test"), SupportedContentTypes: []string{"text/csv"}, SupportedInputModes: []types.TrainingInputMode{"File"}},
		},
	}
	spec.SupportedHyperParameters[0].IsRequired = aws.Bool(true)
	spec.SupportedHyperParameters[2].DefaultValue = aws.String("random")
	return spec
}

func TestAnAlgorithmsSpecificationIsEnforced(t *testing.T) {
	e := &script{}
	s := newService(t, e)
	out, err := s.CreateAlgorithm(t.Context(), &sagemaker.CreateAlgorithmInput{AlgorithmName: aws.String("Algo"), TrainingSpecification: specification(), Tags: []types.Tag{{Key: text(1), Value: text(2)}}})
	require.NoError(t, err)
	require.Equal(t, "arn:aws:sagemaker:us-east-1:000000000000:algorithm/algo", *out.AlgorithmArn)
	_, err = s.CreateAlgorithm(t.Context(), &sagemaker.CreateAlgorithmInput{AlgorithmName: aws.String("algo"), TrainingSpecification: specification()})
	require.ErrorContains(t, err, "already exists (arn:aws:sagemaker:us-east-1:000000000000:algorithm/algo)")
	for _, c := range []struct {
		name string
		set  func(*input)
		want string
	}{
		{"nothing", func(in *input) {}, ""},
		{"the greatest", func(in *input) { in.HyperParameters["k"] = "9007199254740993" }, ""},
		{"more than the greatest", func(in *input) { in.HyperParameters["k"] = "9007199254740994" }, "Hyperparameter k: 9007199254740994 is greater than 9007199254740993."},
		{"less than the least", func(in *input) { in.HyperParameters["k"] = "0" }, "Hyperparameter k: 0 is less than 1."},
		{"no integer", func(in *input) { in.HyperParameters["k"] = "2.0" }, `Hyperparameter k: "2.0" is not an integer.`},
		{"none of what is required", func(in *input) { delete(in.HyperParameters, "k") }, "Hyperparameter k is required."},
		{"a bound", func(in *input) { in.HyperParameters["rate"] = "0.1" }, ""},
		{"beyond a bound", func(in *input) { in.HyperParameters["rate"] = "0.10001" }, "Hyperparameter rate: 0.10001 is greater than 1e-1."},
		{"no number", func(in *input) { in.HyperParameters["rate"] = "NaN" }, `Hyperparameter rate: "NaN" is not a number.`},
		{"another word", func(in *input) { in.HyperParameters["init"] = "best" }, `Hyperparameter init: "best" is not one of random, kmeans++.`},
		{"any text", func(in *input) { in.HyperParameters["note"] = "" }, ""},
		{"another hyperparameter", func(in *input) { in.HyperParameters["K"] = "1" }, "Hyperparameter K is not one of the algorithm's."},
		{"no channel", func(in *input) { in.InputDataConfig = nil }, "Channel train is required."},
		{"another channel", func(in *input) { in.InputDataConfig = append(in.InputDataConfig, channel("other")) }, "Channel other is not one of the algorithm's."},
		{"another content type", func(in *input) { in.InputDataConfig[0].ContentType = aws.String("text/x") }, "Channel train: content type text/x is not one of text/csv."},
		{"another mode", func(in *input) { in.InputDataConfig[0].InputMode = "File" }, "Channel train: input mode File is not one of [Pipe]."},
		{"compressed", func(in *input) { in.InputDataConfig[0].CompressionType = "Gzip" }, ""},
		{"compressed where that is not said", func(in *input) {
			c := channel("test")
			c.InputMode, c.CompressionType = "File", "None"
			in.InputDataConfig = append(in.InputDataConfig, c)
		}, ""},
		{"another instance type", func(in *input) { in.ResourceConfig.InstanceType = "ml.m4.xlarge" }, "Instance type ml.m4.xlarge is not one that the algorithm supports."},
		{"two hosts", func(in *input) { in.ResourceConfig.InstanceCount = aws.Int32(2) }, "The algorithm does not support distributed training, and 2 instances are asked for."},
		{"own metrics", func(in *input) { withMetric(in) }, "MetricDefinitions cannot be given: the algorithm defines its own."},
		{"another algorithm", func(in *input) { in.AlgorithmSpecification.AlgorithmName = aws.String("other") }, "Algorithm other does not exist."},
		{"by its ARN", func(in *input) { in.AlgorithmSpecification.AlgorithmName = out.AlgorithmArn }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := request("job")
			in.AlgorithmSpecification = &types.AlgorithmSpecification{AlgorithmName: aws.String("Algo"), TrainingInputMode: "Pipe"}
			in.HyperParameters = map[string]string{"k": "10"}
			c.set(in)
			_, err := s.CreateTrainingJob(t.Context(), in)
			if c.want != "" {
				require.EqualError(t, err, "api error ValidationException: "+c.want)
				return
			}
			require.NoError(t, err)
			told := ended(t, s, "job")
			require.Equal(t, "random", told.HyperParameters["init"])
			require.Nil(t, told.AlgorithmSpecification.TrainingImage)
			require.Equal(t, in.AlgorithmSpecification.AlgorithmName, told.AlgorithmSpecification.AlgorithmName)
			require.Nil(t, in.AlgorithmSpecification.TrainingImage, "the caller's request is the caller's")
			require.NotContains(t, in.HyperParameters, "init")
			_, err = s.DeleteTrainingJob(t.Context(), &sagemaker.DeleteTrainingJobInput{TrainingJobName: aws.String("job")})
			require.NoError(t, err)
		})
	}
	told, err := s.DescribeAlgorithm(t.Context(), &sagemaker.DescribeAlgorithmInput{AlgorithmName: aws.String("Algo")})
	require.NoError(t, err)
	require.Equal(t, specification(), told.TrainingSpecification)
	list, err := s.ListAlgorithms(t.Context(), &sagemaker.ListAlgorithmsInput{})
	require.NoError(t, err)
	require.Len(t, list.AlgorithmSummaryList, 1)
	_, err = s.DeleteAlgorithm(t.Context(), &sagemaker.DeleteAlgorithmInput{AlgorithmName: aws.String("Algo")})
	require.NoError(t, err)
	_, err = s.DescribeAlgorithm(t.Context(), &sagemaker.DescribeAlgorithmInput{AlgorithmName: aws.String("Algo")})
	require.EqualError(t, err, "api error ValidationException: Algorithm Algo does not exist.")
}

func TestSpecificationsThatAreRefused(t *testing.T) {
	s := newService(t, &script{})
	for want, set := range map[string]func(*types.TrainingSpecification){
		"Hyperparameter k: one that is required cannot have a default.":           func(s *types.TrainingSpecification) { s.SupportedHyperParameters[0].DefaultValue = aws.String("1") },
		"Hyperparameter k is specified twice.":                                    func(s *types.TrainingSpecification) { s.SupportedHyperParameters[1].Name = aws.String("k") },
		"Hyperparameter init: the default: \"x\" is not one of random, kmeans++.": func(s *types.TrainingSpecification) { s.SupportedHyperParameters[2].DefaultValue = aws.String("x") },
		"Hyperparameter k: the range is not one for type Continuous.": func(s *types.TrainingSpecification) {
			s.SupportedHyperParameters[0].Type = types.ParameterTypeContinuous
		},
		"Hyperparameter note: want exactly one kind of range.": func(s *types.TrainingSpecification) { s.SupportedHyperParameters[3].Range = &types.ParameterRange{} },
		"Hyperparameter k: MinValue \"a\" is not an integer.": func(s *types.TrainingSpecification) {
			s.SupportedHyperParameters[0].Range.IntegerParameterRangeSpecification.MinValue = aws.String("a")
		},
		"Hyperparameter rate: MinValue 1 is greater than MaxValue 1e-1.": func(s *types.TrainingSpecification) {
			s.SupportedHyperParameters[1].Range.ContinuousParameterRangeSpecification.MinValue = aws.String("1")
		},
		"Channel train is specified twice.": func(s *types.TrainingSpecification) { s.TrainingChannels[1].Name = aws.String("train") },
		"1 validation error detected: Value '[ml.x]' at 'trainingSpecification.supportedTrainingInstanceTypes' failed to satisfy constraint: Member must satisfy constraint: [": func(s *types.TrainingSpecification) {
			s.SupportedTrainingInstanceTypes = []types.TrainingInstanceType{"ml.x"}
		},
	} {
		spec := specification()
		set(spec)
		_, err := s.CreateAlgorithm(t.Context(), &sagemaker.CreateAlgorithmInput{AlgorithmName: aws.String("a"), TrainingSpecification: spec})
		require.ErrorContains(t, err, "ValidationException: "+want)
	}
}
