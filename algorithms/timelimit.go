package algorithms

import "time"

// A TimeLimit ends training before its time is over, and not in the middle of a step: a step, such as
// an epoch, begins only where one as long as the longest so far would end in time.
//
//	limit := algorithms.TimeLimit{Max: p.MaxRuntime}
//	for epoch := 0; epoch < p.Epochs && limit.Next(); epoch++ {
//
// The zero value is no limit.
type TimeLimit struct {
	Max     time.Duration // from the first call of Next; 0 means no limit
	Reserve time.Duration // of Max, for what comes after the last step
	Spent   time.Duration // of Max, before; for a resumed run, which knows it from its snapshot

	began, step time.Time
	longest     time.Duration
}

// Next ends a step, and reports whether there is time for another.
func (l *TimeLimit) Next() bool {
	now := time.Now()
	if l.began.IsZero() {
		l.began = now
	} else {
		l.longest = max(l.longest, now.Sub(l.step))
	}
	l.step = now
	return l.Max <= 0 || l.Elapsed()+l.longest+l.Reserve < l.Max
}

// Elapsed returns how much of Max is spent.
func (l *TimeLimit) Elapsed() time.Duration {
	if l.began.IsZero() {
		return l.Spent
	}
	return l.Spent + time.Since(l.began)
}
