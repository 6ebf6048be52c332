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
// pieces of as many whole blocks as size says when their turn comes.
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
			for p := range cut(item, size(), block) {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// cut cuts an object of known size into parts.
func cut(item Item, size, block int64) iter.Seq[part] {
	total, step := item.Object.Size, max(size, 1)
	var s *sum
	if total > step {
		step = evenly(total, step, block)
		s = newSum()
	}
	return func(yield func(part) bool) {
		for from := int64(0); ; from += step {
			to := min(from+step, total)
			if !yield(part{Item: item, from: from, to: to, last: to == total, sum: s}) || to == total {
				return
			}
		}
	}
}

// evenly returns the size of pieces that cut total into as few as pieces of
// size would, of whole blocks where that is possible.
func evenly(total, size, block int64) int64 {
	count := (total + size - 1) / size
	even := (total + count - 1) / count
	return min(size, (even+block-1)/block*block)
}
