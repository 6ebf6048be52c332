package container

import (
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// propagates says whether mounts that are made below a path later can reach a container: whether its
// file system is shared or a slave. Docker refuses to ask for it where they cannot.
func propagates(path string) (bool, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	parents, err := mountinfo.GetMounts(mountinfo.ParentsFilter(path))
	if err != nil || len(parents) == 0 {
		return false, err
	}
	nearest := parents[0]
	for _, p := range parents[1:] {
		if len(p.Mountpoint) >= len(nearest.Mountpoint) { // of two on one directory the later is on top
			nearest = p
		}
	}
	return strings.Contains(nearest.Optional, "shared:") || strings.Contains(nearest.Optional, "master:"), nil
}
