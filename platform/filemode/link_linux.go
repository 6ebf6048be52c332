package filemode

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// bindReadOnly mounts target on the empty directory dir. The error is an
// os.ErrPermission for who may not mount.
func bindReadOnly(dir, target string) (undo func() error, err error) {
	if entries, err := os.ReadDir(dir); err != nil {
		return nil, err
	} else if len(entries) > 0 {
		return nil, &os.PathError{Op: "mount", Path: dir, Err: unix.ENOTEMPTY}
	}
	if err := unix.Mount(target, dir, "", unix.MS_BIND, ""); err != nil {
		return nil, os.NewSyscallError("mount", err)
	}
	undo = func() error {
		if err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return &os.PathError{Op: "unmount", Path: dir, Err: err}
		}
		return os.Remove(dir)
	}
	if err := protect(dir); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// protect makes a bind mount read-only. Linux takes no other flag at the first
// mount, and in a user namespace wants back those that the file system has.
func protect(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return os.NewSyscallError("statfs", err)
	}
	keep := uintptr(s.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	return os.NewSyscallError("mount", unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|keep, ""))
}
