package platform

import (
	"context"
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/algospec/algospec/platform/checkpoints"
)

// A host is one of an attempt's.
type host struct {
	member
	run   *attempt
	tree  hostTree
	log   *hostLog
	pipes []*pipe
	views []*view // of channels that are directories

	mirror *checkpoints.Mirror // of the checkpoint directory, nil without one

	left <-chan hostEnd // tells when a trainer ends that was left behind; else nil
}

// A hostEnd is how the algorithm on a host ended.
type hostEnd struct {
	host    string
	at      time.Time
	told    error  // why it was to end already at that time, nil where it ended by itself
	code    int    // its exit status, 128+n when signal n killed it
	killed  bool   // by a signal that did not come from the platform
	maxRSS  int64  // bytes
	failure string // why it failed: its failure file, or what the platform knows
	err     error  // why it could not be run or waited for
}

// endNow returns an end at this time: it is called as soon as the end is known, before anything is cleaned up.
func (h *host) endNow(ctx context.Context) hostEnd {
	return hostEnd{host: h.name, at: time.Now(), told: context.Cause(ctx)}
}

// unstarted is the end of an algorithm that could not be run.
func (h *host) unstarted(ctx context.Context, err error) hostEnd {
	end := h.endNow(ctx)
	end.err = err
	return end
}

func (e hostEnd) bad() bool     { return e.code != 0 || e.err != nil }
func (e hostEnd) wasTold() bool { return e.told != nil }

// train runs the algorithm. When ctx is done it is told to stop, and killed after the grace.
func (h *host) train(ctx context.Context) hostEnd {
	var end hostEnd
	switch {
	case h.run.job.Trainer != nil:
		end = h.runTrainer(ctx)
	case h.run.job.Image != "":
		end = h.runContainer(ctx)
	default:
		end = h.runCommand(ctx)
	}
	if text := h.tree.failureText(); text != "" {
		end.failure = text
	}
	return end
}

// graceAfter is how long an algorithm that is to stop for this reason has before it is killed.
func (h *host) graceAfter(reason error) time.Duration {
	if reason == errInterrupted && h.run.job.Unannounced {
		return 0
	}
	return h.run.job.grace()
}

func (j *Job) grace() time.Duration {
	if j.Grace == 0 {
		return 120 * time.Second
	}
	return j.Grace
}

// argv is what an algorithm is started with (container contract, 1.1). An image's own entry point is
// left out.
func (j *Job) argv() []string {
	argv, arguments := j.Command, j.Arguments
	if len(j.Entrypoint) > 0 {
		argv = j.Entrypoint
	} else if arguments == nil {
		arguments = []string{"train"}
	}
	return append(argv[:len(argv):len(argv)], arguments...)
}

// arn is the job's TrainingJobArn.
func (j *Job) arn() string {
	if j.ARN != "" {
		return j.ARN
	}
	return "arn:aws:sagemaker:us-east-1:000000000000:training-job/" + strings.ToLower(j.Name)
}

// region is the job's, from its ARN.
func (j *Job) region() string {
	if parts := strings.Split(j.arn(), ":"); len(parts) > 3 && parts[3] != "" {
		return parts[3]
	}
	return "us-east-1"
}

// environment is what the algorithm sees (container contract, 1.5), and what it takes to find its
// tree and its peers where it is no container.
func (h *host) environment() map[string]string {
	job := &h.run.job
	env := map[string]string{
		"TRAINING_JOB_NAME":           job.Name,
		"TRAINING_JOB_ARN":            job.arn(),
		"AWS_REGION":                  job.region(),
		"SAGEMAKER_METRICS_DIRECTORY": h.seen(h.tree.path("output/metrics/sagemaker")),
		"DMLC_INTERFACE":              h.network(),
		"ALGOSPEC_ATTEMPT":            strconv.Itoa(h.run.number),
		"ALGOSPEC_GRACE":              job.grace().String(),
	}
	if job.Image != "" {
		maps.Copy(env, job.Environment)
		return env
	}
	env["PATH"], env["HOME"] = os.Getenv("PATH"), os.Getenv("HOME")
	maps.Copy(env, job.Environment)
	env["SAGEMAKER_BASE_DIR"] = h.tree.path() // whatever the user sets: by it strays are found
	if len(h.run.members) > 1 {
		env[hostsVariable] = hostsValue(h.run.members)
	}
	return env
}

// seen returns a path in the tree as the algorithm sees it.
func (h *host) seen(path string) string {
	if rest, ok := strings.CutPrefix(path, h.tree.path()); ok && h.run.job.Image != "" {
		return base + rest
	}
	return path
}

// network is the name of the interface by which the host's peers are reached.
func (h *host) network() string {
	if h.run.job.Image != "" {
		return "eth0"
	}
	if runtime.GOOS == "linux" {
		return "lo"
	}
	return "lo0"
}
