// Package floors tests what may import what (design, section 2): the table below is the policy.
package floors

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/algospec/algospec"

// A floor is packages that stand side by side, each with all below it.
type floor struct {
	roots []string // relative to the module; "" is the root package alone
	below []string // which floors' packages may be imported; a package may always import its own root's
	aws   bool     // may import the AWS SDK
	blas  bool     // may import a BLAS
}

var floors = []floor{
	{roots: []string{"channel"}},
	{roots: []string{"recordio"}},
	{roots: []string{"hyperparams"}},
	{roots: []string{"cluster"}},
	{roots: []string{"checkpoint"}},
	{roots: []string{""}, below: []string{"channel", "recordio", "hyperparams", "cluster", "checkpoint"}},
	{roots: []string{"algorithms"}, below: []string{"", "channel", "recordio", "hyperparams", "cluster", "checkpoint"}, blas: true},
	{roots: []string{"platform"}, below: []string{"", "channel", "recordio", "hyperparams", "cluster", "checkpoint"}, aws: true},
	{roots: []string{"cmd", "examples"}, below: []string{"", "channel", "recordio", "hyperparams", "cluster", "checkpoint", "algorithms", "platform"}, aws: true},
}

// root returns the first element of a package's path in the module, and false for other modules.
func root(path string) (string, bool) {
	if path == module {
		return "", true
	}
	rest, ok := strings.CutPrefix(path, module+"/")
	first, _, _ := strings.Cut(rest, "/")
	return first, ok
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestPackagesStandOnTheirFloors(t *testing.T) {
	seen := 0
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
		words := strings.Fields(line)
		pkg, imports := words[0], words[1:]
		name, _ := root(pkg)
		i := slices.IndexFunc(floors, func(f floor) bool { return slices.Contains(f.roots, name) })
		if i < 0 {
			require.Equal(t, "internal", name, "%s stands on no floor", pkg)
			continue
		}
		seen++
		f := floors[i]
		for _, imported := range imports {
			if strings.HasPrefix(imported, "github.com/aws/") {
				require.True(t, f.aws, "%s imports %s", pkg, imported)
			}
			if strings.HasPrefix(imported, "gonum.org/v1/plot") {
				require.Equal(t, module+"/platform/picture", pkg, "%s imports %s", pkg, imported)
			}
			// purego is how a BLAS of the system is called.
			if strings.HasPrefix(imported, "gonum.org/v1/gonum/blas") || strings.HasPrefix(imported, "github.com/ebitengine/purego") {
				require.True(t, f.blas, "%s imports %s", pkg, imported)
			}
			below, ours := root(imported)
			if !ours || below == "internal" || below == name {
				continue
			}
			require.True(t, slices.Contains(f.below, below), "%s imports %s", pkg, imported)
		}
	}
	require.Greater(t, seen, 10)
}

// A training container carries nothing of the platform, and nothing that draws.
func TestContainersHoldNoAWSPackage(t *testing.T) {
	for _, pkg := range []string{"./examples/kmeans", "./examples/linearlearner", "./examples/mean", "./examples/pca"} {
		for _, dependency := range goList(t, "-deps", pkg) {
			require.False(t, strings.HasPrefix(dependency, "github.com/aws/"), "%s depends on %s", pkg, dependency)
			require.False(t, strings.HasPrefix(dependency, "gonum.org/v1/plot"), "%s depends on %s", pkg, dependency)
			require.False(t, strings.HasPrefix(dependency, module+"/platform"), "%s depends on %s", pkg, dependency)
		}
	}
}

// An author's whole container stays within 25 lines of code.
func TestAWholeContainerIs25LinesAtMost(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "examples", "mean", "main.go"))
	require.NoError(t, err)
	defer file.Close()
	lines := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		if line := strings.TrimSpace(scanner.Text()); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	require.LessOrEqual(t, lines, 25)
	require.Greater(t, lines, 10)
}
