// Package datasets makes the data that comparisons run on: the same bytes on every machine, and large
// enough to measure.
package datasets

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/recordio"
)

// A Table is labelled rows in memory.
type Table struct {
	Name   string
	X      blas32.General  // dense rows, or
	S      *algorithms.CSR // sparse ones
	Labels []float32       // nil where there are none
}

// Rows returns the number of rows.
func (t *Table) Rows() int {
	if t.S != nil {
		return len(t.S.Indptr) - 1
	}
	return t.X.Rows
}

// Cols returns the number of features.
func (t *Table) Cols() int {
	if t.S != nil {
		return t.S.Cols
	}
	return t.X.Cols
}

// Blobs are rows about 64 centers, whose coordinates are of deviation 3, each row with noise of deviation 1 of
// which a part lies in 8 directions: there is something to find for PCA and k-means, and the clusters touch.
func Blobs(rows, columns int, seed uint64) *Table {
	t := dense(fmt.Sprintf("%s×%d", count(rows), columns), rows, columns)
	const centers, directions = 64, 8
	rng := rand.New(rand.NewPCG(seed, 0))
	center, direction := normal(rng, centers*columns, 3), normal(rng, directions*columns, 0.5)
	t.fill(seed, func(rng *rand.Rand, i int, row []float32) {
		at := rng.IntN(centers)
		copy(row, center[at*columns:][:columns])
		for k := range directions {
			w := float32(rng.NormFloat64()) * float32(directions-k) / 2
			for j, v := range direction[k*columns:][:columns] {
				row[j] += w * v
			}
		}
		for j := range row {
			row[j] += float32(rng.NormFloat64())
		}
	})
	return t
}

// Linear are rows with a label that a linear model tells, but for some noise: 0 or 1 where binary, else a
// number. Features have mean 0 and deviation 1, so that who does not scale them has no harm.
func Linear(rows, columns int, binary bool, seed uint64) *Table {
	t := dense(fmt.Sprintf("%s×%d", count(rows), columns), rows, columns)
	t.Labels = make([]float32, rows)
	rng := rand.New(rand.NewPCG(seed, 0))
	weight := normal(rng, columns, 2/math.Sqrt(float64(columns)))
	t.fill(seed, func(rng *rand.Rand, i int, row []float32) {
		z := float32(0)
		for j := range row {
			v := float32(rng.NormFloat64())
			z += v * weight[j]
			row[j] = v
		}
		t.Labels[i] = label(rng, z, binary)
	})
	return t
}

// Indicators are sparse rows as those of a9a: 14 of 123 features are 1, one of each group.
func Indicators(rows int, seed uint64) *Table {
	const columns, groups = 123, 14
	t := &Table{Name: fmt.Sprintf("%s×%d, %d of them 1", count(rows), columns, groups), Labels: make([]float32, rows)}
	t.S = &algorithms.CSR{Cols: columns, Indptr: make([]int, rows+1), Indices: make([]int32, rows*groups), Data: make([]float32, rows*groups)}
	rng := rand.New(rand.NewPCG(seed, 0))
	weight := normal(rng, columns, 1)
	for i := range rows {
		z := float32(-1)
		for g := range groups {
			begin, end := g*columns/groups, (g+1)*columns/groups
			j := begin + int(float64(end-begin)*math.Pow(rng.Float64(), 2)) // the first are more frequent
			t.S.Indices[i*groups+g], t.S.Data[i*groups+g] = int32(j), 1
			z += weight[j]
		}
		t.S.Indptr[i+1] = (i + 1) * groups
		t.Labels[i] = label(rng, z, true)
	}
	return t
}

func label(rng *rand.Rand, z float32, binary bool) float32 {
	if !binary {
		return z + float32(rng.NormFloat64())/2
	}
	if rng.Float64() < 1/(1+math.Exp(-float64(z))) {
		return 1
	}
	return 0
}

func dense(name string, rows, columns int) *Table {
	return &Table{Name: name, X: blas32.General{Rows: rows, Cols: columns, Stride: columns, Data: make([]float32, rows*columns)}}
}

// fill has each row written, in blocks with random numbers of their own, so that the number of threads does not matter.
func (t *Table) fill(seed uint64, write func(rng *rand.Rand, i int, row []float32)) {
	const block = 4096
	var threads sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		threads.Go(func() {
			for begin := range next {
				rng := rand.New(rand.NewPCG(seed, uint64(begin)+1))
				for i := begin; i < min(begin+block, t.X.Rows); i++ {
					write(rng, i, t.X.Data[i*t.X.Stride:][:t.X.Cols])
				}
			}
		})
	}
	for begin := 0; begin < t.X.Rows; begin += block {
		next <- begin
	}
	close(next)
	threads.Wait()
}

func normal(rng *rand.Rand, n int, deviation float64) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(rng.NormFloat64() * deviation)
	}
	return values
}

func count(n int) string {
	switch {
	case n >= 1e6 && n%1e5 == 0:
		return fmt.Sprintf("%gM", float64(n)/1e6)
	case n >= 1e3 && n%1e3 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// Batch returns rows begin to end, which share the table's memory.
func (t *Table) Batch(begin, end int) blas32.General {
	return blas32.General{Rows: end - begin, Cols: t.X.Cols, Stride: t.X.Stride, Data: t.X.Data[begin*t.X.Stride : end*t.X.Stride]}
}

// Matrix returns rows begin to end, dense or sparse, which share the table's memory.
func (t *Table) Matrix(begin, end int) compute.Matrix {
	if t.S == nil {
		return compute.Matrix{X: t.Batch(begin, end)}
	}
	from, to := t.S.Indptr[begin], t.S.Indptr[end]
	part := &algorithms.CSR{Cols: t.S.Cols, Indices: t.S.Indices[from:to], Data: t.S.Data[from:to]}
	for _, at := range t.S.Indptr[begin : end+1] {
		part.Indptr = append(part.Indptr, at-from)
	}
	return compute.Matrix{S: part}
}

// SaveRecords writes a RecordIO-protobuf file.
func (t *Table) SaveRecords(path string) error {
	return save(path, func(w *bufio.Writer) error { return t.writeRecords(w) })
}

// Records returns the rows as RecordIO-protobuf.
func (t *Table) Records() ([]byte, error) {
	var b bytes.Buffer
	err := t.writeRecords(&b)
	return b.Bytes(), err
}

func (t *Table) writeRecords(w io.Writer) error {
	records := recordio.NewWriter(w)
	for i := range t.Rows() {
		var label []float32
		if t.Labels != nil {
			label = t.Labels[i : i+1]
		}
		var err error
		if t.S != nil {
			columns, values := t.S.Row(i)
			err = records.WriteSparseRow(t.S.Cols, columns, values, label...)
		} else {
			err = records.WriteRow(t.X.Data[i*t.X.Stride:][:t.X.Cols], label...)
		}
		if err != nil {
			return err
		}
	}
	return records.Flush()
}

// SaveNumbers writes what another program reads into memory without parsing: in the directory, x and, where there are
// such, y, indptr and indices; numbers of 4 bytes, little-endian.
func (t *Table) SaveNumbers(dir string) error {
	files := map[string]any{"x": t.X.Data}
	if t.S != nil {
		indptr := make([]int32, len(t.S.Indptr))
		for i, at := range t.S.Indptr {
			indptr[i] = int32(at)
		}
		files = map[string]any{"x": t.S.Data, "indptr": indptr, "indices": t.S.Indices}
	}
	if t.Labels != nil {
		files["y"] = t.Labels
	}
	for name, numbers := range files {
		err := save(filepath.Join(dir, name), func(w *bufio.Writer) error { return binary.Write(w, binary.LittleEndian, numbers) })
		if err != nil {
			return err
		}
	}
	return nil
}

func save(path string, write func(*bufio.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}
