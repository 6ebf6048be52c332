package algospec

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/algospec/algospec/internal/atomicfile"
)

// A Dir is a directory of files that the platform collects.
type Dir string

// Save makes the file name, which may have slashes, hold what content writes: whole, synced to
// the disk, or not at all. A file of that name is replaced.
func (d Dir) Save(name string, content io.WriterTo) error {
	if d == "" || !filepath.IsLocal(name) {
		return fmt.Errorf("algospec: cannot save %q in directory %q", name, string(d))
	}
	path := filepath.Join(string(d), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(path, content); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

// checkNotEmpty returns ErrNoModel when the directory holds no file.
func (d Dir) checkNotEmpty() error {
	empty, err := atomicfile.Empty(string(d))
	if err == nil && empty {
		err = ErrNoModel
	}
	return err
}

// JSON returns v's indented JSON text, to be saved with Dir.Save.
func JSON(v any) io.WriterTo { return jsonText{v} }

type jsonText struct{ v any }

func (j jsonText) WriteTo(w io.Writer) (int64, error) {
	text, err := json.MarshalIndent(j.v, "", "  ")
	if err != nil {
		return 0, err
	}
	n, err := w.Write(append(text, '\n'))
	return int64(n), err
}
