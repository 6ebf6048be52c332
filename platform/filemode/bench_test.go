package filemode

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/platform/s3stream"
	"github.com/algospec/algospec/platform/s3test"
)

// BenchmarkDownload copies from a server in the same process, on the same
// processors and the same disk. "one by one" is the yardstick: a plain copy of
// each object in one request.
func BenchmarkDownload(b *testing.B) {
	for _, data := range []struct {
		name  string
		count int
		size  int64
	}{
		{"one of 256 MiB", 1, 256 << 20},
		{"16 of 16 MiB", 16, 16 << 20},
		{"256 of 1 MiB", 256, 1 << 20},
		{"2000 of 4 KiB", 2000, 4 << 10},
	} {
		server := s3test.New()
		for i := range data.count {
			body := io.LimitReader(zeros{}, data.size)
			require.NoError(b, server.Put("data", fmt.Sprintf("d/part-%06d", i), body))
		}
		files := layout(b, server)
		client := server.Client()
		run := func(name string, copy func(dir string) error) {
			b.Run(strings.ReplaceAll(data.name+"/"+name, " ", "_"), func(b *testing.B) {
				b.SetBytes(int64(data.count) * data.size)
				b.ReportAllocs()
				dir := b.TempDir()
				for b.Loop() {
					require.NoError(b, copy(dir))
				}
			})
		}
		run("one by one", func(dir string) error {
			for _, f := range files {
				if err := copyPlainly(b, client, dir, f); err != nil {
					return err
				}
			}
			return nil
		})
		for _, opts := range []Options{{}, {Concurrency: 4}, {PartSize: 4 << 20}, {PartSize: 8 << 20}, {PartSize: 64 << 20}} {
			o := opts.withDefaults()
			run(fmt.Sprintf("parts %d MiB, %d at a time", o.PartSize>>20, o.Concurrency), func(dir string) error {
				return Download(b.Context(), client, dir, files, opts)
			})
		}
		require.NoError(b, server.Close())
	}
}

func copyPlainly(b *testing.B, client s3stream.Client, dir string, f s3stream.File) error {
	body := s3stream.OpenRange(b.Context(), client, f.Object, 0, f.Object.Size, s3stream.Options{})
	defer body.Close()
	file, err := os.Create(filepath.Join(dir, f.Path))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(file, body)
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
