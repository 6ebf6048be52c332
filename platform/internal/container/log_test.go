package container

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestLongLinesOfBothOutputsArriveWhole(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, said := w.run(t, Spec{Arguments: []string{"lines=200"}})
		next := map[string]int{}
		for line := range strings.Lines(said) {
			letter := line[:1]
			require.Equal(t, letter+strconv.Itoa(next[letter])+":"+strings.Repeat(letter, 20_000)+"\n", line)
			next[letter]++
		}
		require.Equal(t, map[string]int{"o": 200, "e": 200}, next)
	})
}

func TestALineWithoutEndGetsOneAndAnEndlessOneIsCut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, said := w.run(t, Spec{Arguments: []string{"slab=600000", "part=the end"}})
		lengths := []int{}
		for line := range strings.Lines(said) {
			lengths = append(lengths, len(line))
		}
		require.Equal(t, []int{maxLine + 1, maxLine + 1, 600_000 - 2*maxLine + 1, len("the end\n")}, lengths)
		require.Equal(t, 600_000, strings.Count(said, "x"))
		require.True(t, strings.HasSuffix(said, "x\nthe end\n"))
	})
}

// A slow reader of the log slows the program down, and loses nothing.
func TestASlowLogLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		slow := &held{release: make(chan struct{})}
		c, _ := w.start(t, Spec{Arguments: []string{"lines=300", "touch=/opt/ml/done"}, Stdout: slow, Mounts: []Mount{{Source: t.TempDir(), Target: "/opt/ml"}}})
		require.False(t, closed(c.ended))
		close(slow.release)
		require.Equal(t, End{}, wait(t, c))
		require.Equal(t, 600*20_000, strings.Count(slow.text.String(), "o")+strings.Count(slow.text.String(), "e")-600)
	})
}

// held takes nothing before its release.
type held struct {
	release chan struct{}
	text    bytes.Buffer
}

func (h *held) Write(b []byte) (int, error) {
	<-h.release
	return h.text.Write(b)
}

func TestLinesAreWholeHoweverTheyAreRead(t *testing.T) {
	text := "a\n\nb\r\n" + strings.Repeat("c", maxLine) + "d\nlast"
	want := "a\n\nb\r\n" + strings.Repeat("c", maxLine) + "\nd\nlast\n"
	for _, read := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		var got bytes.Buffer
		copyLines(&got, read(strings.NewReader(text)), new(sync.Mutex))
		require.Equal(t, want, got.String())
	}
}
