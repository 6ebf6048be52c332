package platform

import (
	"slices"
	"sync"
	"time"
)

// A timeline is the job's way through the statuses.
type timeline struct {
	notify func(Transition) // may be nil

	mu          sync.Mutex
	transitions []Transition
}

// enter takes the job to a status, unless it has ended, or is stopping and the status is none of the
// end. In the status that it has already it only
// changes the message.
func (t *timeline) enter(status SecondaryStatus, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if last := len(t.transitions) - 1; last >= 0 {
		current := &t.transitions[last]
		switch {
		case current.Status.Terminal(), *current == Transition{status, message, current.Start, time.Time{}}:
			return
		case current.Status == status:
			current.Message = message
			t.tell(*current)
			return
		case current.Status == Stopping && !status.Terminal():
			return
		}
		current.End = now
	}
	entered := Transition{Status: status, Message: message, Start: now}
	if status.Terminal() {
		entered.End = now
	}
	t.transitions = append(t.transitions, entered)
	t.tell(entered)
}

func (t *timeline) tell(transition Transition) {
	if t.notify != nil {
		t.notify(transition)
	}
}

func (t *timeline) all() []Transition {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.transitions)
}

// billable is the time from the first download or start of the algorithm to the end, without what
// passed between an interruption and the next start.
func billable(transitions []Transition) (total time.Duration) {
	for _, t := range transitions {
		switch t.Status {
		case Downloading, Training, Uploading, Stopping:
			total += t.End.Sub(t.Start)
		}
	}
	return total
}
