package train

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/picture"
)

// draw draws what the job describes and the curves of its metrics into files, and tells where they are. Without a
// directory to draw into there are none.
func (c *Run) draw(streams console.Streams, data *staged, job string, result *platform.Result, curves *picture.Curves) error {
	if result.PicturesErr != nil {
		fmt.Fprintf(streams.Err, "algospec: no pictures: %s\n", console.Harmless(result.PicturesErr.Error()))
	}
	dir := c.Pictures
	if dir == "" && data.output != "" {
		dir = filepath.Join(data.output, job, "output", "pictures")
	}
	if dir == "" {
		return nil
	}
	taken := map[string]bool{}
	for _, p := range append(result.Pictures[:len(result.Pictures):len(result.Pictures)], curves.Pictures()...) {
		if taken[p.Name] {
			continue
		}
		taken[p.Name] = true
		path, err := drawInto(dir, p)
		if err != nil {
			return fmt.Errorf("picture %s: %w", p.Name, err)
		}
		fmt.Fprintln(streams.Err, "picture "+console.Printable(path))
	}
	return nil
}

func drawInto(dir string, p algospec.Picture) (path string, err error) {
	svg, err := picture.SVG(p)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(dir, p.Name+".svg")
	return path, atomicfile.Write(path, bytes.NewReader(svg))
}
