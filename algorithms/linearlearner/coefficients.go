package linearlearner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/algospec/algospec"
)

// CoefficientsFile is the file of a job's output that has the model's coefficients: see Coefficients.
const CoefficientsFile = "coefficients.json"

// Coefficients is a model to be read by people and programs. The score of a row is the intercept and the sum of its features
// times their coefficients: for regressor the label; for logistic the logarithm of the odds of label 1; for
// softmax_loss the logarithm of each class's probability, but for a number that all share; for hinge_loss 0 and 1 at its margins of 1.
type Coefficients struct {
	PredictorType string        `json:"predictor_type"`
	Loss          string        `json:"loss"`
	Threshold     *float64      `json:"threshold,omitempty"` // of binary_classifier: of the probability, or for hinge_loss the score
	Intercept     []float32     `json:"intercept"`           // 1, or one for each class
	Features      []Coefficient `json:"features"`
}

// A Coefficient is what a feature counts in a model, for its values as they come.
type Coefficient struct {
	Feature     int       `json:"feature"` // from 0
	Name        string    `json:"name,omitempty"`
	Coefficient []float32 `json:"coefficient"` // 1, or one for each class
}

// Coefficients returns the model's coefficients, which share its memory; names are those of the features, or nil.
func (m *Model) Coefficients(names []string) (*Coefficients, error) {
	if err := checkNames(names, m.Features()); err != nil {
		return nil, err
	}
	c := &Coefficients{PredictorType: m.PredictorType, Loss: m.Loss, Intercept: m.Bias, Features: make([]Coefficient, m.Features())}
	if m.PredictorType == binaryClassifier {
		c.Threshold = &m.Threshold
	}
	for j := range c.Features {
		c.Features[j] = Coefficient{Feature: j, Coefficient: m.Weights.Data[j*m.Weights.Stride:][:m.Weights.Cols]}
		if names != nil {
			c.Features[j].Name = names[j]
		}
	}
	return c, nil
}

// WriteTo writes the coefficients as JSON, a feature a line.
func (c *Coefficients) WriteTo(w io.Writer) (int64, error) {
	head := *c
	head.Features = []Coefficient{}
	text, err := json.Marshal(&head)
	if err != nil {
		return 0, fmt.Errorf("linearlearner: coefficients: %w", err)
	}
	text = text[:len(text)-len("]}")]
	for j := range c.Features {
		line, err := json.Marshal(&c.Features[j])
		if err != nil {
			return 0, fmt.Errorf("linearlearner: coefficients: %w", err)
		}
		if j > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n  "...), line...)
	}
	n, err := w.Write(append(text, "\n]}\n"...))
	return int64(n), err
}

// FeatureNames are names of features, of which hyperparameters have a JSON list.
type FeatureNames []string

// UnmarshalText reads a JSON list of strings; no text is no names.
func (n *FeatureNames) UnmarshalText(text []byte) error {
	*n = nil
	if len(text) == 0 {
		return nil
	}
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return errors.New(`want a JSON list of names, as in ["age","income"]`)
	}
	*n = names
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (n FeatureNames) MarshalText() ([]byte, error) {
	if len(n) == 0 {
		return nil, nil
	}
	return json.Marshal([]string(n))
}

// checkNames refuses names that are not those of d features.
func checkNames(names []string, d int) error {
	if names != nil && len(names) != d {
		return algospec.ClientErrorf("hyperparameter _feature_names: %d names of %d features", len(names), d)
	}
	return nil
}

// mostCoefficients bounds the numbers of the file; models of more can be asked for them: Model.Coefficients.
const mostCoefficients = 1 << 20

// saveCoefficients saves them with the job's output, if it has one. They are no reason for a training to fail.
func (t *training) saveCoefficients(m *Model) {
	if !t.job.Cluster.Leader() || t.job.Output == "" || t.library || len(m.Weights.Data) > mostCoefficients {
		return
	}
	c, err := m.Coefficients(t.p.FeatureNames)
	if err == nil {
		err = t.job.Output.Save(CoefficientsFile, c)
	}
	if err != nil {
		t.report.Warnf("There are no coefficients: %v", err)
	}
}
