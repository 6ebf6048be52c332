package algorithms

import "time"

// DoneAfter is Done for a run that was set up at a time of its own, which it prints, too: how long it took
// from the Report's beginning, as setuptime.
func (r *Report) DoneAfter(setUp time.Time) {
	r.Metrics(r.began, Dimensions{}, map[string]float64{
		"setuptime": milliseconds(setUp.Sub(r.began)),
		"totaltime": milliseconds(time.Since(r.began)),
	})
}
