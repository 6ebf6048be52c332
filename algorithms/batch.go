package algorithms

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/checkpoint"
)

// Batching is the hyperparameters of reading data in batches of rows. A struct that embeds it may
// give mini_batch_size a default: `default:"mini_batch_size=5000"`. The fields that are no
// hyperparameters are for the algorithm to set.
type Batching struct {
	FeatureDim    int `hyperparameter:"feature_dim,required" range:"[1,2147483647]"` // columns
	MiniBatchSize int `hyperparameter:"mini_batch_size,required" range:"[1,)"`       // rows of a batch

	// Sparse leaves rows sparse: batches have their rows in S. Otherwise sparse rows are made
	// dense, and batches have them in X.
	Sparse bool `hyperparameter:"-"`
	// DropLast leaves out the last batch of an epoch where it has fewer than MiniBatchSize rows.
	DropLast bool `hyperparameter:"-"`
	// MaxColumns, where it is not 0, takes as many columns as the first record has, where it tells,
	// but no more than these, instead of FeatureDim. All records must have as many.
	MaxColumns int `hyperparameter:"-"`
	// NonFinite accepts features and labels that are NaN or infinite. They are an error otherwise.
	NonFinite bool `hyperparameter:"-"`
	// MaxRecord is the longest record or line accepted, in bytes; 0 means 1 GiB for records and
	// 16 MiB for lines.
	MaxRecord int `hyperparameter:"-"`
	// Ahead is how many batches are decoded while the algorithm works on one; 0 means 2.
	Ahead int `hyperparameter:"-"`
}

// A Batch is consecutive rows of one epoch.
type Batch struct {
	X         blas32.General // the features of a dense batch, a row each; Stride is Cols but for NewBatch
	S         CSR            // the features of a sparse batch
	Labels    []float32      // LabelSize values for each row, row by row
	LabelSize int            // 0 where the records have no label
	First     int64          // number in the epoch, from 0, of the record in row 0
	Bytes     int64          // what the batch's records took in the stream

	rows int
	end  checkpoint.Position
}

// NewBatch returns the batch of rows that are in memory already, for what learns from batches: the rows of x, with
// len(labels)/x.Rows values of label each. It shares their memory, and its First, Bytes and End are zero. It panics where
// the labels do not go round.
func NewBatch(x blas32.General, labels []float32) *Batch {
	b := &Batch{X: x, Labels: labels, rows: x.Rows}
	if x.Rows > 0 {
		b.LabelSize = len(labels) / x.Rows
	}
	if b.LabelSize*x.Rows != len(labels) {
		panic(fmt.Sprintf("algorithms: %d labels of %d rows", len(labels), x.Rows))
	}
	return b
}

// CSR is a sparse matrix, row by row: row i has the values Data[Indptr[i]:Indptr[i+1]], in the
// columns that Indices has at the same places, each once and in no order.
type CSR struct {
	Cols    int
	Indptr  []int
	Indices []int32
	Data    []float32
}

// Row returns the columns and the values of row i, which share the matrix's memory.
func (m *CSR) Row(i int) (columns []int32, values []float32) {
	begin, end := m.Indptr[i], m.Indptr[i+1]
	return m.Indices[begin:end], m.Data[begin:end]
}

// Rows returns the number of rows, at least 1.
func (b *Batch) Rows() int { return b.rows }

// Row returns the features of row i of a dense batch, which share its memory.
func (b *Batch) Row(i int) []float32 { return b.X.Data[i*b.X.Stride:][:b.X.Cols] }

// Label returns the label values of row i, which share the batch's memory.
func (b *Batch) Label(i int) []float32 { return b.Labels[i*b.LabelSize:][:b.LabelSize] }

// End returns the position behind the batch, from which a run goes on that has a snapshot of what it has learned up
// to this batch: see BatchesFrom.
func (b *Batch) End() checkpoint.Position { return b.end }

// ColumnSums adds the sum of each column to dst, whose length must be at least the number of
// columns; what is beyond stays.
func (b *Batch) ColumnSums(dst []float64) {
	for i, column := range b.S.Indices {
		dst[column] += float64(b.S.Data[i])
	}
	for i := range b.X.Rows {
		for j, x := range b.Row(i) {
			dst[j] += float64(x)
		}
	}
}

// appendRow makes room for another dense row and returns it. Memory grows with the rows that come,
// not with the size that a hyperparameter asks for.
func (b *Batch) appendRow() []float32 {
	end := len(b.X.Data)
	if need := end + b.X.Cols; need > cap(b.X.Data) {
		grown := make([]float32, end, max(need, 2*cap(b.X.Data)))
		copy(grown, b.X.Data)
		b.X.Data = grown
	}
	b.X.Data = b.X.Data[:end+b.X.Cols]
	b.X.Rows++
	b.rows++
	return b.X.Data[end:]
}

// appendSparse appends a sparse row.
func (b *Batch) appendSparse(columns []int32, values []float32) {
	b.S.Indices = append(b.S.Indices, columns...)
	b.S.Data = append(b.S.Data, values...)
	b.S.Indptr = append(b.S.Indptr, len(b.S.Data))
	b.rows++
}

// reset empties the batch for rows of the given width, keeping its memory.
func (b *Batch) reset(columns int, sparse bool, first int64) {
	b.X = blas32.General{Data: b.X.Data[:0]}
	b.S = CSR{Indptr: b.S.Indptr[:0], Indices: b.S.Indices[:0], Data: b.S.Data[:0]}
	if sparse {
		b.S.Cols = columns
		b.S.Indptr = append(b.S.Indptr, 0)
	} else {
		b.X.Cols, b.X.Stride = columns, columns
	}
	b.Labels, b.LabelSize, b.First, b.Bytes, b.rows = b.Labels[:0], 0, first, 0, 0
}
