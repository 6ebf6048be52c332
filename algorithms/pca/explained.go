package pca

import (
	"math"
	"slices"
)

// Descending returns the columns of V from the component of the largest singular value to that of the smallest,
// whatever the order of the model's mode.
func (m *Model) Descending() []int {
	order := make([]int, len(m.S))
	for j := range order {
		order[j] = j
	}
	if len(m.S) > 1 && m.S[0] < m.S[len(m.S)-1] {
		slices.Reverse(order)
	}
	return order
}

// ExplainedVariance returns the variance of the rows along each component, in the order of S: the square of the singular
// value by the number of rows less one. It is nil in a model that was read, whose file does not tell that number.
func (m *Model) ExplainedVariance() []float64 {
	if m.Rows == 0 {
		return nil
	}
	return m.squares(float64(max(1, m.Rows-1)))
}

// ExplainedVarianceRatio returns which share of all variance each component explains, in the order of S; zeros where
// there is none. In a model that was read, whose file does not tell what the components leave, all
// variance is that of the components.
func (m *Model) ExplainedVarianceRatio() []float64 {
	total := m.TotalSquares
	if m.Rows == 0 {
		total = 0
		for _, s := range m.S {
			total += float64(s) * float64(s)
		}
	}
	if total == 0 {
		total = math.Inf(1)
	}
	return m.squares(total)
}

// explained returns which share of all variance the components explain together; 1 where there is none to explain.
func (m *Model) explained() float64 {
	if m.TotalSquares == 0 {
		return 1
	}
	sum := 0.0
	for _, ratio := range m.ExplainedVarianceRatio() {
		sum += ratio
	}
	return min(1, sum)
}

func (m *Model) squares(by float64) []float64 {
	ratios := make([]float64, len(m.S))
	for j, s := range m.S {
		ratios[j] = float64(s) * float64(s) / by
	}
	return ratios
}

// ExplainedFile is the name of the Explained in the directory of the job's output.
const ExplainedFile = "explained_variance.json"

// Explained is how much each component explains, the largest first: what a picture of the model shows. Train saves it in
// the job's output, since the model file has no room for it.
type Explained struct {
	Mode          string    `json:"algorithm_mode"`
	Rows          int64     `json:"rows"`
	Features      int       `json:"features"`
	TotalVariance float64   `json:"total_variance"` // of all features together
	SingularValue []float64 `json:"singular_values"`
	Variance      []float64 `json:"explained_variance"`
	Ratio         []float64 `json:"explained_variance_ratio"`
	Cumulative    []float64 `json:"cumulative_ratio"` // of this component and those before it
}

// Explained returns how much each component explains.
func (m *Model) Explained() Explained {
	e := Explained{Mode: "regular", Rows: m.Rows, Features: m.V.Rows, TotalVariance: m.TotalSquares / float64(max(1, m.Rows-1))}
	if len(m.S) > 1 && m.S[0] > m.S[len(m.S)-1] {
		e.Mode = "randomized"
	}
	variance, ratio, sum := m.ExplainedVariance(), m.ExplainedVarianceRatio(), 0.0
	for _, j := range m.Descending() {
		e.SingularValue = append(e.SingularValue, float64(m.S[j]))
		if variance != nil {
			e.Variance = append(e.Variance, variance[j])
		}
		e.Ratio = append(e.Ratio, ratio[j])
		sum += ratio[j]
		e.Cumulative = append(e.Cumulative, min(1, sum))
	}
	return e
}
