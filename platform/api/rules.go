package api

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/platform/s3stream"
)

// Validate returns what CreateTrainingJob would refuse a request for, as far as the request alone
// shows it: a ValidationException with every member that breaks a limit or, where none does, with every
// rule between members that is broken.
func Validate(in *sagemaker.CreateTrainingJobInput) error {
	if err := checkLimits(in); err != nil {
		return err
	}
	var r rules
	r.unsupported(in)
	r.algorithm(in.AlgorithmSpecification)
	r.resources(in.ResourceConfig)
	r.stopping(in)
	r.uri("outputDataConfig.s3OutputPath", aws.ToString(in.OutputDataConfig.S3OutputPath))
	if in.CheckpointConfig != nil {
		r.uri("checkpointConfig.s3Uri", aws.ToString(in.CheckpointConfig.S3Uri))
		if path := aws.ToString(in.CheckpointConfig.LocalPath); path != "" && !strings.HasPrefix(path, "/") {
			r.bad("checkpointConfig.localPath %q is not an absolute path.", path)
		}
	}
	r.channels(in)
	r.tags(in.Tags)
	return r.err()
}

// rules collects what is wrong between members.
type rules struct{ problems []string }

func (r *rules) bad(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *rules) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return invalid("%s", strings.Join(r.problems, " "))
}

// unsupported refuses kinds of jobs that are no containers.
func (r *rules) unsupported(in *sagemaker.CreateTrainingJobInput) {
	if in.ServerlessJobConfig != nil {
		r.bad("serverlessJobConfig: serverless training jobs are not supported here.")
	}
	if in.ModelPackageConfig != nil {
		r.bad("modelPackageConfig: model packages are not supported here.")
	}
}

func (r *rules) algorithm(a *types.AlgorithmSpecification) {
	if (aws.ToString(a.TrainingImage) == "") == (aws.ToString(a.AlgorithmName) == "") {
		r.bad("Exactly one of TrainingImage and AlgorithmName must be given in AlgorithmSpecification.")
	}
	r.metrics(a.MetricDefinitions)
}

func (r *rules) metrics(definitions []types.MetricDefinition) {
	seen := map[string]bool{}
	for _, m := range definitions {
		name := aws.ToString(m.Name)
		if seen[name] {
			r.bad("Metric %s is defined twice.", name)
		}
		seen[name] = true
		regex, err := regexp.Compile(aws.ToString(m.Regex))
		switch {
		case err != nil:
			r.bad("Metric %s: %v (the expressions are RE2's here, without look-around and back-references).", name, err)
		case regex.NumSubexp() == 0:
			r.bad("Metric %s: the regular expression has no group for the value.", name)
		}
	}
}

// maxHosts is how many hosts a job may ask for here: they all run on one machine.
const maxHosts = 100

func (r *rules) resources(c *types.ResourceConfig) {
	count := aws.ToInt32(c.InstanceCount)
	if len(c.InstanceGroups) > 0 {
		if c.InstanceType != "" || c.InstanceCount != nil {
			r.bad("InstanceGroups in ResourceConfig cannot be given together with InstanceType and InstanceCount.")
		}
		count = 0
		seen := map[string]bool{}
		for _, g := range c.InstanceGroups {
			name := aws.ToString(g.InstanceGroupName)
			if seen[name] {
				r.bad("Instance group %s is given twice.", name)
			}
			seen[name] = true
			if aws.ToInt32(g.InstanceCount) < 1 {
				r.bad("Instance group %s needs at least one instance.", name)
			}
			count += min(aws.ToInt32(g.InstanceCount), 1<<20)
		}
	} else {
		if c.InstanceType == "" {
			r.bad("InstanceType in ResourceConfig must be given where there are no InstanceGroups.")
		}
		if count < 1 {
			r.bad("InstanceCount in ResourceConfig must be at least 1.")
		}
	}
	if count > maxHosts {
		r.bad("%d instances are asked for; this platform runs at most %d for a job.", count, maxHosts)
	}
	if len(c.InstancePreferences) > 0 {
		r.bad("InstancePreferences are not supported here.")
	}
}

func (r *rules) stopping(in *sagemaker.CreateTrainingJobInput) {
	s := in.StoppingCondition
	spot := aws.ToBool(in.EnableManagedSpotTraining)
	switch {
	case spot && s.MaxWaitTimeInSeconds == nil:
		r.bad("MaxWaitTimeInSeconds must be given in StoppingCondition when EnableManagedSpotTraining is true.")
	case !spot && s.MaxWaitTimeInSeconds != nil:
		r.bad("MaxWaitTimeInSeconds in StoppingCondition is only for EnableManagedSpotTraining.")
	case spot && *s.MaxWaitTimeInSeconds < maxRuntime(s):
		r.bad("MaxWaitTimeInSeconds in StoppingCondition must be at least MaxRuntimeInSeconds (%d).", maxRuntime(s))
	}
	if spot && aws.ToInt32(in.ResourceConfig.KeepAlivePeriodInSeconds) > 0 {
		r.bad("KeepAlivePeriodInSeconds in ResourceConfig cannot be given together with EnableManagedSpotTraining.")
	}
}

// maxRuntime is how long a job may run, a day unless it says so.
func maxRuntime(s *types.StoppingCondition) int32 {
	if s.MaxRuntimeInSeconds == nil {
		return 24 * 60 * 60
	}
	return *s.MaxRuntimeInSeconds
}

func (r *rules) uri(path, uri string) {
	if _, _, err := s3stream.ParseURI(uri); err != nil {
		r.bad("%s %q: %v.", path, uri, err)
	}
}

func (r *rules) tags(tags []types.Tag) {
	seen := map[string]bool{}
	for _, tag := range tags {
		key := aws.ToString(tag.Key)
		if seen[key] {
			r.bad("Tag key %s is given twice.", key)
		}
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			r.bad("Tag key %s: keys that begin with aws: are reserved.", key)
		}
		seen[key] = true
	}
}

// mode is the input mode of a channel: its own, or else the algorithm's; a file system's is File.
func mode(a *types.AlgorithmSpecification, c types.Channel) types.TrainingInputMode {
	if c.InputMode != "" {
		return c.InputMode
	}
	return a.TrainingInputMode
}

func (r *rules) channels(in *sagemaker.CreateTrainingJobInput) {
	modes := map[string]types.TrainingInputMode{}
	for _, c := range in.InputDataConfig {
		name := aws.ToString(c.ChannelName)
		if _, twice := modes[name]; twice {
			r.bad("Channel %s is given twice.", name)
		}
		if strings.Trim(name, ".") == "" {
			r.bad("Channel name %q cannot be that of a directory.", name)
		}
		modes[name] = mode(in.AlgorithmSpecification, c)
		r.channel(in, c, modes[name])
	}
	r.collisions(modes)
}

func (r *rules) channel(in *sagemaker.CreateTrainingJobInput, c types.Channel, mode types.TrainingInputMode) {
	bad := func(format string, args ...any) {
		r.bad("Channel "+aws.ToString(c.ChannelName)+": "+format, args...)
	}
	s3, fs, dataset := c.DataSource.S3DataSource, c.DataSource.FileSystemDataSource, c.DataSource.DatasetSource
	if (s3 != nil && fs != nil) || (s3 == nil && fs == nil && dataset == nil) || (dataset != nil && (s3 != nil || fs != nil)) {
		bad("exactly one of S3DataSource, FileSystemDataSource and DatasetSource must be given in DataSource.")
		return
	}
	if mode != types.TrainingInputModePipe {
		if c.CompressionType == types.CompressionTypeGzip {
			bad("CompressionType Gzip is only for input mode Pipe, not %s.", mode)
		}
		if c.RecordWrapperType == types.RecordWrapperRecordio {
			bad("RecordWrapperType RecordIO is only for input mode Pipe, not %s.", mode)
		}
	}
	switch {
	case dataset != nil:
		bad("DatasetSource is not supported here.")
	case fs != nil && mode != types.TrainingInputModeFile:
		bad("FileSystemDataSource is only for input mode File, not %s.", mode)
	case s3 != nil:
		r.s3(in, s3, mode, bad)
	}
}

func (r *rules) s3(in *sagemaker.CreateTrainingJobInput, s *types.S3DataSource, mode types.TrainingInputMode, bad func(string, ...any)) {
	if _, _, err := s3stream.ParseURI(aws.ToString(s.S3Uri)); err != nil {
		bad("S3Uri %q: %v.", aws.ToString(s.S3Uri), err)
	}
	augmented := s.S3DataType == types.S3DataTypeAugmentedManifestFile
	switch {
	case s.S3DataType == types.S3DataTypeConverse:
		bad("S3DataType Converse is not supported here.")
	case mode == types.TrainingInputModeFastfile && s.S3DataType != types.S3DataTypeS3Prefix:
		bad("input mode FastFile is only for S3DataType S3Prefix, not %s.", s.S3DataType)
	case augmented && mode != types.TrainingInputModePipe:
		bad("S3DataType AugmentedManifestFile is only for input mode Pipe, not %s.", mode)
	}
	if augmented != (len(s.AttributeNames) > 0) {
		bad("AttributeNames must be given with S3DataType AugmentedManifestFile, and with no other.")
	}
	if s.HubAccessConfig != nil {
		bad("HubAccessConfig is not supported here.")
	}
	for _, name := range s.InstanceGroupNames {
		if !slices.ContainsFunc(in.ResourceConfig.InstanceGroups, func(g types.InstanceGroup) bool { return aws.ToString(g.InstanceGroupName) == name }) {
			bad("instance group %s is not one of ResourceConfig's.", name)
		}
	}
}

// collisions refuses channels that would have the same path in the data directory (container contract, 1.4).
func (r *rules) collisions(modes map[string]types.TrainingInputMode) {
	for _, name := range sortedKeys(modes) {
		if other, epoch, ok := cutLast(name, "_"); ok && modes[other] == types.TrainingInputModePipe && decimal(epoch) {
			r.bad("Channels %s and %s: the data of the first would stand where the pipe of epoch %s of the second does.", name, other, epoch)
		}
		other, ok := strings.CutSuffix(name, "-manifest")
		if m, there := modes[other]; ok && there && m != types.TrainingInputModePipe {
			r.bad("Channels %s and %s: the data of the first would stand where the list of the second's objects does.", name, other)
		}
		if name == "checkpoints-manifest" {
			r.bad("Channel %s has the name of the list of checkpoints.", name)
		}
	}
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// decimal reports whether s is how the number of an epoch is written.
func decimal(s string) bool {
	n, err := strconv.ParseUint(s, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == s
}
