package platform

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/platform/s3stream"
)

// A Job describes a training job in the terms of CreateTrainingJob, and how to run it here.
type Job struct {
	Name              string // TrainingJobName
	HyperParameters   hyperparams.Map
	Channels          []Channel // InputDataConfig; at most 20
	OutputPath        string    // S3OutputPath, s3://bucket/prefix
	Environment       map[string]string
	MetricDefinitions []MetricDefinition

	// The algorithm: a program, started with the further argument "train", or a function in this
	// process, which cannot be killed.
	Command []string
	Trainer algospec.Trainer

	S3        *s3.Client       // where channels and output are
	Stream    s3stream.Options // how channels are fetched; of its ReadAhead each gets an equal part, and what a Channel says counts
	Downloads string           // where File-mode channels gather, on Dir's file system, so that a job of the same name goes on after a crash or a stop; "" means the tree, which is removed
	Dir       string           // where the host's tree is made, in a directory of its own; "" means the system's for temporary files
	Grace     time.Duration    // between SIGTERM and SIGKILL; 0 means 120 s
	Log       io.Writer        // gets the algorithm's lines as they come; nil discards them
	Progress  func(Progress)   // called a few times a second, from one goroutine, while the algorithm runs

	LookAhead LookAhead     // when the pipe of the next epoch appears; the zero value is Eager
	Stall     time.Duration // how long the reader of an epoch out of turn waits before that is reported; 0 means 30 s
	Logger    *slog.Logger  // told what the platform notices about the reading of pipes, and of requests that fail where Stream has no Logger; nil discards
}

// A MetricDefinition scrapes a metric from the algorithm's log: the first group of Regex (RE2), where
// it is a number.
type MetricDefinition struct {
	Name, Regex string
}

// Progress is how far a running job has come.
type Progress struct {
	Elapsed                time.Duration // since Run was called
	Downloaded, ToDownload int64         // bytes of File-mode channels, which come before the algorithm starts
	Channels               []ChannelProgress
}

// ChannelProgress is how much of a channel the algorithm has taken.
type ChannelProgress struct {
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
	ModelArtifacts string             // S3 URI of model.tar.gz; "" when the model directory was empty
	Output         string             // S3 URI of output.tar.gz; "" when output/data was empty
	Metrics        map[string]float64 // FinalMetricDataList: the last value of each
	Channels       []ChannelProgress  // as they were at the end
	ExitCode       int
	MaxRSS         int64         // the process's peak memory in bytes; 0 for a Trainer
	TrainingTime   time.Duration // from the algorithm's start to its end
}

// jobName is what the API allows (CreateTrainingJob, TrainingJobName).
var jobName = regexp.MustCompile(`^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$`)

const maxChannels = 20

// validate returns everything that is wrong with the description.
func (j *Job) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !jobName.MatchString(j.Name) {
		bad("job name %.70q: want 1 to 63 letters, digits and inner hyphens", j.Name)
	}
	if (len(j.Command) == 0) == (j.Trainer == nil) {
		bad("want one of Command and Trainer")
	}
	if len(j.Command) > 0 {
		if _, err := exec.LookPath(j.Command[0]); err != nil {
			bad("%w", err)
		}
	}
	if j.S3 == nil {
		bad("no S3 client")
	}
	if _, _, err := s3stream.ParseURI(j.OutputPath); err != nil {
		bad("output path %q: %w", j.OutputPath, err)
	}
	if len(j.Channels) > maxChannels {
		bad("%d channels; at most %d", len(j.Channels), maxChannels)
	}
	seen := map[string]bool{}
	for _, c := range j.Channels {
		if seen[c.Name] {
			bad("channel %s: twice", c.Name)
		}
		seen[c.Name] = true
		c.validate(func(format string, args ...any) {
			bad("channel %.70s: %w", c.Name, fmt.Errorf(format, args...))
		})
	}
	j.validateTree(bad)
	if _, err := compileMetrics(j.MetricDefinitions); err != nil {
		bad("%w", err)
	}
	if len(problems) > 0 {
		return fmt.Errorf("platform: %w", errors.Join(problems...))
	}
	return nil
}

// validateTree reports directories of channels that stand where another channel's pipe of some epoch
// is to appear.
func (j *Job) validateTree(bad func(format string, args ...any)) {
	pipes := map[string]bool{}
	for _, c := range j.Channels {
		pipes[c.Name] = c.withDefaults().InputMode == pipeMode
	}
	for _, c := range j.Channels {
		i := strings.LastIndexByte(c.Name, '_')
		if pipes[c.Name] || i < 0 || !pipes[c.Name[:i]] {
			continue
		}
		if n, err := strconv.Atoi(c.Name[i+1:]); err == nil && strconv.Itoa(n) == c.Name[i+1:] {
			bad("channel %s: its directory has the name of a pipe of channel %s", c.Name, c.Name[:i])
		}
	}
}
