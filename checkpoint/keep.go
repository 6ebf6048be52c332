package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// prune deletes snapshots older than those that are kept, after saved was.
func (s *Store) prune(ctx context.Context, saved Name) error {
	files, marked, err := s.files(context.WithoutCancel(ctx))
	if err = cmp.Or(err, readable(files)); err != nil {
		return err
	}
	slices.SortStableFunc(files, func(a, b *file) int { return cmp.Compare(s.worth(a), s.worth(b)) })
	for _, f := range superfluous(files, marked, saved, s.keep()) {
		err = errors.Join(err, s.disk.Remove(f.path))
	}
	return err
}

// worth returns 0 for a snapshot that is kept first; 1 for one that is newer than the one that was restored, which it
// was passed over for, and older than what has been saved since, as not all hosts have it; 2 for one that cannot be restored.
func (s *Store) worth(f *file) int {
	serial := f.snapshot.Serial
	switch {
	case f.err != nil:
		return 2
	case s.base > 0 && s.base < serial && serial <= s.found:
		return 1
	}
	return 0
}

// superfluous returns which of a host's snapshots, the best first, need not be kept: of those with the
// hyperparameters of the one saved last, all but the first. What a newer program saved stays.
func superfluous(files []*file, marked map[string][]string, saved Name, keep int) (old []*file) {
	has := func(marker string, f *file) bool { return slices.Contains(marked[marker], f.Name.String()) }
	var stored bool // one that is as good is in S3, so that the instance may be lost
	for _, f := range files {
		if _, newer := errors.AsType[*VersionError](f.err); newer || f.Digest != saved.Digest {
			continue
		}
		best := f.err == nil && has(uploaded, f) && !stored
		stored = stored || best
		if keep--; keep < 0 && f.Name != saved && !best && !has(uploading, f) {
			old = append(old, f)
		}
	}
	return old
}
