//go:build unix

package channel_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/channel/channeltest"
)

// same returns what a Source gives that has the same data in every epoch.
func same(data []byte) (want [channeltest.Epochs][]byte) {
	for i := range want {
		want[i] = data
	}
	return want
}

// changing is a Source of another pass each epoch.
type changing [channeltest.Epochs][]byte

func (c changing) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	return channel.Memory(c[epoch]).Open(ctx, epoch)
}

// dir writes the data, cut into three files, of which the second is empty.
func dir(t *testing.T, data []byte) string {
	dir := t.TempDir()
	write(t, dir, "a", data[:len(data)/3])
	write(t, dir, "b", nil)
	write(t, dir, "c/d", data[len(data)/3:])
	return dir
}

func fifo(t *testing.T, data []byte) channel.Source {
	return serve(t, filepath.Join(t.TempDir(), "train"), channeltest.Epochs, data)
}

func thirds(data []byte) [][]byte {
	return [][]byte{data[:len(data)/3], nil, data[len(data)/3:]}
}

func TestEverySourceKeepsTheContract(t *testing.T) {
	sources := []struct {
		name string
		make func(*testing.T, []byte) channel.Source
	}{
		{"Memory", func(t *testing.T, data []byte) channel.Source { return channel.Memory(data) }},
		{"File", func(t *testing.T, data []byte) channel.Source {
			return channel.Concat{Sources: []channel.Source{channel.File(filepath.Join(dir(t, data), "a")), channel.File(filepath.Join(dir(t, data), "c/d"))}}
		}},
		{"Files", func(t *testing.T, data []byte) channel.Source { return channel.Files{Dir: dir(t, data)} }},
		{"FIFO", fifo},
		{"Concat", func(t *testing.T, data []byte) channel.Source {
			var all []channel.Source
			for _, part := range thirds(data) {
				all = append(all, channel.Memory(part))
			}
			return channel.Concat{Sources: all}
		}},
		{"Concat of nothing and Files", func(t *testing.T, data []byte) channel.Source {
			return channel.Concat{Sources: []channel.Source{channel.Concat{}, channel.Files{Dir: dir(t, data)}}}
		}},
		{"Gzip of Memory", func(t *testing.T, data []byte) channel.Source {
			return channel.Gzip(channel.Memory(zipped(data)))
		}},
		{"Gzip of several members in FIFO", func(t *testing.T, data []byte) channel.Source {
			return channel.Gzip(fifo(t, zipped(thirds(data)...)))
		}},
		{"ReadAhead of Files", func(t *testing.T, data []byte) channel.Source {
			return channel.ReadAhead(channel.Files{Dir: dir(t, data)}, 0)
		}},
		{"ReadAhead of FIFO", func(t *testing.T, data []byte) channel.Source {
			return channel.ReadAhead(fifo(t, data), 1000)
		}},
		{"ReadAhead of one byte of Memory", func(t *testing.T, data []byte) channel.Source {
			return channel.ReadAhead(channel.Memory(data), 1)
		}},
		{"ReadAhead of Gzip of ReadAhead of FIFO", func(t *testing.T, data []byte) channel.Source {
			return channel.ReadAhead(channel.Gzip(channel.ReadAhead(fifo(t, zipped(data)), 100)), 777)
		}},
	}
	for _, source := range sources {
		// The last one is longer than a pipe holds.
		for _, data := range [][]byte{nil, []byte("x"), noise(10_000), noise(1_100_000)} {
			if strings.Contains(source.name, "one byte") {
				data = data[:min(len(data), 1000)]
			}
			t.Run(fmt.Sprintf("%s of %d bytes", source.name, len(data)), func(t *testing.T) {
				require.NoError(t, channeltest.TestSource(t.Context(), source.make(t, data), same(data)))
			})
		}
	}
}

func TestDecoratorsOpenTheEpochTheyAreAskedFor(t *testing.T) {
	var plain, packed changing
	for i := range plain {
		plain[i] = fmt.Appendf(nil, "epoch %d", i)
		packed[i] = zipped(plain[i])
	}
	for name, src := range map[string]channel.Source{
		"Gzip":      channel.Gzip(packed),
		"ReadAhead": channel.ReadAhead(plain, 3),
		"Concat":    channel.Concat{Sources: []channel.Source{plain}, Lines: true},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, channeltest.TestSource(t.Context(), src, plain))
		})
	}
}
