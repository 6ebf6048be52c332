package filemode

import "syscall"

// block is what nearly every file system rounds a file's size up to.
const block = 4096

// checkSpace finds out before the download whether there is room for it.
func (d *download) checkSpace() error {
	var first *target // that does not fit
	free := space(d.dir)
	d.need = 0
	for _, t := range d.targets {
		size := (t.Object.Size + block - 1) / block * block
		d.need += max(0, size-t.allocated)
		if free >= 0 && d.need > free && first == nil {
			first = t
		}
	}
	if first != nil {
		return &SpaceError{d.dir, first.Path, d.need, free, syscall.ENOSPC}
	}
	return nil
}
