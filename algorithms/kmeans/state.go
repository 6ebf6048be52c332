package kmeans

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/ndarray"
)

// StateFile is the name of the State beside the model, where _save_state asks for it.
const StateFile = "state_algo-1"

// A State is what the passes over the data learn: K centers, and how many rows each stands for. It is a summary
// of the data, from which Cluster makes models of up to K clusters.
type State struct {
	K, D    int
	Centers []float64 // K×D, row by row
	Counts  []float64 // of each center; at least 1 in the beginning
}

// newState returns the state of a draw: each center stands for one row.
func newState(k, d int, centers []float64) State {
	s := State{K: k, D: d, Centers: centers, Counts: make([]float64, k)}
	for j := range s.Counts {
		s.Counts[j] = 1
	}
	return s
}

// WriteTo writes a state file: an MXNet NDArray file as the original's state_<uuid>, '0' the centers, K×D, and '1' the counts, K×1;
// but the numbers are float64.
func (s *State) WriteTo(w io.Writer) (int64, error) {
	file := ndarray.File{Arrays: []ndarray.Array{
		ndarray.New("0", s.Centers, s.K, s.D),
		ndarray.New("1", s.Counts, s.K, 1),
	}}
	return file.WriteTo(w)
}

// ReadFrom reads a state file to the end of r: one of WriteTo or of SageMaker. After an error the state is unchanged.
func (s *State) ReadFrom(r io.Reader) (int64, error) {
	var file ndarray.File
	n, err := file.ReadFrom(r)
	if err != nil {
		return n, err
	}
	read, err := stateOf(&file)
	if err != nil {
		return n, err
	}
	*s = read
	return n, nil
}

// stateOf returns what a file holds that is a state.
func stateOf(file *ndarray.File) (State, error) {
	var parts [2][]float64
	var shapes [2][]int
	for i := range parts {
		a, err := file.Array(fmt.Sprint(i))
		if err == nil {
			parts[i], shapes[i], err = matrix(a)
		}
		if err != nil {
			return State{}, fmt.Errorf("kmeans: no state: %w", err)
		}
	}
	if shapes[1][0] != shapes[0][0] || shapes[1][1] != 1 {
		return State{}, formatError(fmt.Sprintf("centers of shape %v and counts of shape %v are no state", shapes[0], shapes[1]))
	}
	s := State{K: shapes[0][0], D: shapes[0][1], Centers: parts[0], Counts: parts[1]}
	return s, s.check()
}

// check refuses numbers that no training makes.
func (s *State) check() error {
	for i, x := range s.Centers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return formatError(fmt.Sprintf("center %d of the state has %v", i/s.D, x))
		}
	}
	for i, n := range s.Counts {
		if !(n >= 0) || math.IsInf(n, 0) {
			return formatError(fmt.Sprintf("center %d of the state stands for %v rows", i, n))
		}
	}
	return nil
}

// narrow returns the centers as a model has them.
func (s *State) narrow() blas32.General {
	c := blas32.General{Rows: s.K, Cols: s.D, Stride: s.D, Data: make([]float32, s.K*s.D)}
	s.narrowTo(c)
	return c
}

func (s *State) narrowTo(c blas32.General) {
	for i, x := range s.Centers {
		c.Data[i] = float32(x)
	}
}

// update moves each center to the mean of the rows that it stands for and of those of a round, whose sums and numbers
// are given; rows is their number altogether. Before that, counts fade to the half in halfLife rows (builtin-algorithms, 3.2).
func (s *State) update(sums, counts []float64, rows float64, halfLife int) {
	decay := 1.0
	if halfLife > 0 {
		decay = math.Exp2(-rows / float64(halfLife))
	}
	for j, m := range counts {
		s.Counts[j] *= decay
		if m == 0 {
			continue
		}
		s.Counts[j] += m
		center, sum := s.Centers[j*s.D:][:s.D], sums[j*s.D:][:s.D]
		for l := range center {
			center[l] += (sum[l] - m*center[l]) / s.Counts[j]
		}
	}
}
