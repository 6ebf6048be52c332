package page

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker"
	"github.com/aws/aws-sdk-go-v2/service/sagemaker/types"
)

// A badge is a status as it is shown: primary, secondary where that tells more, and the tone of their colour.
type badge struct {
	Status, Secondary, Tone string
}

func badgeOf(status types.TrainingJobStatus, secondary types.SecondaryStatus) badge {
	b := badge{Status: string(status), Secondary: string(secondary), Tone: tone(secondary)}
	if secondary == "" {
		b.Tone = tone(types.SecondaryStatus(status))
	}
	if b.Secondary == b.Status {
		b.Secondary = ""
	}
	return b
}

// tone is the name of a status's colour in the style sheet.
func tone(s types.SecondaryStatus) string {
	switch s {
	case types.SecondaryStatusCompleted:
		return "good"
	case types.SecondaryStatusFailed:
		return "bad"
	case types.SecondaryStatusStopping, types.SecondaryStatusStopped, types.SecondaryStatusInterrupted,
		types.SecondaryStatusMaxRuntimeExceeded, types.SecondaryStatusMaxWaitTimeExceeded:
		return "warn"
	case types.SecondaryStatusDownloading:
		return "load"
	case types.SecondaryStatusTraining, "InProgress":
		return "run"
	case types.SecondaryStatusUploading:
		return "store"
	}
	return "idle"
}

// ended reports whether a job in this status is over.
func ended(s types.TrainingJobStatus) bool {
	switch s {
	case types.TrainingJobStatusCompleted, types.TrainingJobStatusFailed, types.TrainingJobStatusStopped:
		return true
	}
	return false
}

// A stage is a status that the job was in.
type stage struct {
	Status, Tone, Message string
	Start                 time.Time
	Duration              time.Duration
	Lasting               bool    // it is in it now
	End                   bool    // the job ended with it, so it has no duration
	X, Width              float64 // of its part of the bar, in thousandths
}

// timeline returns the stages of a job, and their parts of the bar from the first one's start to now or the end.
func timeline(job *sagemaker.DescribeTrainingJobOutput, now time.Time) []stage {
	var stages []stage
	var whole time.Duration
	for _, t := range job.SecondaryStatusTransitions {
		s := stage{Status: string(t.Status), Tone: tone(t.Status), Message: aws.ToString(t.StatusMessage), Start: aws.ToTime(t.StartTime)}
		if s.End = ended(types.TrainingJobStatus(t.Status)) || t.Status == types.SecondaryStatusMaxRuntimeExceeded ||
			t.Status == types.SecondaryStatusMaxWaitTimeExceeded; !s.End {
			s.Lasting = t.EndTime == nil && !ended(job.TrainingJobStatus)
			if t.EndTime != nil || s.Lasting {
				s.Duration = between(t.StartTime, t.EndTime, now)
			}
		}
		whole += s.Duration
		stages = append(stages, s)
	}
	var before time.Duration
	for i := range stages {
		s := &stages[i]
		if whole > 0 {
			s.X = 1000 * float64(before) / float64(whole)
			s.Width = 1000 * float64(s.Duration) / float64(whole)
		}
		before += s.Duration
	}
	return stages
}
