package s3stream

import "iter"

// A part is what one request fetches: bytes [from, to) of an object.
type part struct {
	object   *Object
	from, to int64
}

func (p part) whole() bool { return p.from == 0 && p.to == p.object.Size }

// plan cuts the objects into parts of at most size bytes, in order. Empty
// objects have none.
func plan(objects []Object, size int64) iter.Seq[part] {
	return func(yield func(part) bool) {
		for i := range objects {
			o := &objects[i]
			for from := int64(0); from < o.Size; from += size {
				if !yield(part{o, from, min(from+size, o.Size)}) {
					return
				}
			}
		}
	}
}
