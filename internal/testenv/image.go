package testenv

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// An ImageSpec describes an image that holds nothing but programs.
type ImageSpec struct {
	Programs map[string]string // paths in the image → Go packages of this module, as "./examples/pca", or built programs, as absolute paths
	Changes  []string          // instructions of a Dockerfile, as `ENTRYPOINT ["/pca"]`
}

var images atomic.Int64

// Image builds an image, without a network, and returns its name. The image goes with the test, which
// must have removed its containers by then.
func Image(tb testing.TB, spec ImageSpec) string {
	tb.Helper()
	command := Containers(tb)
	top, dir := root(tb), tb.TempDir()
	programs := map[string]string{}
	for path, source := range spec.Programs {
		programs[path] = source
		if !filepath.IsAbs(source) {
			programs[path] = filepath.Join(dir, filepath.Base(path))
			if err := build(programs[path], filepath.Join(top, source)); err != nil {
				tb.Fatal(err)
			}
		}
	}
	spec.Programs = programs
	image := fmt.Sprintf("localhost/algospec-test:%d-%d", os.Getpid(), images.Add(1))
	if err := load(command, image, spec); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := run(command, nil, "rmi", image); err != nil {
			tb.Error(err)
		}
	})
	return image
}

// build builds a program that needs nothing of the image it runs in.
func build(program, source string) error {
	cmd := exec.Command("go", "build", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if strings.HasSuffix(source, ".go") {
		cmd.Dir = filepath.Dir(source)
	} else {
		cmd.Dir, cmd.Args[len(cmd.Args)-1] = source, "."
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", source, err, out)
	}
	return nil
}

// load imports an image: the one way that podman and docker share and that needs no builder.
func load(command []string, image string, spec ImageSpec) error {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for path, program := range spec.Programs {
		content, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		header := tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: 0o755, Size: int64(len(content))}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	// Podman's storage loses layers when equal ones come and go at once, as tests of several packages have them do.
	unique := rand.Text()
	if err := w.WriteHeader(&tar.Header{Name: ".algospec-test", Mode: 0o644, Size: int64(len(unique))}); err != nil {
		return err
	}
	if _, err := w.Write([]byte(unique)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	args := []string{"import"}
	for _, change := range spec.Changes {
		args = append(args, "--change", change)
	}
	return run(command, archive.Bytes(), append(args, "-", image)...)
}
