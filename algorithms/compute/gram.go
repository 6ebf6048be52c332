package compute

import (
	"fmt"
	"slices"

	"github.com/algospec/algospec/algorithms/compute/internal/kernel"
)

const (
	// wideFeatures is up to how many features products are of float64: what rows come to is then, to
	// some 1e-15, that of float64 throughout, and with so few features the time is not in the products.
	wideFeatures = 384
	// Beyond it products are float32, and added up in float32 over run32 rows at most: the error of an element is at
	// most (run32+2)/2²⁴ of Σ|x||y|, as a product and each sum round once, and the values did before.
	run32 = 64
	// run64 rows of a panel, and of the three it is multiplied with, stay in the first cache.
	run64 = 128
	// Up to laneFeatures the matrix is small, and lanes of their own add up chunks of rows in turn;
	// beyond, workers share the tiles of one matrix.
	laneFeatures = 128
	lanes        = 16
	laneRows     = 2 * run64
	// blockBytes is how much of the rows is packed at a time: it stays in the second cache.
	blockBytes = 1 << 20
	// packing a value takes as long as so many products.
	packing = 8
	// sparseGain is by how much a product of the dense kernels is faster than one of sparse rows.
	sparseGain = 32
)

// gram is the upper triangle of the matrix, in strips of as many rows as a tile has, from the panel that holds the
// diagonal to the last.
type gram struct {
	e       *cpu
	set     *kernel.Set
	d       int
	wide    bool
	origin  bool // the pilot is 0
	width   int  // of a panel
	panels  int
	pilot   []float32 // padded
	strips  []strip
	size    int // of outer
	run     int // rows that are multiplied at a time
	n       int64
	chunk   int // lanes: the next
	lane    []sums
	packed  [2]block
	sparse  []float64 // upper triangle, row by row, of sparse rows about 0
	sorted  []int64   // columns of a sparse row with the places of their values
	ordered sorted

	// Of the call to Add that is under way:
	x        Matrix
	turn     phases
	products float64
}

// A strip is some rows of the matrix, from a column on, which lie at an offset, so many columns each.
type strip struct{ row, rows, from, offset, columns int }

// sums are what rows come to.
type sums struct{ outer, sum []float64 }

// A block is packed rows: run after run, and in each panel after panel.
type block struct {
	first, rows int
	narrow      []float32
	wide        []float64
	sum         []float64 // of each run
}

func (e *cpu) NewGram(pilot []float32) Gram {
	g := &gram{e: e, set: &e.set, d: len(pilot), wide: len(pilot) <= wideFeatures, run: run32, width: e.set.Lanes32, origin: true}
	if g.wide {
		g.run, g.width = run64, e.set.Lanes64
	}
	rows := g.set.Rows
	if e.blas != nil {
		g.width, rows = max(g.d, 1), blasStrip
	}
	g.panels = (g.d + g.width - 1) / g.width
	g.pilot = zeroed[float32](g.panels * g.width)
	copy(g.pilot, pilot)
	for _, p := range pilot {
		g.origin = g.origin && p == 0
	}
	for row := 0; row < g.d; row += rows {
		from := row / g.width * g.width
		if e.blas != nil {
			from = row
		}
		s := strip{row: row, rows: min(rows, g.d-row), from: from, offset: g.size, columns: g.panels*g.width - from}
		g.strips = append(g.strips, s)
		g.size += rows * s.columns
	}
	return g
}

func (g *gram) Add(x Matrix) {
	if x.Cols() != g.d {
		panic(fmt.Sprintf("compute: rows of %d columns to a Gram of %d", x.Cols(), g.d))
	}
	x.check()
	rows := x.Rows()
	g.n += int64(rows)
	g.x = x
	g.products = float64(rows) * float64(g.d) * float64(g.d) / 2
	switch {
	case rows == 0 || g.d == 0:
	case x.S != nil && g.origin && g.isSparse(x):
		g.addSparse()
	case g.d <= laneFeatures:
		g.addLanes(rows)
	default:
		g.addTiles(rows)
	}
	g.x = Matrix{}
}

// addLanes deals the rows in chunks to the lanes.
func (g *gram) addLanes(rows int) {
	if g.lane == nil {
		g.lane = make([]sums, lanes)
	}
	chunks := (rows + laneRows - 1) / laneRows
	g.e.run((*laneTask)(g), min(lanes, chunks), g.products)
	g.chunk = (g.chunk + chunks) % lanes
}

// A laneTask adds up chunks of rows: a piece is all chunks of a lane.
type laneTask gram

func (t *laneTask) do(s *scratch, piece int) {
	g := (*gram)(t)
	to := &g.lane[(g.chunk+piece)%lanes]
	g.make(to)
	b := block{}
	if g.wide {
		b.wide = aligned(&s.wide, g.run*g.panels*g.width)
	} else {
		b.narrow = aligned(&s.narrow, g.run*g.panels*g.width)
	}
	b.sum = to.sum
	rows := g.x.Rows()
	for first := piece * laneRows; first < rows; first += lanes * laneRows {
		end := min(first+laneRows, rows)
		for b.first = first; b.first < end; b.first += g.run {
			b.rows = min(g.run, end-b.first)
			g.pack(s, &b, 0)
			for i := range g.strips {
				g.multiply(s, &b, i, to.outer)
			}
		}
	}
}

func (g *gram) make(s *sums) {
	if s.outer == nil {
		s.outer, s.sum = zeroed[float64](g.size), zeroed[float64](g.panels*g.width)
	}
}

// addTiles multiplies block after block, each strip by one worker, and packs the block that follows meanwhile.
func (g *gram) addTiles(rows int) {
	if g.lane == nil {
		g.lane = make([]sums, 1)
	}
	to := &g.lane[0]
	g.make(to)
	runs := g.runs()
	for i := range g.packed {
		b := &g.packed[i]
		n := min(runs, (rows+g.run-1)/g.run)
		if size := n * g.run * g.panels * g.width; g.wide {
			aligned(&b.wide, size)
		} else {
			aligned(&b.narrow, size)
		}
		aligned(&b.sum, n*g.panels*g.width)
	}
	blocks := (rows + runs*g.run - 1) / (runs * g.run)
	g.turn = phases{first: runs + len(g.strips) + 1}
	g.e.runPhases((*tileTask)(g), g.turn, (blocks+1)*g.turn.first, g.products+packing*float64(rows)*float64(g.d))
}

// block returns the rows that are packed in a turn, none before the first and after the last.
func (g *gram) block(turn int) block {
	b, rows, size := g.packed[turn&1], g.x.Rows(), g.runs()*g.run
	if turn >= 0 {
		b.first = min(turn*size, rows)
		b.rows = min(size, rows-b.first)
	}
	return b
}

// runs returns how many runs a block has.
func (g *gram) runs() int {
	bytes := 4
	if g.wide {
		bytes = 8
	}
	return max(1, blockBytes/(bytes*g.run*g.panels*g.width))
}

// A tileTask packs the runs of a block, multiplies the strips of the one before, and adds that one's rows up: the pieces of a turn.
type tileTask gram

func (t *tileTask) do(s *scratch, piece int) {
	g := (*gram)(t)
	turn, piece := piece/g.turn.first, piece%g.turn.first
	next, current := g.block(turn), g.block(turn-1)
	runs := g.turn.first - 1 - len(g.strips)
	switch strip := piece - runs; {
	case piece < runs:
		if piece*g.run < next.rows {
			clear(next.sum[piece*g.panels*g.width:][:g.panels*g.width])
			g.pack(s, &next, piece)
		}
	case strip < len(g.strips):
		g.multiply(s, &current, strip, g.lane[0].outer)
	default:
		for run := range (current.rows + g.run - 1) / g.run {
			for j, v := range current.sum[run*g.panels*g.width:][:g.panels*g.width] {
				g.lane[0].sum[j] += v
			}
		}
	}
}

// pack writes the rows of a run less the pilot to the block, and adds them to its sum.
func (g *gram) pack(s *scratch, b *block, run int) {
	if g.e.blas != nil {
		g.packBLAS(s, b, run)
		return
	}
	first := b.first + run*g.run
	n := min(g.run, b.first+b.rows-first)
	x, stride := g.x.X.Data, g.x.X.Stride
	if g.x.S != nil {
		stride = g.panels * g.width
		x = aligned(&s.rows, n*stride)
		g.scatter(x, first, n)
	} else {
		x = x[first*stride:]
	}
	for p := range g.panels {
		column := p * g.width
		from, step := x[column:], stride
		if column+g.width > stride || column+g.width > g.d && g.x.S == nil {
			from, step = aligned(&s.scores, n*g.width), g.width // the last panel, padded
			clear(from)
			for i := range n {
				copy(from[i*step:], x[i*stride+column:i*stride+g.d])
			}
		}
		at := (run*g.panels + p) * g.run * g.width
		sum := b.sum[(run*g.panels+p)*g.width:]
		if g.wide {
			g.set.Pack64(n, from, step, g.pilot[column:], b.wide[at:], sum)
		} else {
			g.set.Pack32(n, from, step, g.pilot[column:], b.narrow[at:], sum)
		}
	}
}

// scatter writes n sparse rows to dst, as wide as the panels.
func (g *gram) scatter(dst []float32, first, n int) {
	clear(dst)
	for i := range n {
		columns, values := g.x.S.Row(first + i)
		row := dst[i*g.panels*g.width:][:g.d]
		for l, j := range columns {
			row[j] = values[l]
		}
	}
}

// multiply adds the products of a strip's columns and all from its panel on.
func (g *gram) multiply(worker *scratch, b *block, i int, outer []float64) {
	if g.e.blas != nil {
		g.multiplyBLAS(worker, b, i, outer)
		return
	}
	s := g.strips[i]
	panel := g.run * g.width // elements
	first := s.from / g.width
	within := s.row % g.width
	for p := first; p < g.panels; p += kernel.Widest {
		n := min(kernel.Widest, g.panels-p)
		c := outer[s.offset+(p-first)*g.width:]
		for done := 0; done < b.rows; done += g.run {
			rows, at := min(g.run, b.rows-done), done*g.panels*g.width
			if g.wide {
				g.set.Gram64[n](rows, b.wide[at+first*panel+within:], b.wide[at+p*panel:], panel, c, s.columns)
			} else {
				g.set.Gram32[n](rows, b.narrow[at+first*panel+within:], b.narrow[at+p*panel:], panel, c, s.columns)
			}
		}
	}
}

func (g *gram) Sums(sum, outer []float64) int64 {
	if len(sum) < g.d || len(outer) < g.d*g.d {
		panic(fmt.Sprintf("compute: %d and %d elements for the sums of %d columns", len(sum), len(outer), g.d))
	}
	for _, lane := range g.lane {
		if lane.outer == nil {
			continue
		}
		for j := range g.d {
			sum[j] += lane.sum[j]
		}
		for _, s := range g.strips {
			for r := range s.rows {
				row := s.row + r
				from := lane.outer[s.offset+r*s.columns+row-s.from:]
				for j, to := 0, outer[row*g.d:][row:g.d]; j < len(to); j++ {
					to[j] += from[j]
				}
			}
		}
		clear(lane.outer)
		clear(lane.sum)
	}
	g.sparseSums(sum, outer)
	n := g.n
	g.n, g.chunk = 0, 0
	return n
}

// isSparse tells whether multiplying only what is stored is faster.
func (g *gram) isSparse(x Matrix) bool {
	stored := 0.0
	for i := range x.Rows() {
		n := float64(x.S.Indptr[i+1] - x.S.Indptr[i])
		stored += n * n
	}
	return stored*sparseGain < float64(x.Rows())*float64(g.d)*float64(g.d)
}

// sorted is sparse rows with their columns in order.
type sorted struct {
	indptr  []int
	columns []int32
	values  []float32
	pieces  int
}

// addSparse adds the products of what is stored, each of the matrix's rows by one worker.
func (g *gram) addSparse() {
	if g.sparse == nil {
		g.sparse = make([]float64, g.d+g.d*(g.d+1)/2) // the sums, and the triangle
	}
	s := g.x.S
	o := &g.ordered
	o.indptr, o.columns, o.values = append(o.indptr[:0], 0), o.columns[:0], o.values[:0]
	products := 0.0
	for i := range g.x.Rows() {
		columns, values := s.Row(i)
		products += float64(len(columns)) * float64(len(columns))
		g.sorted = g.sorted[:0]
		for l, j := range columns {
			g.sparse[j] += float64(values[l])
			g.sorted = append(g.sorted, int64(j)<<32|int64(l))
		}
		slices.Sort(g.sorted)
		for _, at := range g.sorted {
			o.columns = append(o.columns, int32(at>>32))
			o.values = append(o.values, values[int32(at)])
		}
		o.indptr = append(o.indptr, len(o.columns))
	}
	o.pieces = g.e.shares()
	g.e.run((*sparseTask)(g), o.pieces, products)
}

// A sparseTask adds sparse rows: a piece is every so manyth row of the matrix.
type sparseTask gram

func (t *sparseTask) do(_ *scratch, piece int) {
	g := (*gram)(t)
	o := &g.ordered
	triangle := g.sparse[g.d:]
	for i := range len(o.indptr) - 1 {
		columns, values := o.columns[o.indptr[i]:o.indptr[i+1]], o.values[o.indptr[i]:o.indptr[i+1]]
		for l, column := range columns {
			if int(column)&(o.pieces-1) != piece {
				continue
			}
			row := triangle[g.triangle(int(column)):]
			v := float64(values[l])
			rest := values[l:]
			for m, j := range columns[l:] {
				row[j-column] += v * float64(rest[m])
			}
		}
	}
}

// triangle returns where row i of an upper triangle begins.
func (g *gram) triangle(i int) int { return i*g.d - i*(i-1)/2 }

func (g *gram) sparseSums(sum, outer []float64) {
	if g.sparse == nil {
		return
	}
	for j := range g.d {
		sum[j] += g.sparse[j]
	}
	for i := range g.d {
		row := g.sparse[g.d+g.triangle(i):]
		for j, to := 0, outer[i*g.d:][i:g.d]; j < len(to); j++ {
			to[j] += row[j]
		}
	}
	clear(g.sparse)
}
