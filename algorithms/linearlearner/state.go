package linearlearner

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"math"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
)

// A state is all that training has learned: what a snapshot holds, and all that the next batch depends on.
type state struct {
	header
	linear compute.Linear      // nil until the sample is read; its weights and moments are in the snapshot
	loaded compute.LinearState // as a snapshot has it, until there is a linear for it
	copy   compute.LinearState
	best   []float32 // weights and biases of the best model, scaled, (d+1)×outputs
}

// header is the part of a state that is small.
type header struct {
	Version   int
	Scaler    *scaler // nil until the sample is read
	Schedules []schedule
	Step      int64 // updates

	Epoch  int       // in which training is, from 0
	Losses []float64 // of each model, summed over the rows of this epoch
	Rows   float64

	Stopping algorithms.EarlyStopping
	Best     pair
	Finished bool
	History  history
	Lengths  [5]int // of weights, first, second, average, best
}

// A pair is a model as it was at the end of an epoch.
type pair struct {
	Model, Epoch int
	Value        float64 // of the criterion
	Any          bool    // whether there is one yet
}

const stateVersion = 1

// WriteTo writes the length of the header, the header, and the numbers.
func (s *state) WriteTo(w io.Writer) (int64, error) {
	numbers := s.loaded
	if s.linear != nil {
		s.linear.State(&s.copy)
		numbers = s.copy
	}
	s.Version = stateVersion
	s.Lengths = [5]int{len(numbers.Weights), len(numbers.First), len(numbers.Second), len(numbers.Average), len(s.best)}
	var head bytes.Buffer
	head.Write(make([]byte, 8))
	if err := gob.NewEncoder(&head).Encode(s.header); err != nil {
		return 0, fmt.Errorf("linearlearner: %w", err)
	}
	binary.LittleEndian.PutUint64(head.Bytes(), uint64(head.Len()-8))
	written, err := head.WriteTo(w)
	for _, part := range [][]float32{numbers.Weights, numbers.First, numbers.Second, numbers.Average, s.best} {
		if err != nil {
			return written, err
		}
		var n int64
		n, err = writeFloats(w, part)
		written += n
	}
	return written, err
}

// ReadFrom replaces the state by what WriteTo has written.
func (s *state) ReadFrom(r io.Reader) (int64, error) {
	var size [8]byte
	n, err := io.ReadFull(r, size[:])
	read := int64(n)
	if err != nil {
		return read, err
	}
	var text bytes.Buffer
	length := binary.LittleEndian.Uint64(size[:])
	m, err := io.CopyN(&text, r, int64(min(length, math.MaxInt64)))
	read += m
	if err != nil {
		return read, fmt.Errorf("linearlearner: the state's header: %w", err)
	}
	var head header
	if err := gob.NewDecoder(&text).Decode(&head); err != nil {
		return read, fmt.Errorf("linearlearner: the state's header: %w", err)
	}
	if head.Version != stateVersion {
		return read, fmt.Errorf("linearlearner: state of version %d, and this program reads version %d", head.Version, stateVersion)
	}
	loaded := state{header: head}
	for i, part := range []*[]float32{&loaded.loaded.Weights, &loaded.loaded.First, &loaded.loaded.Second, &loaded.loaded.Average, &loaded.best} {
		var m int64
		*part, m, err = readFloats(r, head.Lengths[i])
		read += m
		if err != nil {
			return read, err
		}
	}
	*s = loaded
	return read, nil
}

const chunk = 1 << 14 // numbers at a time

func writeFloats(w io.Writer, numbers []float32) (written int64, err error) {
	text := make([]byte, 0, 4*min(chunk, len(numbers)))
	for begin := 0; begin < len(numbers) && err == nil; begin += chunk {
		text = text[:0]
		for _, x := range numbers[begin:min(begin+chunk, len(numbers))] {
			text = binary.LittleEndian.AppendUint32(text, math.Float32bits(x))
		}
		var n int
		n, err = w.Write(text)
		written += int64(n)
	}
	return written, err
}

// readFloats takes memory as the numbers come.
func readFloats(r io.Reader, count int) (numbers []float32, read int64, err error) {
	if count < 0 {
		return nil, 0, fmt.Errorf("linearlearner: a state of %d numbers", count)
	}
	text := make([]byte, 4*min(chunk, count))
	for count > 0 {
		part := text[:4*min(chunk, count)]
		n, err := io.ReadFull(r, part)
		read += int64(n)
		if err != nil {
			return nil, read, fmt.Errorf("linearlearner: the state's numbers: %w", err)
		}
		for i := 0; i < len(part); i += 4 {
			numbers = append(numbers, math.Float32frombits(binary.LittleEndian.Uint32(part[i:])))
		}
		count -= len(part) / 4
	}
	return numbers, read, nil
}
