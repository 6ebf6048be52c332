package linearlearner

import (
	"bytes"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/algorithms/compute"
)

func sampleState() *state {
	s := &state{best: []float32{1, 2, float32(math.Inf(1))}, loaded: compute.LinearState{Weights: make([]float32, 40000), First: []float32{3}, Average: []float32{4}}}
	s.Scaler = &scaler{Mean: []float32{1}, Std: []float32{2}, LabelStd: 1, Balanced: 3}
	s.Schedules = []schedule{{Rate: 0.1, Since: 7}}
	s.Losses, s.Rows = []float64{math.NaN(), math.Inf(1)}, 3
	s.Best = pair{Model: 1, Any: true}
	return s
}

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	var b bytes.Buffer
	n, err := sampleState().WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	for name, wrap := range map[string]func(io.Reader) io.Reader{"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with EOF": iotest.DataErrReader} {
		var got state
		n, err = got.ReadFrom(wrap(bytes.NewReader(b.Bytes())))
		require.NoError(t, err, name)
		require.EqualValues(t, b.Len(), n)
		var again bytes.Buffer
		_, err = got.WriteTo(&again)
		require.NoError(t, err)
		require.Equal(t, b.Bytes(), again.Bytes())
	}
}

func TestADamagedStateChangesNothing(t *testing.T) {
	var b bytes.Buffer
	_, err := sampleState().WriteTo(&b)
	require.NoError(t, err)
	for _, cut := range []int{0, 5, 8, 100, b.Len() / 2, b.Len() - 1} {
		s := state{header: header{Epoch: 5}}
		_, err := s.ReadFrom(bytes.NewReader(b.Bytes()[:cut]))
		require.Error(t, err, "%d bytes", cut)
		require.Equal(t, 5, s.Epoch)
	}
	huge := append(bytes.Repeat([]byte{0xff}, 8), b.Bytes()...)
	var s state
	_, err = s.ReadFrom(bytes.NewReader(huge))
	require.Error(t, err)
}

func FuzzModel(f *testing.F) {
	var b bytes.Buffer
	m := Model{PredictorType: binaryClassifier, Loss: "logistic", Bias: []float32{1}}
	m.Weights.Rows, m.Weights.Cols, m.Weights.Stride, m.Weights.Data = 2, 1, 1, []float32{1, 2}
	if _, err := m.WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Model
		if _, err := m.ReadFrom(bytes.NewReader(data)); err != nil {
			return
		}
		var again bytes.Buffer
		_, err := m.WriteTo(&again)
		require.NoError(t, err)
		var same Model
		_, err = same.ReadFrom(&again)
		require.NoError(t, err)
	})
}
