package s3stream

import "iter"

// A part is what one request fetches: bytes [from, to) of an object. Text and
// what is empty need no request.
type part struct {
	Item
	from, to int64 // to is unknown where the size of the object is
	last     bool  // of its item
	sum      *sum  // of the object, where it comes in several parts
}

func (p part) fetched() bool { return p.Object != nil && p.to != p.from }

// plan cuts the items into parts, in order. Large objects are cut evenly, in
// pieces of as many whole blocks as size says when the turn of each comes.
func plan(items iter.Seq2[Item, error], size func() int64, block int64) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		for item, err := range items {
			if err != nil {
				yield(part{}, err)
				return
			}
			if item.Object == nil || item.Object.Size == unknown {
				if !yield(part{Item: item, to: unknown, last: true}, nil) {
					return
				}
				continue
			}
			for p := range cut(item, size, block) {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// cut cuts an object of known size into parts.
func cut(item Item, size func() int64, block int64) iter.Seq[part] {
	total := item.Object.Size
	return func(yield func(part) bool) {
		var s *sum
		for from := int64(0); ; {
			to := from + evenly(total-from, max(size(), 1), block)
			if from == 0 && to < total {
				s = newSum()
			}
			if !yield(part{Item: item, from: from, to: to, last: to == total, sum: s}) || to == total {
				return
			}
			from = to
		}
	}
}

// evenly returns the size of the first of pieces that cut total into as few as
// pieces of size would, of whole blocks where that is possible.
func evenly(total, size, block int64) int64 {
	if total <= size {
		return total
	}
	count := (total + size - 1) / size
	even := (total + count - 1) / count
	return min(size, (even+block-1)/block*block)
}
