package page

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/platform"
)

// inputsView is a job's channels, and how far each host has read them while the job runs.
type inputsView struct {
	Channels             []channelView
	Running              bool
	Elapsed              time.Duration
	Downloaded, Download int64
	Reads                []readView
}

// A channelView is a channel as the request describes it.
type channelView struct {
	Name, Source, Mode, ContentType string
	Traits                          []string // what is unusual about it
}

// A readView is how far a host has read a channel.
type readView struct {
	Host, Name, Problem        string
	Epoch                      int // counted from 1; 0 before the first
	Bytes, EpochBytes          int64
	Done                       int64  // bytes of this epoch; -1 where that is not known
	Average                    string // bytes a second since the first one
	FirstByte                  time.Duration
	Unopened, Starved, Blocked time.Duration
	Opens, Abandoned           int
	Elapsed                    time.Duration
}

func (p *pages) inputs(job *sagemaker.DescribeTrainingJobOutput) inputsView {
	var view inputsView
	for _, c := range job.InputDataConfig {
		view.Channels = append(view.Channels, channelOf(c, job.AlgorithmSpecification))
	}
	progress, ok := p.jobs.Progress(aws.ToString(job.TrainingJobName))
	if !ok {
		return view
	}
	view.Running, view.Elapsed = true, progress.Elapsed
	view.Downloaded, view.Download = progress.Downloaded, progress.ToDownload
	for _, c := range progress.Channels {
		view.Reads = append(view.Reads, readOf(c, progress.Elapsed))
	}
	return view
}

func channelOf(c types.Channel, spec *types.AlgorithmSpecification) channelView {
	view := channelView{Name: aws.ToString(c.ChannelName), Mode: string(c.InputMode), ContentType: aws.ToString(c.ContentType)}
	if view.Mode == "" && spec != nil {
		view.Mode = string(spec.TrainingInputMode)
	}
	trait := func(unusual bool, text string) {
		if unusual {
			view.Traits = append(view.Traits, text)
		}
	}
	if d := c.DataSource; d != nil && d.S3DataSource != nil {
		view.Source = aws.ToString(d.S3DataSource.S3Uri)
		trait(d.S3DataSource.S3DataType != types.S3DataTypeS3Prefix, string(d.S3DataSource.S3DataType))
		trait(d.S3DataSource.S3DataDistributionType == types.S3DataDistributionShardedByS3Key, "sharded")
	} else if d != nil && d.FileSystemDataSource != nil {
		view.Source = aws.ToString(d.FileSystemDataSource.FileSystemId) + " " + aws.ToString(d.FileSystemDataSource.DirectoryPath)
	} else if d != nil && d.DatasetSource != nil {
		view.Source = aws.ToString(d.DatasetSource.DatasetArn)
	}
	trait(c.CompressionType == types.CompressionTypeGzip, "gzip")
	trait(c.RecordWrapperType == types.RecordWrapperRecordio, "RecordIO")
	trait(c.ShuffleConfig != nil, "shuffled")
	return view
}

func readOf(c platform.ChannelProgress, elapsed time.Duration) readView {
	view := readView{
		Host: c.Host, Name: c.Name, Problem: c.Problem, Epoch: c.Epoch + 1, Bytes: c.Bytes, EpochBytes: c.EpochBytes, Done: -1,
		FirstByte: c.FirstByte, Unopened: c.Unopened, Starved: c.Starved, Blocked: c.Blocked,
		Opens: c.Opens, Abandoned: c.Abandoned, Elapsed: elapsed,
	}
	if c.FirstByte > 0 {
		view.Average = rate(c.Bytes, elapsed-c.FirstByte)
	}
	// Bytes are of all epochs. Those of this one follow where the epochs before were read whole.
	if c.EpochBytes > 0 && c.Abandoned == 0 && c.Epoch >= 0 {
		view.Done = min(max(0, c.Bytes-int64(c.Epoch)*c.EpochBytes), c.EpochBytes)
	}
	return view
}

// Percent is how much of the epoch has been read.
func (v readView) Percent() int64 {
	if v.EpochBytes <= 0 || v.Done < 0 {
		return 0
	}
	return int64(100 * (float64(v.Done) / float64(v.EpochBytes)))
}
