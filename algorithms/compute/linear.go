package compute

import "gonum.org/v1/gonum/blas/blas32"

// A Linear is many linear models that learn from the same batches, each by its own settings: all of them share the two
// matrix products that a batch costs. Model m has LinearConfig.Outputs columns, m·Outputs and on, of weights of d features and
// a bias; z = x·W + bias. The weights, the moments and the sums live in the engine. A step is
//
//	linear.Gradient(x, labels, nil)
//	linear.Update(1/float64(rows), rates, 0)
//
// with, on several hosts, Sums, the hosts' collective, and SetSums in between.
type Linear interface {
	// Gradient adds the losses of the rows of x, n×d, under the weights as they are, and their gradient, to the sums. A nil
	// weight is 1 for each row. Labels are 0 and 1 for Logistic and Hinge, and the class for Softmax.
	Gradient(x Matrix, labels, weight []float32)
	// Sums writes the sums since the last Update to dst, of length SumsLen: the gradient of the weights, d×columns by rows, then
	// that of the biases, then the loss of each model.
	Sums(dst []float64)
	// SumsLen returns (d+1)·columns + models.
	SumsLen() int
	// SetSums replaces the sums.
	SetSums(src []float64)
	// Update moves the weights against the gradient, multiplied by scale: by the rate of each model, and the biases by
	// BiasRate times that. Then it moves the averages, where there are any, by this share of the way to the weights. It returns
	// the loss of each model as Sums has it, valid until the next call, and forgets the sums.
	Update(scale float64, rates []float64, average float64) (losses []float64)
	// Scores writes z of the rows of x to dst, n×columns, by the averages where there are any, and else the weights.
	Scores(x Matrix, dst blas32.General)
	// State writes the weights and moments to s, whose memory is used again where it is large enough.
	State(s *LinearState)
	// SetState replaces the weights and moments.
	SetState(s *LinearState)
}

// LinearConfig is what the models of a Linear have in common, and their own settings.
type LinearConfig struct {
	Features int
	Outputs  int // columns of a model: 1, or the number of classes for Softmax
	Models   []LinearModel

	Loss      Loss
	Parameter float64 // margin of Hinge, ε of the two Insensitive, δ of Huber, q of Quantile

	Optimizer    Optimizer
	Beta1, Beta2 float64 // of Adam; Beta2 of RMSProp, too
	Momentum     float64 // of SGD

	Average  bool    // keep averages of the weights
	NoBias   bool    // the biases stay as they are
	BiasRate float64 // of the model's rate
	// Shift is subtracted from each row of x, without making sparse rows dense; nil is 0.
	Shift []float32
}

// LinearModel is the settings of one model.
type LinearModel struct {
	Decay     float64 // times the weight, is added to its gradient
	L1        float64 // times the weight's sign, is added to its gradient
	BiasDecay float64 // times the bias, is added to its gradient
	Positive  float64 // weight of rows labelled 1, for Logistic and Hinge; 0 means 1
}

// LinearState is what a Linear has learned, (d+1)×columns each, the biases last: what a snapshot keeps.
type LinearState struct {
	Weights []float32
	First   []float32 // moment of Adam; the momentum of SGD; nil where the optimizer has none
	Second  []float32 // moment of Adam and RMSProp; nil where the optimizer has none
	Average []float32 // of the weights; nil where there is none
}

// A Loss is what a row costs, and its derivative by z (builtin-algorithms, 4.3). With e = z−y and t = 2y−1:
type Loss int

const (
	Logistic            Loss = iota // ln(1+exp(−t·z))
	Hinge                           // max(0, margin−t·z)
	Softmax                         // −ln of the class's share of Σexp(z)
	Squared                         // e²; the gradient is e, not 2e, as MXNet's regression output has it
	Absolute                        // |e|
	SquaredInsensitive              // max(0, |e|−ε)²; the gradient is half the derivative, too
	AbsoluteInsensitive             // max(0, |e|−ε)
	Huber                           // e²/2 up to |e| = δ, then δ(|e|−δ/2)
	Quantile                        // q·max(0,−e) + (1−q)·max(0,e)
)

// An Optimizer moves a weight w by its gradient g. They are MXNet's.
type Optimizer int

const (
	// Adam is m = β1·m+(1−β1)·g; v = β2·v+(1−β2)·g²; w −= rate·m/(√v+1e-8). The rate is to hold the correction for the first steps.
	Adam Optimizer = iota
	// SGD is m = momentum·m − rate·g; w += m.
	SGD
	// RMSProp is v = β2·v+(1−β2)·g²; w −= rate·g/√(v+1e-8).
	RMSProp
)
