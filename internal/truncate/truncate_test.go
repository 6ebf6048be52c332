package truncate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/internal/truncate"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"", 3, ""}, {"é😀x", 0, ""}, {"é😀x", 1, "é"}, {"é😀x", 2, "é😀"}, {"é😀x", 3, "é😀x"}, {"é😀x", 4, "é😀x"},
	} {
		require.Equal(t, c.want, truncate.Characters(c.text, c.limit))
	}
}
