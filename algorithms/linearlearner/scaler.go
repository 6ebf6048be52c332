package linearlearner

import (
	"context"
	"math"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/cluster"
)

// A sample is what the first rows of the channel train tell: sums about a pilot near the mean, so that data far from zero do
// not cancel, in float64. It is of sparse rows, as dense ones without their zeros are; nothing is done for the zeros one by one.
type sample struct {
	n      float64
	pilot  []float64
	sum    []float64 // Σ(x−pilot), of the numbers that are not zero
	square []float64 // Σ(x−pilot)², of these
	count  []float64 // of these

	labels  [3]float64 // pilot, Σ(y−pilot), Σ(y−pilot)²
	classes []float64  // rows of each class
	weight  float64    // of all rows
}

func (s *sample) init(b *algorithms.Batch) {
	s.alloc(b.S.Cols)
	b.ColumnSums(s.pilot)
	for j := range s.pilot {
		s.pilot[j] /= float64(b.Rows())
	}
	for _, y := range b.Labels {
		s.labels[0] += float64(y) / float64(b.Rows())
	}
}

func (s *sample) alloc(d int) {
	s.pilot, s.sum, s.square, s.count = make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
}

// observe adds the rows of a sparse batch.
func (s *sample) observe(b *algorithms.Batch) {
	if s.pilot == nil {
		s.init(b)
	}
	for i, j := range b.S.Indices {
		v := float64(b.S.Data[i]) - s.pilot[j]
		s.sum[j] += v
		s.square[j] += v * v
		s.count[j]++
	}
	for _, y := range b.Labels {
		v := float64(y) - s.labels[0]
		s.labels[1] += v
		s.labels[2] += v * v
		if s.classes != nil {
			s.classes[int(y)]++
		}
	}
	s.n += float64(b.Rows())
}

// A scaler is what training does to rows, (x−mean)/std, and what it makes of the labels of regressor. The numbers are float32, so
// that the model's weights undo exactly what was done.
type scaler struct {
	Mean, Std           []float32
	LabelMean, LabelStd float32
	Sparse              bool    // whether rows are left sparse
	Balanced            float64 // negatives for each positive
	ClassWeights        []float32
	WeightUnit          float32 // the mean weight of rows; 0 where they have none
}

// sparseBelow is the share of numbers that are not zero below which rows are left sparse.
const sparseBelow = 0.1

// reduce puts the samples of all hosts together. All hosts get the same bits; nil where none has a row.
func (s *sample) reduce(ctx context.Context, hosts *cluster.Cluster, p *Params) (*scaler, error) {
	d, err := commonWidth(ctx, len(s.pilot), hosts)
	if err != nil || d == 0 {
		return nil, err
	}
	if s.pilot == nil { // no batch came to this host
		s.alloc(d)
	}
	// The means come first, and the squares are moved to them before they are added (Chan et al. 1983).
	totals := make([]float64, d+4, d+4+len(s.classes))
	for j := range d {
		s.sum[j] -= (s.n - s.count[j]) * s.pilot[j] // the zeros
		s.square[j] += (s.n - s.count[j]) * s.pilot[j] * s.pilot[j]
		totals[j] = s.n*s.pilot[j] + s.sum[j]
		totals[d+2] += s.count[j]
	}
	totals[d], totals[d+1] = s.n, s.n*s.labels[0]+s.labels[1]
	totals[d+3] = s.weight
	totals = append(totals, s.classes...)
	if err := hosts.AllReduce(ctx, totals); err != nil {
		return nil, err
	}
	n, stored, classes := totals[d], totals[d+2], totals[d+4:]
	mean, labelMean := totals[:d], totals[d+1]/n
	squares := make([]float64, d+1)
	for j := range mean {
		mean[j] /= n
		squares[j] = moved(s.n, s.sum[j], s.square[j], mean[j]-s.pilot[j])
	}
	squares[d] = moved(s.n, s.labels[1], s.labels[2], labelMean-s.labels[0])
	if err := hosts.AllReduce(ctx, squares); err != nil {
		return nil, err
	}
	out := &scaler{Mean: make([]float32, d), Std: make([]float32, d), LabelStd: 1, Sparse: stored < sparseBelow*n*float64(d)}
	unbias, normalize := p.UnbiasData.Or(p.UseBias.Or(true)), p.NormalizeData.Or(true)
	for j := range mean {
		out.Std[j] = deviation(squares[j], n, mean[j])
		out.Mean[j] = float32(mean[j])
		if !unbias {
			out.Mean[j] = 0
		}
		if !normalize {
			out.Std[j] = 1
		}
	}
	if p.PredictorType == regressor {
		if p.NormalizeLabel.Or(true) {
			out.LabelStd = deviation(squares[d], n, labelMean)
		}
		if p.UnbiasLabel.Or(p.UseBias.Or(true)) {
			out.LabelMean = float32(labelMean)
		}
	}
	if out.weigh(classes, n, p); p.SampleWeights {
		if out.WeightUnit = float32(totals[d+3] / n); out.WeightUnit == 0 {
			return nil, algospec.ClientErrorf("channel train: %w, of the first %v", errNoWeight, n)
		}
	}
	return out, nil
}

// moved returns Σ(x−pilot−e)².
func moved(n, sum, square, e float64) float64 { return square - 2*e*sum + n*e*e }

// deviation returns the standard deviation of a population; 1 where it is 0, or no more than what rounding makes of a constant.
func deviation(squares, n, mean float64) float32 {
	std := math.Sqrt(max(0, squares) / n)
	if std <= 1e-7*math.Abs(mean) || float32(std) == 0 || math.IsInf(float64(1/float32(std)), 0) {
		return 1
	}
	return float32(std)
}

// unseen is the weight of a class that the sample has not.
const unseen = 1_000_000

// weigh makes the weights of the classes.
func (s *scaler) weigh(classes []float64, n float64, p *Params) {
	switch {
	case p.PredictorType == binaryClassifier:
		s.Balanced = 1
		if classes[0] > 0 && classes[1] > 0 {
			s.Balanced = classes[0] / classes[1]
		}
	case p.PredictorType == multiclassClassifier && p.BalanceMulticlassWeights:
		s.ClassWeights = make([]float32, len(classes))
		for c, count := range classes {
			s.ClassWeights[c] = unseen
			if count > 0 {
				s.ClassWeights[c] = float32(n / count)
			}
		}
	}
}

// commonWidth returns how many features the rows of all hosts have, where this one's have d; 0 is of
// a host without rows.
func commonWidth(ctx context.Context, d int, hosts *cluster.Cluster) (int, error) {
	widths := make([]float64, hosts.Size())
	widths[hosts.Rank()] = float64(d)
	if err := hosts.AllReduce(ctx, widths); err != nil {
		return 0, err
	}
	common := 0.0
	for rank, width := range widths {
		switch {
		case common == 0:
			common = width
		case width != 0 && width != common:
			return 0, algospec.ClientErrorf("channel train: the host of rank %d has %v features, and one before it %v", rank, width, common)
		}
	}
	return int(common), nil
}

// apply scales the rows of a batch in place. What is subtracted from sparse rows is left to the models: see shift.
func (s *scaler) apply(b *algorithms.Batch) {
	if s.Sparse {
		for i, j := range b.S.Indices {
			b.S.Data[i] /= s.Std[j]
		}
	}
	for i := range b.X.Rows {
		row := b.Row(i)
		mean, std := s.Mean[:len(row)], s.Std[:len(row)]
		for j, x := range row {
			row[j] = (x - mean[j]) / std[j]
		}
	}
}

// applyLabels scales the labels of a batch in place.
func (s *scaler) applyLabels(b *algorithms.Batch) {
	if s.LabelMean != 0 || s.LabelStd != 1 {
		for i, y := range b.Labels {
			b.Labels[i] = (y - s.LabelMean) / s.LabelStd
		}
	}
}

// shift returns mean/std, which is to be subtracted from the rows that apply has left sparse; nil where nothing is.
func (s *scaler) shift() []float32 {
	if !s.Sparse {
		return nil
	}
	shift, some := make([]float32, len(s.Mean)), false
	for j, mean := range s.Mean {
		shift[j] = mean / s.Std[j]
		some = some || mean != 0
	}
	if !some {
		return nil
	}
	return shift
}

// unscale returns the weights, d×outputs, and biases for raw features and labels of those for scaled ones:
// w = σy·w/σx, b = σy·b + μy − Σ μx·w (builtin-algorithms, 4.7).
func (s *scaler) unscale(weights, bias []float32) (raw, rawBias []float32) {
	outputs := len(bias)
	raw, rawBias = make([]float32, len(weights)), make([]float32, outputs)
	sums := make([]float64, outputs)
	for k, b := range bias {
		sums[k] = float64(b)*float64(s.LabelStd) + float64(s.LabelMean)
	}
	for j, std := range s.Std {
		for k := range outputs {
			w := float64(weights[j*outputs+k]) * float64(s.LabelStd) / float64(std)
			raw[j*outputs+k] = float32(w)
			sums[k] -= w * float64(s.Mean[j])
		}
	}
	for k, sum := range sums {
		rawBias[k] = float32(sum)
	}
	return raw, rawBias
}
