// Package kernel holds the innermost loops of package compute, each as one function over slices, in
// sets: one in Go for every machine, and on amd64 two in assembly, for AVX2 with FMA and for AVX-512,
// which the program in folder avo writes.
//
// A panel is a strip of a matrix as wide as a vector, row by row; what is b below is one or several
// panels of k rows, a stride of bPanel elements apart. A tile is Rows rows of as many panels. The
// functions of assembly check no bounds: what lengths they need is for the caller to see to.
package kernel

//go:generate sh -c "cd avo && GOWORK=off go run main.go -out ../avx_amd64.s -stubs ../avx_amd64.go -pkg kernel"

// Widest is how many panels a tile is wide at most.
const Widest = 3

// A Set is the kernels for one instruction set. The functions in arrays are indexed by the number of
// panels, from 1 to Widest.
type Set struct {
	Name    string
	Rows    int // rows of a tile
	Lanes32 int // columns of a panel of float32
	Lanes64 int // columns of a panel of float64

	// Tile32 adds a·b to c, k products to each element; element (i, l) of a is at i*aRow+l*aCol, row i of c at i*cRow.
	Tile32 [Widest + 1]func(k int, a []float32, aRow, aCol int, b []float32, bPanel int, c []float32, cRow int)
	// Gram32 adds aᵀ·b to c; a is the first column of a tile's within a panel of k rows. Products are added up in
	// float32, which the caller bounds by k.
	Gram32 [Widest + 1]func(k int, a, b []float32, bPanel int, c []float64, cRow int)
	// Gram64 is Gram32 in float64.
	Gram64 [Widest + 1]func(k int, a, b []float64, bPanel int, c []float64, cRow int)
	// Sparse32 adds Σ values[l]·b[columns[l]] to c.
	Sparse32 [Widest + 1]func(columns []int32, values []float32, b []float32, bPanel int, c []float32)

	// Pack32 writes the first Lanes32 elements of n rows of x, xRow apart, less the pilot, to a panel, and adds them to sum.
	Pack32 func(n int, x []float32, xRow int, pilot, panel []float32, sum []float64)
	// Pack64 is Pack32 with panels of Lanes64 float64.
	Pack64 func(n int, x []float32, xRow int, pilot []float32, panel, sum []float64)

	// Shift writes n elements of x less the pilot to dst and returns the sum of their squares.
	Shift func(n int, x, pilot, dst []float32) float64
	// Distance returns Σ(x−c)² over n elements.
	Distance func(n int, x, c []float32) float64
	// AddTo adds w·x to dst, n elements.
	AddTo func(n int, dst []float64, x []float32, w float64)
	// Axpy adds v·x to dst, n elements, a multiple of Lanes32 as for Scan.
	Axpy func(n int, v float32, x, dst []float32)
	// Scan returns the index of the first of n > 0 elements that is not above the least of them by more than
	// slack, and how many such there are.
	Scan func(n int, x []float32, slack float32) (first, count int)
}

// Sets returns the sets that this machine can run, the fastest first.
func Sets() []Set { return append(native(), portable) }
