package linearlearner

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/ndarray"
)

// A Model is a linear model for raw features, as the model file model_algo-1 holds it (builtin-algorithms, 4.7).
type Model struct {
	PredictorType string  // binary_classifier, multiclass_classifier or regressor
	Loss          string  // that it was trained with: logistic, squared_loss, …
	Threshold     float64 // of binary_classifier: scores from it on are of label 1

	Weights blas32.General // d×1, or d×classes
	Bias    []float32      // 1, or one for each class

	Metrics MetricsParams
}

// MetricsParams are the hyperparameters that the scores of a model depend on, nil where it does not depend on one.
type MetricsParams struct {
	Threshold                 *float64  `json:"threshold"`
	AccuracyTopK              *int      `json:"accuracy_top_k"`
	FBeta                     *float64  `json:"f_beta"`
	PositiveExampleWeightMult *float64  `json:"positive_example_weight_mult"`
	ClassWeights              []float32 `json:"class_weights"`
	Margin                    *float64  `json:"margin"`
	Quantile                  *float64  `json:"quantile"`
	HuberDelta                *float64  `json:"huber_delta"`
	LossInsensitivity         *float64  `json:"loss_insensitivity"`
	EpsInsensitiveLossType    *string   `json:"eps_insensitive_loss_type"`
}

// A Prediction is what the model says of a row.
type Prediction struct {
	Score          []float32 // one number: for logistic the probability of label 1, for regressor the label; or the probability of each class
	PredictedLabel float32   // of the classifiers
}

// Features returns the number of features.
func (m *Model) Features() int { return m.Weights.Rows }

// Predict returns what the model says of each row of x.
func (m *Model) Predict(x compute.Matrix) []Prediction {
	outputs := len(m.Bias)
	scores := make([]float32, x.Rows()*outputs)
	z := make([]float64, outputs)
	predictions := make([]Prediction, x.Rows())
	for i := range predictions {
		m.linear(z, x, i)
		score := scores[i*outputs:][:outputs:outputs]
		m.score(score, z)
		predictions[i] = Prediction{score, m.label(score)}
	}
	return predictions
}

// linear writes x·w + b of row i to z.
func (m *Model) linear(z []float64, x compute.Matrix, i int) {
	if x.Cols() != m.Weights.Rows {
		panic(fmt.Sprintf("linearlearner: rows of %d features to a model of %d", x.Cols(), m.Weights.Rows))
	}
	for k, b := range m.Bias {
		z[k] = float64(b)
	}
	if x.S != nil {
		columns, values := x.S.Row(i)
		for l, j := range columns {
			m.add(z, int(j), values[l])
		}
		return
	}
	row := x.X.Data[i*x.X.Stride:][:x.X.Cols]
	if len(z) == 1 && m.Weights.Stride == 1 {
		sum := 0.0
		weights := m.Weights.Data[:len(row)]
		for j, v := range row {
			sum += float64(v) * float64(weights[j])
		}
		z[0] += sum
		return
	}
	for j, v := range row {
		m.add(z, j, v)
	}
}

func (m *Model) add(z []float64, j int, v float32) {
	for k, w := range m.Weights.Data[j*m.Weights.Stride:][:len(z)] {
		z[k] += float64(v) * float64(w)
	}
}

// score writes what the model answers for z.
func (m *Model) score(score []float32, z []float64) {
	switch m.Loss {
	case "logistic":
		score[0] = float32(1 / (1 + math.Exp(-z[0])))
	case "softmax_loss":
		softmax(score, z)
	default:
		score[0] = float32(z[0])
	}
}

func softmax[T float32 | float64](score []T, z []float64) {
	top, sum := z[0], 0.0
	for _, v := range z {
		top = max(top, v)
	}
	for _, v := range z {
		sum += math.Exp(v - top)
	}
	for k, v := range z {
		score[k] = T(math.Exp(v-top) / sum)
	}
}

// label returns the label that the score says.
func (m *Model) label(score []float32) float32 {
	switch m.PredictorType {
	case binaryClassifier:
		if float64(score[0]) >= m.Threshold {
			return 1
		}
	case multiclassClassifier:
		best := 0
		for k, s := range score {
			if s > score[best] {
				best = k
			}
		}
		return float32(best)
	}
	return 0
}

// The names in the model file.
const (
	manifestName   = "manifest.json"
	additionalName = "additional-params.json"
	symbolName     = "mx-mod-symbol.json"
	paramsName     = "mx-mod-0000.params"
)

type additionalParams struct {
	Threshold     float64       `json:"threshold"`
	LossType      string        `json:"loss_type"`
	PredictorType string        `json:"predictor_type"`
	MetricsParams MetricsParams `json:"metrics_params"`
}

// WriteTo writes the model file: an uncompressed zip archive of an MXNet module and what else there is to know.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	d, outputs := m.Weights.Rows, len(m.Bias)
	var params bytes.Buffer
	file := ndarray.File{Arrays: []ndarray.Array{
		ndarray.New("arg:fc0_weight", compact(m.Weights), d, outputs),
		ndarray.New("arg:fc0_bias", m.Bias, 1, outputs),
	}}
	if _, err := file.WriteTo(&params); err != nil {
		return 0, err
	}
	metrics := m.Metrics
	metrics.Threshold = &m.Threshold
	additional, err := json.Marshal(additionalParams{m.Threshold, m.Loss, m.PredictorType, metrics})
	if err != nil {
		return 0, fmt.Errorf("linearlearner: %w", err)
	}
	counted := &countingWriter{w: w}
	archive := zip.NewWriter(counted)
	for _, member := range []struct {
		name    string
		content []byte
	}{
		{paramsName, params.Bytes()},
		{symbolName, symbol(m.Loss, d, outputs)},
		{additionalName, additional},
		{manifestName, []byte(`{"additional-params.json": "json", "mx-mod": "mxnet_module", "version": 1}`)},
	} {
		size := uint64(len(member.content))
		to, err := archive.CreateRaw(&zip.FileHeader{
			Name: member.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(member.content), CompressedSize64: size, UncompressedSize64: size,
		})
		if err != nil {
			return counted.n, err
		}
		if _, err := to.Write(member.content); err != nil {
			return counted.n, err
		}
	}
	err = archive.Close()
	return counted.n, err
}

// compact returns the matrix's numbers row by row.
func compact(m blas32.General) []float32 {
	if m.Stride == m.Cols || m.Rows == 1 {
		return m.Data[:m.Rows*m.Cols]
	}
	var data []float32
	for i := range m.Rows {
		data = append(data, m.Data[i*m.Stride:][:m.Cols]...)
	}
	return data
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// ReadFrom reads a model file to the end of r: one of WriteTo or of SageMaker. After an error the
// model is unchanged.
func (m *Model) ReadFrom(r io.Reader) (int64, error) {
	var content bytes.Buffer
	n, err := content.ReadFrom(r)
	if err != nil {
		return n, err
	}
	read, err := parseModel(content.Bytes())
	if err != nil {
		return n, fmt.Errorf("linearlearner: no model: %w", err)
	}
	*m = *read
	return n, nil
}

func parseModel(content []byte) (*Model, error) {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, err
	}
	var additional additionalParams
	if err := readMember(archive, additionalName, func(r io.Reader) error { return json.NewDecoder(r).Decode(&additional) }); err != nil {
		return nil, err
	}
	var file ndarray.File
	if err := readMember(archive, paramsName, func(r io.Reader) error { _, err := file.ReadFrom(r); return err }); err != nil {
		return nil, err
	}
	weights, shape, err := floats(&file, "arg:fc0_weight")
	if err != nil {
		return nil, err
	}
	bias, biasShape, err := floats(&file, "arg:fc0_bias")
	if err != nil {
		return nil, err
	}
	m := &Model{
		PredictorType: additional.PredictorType, Loss: additional.LossType, Threshold: additional.Threshold,
		Bias: bias, Metrics: additional.MetricsParams,
	}
	if len(shape) != 2 || shape[0] < 1 || shape[1] != len(bias) || len(bias) == 0 {
		return nil, fmt.Errorf("weights of shape %v and biases of shape %v", shape, biasShape)
	}
	if (len(bias) > 1) != (m.PredictorType == multiclassClassifier) || (m.PredictorType == multiclassClassifier) != (m.Loss == "softmax_loss") {
		return nil, fmt.Errorf("predictor_type %q and loss_type %q with %d outputs", m.PredictorType, m.Loss, len(bias))
	}
	m.Weights = blas32.General{Rows: shape[0], Cols: shape[1], Stride: shape[1], Data: weights}
	return m, nil
}

// readMember reads a member of the archive, which must be stored: no file takes more memory than it has bytes.
func readMember(archive *zip.Reader, name string, read func(io.Reader) error) error {
	for _, f := range archive.File {
		if f.Name != name {
			continue
		}
		if f.Method != zip.Store {
			return fmt.Errorf("%s: compressed, and model files are not", name)
		}
		member, err := f.Open()
		if err != nil {
			return err
		}
		defer member.Close()
		if err := read(member); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("no %s in the archive", name)
}

func floats(file *ndarray.File, name string) ([]float32, []int, error) {
	a, err := file.Array(name)
	if err != nil {
		return nil, nil, err
	}
	data, err := ndarray.Values[float32](a)
	if err == nil && len(data) == 0 {
		err = errors.New(name + " is empty")
	}
	return data, a.Shape(), err
}
