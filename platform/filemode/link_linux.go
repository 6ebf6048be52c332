package filemode

import (
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
	if err := mountReadOnly(dir, target); err != nil {
		return nil, err
	}
	undo = func() error {
		if err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return &os.PathError{Op: "unmount", Path: dir, Err: err}
		}
		return os.Remove(dir)
	}
	return undo, nil
}

// mountReadOnly mounts target with all that is mounted below it. The mounts are read-only, and know
// nothing of their originals any more, before they are anywhere to be seen. Linux can since 5.12.
func mountReadOnly(dir, target string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, target, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return os.NewSyscallError("open_tree", err)
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	return os.NewSyscallError("move_mount", unix.MoveMount(tree, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH))
}
