package filemode

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMissing(t *testing.T) {
	for name, c := range map[string]struct {
		have []span
		size int64
		want []span
	}{
		"all":                     {nil, 25, []span{{0, 10}, {10, 20}, {20, 25}}},
		"nothing":                 {[]span{{0, 25}}, 25, nil},
		"an empty file":           {nil, 0, []span{{0, 0}}},
		"nothing of an empty one": {[]span{{0, 0}}, 0, nil},
		"a gap":                   {[]span{{20, 25}, {0, 3}}, 25, []span{{3, 13}, {13, 20}}},
		"spans that overlap":      {[]span{{5, 20}, {0, 10}, {7, 8}}, 25, []span{{20, 25}}},
		"an empty span":           {[]span{{5, 5}}, 8, []span{{0, 5}, {5, 8}}},
	} {
		require.Equal(t, c.want, missing(c.have, c.size, 10), name)
	}
}

// Spans and what is missing cover each byte; parts are not empty nor too large.
func TestMissingCompletesTheSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 60).Draw(t, "size")
		part := rapid.Int64Range(1, 20).Draw(t, "part")
		have := rapid.SliceOf(rapid.Custom(func(t *rapid.T) span {
			from := rapid.Int64Range(0, size).Draw(t, "from")
			return span{from, rapid.Int64Range(from, size).Draw(t, "to")}
		})).Draw(t, "have")
		covered := make([]int, size)
		for _, s := range have {
			for i := s.From; i < s.To; i++ {
				covered[i] = 1
			}
		}
		for _, s := range missing(have, size, part) {
			require.True(t, s.From < s.To && s.To-s.From <= part, s)
			for i := s.From; i < s.To; i++ {
				covered[i]++
			}
		}
		for i, n := range covered {
			require.Equal(t, 1, n, "byte %d", i)
		}
	})
}
