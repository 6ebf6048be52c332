package linearlearner

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// A scorer has the memory for the scores of a batch.
type scorer struct {
	linear  compute.Linear
	columns int
	data    []float32
}

func newScorer(linear compute.Linear, columns int) *scorer {
	return &scorer{linear: linear, columns: columns}
}

// scores returns z of each row in all models, valid until the next call.
func (s *scorer) scores(x compute.Matrix) blas32.General {
	if need := x.Rows() * s.columns; need > len(s.data) {
		s.data = make([]float32, need)
	}
	z := blas32.General{Rows: x.Rows(), Cols: s.columns, Stride: s.columns, Data: s.data[:x.Rows()*s.columns]}
	s.linear.Scores(x, z)
	return z
}
