package platform

import "time"

// A SecondaryStatus is where a job is in its life (container contract, 4.3 and 11.1).
type SecondaryStatus string

// The statuses in the order of a job's life.
const (
	Starting            SecondaryStatus = "Starting"
	Downloading         SecondaryStatus = "Downloading"
	Training            SecondaryStatus = "Training"
	Interrupted         SecondaryStatus = "Interrupted"
	Restarting          SecondaryStatus = "Restarting"
	Uploading           SecondaryStatus = "Uploading"
	Stopping            SecondaryStatus = "Stopping"
	Completed           SecondaryStatus = "Completed"
	Failed              SecondaryStatus = "Failed"
	Stopped             SecondaryStatus = "Stopped"
	MaxRuntimeExceeded  SecondaryStatus = "MaxRuntimeExceeded"
	MaxWaitTimeExceeded SecondaryStatus = "MaxWaitTimeExceeded"
)

// Terminal reports whether a job in this status has ended.
func (s SecondaryStatus) Terminal() bool {
	switch s {
	case Completed, Failed, Stopped, MaxRuntimeExceeded, MaxWaitTimeExceeded:
		return true
	}
	return false
}

// A Transition is a time that a job spent in one status.
type Transition struct {
	Status     SecondaryStatus
	Message    string    // StatusMessage
	Start, End time.Time // End is zero while it lasts
}

// A Line is a line of an algorithm's log.
type Line struct {
	Host string
	Time time.Time
	Text string // without the line's end; at most 256 KiB
}

// A Metric is a value found in the log.
type Metric struct {
	Name, Host string
	Value      float64
	Time       time.Time
}
