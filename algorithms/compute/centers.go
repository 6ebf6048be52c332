package compute

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute/internal/kernel"
)

const (
	// tileRows are the rows that one piece of a task takes.
	tileRows = 64
	// scoreBytes is how much room the scores of some rows take, unless those of a tile take more.
	scoreBytes = 1 << 18
	// stepColumns of a panel of centers, and of the rows they are multiplied with, stay in the second cache.
	stepColumns = 1024
	// roundBytes of rows are assigned before they are added up, while they are in a cache.
	roundBytes = 1 << 20
	// sumLanes lanes at most add up a share of the rows each, in sums of their own of laneBytes in all. There are as many as make
	// adding up the lanes little beside adding up the rows, and leave a lane's sums in the second cache.
	sumLanes  = 32
	laneBytes = 2 << 20
	fewLanes  = 8 // fewer are left
	// largest is up to where squares are of float32. Rows and centers beyond it are compared in float64.
	largest = 1e37
)

// centers finds the nearest by score ‖c‖² − 2x·c, in float32, which orders centers as the distance does but for
// rounding. Where the scores of several lie within what rounding may do, their distances in float64 decide. Rows and
// centers are taken about the mean of the centers, which keeps that margin small wherever the data lie.
type centers struct {
	e    *cpu
	set  *kernel.Set
	k, d int
	c    []float32 // k×d, as they are

	dense, sparse scorer

	total       []float64 // of the centers
	scratchNear []int32
	distances   []float64
	lane        []lane

	// Of the call that is under way:
	making     *scorer
	x          Matrix
	end        int // rows
	near       []int32
	distance32 []float32
	distance64 []float64
	weight     []float32
	sums       []float64
	weights    []float64
	loss       float64
	rounds     phases
	pieces     int
	columns    int // that a piece adds up, or 0 where it is of centers
	dst        blas32.General
}

// A scorer is centers about a pilot, ready to be multiplied with rows.
type scorer struct {
	pilot  []float32 // nil for the origin
	panels int
	b      []float32 // panels of −2c, d rows each
	norms  []float32 // ‖c‖², and +Inf for the columns that pad the last panel
	finite bool

	squares []float64 // ‖c‖²
	norm    float64   // of the largest
}

func (e *cpu) NewCenters(c blas32.General) Centers {
	p := &centers{e: e, set: &e.set}
	p.Set(c)
	return p
}

func (p *centers) Set(c blas32.General) {
	checkDense("centers", c)
	p.k, p.d = c.Rows, c.Cols
	p.c = slices.Grow(p.c[:0], p.k*p.d)[:p.k*p.d]
	for j := range p.k {
		copy(p.c[j*p.d:][:p.d], c.Data[j*c.Stride:])
	}
	p.dense.panels, p.sparse.panels = 0, 0
}

// scorer returns the scorer for the rows of x, which is made when it is first needed.
func (p *centers) scorer(x Matrix) *scorer {
	s := &p.dense
	if x.S != nil {
		s = &p.sparse
	}
	if s.panels > 0 {
		return s
	}
	if x.S == nil {
		s.pilot = p.mean(s.pilot)
	}
	w := p.set.Lanes32
	s.panels = (p.k + w - 1) / w
	aligned(&s.b, s.panels*w*p.d)
	s.squares = slices.Grow(s.squares[:0], s.panels*w)[:s.panels*w]
	s.norms = slices.Grow(s.norms[:0], s.panels*w)[:s.panels*w]
	p.making = s
	p.e.run((*panelTask)(p), s.panels, 4*float64(p.k)*float64(p.d))
	most := 0.0
	for _, square := range s.squares[:p.k] {
		most = max(most, square) // NaN stays
	}
	s.norm = math.Sqrt(most)
	s.finite = most < largest
	return s
}

// mean returns the mean of the centers, in the memory of dst.
func (p *centers) mean(dst []float32) []float32 {
	p.total = slices.Grow(p.total[:0], p.d)[:p.d]
	sums := p.total
	clear(sums)
	for j := range p.k {
		for l, v := range p.c[j*p.d:][:p.d] {
			sums[l] += float64(v)
		}
	}
	dst = slices.Grow(dst[:0], p.d)[:p.d]
	for l, sum := range sums {
		dst[l] = float32(sum / float64(p.k))
	}
	return dst
}

// A panelTask makes the panels of a scorer: a piece is a panel.
type panelTask centers

func (t *panelTask) do(_ *scratch, panel int) {
	p := (*centers)(t)
	s, w := p.making, p.set.Lanes32
	first, size := panel*w, w*p.d
	b := s.b[first*p.d:][:size]
	step, next := w, 1 // from a column to the next, and from a center
	if s == &p.dense && p.e.blas != nil {
		step, next = 1, p.d // row by row
	}
	clear(b)
	for j := range w {
		s.squares[first+j], s.norms[first+j] = 0, float32(math.Inf(1))
	}
	for j := range min(w, p.k-first) {
		square, at := 0.0, j*next
		for l, v := range p.c[(first+j)*p.d:][:p.d] {
			if s.pilot != nil {
				v -= s.pilot[l]
			}
			b[at] = -2 * v
			at += step
			square += float64(v) * float64(v)
		}
		s.squares[first+j], s.norms[first+j] = square, float32(square)
	}
}

// slack returns twice by how much the scores of a row of the given norm may be wrong: products and sums round d+2 times,
// the values and what they are multiplied with have before; see Higham 2002, section 3.1.
func (s *scorer) slack(norm float64, d int) float32 {
	const unit, underflow = 1.0 / (1 << 24), 1e-44
	return float32(2 * (unit*(float64(d+8)*2*norm*s.norm+4*s.norm*(s.norm+norm)) + float64(d)*underflow) * 1.001)
}

func (p *centers) begin(x Matrix) {
	if x.Cols() != p.d {
		panic(fmt.Sprintf("compute: rows of %d columns to centers of %d", x.Cols(), p.d))
	}
	if p.k == 0 {
		panic("compute: no centers")
	}
	x.check()
	p.scorer(x)
	p.x = x
}

func (p *centers) finish() {
	p.x, p.near, p.distance32, p.distance64 = Matrix{}, nil, nil, nil
	p.weight, p.sums, p.weights, p.dst = nil, nil, nil, blas32.General{}
}

// work returns how many multiplications the scores of so many rows take.
func (p *centers) work(rows int) float64 {
	if p.x.S != nil {
		return float64(p.x.S.Indptr[len(p.x.S.Indptr)-1]) / float64(p.x.Rows()) * float64(rows) * float64(p.k)
	}
	return float64(rows) * float64(p.d) * float64(p.k+2*p.set.Lanes32)
}

func (p *centers) Assign(x Matrix, nearest []int32, distance []float32) {
	p.begin(x)
	rows := x.Rows()
	if nearest != nil && len(nearest) < rows || distance != nil && len(distance) < rows {
		panic(fmt.Sprintf("compute: %d and %d results for %d rows", len(nearest), len(distance), rows))
	}
	p.end, p.near, p.distance32 = rows, nearest, distance
	if rows > 0 {
		p.e.run((*assignTask)(p), (rows+tileRows-1)/tileRows, p.work(rows))
	}
	p.finish()
}

func (p *centers) AssignAndSum(x Matrix, weight []float32, sums, weights []float64) float64 {
	p.begin(x)
	rows := x.Rows()
	if weight != nil && len(weight) < rows || len(sums) < p.k*p.d || len(weights) < p.k {
		panic(fmt.Sprintf("compute: %d weights, %d sums and %d sums of weights for %d rows and %d×%d centers", len(weight), len(sums), len(weights), rows, p.k, p.d))
	}
	p.weight = weight
	if n := p.lanes(rows); n > 0 {
		return p.sumInLanes(n, sums, weights)
	}
	return p.sumInRounds(sums, weights)
}

// lanes returns how many lanes are worth it for so many rows; it does not depend on the threads, as results would.
func (p *centers) lanes(rows int) int {
	n := min(sumLanes, rows/(16*p.k), laneBytes/(8*(p.k*p.d+1)), rows/tileRows)
	if n < fewLanes {
		return 0
	}
	return n
}

// A lane is what a share of the rows comes to.
type lane struct {
	sums, weights []float64
	loss          float64
}

// sumInLanes goes over the rows once.
func (p *centers) sumInLanes(n int, sums, weights []float64) (loss float64) {
	for len(p.lane) < n {
		p.lane = append(p.lane, lane{})
	}
	p.pieces, p.end = n, p.x.Rows()
	p.e.run((*laneSumTask)(p), n, p.work(p.end))
	for i := range n {
		l := &p.lane[i]
		for j, v := range l.sums {
			sums[j] += v
		}
		for j, v := range l.weights {
			weights[j] += v
		}
		loss += l.loss
	}
	p.finish()
	return loss
}

// A laneSumTask assigns rows and adds them up: a piece is a lane.
type laneSumTask centers

func (t *laneSumTask) do(s *scratch, piece int) {
	p := (*centers)(t)
	l := &p.lane[piece]
	clear(aligned(&l.sums, p.k*p.d))
	clear(aligned(&l.weights, p.k))
	l.sums, l.weights, l.loss = l.sums[:p.k*p.d], l.weights[:p.k], 0
	end := p.end * (piece + 1) / p.pieces
	for first := p.end * piece / p.pieces; first < end; first += tileRows {
		p.scores(s, first, min(first+tileRows, end), func(row int, scores []float32, norm float64) {
			j, d := p.nearest(s, row, scores, norm)
			w := p.weightOf(row)
			l.weights[j] += w
			l.loss += w * d
			p.add(l.sums[j*p.d:][:p.d], row, 0, w)
		})
	}
}

// add adds w times a row to a center's sum, or some columns of it, which begin at from.
func (p *centers) add(sum []float64, row, from int, w float64) {
	if p.x.S == nil {
		p.set.AddTo(len(sum), sum, p.x.X.Data[row*p.x.X.Stride+from:], w)
		return
	}
	columns, values := p.x.S.Row(row)
	for l, column := range columns {
		sum[column] += w * float64(values[l])
	}
}

// sumInRounds assigns rows while they are in a cache, and adds them up then, each center's sum, or some columns of it, by one worker.
func (p *centers) sumInRounds(sums, weights []float64) (loss float64) {
	rows, workers := p.x.Rows(), p.e.workers()
	round := tileRows
	if workers > 1 {
		round = up(max(roundBytes/(4*max(p.d, 1)), 8*tileRows*workers), tileRows)
	}
	round = min(round, up(max(rows, 1), tileRows))
	p.scratchNear, p.distances = slices.Grow(p.scratchNear[:0], round)[:round], slices.Grow(p.distances[:0], round)[:round]
	p.near, p.distance64, p.sums, p.weights, p.loss = p.scratchNear, p.distances, sums, weights, 0
	p.pieces, p.columns = p.e.shares(), 0
	if workers > 1 && p.x.S == nil && p.d >= 2*tileRows*workers {
		p.columns = up((p.d+2*workers-1)/(2*workers), p.set.Lanes32)
		p.pieces = (p.d + p.columns - 1) / p.columns
	}
	p.rounds = phases{(round + tileRows - 1) / tileRows, p.pieces + 1}
	pieces := (rows + round - 1) / round * (p.rounds.first + p.rounds.second)
	p.e.runPhases((*roundsTask)(p), p.rounds, pieces, p.work(rows)+float64(rows)*float64(p.d)*float64(2*p.set.Lanes32))
	p.finish()
	return p.loss
}

// A roundsTask assigns rows and adds them to the sums of their nearest centers, round by round: first a piece is tileRows rows;
// then it is a strip of the columns, or every so manyth center, and the last one is the weights and the loss.
type roundsTask centers

func (t *roundsTask) do(s *scratch, piece int) {
	p := (*centers)(t)
	round, piece := piece/(p.rounds.first+p.rounds.second), piece%(p.rounds.first+p.rounds.second)
	first := round * len(p.near)
	rows := min(len(p.near), p.x.Rows()-first)
	switch part := piece - p.rounds.first; {
	case part < 0:
		(*assignTask)(p).rows(s, first, first+piece*tileRows, min(first+(piece+1)*tileRows, first+rows))
	case part < p.pieces:
		p.sum(part, first, rows)
	default:
		for i, j := range p.near[:rows] {
			w := p.weightOf(first + i)
			p.loss += w * p.distances[i]
			p.weights[j] += w
		}
	}
}

// sum adds the rows of a round to a part of the sums.
func (p *centers) sum(part, first, rows int) {
	from, to := 0, p.d
	if p.columns > 0 {
		from = part * p.columns
		to = min(from+p.columns, p.d)
	}
	for i := range rows {
		j := int(p.near[i])
		if p.columns == 0 && p.pieces > 1 && j&(p.pieces-1) != part {
			continue
		}
		sum := p.sums[j*p.d:][:p.d]
		p.add(sum[from:to], first+i, from, p.weightOf(first+i))
	}
}

func (p *centers) weightOf(row int) float64 {
	if p.weight == nil {
		return 1
	}
	return float64(p.weight[row])
}

// An assignTask assigns rows: a piece is tileRows of them.
type assignTask centers

func (t *assignTask) do(s *scratch, piece int) {
	first := piece * tileRows
	t.rows(s, 0, first, min(first+tileRows, t.end))
}

// rows assigns rows from first to end. The results begin with those of the row base.
func (t *assignTask) rows(s *scratch, base, first, end int) {
	p := (*centers)(t)
	p.scores(s, first, end, func(row int, scores []float32, norm float64) {
		j, d := p.nearest(s, row, scores, norm)
		if p.near != nil {
			p.near[row-base] = int32(j)
		}
		if p.distance32 != nil {
			p.distance32[row-base] = float32(d)
		}
		if p.distance64 != nil {
			p.distance64[row-base] = d
		}
	})
}

// scores calls f with the scores of each row, which are of no use where the norm is not finite or too large.
func (p *centers) scores(s *scratch, first, end int, f func(row int, scores []float32, norm float64)) {
	if p.x.S != nil {
		p.sparseScores(s, first, end, f)
		return
	}
	w, sc := p.set.Lanes32, &p.dense
	width := sc.panels * w
	stride := max(up(p.d, w), w)
	batch := min(tileRows, max(p.set.Rows, scoreBytes/(4*width)/p.set.Rows*p.set.Rows))
	scores := aligned(&s.scores, batch*width)
	rows := aligned(&s.rows, batch*stride)
	var norms [tileRows]float64
	for ; first < end; first += batch {
		n := min(batch, end-first)
		for i := range n {
			x, dst := p.x.X.Data[(first+i)*p.x.X.Stride:][:p.d], rows[i*stride:][:stride]
			norms[i] = math.Sqrt(p.set.Shift(p.d, x, sc.pilot, dst))
			copy(scores[i*width:][:width], sc.norms)
		}
		if p.e.blas != nil && p.d > 0 {
			p.e.blas.sgemm(false, true, n, p.k, p.d, rows, stride, sc.b, p.d, scores, width)
		}
		for panel := 0; panel < sc.panels && p.e.blas == nil; panel += kernel.Widest {
			panels := min(kernel.Widest, sc.panels-panel)
			for l := 0; l < p.d; l += stepColumns {
				steps := min(stepColumns, p.d-l)
				for i := 0; i < n; i += p.set.Rows {
					p.set.Tile32[panels](steps, rows[i*stride+l:], stride, 1, sc.b[(panel*p.d+l)*w:], p.d*w, scores[i*width+panel*w:], width)
				}
			}
		}
		for i := range n {
			f(first+i, scores[i*width:][:width], norms[i])
		}
	}
}

func (p *centers) sparseScores(s *scratch, first, end int, f func(row int, scores []float32, norm float64)) {
	w, sc := p.set.Lanes32, &p.sparse
	width := sc.panels * w
	scores := aligned(&s.scores, width)
	for row := first; row < end; row++ {
		columns, values := p.x.S.Row(row)
		square := 0.0
		for _, v := range values {
			square += float64(v) * float64(v)
		}
		copy(scores, sc.norms)
		for panel := 0; panel < sc.panels; panel += kernel.Widest {
			panels := min(kernel.Widest, sc.panels-panel)
			p.set.Sparse32[panels](columns, values, sc.b[panel*p.d*w:], p.d*w, scores[panel*w:])
		}
		f(row, scores, math.Sqrt(square))
	}
}

// nearest returns the center nearest to a row and its squared distance.
func (p *centers) nearest(s *scratch, row int, scores []float32, norm float64) (int, float64) {
	sc := &p.dense
	if p.x.S != nil {
		sc = &p.sparse
	}
	if !sc.finite || !(norm*norm < largest) {
		return p.compare(s, row, scores, float32(math.Inf(1)))
	}
	slack := sc.slack(norm, p.d)
	first, count := p.set.Scan(len(scores), scores, slack)
	if count > 1 {
		least := scores[first]
		for _, v := range scores[first+1 : p.k] {
			least = min(least, v)
		}
		return p.compare(s, row, scores, least+slack)
	}
	if p.x.S != nil {
		return first, p.exact(s, row, first)
	}
	return first, p.set.Distance(p.d, p.x.X.Data[row*p.x.X.Stride:][:p.d], p.c[first*p.d:][:p.d])
}

// compare returns the nearest of the centers whose score is not above a bound, by their distances in float64.
func (p *centers) compare(s *scratch, row int, scores []float32, bound float32) (nearest int, square float64) {
	all := math.IsInf(float64(bound), 1)
	square = math.Inf(1)
	for j := range p.k {
		if !all && scores[j] > bound {
			continue
		}
		if d := p.exact(s, row, j); d < square {
			nearest, square = j, d
		}
	}
	return nearest, square
}

// exact returns the squared distance of a row and a center in float64.
func (p *centers) exact(s *scratch, row, j int) float64 {
	c := p.c[j*p.d:][:p.d]
	if p.x.S == nil {
		return squared(p.x.X.Data[row*p.x.X.Stride:][:p.d], c)
	}
	// Σ(x−c)² over what is stored, and Σc² over the rest.
	square, scale := p.sparse.squares[j], p.sparse.squares[j]
	columns, values := p.x.S.Row(row)
	for l, column := range columns {
		v := float64(values[l])
		square += v * (v - 2*float64(c[column]))
		scale += v * v
	}
	if square > scale*1e-6 {
		return square
	}
	x := aligned(&s.rows, p.d) // they nearly cancel
	clear(x)
	for l, column := range columns {
		x[column] = values[l]
	}
	return squared(x, c)
}

// squared returns Σ(x−c)² in float64.
func squared(x, c []float32) float64 {
	square := 0.0
	for l, v := range x {
		diff := float64(v) - float64(c[l])
		square += diff * diff
	}
	return square
}

func (p *centers) Distances(x Matrix, dst blas32.General) {
	p.begin(x)
	if dst.Rows != x.Rows() || dst.Cols != p.k {
		panic(fmt.Sprintf("compute: the distances of %d rows and %d centers into %d×%d", x.Rows(), p.k, dst.Rows, dst.Cols))
	}
	checkDense("distances", dst)
	p.dst, p.end = dst, x.Rows()
	if p.end > 0 {
		p.e.run((*distancesTask)(p), (p.end+tileRows-1)/tileRows, p.work(p.end))
	}
	p.finish()
}

// A distancesTask writes distances: a piece is tileRows rows.
type distancesTask centers

// cancelled is the part of ‖x‖²+‖c‖² below which a distance is computed once more from the differences.
const cancelled = 1.0 / 16

func (t *distancesTask) do(s *scratch, piece int) {
	p := (*centers)(t)
	sc := &p.dense
	if p.x.S != nil {
		sc = &p.sparse
	}
	first := piece * tileRows
	p.scores(s, first, min(first+tileRows, p.end), func(row int, scores []float32, norm float64) {
		square := norm * norm
		usable := sc.finite && square < largest
		dst := p.dst.Data[row*p.dst.Stride:][:p.k]
		for j := range dst {
			d := square + float64(scores[j])
			if !usable || !(d >= cancelled*(square+float64(sc.norms[j]))) {
				d = p.exact(s, row, j)
			}
			dst[j] = float32(d)
		}
	})
}
