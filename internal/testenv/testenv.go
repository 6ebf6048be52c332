// Package testenv finds what some tests need and a bare machine lacks: the shared data sets,
// FUSE, a browser, a container engine. What is absent skips the test and says why; where the
// environment variable ALGOSPEC_REQUIRE names it (a comma-separated list, or "all"), as on CI, its
// absence fails the test instead.
package testenv

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Shared returns the directory of the golden files and data sets: ALGOSPEC_SHARED, or ../shared
// from the repository's root. ALGOSPEC_REQUIRE calls it "shared".
func Shared(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("ALGOSPEC_SHARED")
	if dir == "" {
		dir = filepath.Join(root(tb), "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "reference.json")); err != nil {
		absent(tb, "shared", "no shared data: "+err.Error()+" (set ALGOSPEC_SHARED)")
	}
	return dir
}

// PythonSDK returns a Python interpreter that has the SageMaker Python SDK of the 2.x line, numpy
// and scipy: the one that ALGOSPEC_PYTHON names. ALGOSPEC_REQUIRE calls it "sdk".
func PythonSDK(tb testing.TB) string {
	tb.Helper()
	python := os.Getenv("ALGOSPEC_PYTHON")
	if python == "" {
		absent(tb, "sdk", "no Python with the SageMaker SDK: ALGOSPEC_PYTHON is not set")
	}
	return python
}

// absent skips the test, or fails it where the thing is required.
func absent(tb testing.TB, thing, reason string) {
	tb.Helper()
	if required(thing) {
		tb.Fatalf("%s, and ALGOSPEC_REQUIRE asks for it", reason)
	}
	tb.Skip(reason)
}

func required(thing string) bool {
	things := strings.Split(os.Getenv("ALGOSPEC_REQUIRE"), ",")
	return slices.Contains(things, thing) || slices.Contains(things, "all")
}

// root returns the repository's root: the nearest folder upwards that holds go.mod. Tests run in
// their package's folder.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("testenv: no go.mod above the test's folder")
		}
		dir = parent
	}
}
