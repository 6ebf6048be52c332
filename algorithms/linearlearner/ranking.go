package linearlearner

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// A ranking is scores with the labels, 0 or 1, and the weights of their rows. A row of weight 1 takes 4 bytes, another 8, and memory
// comes in blocks as rows do, so that none is copied when there are more.
type ranking struct {
	n     int
	plain [2]blocks[uint32] // the scores, as ordered has them, of rows of weight 1, by their labels
	// weighted are rows of other weights: 32 bits of the score, one of the label, and the 31 of a float32 that is not negative.
	weighted blocks[uint64]
}

const labelled = 1 << 31

// add appends a score.
func (r *ranking) add(score, label, weight float32) {
	r.n++
	class := 0
	if label != 0 {
		class = 1
	}
	if weight == 1 {
		r.plain[class].add(ordered(score))
		return
	}
	r.weighted.add(uint64(ordered(score))<<32 | uint64(class)*labelled | uint64(math.Float32bits(weight)))
}

// split returns what is in a key of weighted.
func split(key uint64) (score uint32, label int, weight float64) {
	return uint32(key >> 32), int(key >> 31 & 1), float64(math.Float32frombits(uint32(key) &^ labelled))
}

// ordered returns the bits of x as a number that grows with x.
func ordered(x float32) uint32 {
	bits := math.Float32bits(x)
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

func unordered(bits uint32) float32 {
	if bits>>31 == 1 {
		return math.Float32frombits(bits &^ (1 << 31))
	}
	return math.Float32frombits(^bits)
}

const blockLen = 1 << 16

// blocks are numbers in slices of blockLen, of which the last is shorter.
type blocks[T uint32 | uint64] [][]T

func (b *blocks[T]) add(x T) {
	if last := len(*b) - 1; last < 0 {
		*b = append(*b, nil) // which grows from little: there are many short rankings
	} else if len((*b)[last]) == blockLen {
		*b = append(*b, make([]T, 0, blockLen))
	}
	last := &(*b)[len(*b)-1]
	*last = append(*last, x)
}

// cuts sorts the blocks, and yields each score that there is once, from the highest down, with the weight of the rows of each
// label that have it.
func (r *ranking) cuts() iter.Seq2[float32, [2]float64] {
	var all []run
	for label, scores := range r.plain {
		for _, b := range scores {
			slices.Sort(b)
			all = append(all, run{label: label, plain: b})
		}
	}
	for _, b := range r.weighted {
		slices.Sort(b)
		all = append(all, run{weighted: b})
	}
	return func(yield func(float32, [2]float64) bool) {
		// A heap, the run of the highest score first, which what is sorted is, too.
		heap := slices.SortedStableFunc(slices.Values(all), func(a, b run) int { return cmp.Compare(b.highest(), a.highest()) })
		for len(heap) > 0 {
			score, weights := heap[0].highest(), [2]float64{}
			for len(heap) > 0 && heap[0].highest() == score {
				if heap[0].take(score, &weights); heap[0].empty() {
					heap[0] = heap[len(heap)-1]
					heap = heap[:len(heap)-1]
				}
				sink(heap)
			}
			if !yield(unordered(score), weights) {
				return
			}
		}
	}
}

// A run is a sorted block of one of the two kinds, and not empty in a heap.
type run struct {
	label    int // of plain
	plain    []uint32
	weighted []uint64
}

func (r *run) empty() bool { return len(r.plain)+len(r.weighted) == 0 }

func (r *run) highest() uint32 {
	if n := len(r.plain); n > 0 {
		return r.plain[n-1]
	}
	return uint32(r.weighted[len(r.weighted)-1] >> 32)
}

// take removes the rows of the highest score, and adds their weights to those of their labels.
func (r *run) take(score uint32, weights *[2]float64) {
	n := len(r.plain)
	for n > 0 && r.plain[n-1] == score {
		n--
	}
	weights[r.label] += float64(len(r.plain) - n)
	r.plain = r.plain[:n]
	for n = len(r.weighted); n > 0 && uint32(r.weighted[n-1]>>32) == score; n-- {
		_, label, weight := split(r.weighted[n-1])
		weights[label] += weight
	}
	r.weighted = r.weighted[:n]
}

// sink moves the first run of a heap to where it belongs.
func sink(heap []run) {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].highest() > heap[child].highest() {
			child++
		}
		if heap[i].highest() >= heap[child].highest() {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
