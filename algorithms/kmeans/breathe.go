package kmeans

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// What breathing goes by (Fritzke 2020, "The breathing k-means algorithm").
const (
	breathTol   = 1e-4 // of Lloyd's algorithm between the breaths, and what a breath has to gain
	breathIter  = 300
	breathReach = 1.1  // in mean distances: how far the neighbours of a removed center are kept
	breathStep  = 0.01 // in mean distances: how far an added center is from the one that it helps

	inIter = 10 // Lloyd\'s algorithm with centers added need not come to its end
	inTol  = 1e-3
)

// breathe improves the centers beyond what Lloyd's algorithm finds from them: it adds centers where the loss is largest, as many as depth,
// and removes as many that are of the least use, each time with Lloyd's algorithm behind; where that gains nothing, with one fewer, until
// there is none. The centers that it returns are the best so far also where a host is stopped.
func breathe(ctx context.Context, p *points, centers blas32.General, depth int, seed int64) (best blas32.General, least float64, err error) {
	k := centers.Rows
	l := newLloyd(p, clone(centers, k))
	if least, err = l.run(ctx, breathIter, breathTol); err != nil {
		return l.centers, math.NaN(), err
	}
	best = l.centers
	for breath := uint64(0); depth > 0; breath++ {
		l, err := l.in(ctx, min(depth, k), seed, breath)
		if err == nil {
			l, err = l.out(ctx, k)
		}
		if err != nil {
			return best, least, err
		}
		loss, err := l.run(ctx, breathIter, breathTol)
		if err != nil {
			return best, least, err
		}
		if !(loss < least*(1-breathTol)) {
			depth--
		}
		if loss < least {
			best, least = l.centers, loss
		}
	}
	return best, least, nil
}

// in adds centers beside those of the largest loss.
func (l *lloyd) in(ctx context.Context, more int, seed int64, breath uint64) (*lloyd, error) {
	u, err := l.uses(ctx)
	if err != nil {
		return nil, err
	}
	k := l.centers.Rows
	r := stream(seed, streamBreath+breath)
	wide := newLloyd(l.points, clone(l.centers, k+more))
	for i, j := range order(k, func(a, b int) int { return cmp.Compare(u.loss[b], u.loss[a]) })[:more] {
		added := wide.centers.Data[(k+i)*l.d:][:l.d]
		for c, x := range l.centers.Data[j*l.d:][:l.d] {
			added[c] = x + float32((2*r.Float64()-1)*breathStep*u.mean)
		}
	}
	wide.engine.Set(wide.centers)
	_, err = wide.run(ctx, inIter, inTol)
	return wide, err
}

// out removes the centers of the least use down to k, but no neighbours of one that is removed, as far as there are others.
func (l *lloyd) out(ctx context.Context, k int) (*lloyd, error) {
	u, err := l.uses(ctx)
	if err != nil {
		return nil, err
	}
	all := l.centers.Rows
	remove := all - k
	gone, kept := make([]bool, all), make([]bool, all)
	frozen := 0
	for _, j := range order(all, func(a, b int) int { return cmp.Compare(u.use[a], u.use[b]) }) {
		if remove == 0 {
			break
		}
		if kept[j] {
			continue
		}
		gone[j] = true
		remove--
		for i := range all {
			if !gone[i] && !kept[i] && frozen < k-remove && l.near(i, j) < breathReach*u.mean {
				kept[i] = true
				frozen++
			}
		}
	}
	for j := 0; remove > 0; j++ { // of those that were kept
		if !gone[j] {
			gone[j] = true
			remove--
		}
	}
	left := blas32.General{Cols: l.d, Stride: l.d}
	for j := range all {
		if !gone[j] {
			left.Data = append(left.Data, l.centers.Data[j*l.d:][:l.d]...)
			left.Rows++
		}
	}
	return newLloyd(l.points, left), nil
}

// near returns the distance of two centers.
func (l *lloyd) near(i, j int) float64 {
	sum := 0.0
	a, b := l.centers.Data[i*l.d:][:l.d], l.centers.Data[j*l.d:][:l.d]
	for c := range a {
		e := float64(a[c]) - float64(b[c])
		sum += e * e
	}
	return math.Sqrt(sum)
}

// uses say what each center is for.
type uses struct {
	loss []float64 // of its rows
	use  []float64 // how much more the loss would be without it
	mean float64   // root of the mean squared distance of the rows
}

// usesRows is how many rows' distances to all centers are held at a time.
const usesRows = 256

func (l *lloyd) uses(ctx context.Context) (uses, error) {
	k := l.centers.Rows
	totals := make([]float64, 2*k+2)
	distance := blas32.General{Rows: usesRows, Cols: k, Stride: k, Data: make([]float32, usesRows*k)}
	err := l.sum(ctx, totals, func(x compute.Matrix) {
		for begin := 0; begin < x.Rows(); begin += usesRows {
			block := rowsBetween(x, begin, min(begin+usesRows, x.Rows()))
			dst := distance
			dst.Rows = block.Rows()
			l.engine.Distances(block, dst)
			for i := range dst.Rows {
				nearest, first, second := twoNearest(dst.Data[i*k:][:k])
				totals[nearest] += first
				totals[k+nearest] += second - first
			}
			totals[2*k] += float64(dst.Rows)
		}
	})
	u := uses{loss: totals[:k], use: totals[k : 2*k]}
	sum := 0.0
	for _, x := range u.loss {
		sum += x
	}
	u.mean = math.Sqrt(sum / max(1, totals[2*k]))
	return u, err
}

// twoNearest returns the place of the smallest distance, and the two smallest; the second is the first where there is one only.
func twoNearest(distance []float32) (nearest int, first, second float64) {
	a, b := float32(math.Inf(1)), float32(math.Inf(1))
	for j, d := range distance {
		switch {
		case d < a:
			nearest, a, b = j, d, a
		case d < b:
			b = d
		}
	}
	if len(distance) == 1 {
		b = a
	}
	return nearest, float64(a), float64(b)
}

// rowsBetween returns some rows of x, which share its memory.
func rowsBetween(x compute.Matrix, begin, end int) compute.Matrix {
	if x.S != nil {
		s := *x.S
		s.Indptr = s.Indptr[begin : end+1]
		return compute.Matrix{S: &s}
	}
	x.X.Rows = end - begin
	x.X.Data = x.X.Data[begin*x.X.Stride:]
	return x
}

// order returns 0 to n-1, sorted; equals in their order.
func order(n int, compare func(a, b int) int) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, compare)
	return places
}

// clone returns a copy of the centers with room for some more.
func clone(c blas32.General, rows int) blas32.General {
	data := make([]float32, rows*c.Cols)
	copy(data, packed(c).Data)
	return blas32.General{Rows: rows, Cols: c.Cols, Stride: c.Cols, Data: data}
}
