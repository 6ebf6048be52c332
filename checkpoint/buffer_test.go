package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// inPieces writes some bytes, so many at a time, and returns an error in the end.
type inPieces struct {
	bytes []byte
	size  int
	err   error
}

func (p inPieces) WriteTo(w io.Writer) (n int64, err error) {
	for rest := p.bytes; len(rest) > 0; rest = rest[min(len(rest), p.size):] {
		written, err := w.Write(rest[:min(len(rest), p.size)])
		n += int64(written)
		if err != nil {
			return n, err
		}
	}
	return n, p.err
}

func TestABufferHoldsStatesOfEveryLengthOneAfterTheOther(t *testing.T) {
	state := make([]byte, 3*blockSize+1)
	for i := range state {
		state[i] = byte(i * 31 >> 4)
	}
	var b Buffer
	for _, length := range []int{0, 3, blockSize, 3*blockSize + 1, blockSize - 1, 2*blockSize + 5, 0, 1} {
		for _, size := range []int{1001, blockSize, 4 * blockSize} {
			snapshot := b.Copy(inPieces{state[:length], size, nil})
			for range 2 {
				var got bytes.Buffer
				n, err := snapshot.WriteTo(&got)
				require.NoError(t, err)
				require.EqualValues(t, length, n)
				require.True(t, bytes.Equal(state[:length], got.Bytes()), "%d bytes in pieces of %d", length, size)
			}
		}
	}
}

func TestABufferHandsOnErrors(t *testing.T) {
	var b Buffer
	broken := errors.New("broken")
	_, err := b.Copy(inPieces{make([]byte, 10), 10, broken}).WriteTo(io.Discard)
	require.ErrorIs(t, err, broken)
	r, w := io.Pipe()
	go func() {
		io.ReadFull(r, make([]byte, blockSize+7))
		r.CloseWithError(broken)
	}()
	n, err := b.Copy(inPieces{make([]byte, 2*blockSize), blockSize, nil}).WriteTo(w)
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, blockSize+7, n)
}
