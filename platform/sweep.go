package platform

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
)

// Sweep takes away what jobs whose platform was killed have left in dir, the Dir of those jobs:
// processes, containers, mounts, pipes and trees. No job may be running there. "" means the system's
// directory for temporary files, as it does there.
func Sweep(dir string) error {
	if dir == "" {
		dir = os.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	swept := false
	for _, entry := range entries {
		if !entry.IsDir() || !treeName.MatchString(entry.Name()) {
			continue
		}
		root := filepath.Join(dir, entry.Name())
		if _, err := os.Stat(tree{root}.containers()); err == nil && !swept {
			if err := sweepContainers(dir); err != nil {
				return err // rather than remove trees under containers
			}
			swept = true
		}
		errs = append(errs, sweepTree(root))
	}
	return errors.Join(errs...)
}

// treeName is what newTree calls trees. Others may have given names with that prefix.
var treeName = regexp.MustCompile(`^` + treePrefix + `[a-zA-Z0-9-]+-[0-9]+$`)

func sweepTree(root string) error {
	killStrays(root)
	real, err := filepath.EvalSymlinks(root) // as the table of mounts has it
	if err == nil {
		err = unmountBelow(real)
	}
	if err != nil {
		return err // rather than remove what is mounted
	}
	return os.RemoveAll(root)
}
