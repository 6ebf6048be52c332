package api

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform"
)

// Job is what the engine is to run for a request that Validate has found in order and that names a TrainingImage.
// Its errors are ValidationExceptions.
func (o Options) Job(in *sagemaker.CreateTrainingJobInput) (platform.Job, error) {
	algorithm, err := o.resolve(aws.ToString(in.AlgorithmSpecification.TrainingImage))
	if err != nil {
		return platform.Job{}, err
	}
	environment := maps.Clone(algorithm.Environment)
	if environment == nil {
		environment = map[string]string{}
	}
	maps.Copy(environment, in.Environment)
	a := in.AlgorithmSpecification
	job := platform.Job{
		Name:            aws.ToString(in.TrainingJobName),
		ARN:             o.arn("training-job", aws.ToString(in.TrainingJobName)),
		HyperParameters: hyperparams.Map(in.HyperParameters),
		Environment:     environment,

		OutputPath:        aws.ToString(in.OutputDataConfig.S3OutputPath),
		OutputCompression: string(in.OutputDataConfig.CompressionType),

		Command:    algorithm.Command,
		Image:      algorithm.Image,
		Entrypoint: a.ContainerEntrypoint,
		Arguments:  a.ContainerArguments,

		InstanceType:  string(in.ResourceConfig.InstanceType),
		InstanceCount: int(aws.ToInt32(in.ResourceConfig.InstanceCount)),

		MaxRuntime: time.Duration(maxRuntime(in.StoppingCondition)) * time.Second,
		MaxWait:    time.Duration(aws.ToInt32(in.StoppingCondition.MaxWaitTimeInSeconds)) * time.Second,
		Spot:       aws.ToBool(in.EnableManagedSpotTraining),

		NetworkIsolation: aws.ToBool(in.EnableNetworkIsolation),

		S3:     o.S3,
		Grace:  o.Grace,
		Logger: o.Logger,
	}
	if in.RetryStrategy != nil {
		job.Retries = int(aws.ToInt32(in.RetryStrategy.MaximumRetryAttempts))
	}
	if c := in.CheckpointConfig; c != nil {
		job.Checkpoints = platform.Checkpoints{S3URI: aws.ToString(c.S3Uri), LocalPath: aws.ToString(c.LocalPath)}
	}
	for _, g := range in.ResourceConfig.InstanceGroups {
		job.InstanceGroups = append(job.InstanceGroups, platform.InstanceGroup{
			Name: aws.ToString(g.InstanceGroupName), InstanceType: string(g.InstanceType), InstanceCount: int(aws.ToInt32(g.InstanceCount)),
		})
	}
	for _, m := range a.MetricDefinitions {
		job.MetricDefinitions = append(job.MetricDefinitions, platform.MetricDefinition{Name: aws.ToString(m.Name), Regex: aws.ToString(m.Regex)})
	}
	for _, m := range algorithm.Metrics { // a request that is not of CreateTrainingJob may have more
		if !slices.ContainsFunc(job.MetricDefinitions, func(d platform.MetricDefinition) bool { return d.Name == m.Name }) {
			job.MetricDefinitions = append(job.MetricDefinitions, m)
		}
	}
	for _, c := range in.InputDataConfig {
		channel, err := o.channel(a, c)
		if err != nil {
			return platform.Job{}, invalid("Channel %s: %v", aws.ToString(c.ChannelName), err)
		}
		job.Channels = append(job.Channels, channel)
	}
	return job, nil
}

func (o Options) resolve(image string) (Algorithm, error) {
	if o.Resolve == nil {
		return Algorithm{}, invalid("No algorithm is known for training image %s.", image)
	}
	algorithm, err := o.Resolve(image)
	if err != nil {
		return Algorithm{}, invalid("Training image %s: %v", image, err)
	}
	if (len(algorithm.Command) == 0) == (algorithm.Image == "") {
		return Algorithm{}, invalid("Training image %s: want one of a command and an image for it", image)
	}
	return algorithm, nil
}

func (o Options) channel(a *types.AlgorithmSpecification, c types.Channel) (platform.Channel, error) {
	channel := platform.Channel{
		Name:              aws.ToString(c.ChannelName),
		InputMode:         string(mode(a, c)),
		ContentType:       aws.ToString(c.ContentType),
		CompressionType:   string(c.CompressionType),
		RecordWrapperType: string(c.RecordWrapperType),
	}
	if c.ShuffleConfig != nil {
		channel.ShuffleSeed = c.ShuffleConfig.Seed
	}
	if s := c.DataSource.S3DataSource; s != nil {
		channel.S3URI = aws.ToString(s.S3Uri)
		channel.S3DataType = string(s.S3DataType)
		channel.S3DataDistributionType = string(s.S3DataDistributionType)
		channel.AttributeNames = s.AttributeNames
		channel.InstanceGroupNames = s.InstanceGroupNames
		return channel, nil
	}
	directory, err := o.directory(c.DataSource.FileSystemDataSource)
	channel.Directory = directory
	channel.FileSystemAccessMode = string(c.DataSource.FileSystemDataSource.FileSystemAccessMode)
	return channel, err
}

// directory finds the directory of this machine that a file system's is, never one outside of the
// file system's root, not even through a symbolic link.
func (o Options) directory(f *types.FileSystemDataSource) (string, error) {
	id, path := aws.ToString(f.FileSystemId), aws.ToString(f.DirectoryPath)
	root, ok := o.FileSystems[id]
	if !ok {
		return "", fmt.Errorf("file system %s is not known here (known: %s)", id, cmp.Or(strings.Join(sortedKeys(o.FileSystems), ", "), "none"))
	}
	if !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("DirectoryPath %q: want an absolute path", path)
	}
	if slices.Contains(strings.Split(path, "/"), "..") {
		return "", fmt.Errorf("DirectoryPath %q: leads out of the file system", path)
	}
	within := strings.TrimPrefix(path, "/")
	if f.FileSystemType == types.FileSystemTypeFsxlustre {
		mount, rest, _ := strings.Cut(within, "/")
		if mount == "" {
			return "", fmt.Errorf("DirectoryPath %q: want the mount name first, as in /<mount name>/data", path)
		}
		within = rest
	}
	inside, err := os.OpenRoot(root)
	if err != nil {
		return "", fmt.Errorf("file system %s: %w", id, err)
	}
	defer inside.Close()
	info, err := inside.Stat(filepath.Join(".", within))
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return "", fmt.Errorf("DirectoryPath %q of file system %s: %w", path, id, err)
	}
	return filepath.EvalSymlinks(filepath.Join(root, within))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// arn names a resource. The service writes the last part in lower case (container contract, 1.5).
func (o Options) arn(kind, name string) string {
	return fmt.Sprintf("arn:aws:sagemaker:%s:%s:%s/%s", o.region(), o.account(), kind, strings.ToLower(name))
}

func (o Options) region() string  { return cmp.Or(o.Region, "us-east-1") }
func (o Options) account() string { return cmp.Or(o.Account, "000000000000") }
