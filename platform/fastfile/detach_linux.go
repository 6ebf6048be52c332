package fastfile

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Detach takes away what a process that was killed has left on dir: reads there
// fail with ENOTCONN. It does nothing where nothing, or something else than a
// mount of this package, is mounted. A mount in use goes, too: its open files
// stay readable, but dir is free.
func Detach(dir string) error {
	dir, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	for {
		top, err := topMount(dir)
		if err != nil || top == nil || !isOurs(top) {
			return err
		}
		err = unix.Unmount(dir, unix.MNT_DETACH)
		if errors.Is(err, unix.EPERM) {
			err = fusermount(dir)
		}
		if err != nil {
			return fmt.Errorf("detach %s: %w", dir, err)
		}
	}
}

// resolve returns the name of a directory in the table of mounts. The last
// element may be dead, and the name of a mount is no link.
func resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if whole, err := filepath.EvalSymlinks(dir); err == nil {
		return whole, nil
	}
	above, err := filepath.EvalSymlinks(filepath.Dir(dir))
	return filepath.Join(above, filepath.Base(dir)), err
}

// topMount returns the mount on top of dir, or nil.
func topMount(dir string) (*mountinfo.Info, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != dir, false })
	if err != nil || len(mounts) == 0 {
		return nil, err
	}
	return mounts[len(mounts)-1], nil
}

// isOurs says whether a mount is one of this package.
func isOurs(m *mountinfo.Info) bool { return m.FSType == "fuse."+subtype && m.Source == source }

// fusermount unmounts for who has no right to.
func fusermount(dir string) error {
	out, err := exec.Command("fusermount3", "-u", "-z", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
