package api

import (
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"

	"github.com/algospec/algospec/platform"
)

// A record is what is kept of a job besides its request.
type record struct {
	Number          uint64 // in the order of creation
	Name, ARN       string
	Created         time.Time
	Modified        time.Time
	Started, Ended  time.Time // of what is billed; zero before
	Status          types.TrainingJobStatus
	Secondary       types.SecondaryStatus
	Transitions     []platform.Transition
	FailureReason   string
	ModelArtifacts  string
	OutputArtifacts string
	FinalMetrics    []platform.Metric
	TrainingTime    time.Duration
	BillableTime    time.Duration
	StopAsked       bool
	Restarts        int // after a restart of the platform
}

func (r *record) finished() bool {
	switch r.Status {
	case types.TrainingJobStatusCompleted, types.TrainingJobStatusFailed, types.TrainingJobStatusStopped:
		return true
	}
	return false
}

// statusOf is the status that goes with a secondary one (container contract, 4.3).
func statusOf(s types.SecondaryStatus) types.TrainingJobStatus {
	switch s {
	case types.SecondaryStatusCompleted:
		return types.TrainingJobStatusCompleted
	case types.SecondaryStatusFailed:
		return types.TrainingJobStatusFailed
	case types.SecondaryStatusStopping:
		return types.TrainingJobStatusStopping
	case types.SecondaryStatusStopped, types.SecondaryStatusMaxRuntimeExceeded, types.SecondaryStatusMaxWaitTimeExceeded:
		return types.TrainingJobStatusStopped
	}
	return types.TrainingJobStatusInProgress
}

// enter puts the job into a secondary status, or changes its message. A job that is Stopping is so until
// it ends, whatever it does meanwhile, and one that has ended stays as it is.
func (r *record) enter(s types.SecondaryStatus, message string, at time.Time) {
	status := statusOf(s)
	if r.finished() || (r.Status == types.TrainingJobStatusStopping && status == types.TrainingJobStatusInProgress) {
		return
	}
	if at.IsZero() {
		at = time.Now()
	}
	r.Modified = at
	if s == types.SecondaryStatusDownloading || s == types.SecondaryStatusTraining {
		if r.Started.IsZero() {
			r.Started = at
		}
	}
	last := len(r.Transitions) - 1
	if last >= 0 && r.Secondary == s && r.Transitions[last].End.IsZero() {
		r.Transitions[last].Message = message
		return
	}
	r.Status, r.Secondary = status, s
	if last >= 0 && r.Transitions[last].End.IsZero() {
		r.Transitions[last].End = at
	}
	transition := platform.Transition{Status: platform.SecondaryStatus(s), Message: message, Start: at}
	if r.finished() {
		transition.End, r.Ended = at, at
	}
	r.Transitions = append(r.Transitions, transition)
}

// retried is how many of the attempts of its RetryStrategy the job has used: each start that was neither
// the first nor after an interruption or a wait.
func (r *record) retried() int {
	n := r.Restarts
	for i, t := range r.Transitions {
		if t.Status != platform.Starting || i == 0 {
			continue
		}
		switch types.SecondaryStatus(r.Transitions[i-1].Status) {
		case types.SecondaryStatusPending, types.SecondaryStatusInterrupted:
		default:
			n++
		}
	}
	return n
}

// trained is how long the algorithm has run in attempts that are over.
func (r *record) trained() time.Duration {
	var sum time.Duration
	for _, t := range r.Transitions {
		if t.Status == platform.Training && !t.End.IsZero() {
			sum += t.End.Sub(t.Start)
		}
	}
	return sum
}

// clone returns a record that shares nothing that changes.
func (r *record) clone() record {
	c := *r
	c.Transitions = slices.Clone(r.Transitions)
	return c
}

// wholeSeconds rounds up: the service never tells of less than one.
func wholeSeconds(d time.Duration) *int32 {
	if d <= 0 {
		return nil
	}
	n := int32(min(math.Ceil(d.Seconds()), math.MaxInt32))
	return &n
}
