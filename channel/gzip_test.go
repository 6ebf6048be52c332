package channel_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

// zipped compresses each part to a member of its own.
func zipped(parts ...[]byte) []byte {
	var out bytes.Buffer
	for _, part := range parts {
		w := gzip.NewWriter(&out)
		w.Write(part)
		w.Close()
	}
	return out.Bytes()
}

func TestGzipCutAnywhereIsAnError(t *testing.T) {
	first := zipped([]byte("the first member"))
	whole := append(first, zipped(bytes.Repeat([]byte("the second "), 1000))...)
	for n := range len(whole) {
		got, err := io.ReadAll(openEpoch(t, channel.Gzip(channel.Memory(whole[:n]))))
		switch n {
		case 0:
			require.NoError(t, err)
			require.Empty(t, got)
		case len(first): // a cut between members cannot be seen
			require.NoError(t, err)
			require.Equal(t, "the first member", string(got))
		default:
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut at %d", n)
			require.EqualError(t, err, fmt.Sprintf("channel train, epoch 0: gzip: byte %d: unexpected EOF", n))
		}
	}
}

// A wrong bit is found, unless it means nothing to the data, as in the time of the header.
func TestGzipWithAnyBitWrongIsNeverOtherData(t *testing.T) {
	data := noise(300)
	whole := zipped(data)
	for i := range len(whole) * 8 {
		damaged := bytes.Clone(whole)
		damaged[i/8] ^= 1 << (i % 8)
		got, err := io.ReadAll(openEpoch(t, channel.Gzip(channel.Memory(damaged))))
		if err == nil {
			require.Equal(t, data, got, "bit %d", i)
			continue
		}
		var failed *channel.GzipError
		require.ErrorAs(t, err, &failed, "bit %d", i)
		require.True(t, failed.ClientError())
	}
}

func TestGzipErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	damaged := zipped([]byte("two"))
	damaged[len(damaged)-5] ^= 1 // the checksum
	write(t, dir, "a.gz", zipped([]byte("one ")))
	write(t, dir, "b.gz", damaged)
	write(t, dir, "c.gz", zipped([]byte("three")))
	got, err := io.ReadAll(openEpoch(t, channel.Gzip(channel.ReadAhead(channel.Files{Dir: dir}, 0))))
	require.Equal(t, "one two", string(got))
	require.ErrorIs(t, err, gzip.ErrChecksum)
	require.EqualError(t, err, fmt.Sprintf("channel train, epoch 0: gzip: byte %d of b.gz: invalid checksum", len(damaged)))

	write(t, dir, "b.gz", []byte("plain text"))
	_, err = io.ReadAll(openEpoch(t, channel.Gzip(channel.Files{Dir: dir})))
	require.EqualError(t, err, "channel train, epoch 0: gzip: byte 10 of b.gz: invalid header")
}

// failing is a Source that fails when its bytes are through.
type failing struct {
	channel.Memory
	err error
}

func (s failing) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	r, err := s.Memory.Open(ctx, epoch)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(io.MultiReader(r, iotest.ErrReader(s.err))), nil
}

func TestErrorsOfTheSourceComeAfterTheBytesBeforeThem(t *testing.T) {
	stop := errors.New("the network is gone")
	for name, c := range map[string]struct {
		src  channel.Source
		want string
	}{
		"Gzip":           {channel.Gzip(failing{zipped([]byte("before")), stop}), "before"},
		"ReadAhead":      {channel.ReadAhead(failing{[]byte("before"), stop}, 100), "before"},
		"ReadAhead of 1": {channel.ReadAhead(failing{[]byte("before"), stop}, 1), "before"},
		"Concat":         {channel.Concat{Sources: []channel.Source{channel.Memory("be"), failing{[]byte("fore"), stop}, channel.Memory("x")}}, "before"},
	} {
		t.Run(name, func(t *testing.T) {
			epoch := openEpoch(t, c.src)
			got, err := io.ReadAll(epoch)
			require.Equal(t, c.want, string(got))
			require.Equal(t, &channel.Error{Channel: "train", Err: stop}, err)
		})
	}
}

func ExampleGzip() {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"part-1.gz": "1,2\n", "part-2.gz": "3,4\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), zipped([]byte(text)), 0o644); err != nil {
			panic(err)
		}
	}

	train := &channel.Channel{Name: "train", Source: channel.Gzip(channel.Files{Dir: dir})}
	for epoch, err := range train.Epochs(context.Background(), 1) {
		if err != nil {
			panic(err)
		}
		io.Copy(os.Stdout, epoch)
	}
	// Output:
	// 1,2
	// 3,4
}
