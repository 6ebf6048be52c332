package s3stream

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// planned are the parts of objects of these sizes.
func planned(t require.TestingT, size func() int64, block int64, sizes ...int64) (parts []part) {
	items := func(yield func(Item, error) bool) {
		for _, size := range sizes {
			if !yield(Item{Object: &Object{Size: size}}, nil) {
				return
			}
		}
	}
	for p, err := range plan(iter.Seq2[Item, error](items), size, block) {
		require.NoError(t, err)
		parts = append(parts, p)
	}
	return parts
}

func TestPartsCoverEveryObjectInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 10_000), 0, 8).Draw(t, "sizes")
		block := rapid.Int64Range(1, 300).Draw(t, "block")
		seen := []int64{}
		size := func() int64 {
			seen = append(seen, rapid.Int64Range(100, 5_000).Draw(t, "part size"))
			return seen[len(seen)-1]
		}
		parts := planned(t, size, block, sizes...)
		for _, size := range sizes {
			object, sum := parts[0].Object, parts[0].sum
			require.Equal(t, size, object.Size)
			for at := int64(0); ; parts = parts[1:] {
				p := parts[0]
				require.Same(t, object, p.Object)
				require.Same(t, sum, p.sum)
				require.Equal(t, at, p.from)
				require.True(t, p.to > p.from || size == 0)
				require.LessOrEqual(t, p.to-p.from, int64(5_000))
				require.Equal(t, p.to == size, p.last)
				if at = p.to; p.last {
					require.Equal(t, p.from > 0, sum != nil, "a checksum of what comes in several parts")
					parts = parts[1:]
					break
				}
			}
		}
		require.Empty(t, parts)
	})
}

func TestPartsAreEven(t *testing.T) {
	lengths := func(size, block, total int64) (lengths []int64) {
		for _, p := range planned(t, func() int64 { return size }, block, total) {
			lengths = append(lengths, p.to-p.from)
		}
		return lengths
	}
	require.Equal(t, []int64{0}, lengths(100, 10, 0))
	require.Equal(t, []int64{1}, lengths(100, 10, 1))
	require.Equal(t, []int64{100}, lengths(100, 10, 100))
	require.Equal(t, []int64{60, 41}, lengths(100, 10, 101))
	require.Equal(t, []int64{70, 70, 70}, lengths(100, 10, 210))
	require.Equal(t, []int64{1, 1, 1}, lengths(1, 10, 3))
	require.Equal(t, []int64{7, 7, 7}, lengths(7, 10, 21))
}

// A large object may last for hours, in which S3 or the reader changes.
func TestPartsOfOneObjectFollowThePace(t *testing.T) {
	sizes := []int64{100, 100, 400, 400, 200}
	next := 0
	var lengths []int64
	for _, p := range planned(t, func() int64 { next++; return sizes[min(next, len(sizes))-1] }, 10, 1_150) {
		lengths = append(lengths, p.to-p.from)
	}
	require.Equal(t, int64(1_150), sum64(lengths))
	require.Greater(t, slices.Max(lengths), int64(200))
	require.LessOrEqual(t, slices.Max(lengths), int64(400))
	require.Equal(t, int64(100), lengths[0])
	require.LessOrEqual(t, lengths[len(lengths)-1], int64(200))
}

func sum64(values []int64) (total int64) {
	for _, v := range values {
		total += v
	}
	return total
}
