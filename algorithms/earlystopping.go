package algorithms

import "math"

// EarlyStopping ends training when a criterion no longer improves, as linear learner's
// early_stopping_patience and early_stopping_tolerance have it (builtin-algorithms, 4.6). Its fields
// are all of its state, so that a snapshot can hold them.
type EarlyStopping struct {
	Patience  int     // how many epochs in a row may be bad; one more ends training
	Tolerance float64 // an epoch is bad that improves the best value by less than this, relatively
	Maximize  bool    // the criterion is better where it is greater

	Epochs int     // observed so far
	Best   float64 // of them
	Bad    int     // epochs in a row
}

// Observe takes an epoch's value of the criterion, and reports whether training should stop. A value
// that is NaN is worse than any other.
func (e *EarlyStopping) Observe(value float64) (stop bool) {
	better := value < e.Best
	if e.Maximize {
		better = value > e.Best
	}
	first := e.Epochs == 0 || math.IsNaN(e.Best)
	e.Epochs++
	improvement := 0.0
	switch {
	case first && !math.IsNaN(value), better && math.IsInf(e.Best, 0):
		improvement = math.Inf(1)
	case better:
		improvement = math.Abs((e.Best - value) / e.Best)
	}
	if better || first {
		e.Best = value
	}
	if improvement < e.Tolerance || improvement == 0 {
		e.Bad++
	} else {
		e.Bad = 0
	}
	return e.Bad > e.Patience
}
