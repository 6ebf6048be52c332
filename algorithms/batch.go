package algorithms

import "gonum.org/v1/gonum/blas/blas32"

// Batching is the hyperparameters of reading data in batches of rows. A struct that embeds it may
// give mini_batch_size a default: `default:"mini_batch_size=5000"`.
type Batching struct {
	FeatureDim    int `hyperparameter:"feature_dim,required" range:"[1,)"`     // columns
	MiniBatchSize int `hyperparameter:"mini_batch_size,required" range:"[1,)"` // rows of a batch; the last one may have fewer

	// AnyWidth takes as many columns as the first record has, where it tells, instead of
	// FeatureDim. All records must have as many.
	AnyWidth bool `hyperparameter:"-"`
	// NonFinite accepts features that are NaN or infinite. They are an error otherwise.
	NonFinite bool `hyperparameter:"-"`
}

// A Batch is consecutive rows of one epoch.
type Batch struct {
	X         blas32.General // the features, a row each; Stride is Cols
	Labels    []float32      // LabelSize values for each row, row by row
	LabelSize int            // 0 where the records have no label
	First     int64          // number in the epoch, from 0, of the record in row 0
	Bytes     int64          // what the batch's records took in the stream
}

// Rows returns the number of rows, at least 1.
func (b *Batch) Rows() int { return b.X.Rows }

// Row returns the features of row i, which share the batch's memory.
func (b *Batch) Row(i int) []float32 { return b.X.Data[i*b.X.Stride:][:b.X.Cols] }

// Label returns the label values of row i, which share the batch's memory.
func (b *Batch) Label(i int) []float32 { return b.Labels[i*b.LabelSize:][:b.LabelSize] }

// ColumnSums adds the sum of each column to dst, whose length must be at least the number of
// columns; what is beyond stays.
func (b *Batch) ColumnSums(dst []float64) {
	dst = dst[:b.X.Cols]
	for i := range b.X.Rows {
		for j, x := range b.Row(i) {
			dst[j] += float64(x)
		}
	}
}

// appendRow makes room for another row and returns it. Memory grows with the rows that come, not
// with the size that a hyperparameter asks for.
func (b *Batch) appendRow() []float32 {
	end := len(b.X.Data)
	if need := end + b.X.Cols; need > cap(b.X.Data) {
		grown := make([]float32, end, max(need, 2*cap(b.X.Data)))
		copy(grown, b.X.Data)
		b.X.Data = grown
	}
	b.X.Data = b.X.Data[:end+b.X.Cols]
	b.X.Rows++
	return b.X.Data[end:]
}

// reset empties the batch for rows of the given width, keeping its memory.
func (b *Batch) reset(columns int, first int64) {
	b.X = blas32.General{Cols: columns, Stride: columns, Data: b.X.Data[:0]}
	b.Labels, b.LabelSize, b.First, b.Bytes = b.Labels[:0], 0, first, 0
}
