package channel_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

// numbers yields 0 to n-1 as records that are valid during their step only, then err if there is one.
func numbers(n int, err error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var record []byte
		for i := range n {
			record = fmt.Append(record[:0], i)
			if !yield(record, nil) {
				return
			}
			for j := range record {
				record[j] = '?' // who has not copied it has lost it
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// collect returns the records, as strings, and the error.
func collect(seq iter.Seq2[[]byte, error]) (got []string, err error) {
	for record, failed := range seq {
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		got = append(got, string(record))
	}
	return got, err
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func TestAShuffleIsAPermutationWithinItsBuffer(t *testing.T) {
	for _, n := range []int{0, 1, 2, 9, 10, 11, 1000} {
		want, _ := collect(numbers(n, nil))
		for _, size := range []int{-1, 0, 1, 2, 10, 999, 5000} {
			got, err := collect(channel.Shuffle(numbers(n, nil), size, seeded(1)))
			require.NoError(t, err)
			require.ElementsMatch(t, want, got, "%d records in %d", n, size)
			for place, record := range got {
				require.Less(t, slices.Index(want, record), place+max(size, 1), "record of %d comes too early from %d", n, size)
			}
			if size < 2 {
				require.Equal(t, want, got)
			}
			again, err := collect(channel.Shuffle(numbers(n, nil), size, seeded(1)))
			require.NoError(t, err)
			require.Equal(t, got, again, "the same seed, another order")
		}
	}
}

func TestAShuffleMixesEachEpochInAnotherWay(t *testing.T) {
	seq := channel.Shuffle(numbers(100, nil), 50, seeded(1))
	first, _ := collect(seq)
	second, _ := collect(seq)
	require.ElementsMatch(t, first, second)
	require.NotEqual(t, first, second)
}

// A buffer that holds all makes every order equally likely: chi-squared over the 24 orders of 4.
func TestAShuffleOfEverythingIsUniform(t *testing.T) {
	const rounds = 24_000
	rng := seeded(7)
	count := map[string]int{}
	for range rounds {
		order, _ := collect(channel.Shuffle(numbers(4, nil), 4, rng))
		count[fmt.Sprint(order)]++
	}
	chi := 0.0
	for _, n := range count {
		d := float64(n) - rounds/24
		chi += d * d / (rounds / 24)
	}
	require.Len(t, count, 24)
	require.Less(t, chi, 49.7, "23 degrees of freedom, p < 0.001")
}

// The values that are held at a time are those that the buffer has copied and not yet used again.
func TestAShuffleHoldsNoMoreThanItsSize(t *testing.T) {
	type cell struct{ n int }
	made := 0
	keep := func(old, v *cell) *cell {
		if old == nil {
			made++
			old = new(cell)
		}
		*old = *v
		return old
	}
	seq := func(yield func(*cell, error) bool) {
		for i := range 1000 {
			if !yield(&cell{i}, nil) {
				return
			}
		}
	}
	seen := map[int]bool{}
	for v, err := range channel.ShuffleFunc(seq, 17, seeded(1), keep) {
		require.NoError(t, err)
		require.False(t, seen[v.n])
		seen[v.n] = true
	}
	require.Len(t, seen, 1000)
	require.Equal(t, 17, made)
}

func TestAShuffleEndsWithTheErrorOrTheLoop(t *testing.T) {
	bad := errors.New("bad")
	got, err := collect(channel.Shuffle(numbers(10, bad), 3, seeded(1)))
	require.Equal(t, "bad", err.Error())
	require.Len(t, got, 7)

	for _, leave := range []int{1, 9} {
		n := 0
		for range channel.Shuffle(numbers(10, nil), 3, seeded(1)) {
			if n++; n == leave {
				break
			}
		}
		require.Equal(t, leave, n)
	}
}

func TestAShuffleDoesNotAllocatePerRecord(t *testing.T) {
	record := make([]byte, 100)
	seq := func(yield func([]byte, error) bool) {
		for range 10_000 {
			if !yield(record, nil) {
				return
			}
		}
	}
	allocations := testing.AllocsPerRun(3, func() {
		for range channel.Shuffle(seq, 10, seeded(1)) {
		}
	})
	require.Less(t, allocations, 50.0)
}

func ExampleShuffle() {
	records := func(yield func([]byte, error) bool) { // such as the All of a recordio.Reader
		for _, record := range []string{"a", "b", "c", "d", "e", "f"} {
			if !yield([]byte(record), nil) {
				return
			}
		}
	}
	rng := rand.New(rand.NewPCG(42, 0))
	for record, err := range channel.Shuffle(records, 3, rng) {
		if err != nil {
			panic(err)
		}
		fmt.Print(string(record), " ")
	}
	// Output: c d a f b e
}
