package channel

import (
	"iter"
	"math/rand/v2"
)

// Shuffle mixes records: it holds size of them and, for each one that comes, yields one of those
// chosen at random and keeps the new one in its place; at the end it yields what it holds, in
// random order. A record so comes at most size-1 places too early, and any number too late: data
// sorted by class need a buffer larger than a class. It is the buffer of TensorFlow's
// tf.data.Dataset.shuffle. The order depends on rng and on the order of the records alone, and
// ranging over the result again goes on with rng: another epoch, another order.
//
// A record is valid during its step. Memory is copied into and used again, size times the longest
// record at most. A size below 2 leaves the order alone. An error of seq is yielded at once, and
// the records that are held are lost.
func Shuffle(seq iter.Seq2[[]byte, error], size int, rng *rand.Rand) iter.Seq2[[]byte, error] {
	return ShuffleFunc(seq, size, rng, keepBytes)
}

// ShuffleFunc is Shuffle for values of any type. It calls keep(old, v) to hold a value beyond its
// step: keep returns a copy of v, in the memory of old if it can; old is the zero value or what
// an earlier call returned and nobody uses any more. A nil keep holds v itself.
func ShuffleFunc[T any](seq iter.Seq2[T, error], size int, rng *rand.Rand, keep func(old, v T) T) iter.Seq2[T, error] {
	keep, size = orAssign(keep), max(size, 1)
	return func(yield func(T, error) bool) {
		var none T
		var held []T
		for v, err := range seq {
			if err != nil {
				yield(none, err)
				return
			}
			if len(held) < size {
				held = append(held, keep(none, v))
				continue
			}
			i := rng.IntN(size)
			if !yield(held[i], nil) {
				return
			}
			held[i] = keep(held[i], v)
		}
		for n := len(held); n > 0; n-- {
			i := rng.IntN(n)
			if !yield(held[i], nil) {
				return
			}
			held[i] = held[n-1]
		}
	}
}

// keepBytes copies v into the memory of old.
func keepBytes(old, v []byte) []byte { return append(old[:0], v...) }

func orAssign[T any](keep func(old, v T) T) func(old, v T) T {
	if keep == nil {
		return func(_, v T) T { return v }
	}
	return keep
}
