package platform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/platform/fastfile"
)

// unmountBelow takes away what is mounted in a tree.
func unmountBelow(root string) error {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, root+"/"), false
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range slices.Backward(mounts) { // those on top of others first
		err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EPERM) {
			err = fastfile.Detach(m.Mountpoint)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(errs...)
}
