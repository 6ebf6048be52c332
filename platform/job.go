package platform

import (
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform/s3stream"
)

// A Job describes a training job in the terms of CreateTrainingJob, and how to run it here.
type Job struct {
	Name              string // TrainingJobName
	ARN               string // TrainingJobArn; "" means one of us-east-1 and account 000000000000. Its region is the job's
	HyperParameters   hyperparams.Map
	Channels          []Channel // InputDataConfig; at most 20
	OutputPath        string    // S3OutputPath, s3://bucket/prefix
	OutputCompression string    // OutputDataConfig's CompressionType: GZIP (or "") or NONE
	Environment       map[string]string
	MetricDefinitions []MetricDefinition

	// The hosts, each of which runs the same algorithm. Groups stand instead of the other two.
	InstanceCount  int    // 0 means 1
	InstanceType   string // told to the algorithm; "" means "local"
	InstanceGroups []InstanceGroup

	// The algorithm is one of: a program; an image, run by podman or docker; a function in this
	// process, which cannot be killed. Program and image are started with the further argument "train",
	// unless Entrypoint or Arguments say otherwise (container contract, 1.1).
	Command    []string
	Image      string
	Trainer    algospec.Trainer
	Entrypoint []string // ContainerEntrypoint: instead of Command or the image's entry point
	Arguments  []string // ContainerArguments: instead of "train"

	MaxRuntime  time.Duration // MaxRuntimeInSeconds: the job is stopped after so much training, over all attempts; 0 means no limit
	MaxWait     time.Duration // MaxWaitTimeInSeconds: a spot job is stopped after so much time in all; 0 means no limit
	Spot        bool          // EnableManagedSpotTraining: an interrupted job starts again
	Retries     int           // MaximumRetryAttempts: how often a job starts again that failed with an InternalServerError
	Checkpoints Checkpoints   // CheckpointConfig

	S3        *s3.Client       // where channels and output are
	Stream    s3stream.Options // how channels are fetched; of its ReadAhead each gets an equal part, and what a Channel says counts
	Downloads string           // where File-mode channels gather, on Dir's file system, so that a job of the same name goes on after a crash or a stop; "" means the tree, which is removed
	Dir       string           // where the hosts' trees are made, in a directory of the job's own; "" means the system's for temporary files
	Grace     time.Duration    // between SIGTERM and SIGKILL; 0 means 120 s

	Log        io.Writer        // gets the algorithm's lines as they come, those of several hosts after "algo-1 | "; nil discards them
	Line       func(Line)       // called with each line of the log, from one goroutine at a time
	Metric     func(Metric)     // called with each value that MetricDefinitions find, from one goroutine at a time
	Transition func(Transition) // called when the secondary status changes, and again when its message does, from one goroutine at a time
	Progress   func(Progress)   // called a few times a second, from one goroutine, while the job runs

	LookAhead LookAhead     // when the pipe of the next epoch appears; the zero value is Eager
	Stall     time.Duration // how long the reader of an epoch out of turn waits before that is reported; 0 means 30 s
	Logger    *slog.Logger  // told what the platform notices about the reading of pipes, and of requests that fail where Stream has no Logger; nil discards

	NetworkIsolation    bool // EnableNetworkIsolation: containers reach each other and nothing else; processes are not kept from anything
	OutputFromFirstHost bool // output/data is taken from the first host only, as real jobs were seen to do, and not from all, as documented
	Unannounced         bool // spot interruptions come as SIGKILL, without SIGTERM before
}

// An InstanceGroup is the hosts of one type in a heterogeneous cluster.
type InstanceGroup struct {
	Name          string // InstanceGroupName
	InstanceType  string
	InstanceCount int
}

// Checkpoints are copied from S3 to each host before the algorithm starts, and from there to S3
// while it runs (container contract, 1.8).
type Checkpoints struct {
	S3URI     string        // s3://bucket/prefix; "" means no checkpoints
	LocalPath string        // "" means /opt/ml/checkpoints; an absolute path, below the host's tree where hosts are no containers
	Interval  time.Duration // between looks for changed files; 0 means 1 s
}

// A MetricDefinition scrapes a metric from the algorithm's log: the first group of Regex (RE2), where
// it is a number.
type MetricDefinition struct {
	Name, Regex string
}

// Progress is how far a running job has come.
type Progress struct {
	Elapsed                time.Duration     // since Run was called
	Downloaded, ToDownload int64             // bytes of File-mode channels, which come before the algorithm starts
	Channels               []ChannelProgress // of each host in turn; none before the first attempt has its directories
}

// ChannelProgress is how much of a channel the algorithm has taken.
type ChannelProgress struct {
	Host       string
	Name       string
	Epoch      int           // the epoch being read; -1 before the first
	Bytes      int64         // delivered, over all epochs, without what a reader that left was seen to leave in the pipe
	EpochBytes int64         // of one whole epoch
	FirstByte  time.Duration // from the call of Run to the first bytes delivered; 0 before
	Opens      int           // of the channel's pipes by readers, as far as they were seen
	Abandoned  int           // epochs that their reader closed before their end was written
	Problem    string        // why an epoch that was opened gets no data; "" when that is in order

	Unopened time.Duration // spent waiting for the algorithm to open an epoch,
	Starved  time.Duration // for data to write,
	Blocked  time.Duration // and for the algorithm to take them
}

// A Result is what a job left behind.
type Result struct {
	SecondaryStatus SecondaryStatus    // how it ended: Completed, Failed, Stopped, MaxRuntimeExceeded or MaxWaitTimeExceeded
	Transitions     []Transition       // in the order of time
	ModelArtifacts  string             // S3 URI of model.tar.gz, or of the prefix of its files; "" when the model directories were empty
	Output          string             // S3 URI of output.tar.gz, likewise; "" when output/data was empty
	Metrics         map[string]float64 // FinalMetricDataList: the last value of each
	Pictures        []algospec.Picture // that output/data describes, in algospec.PicturesFile, for platform/picture to draw
	PicturesErr     error              // why they cannot be drawn
	Channels        []ChannelProgress  // as they were at the end
	Hosts           []HostResult       // of the last attempt, in their order
	Attempts        int                // how often the algorithm was started
	ExitCode        int                // of the host that failed the job, or else the first that is not 0
	MaxRSS          int64              // the largest process's peak memory in bytes; 0 for a Trainer or an image
	TrainingTime    time.Duration      // from the algorithm's start to its end, over all attempts
	BillableTime    time.Duration      // from the first download or start to the last upload, less what passed between attempts
}

// A HostResult is how the algorithm ended on a host.
type HostResult struct {
	Host     string
	ExitCode int
	MaxRSS   int64 // bytes
}
