package fastfile

// A window follows the reads of one open file and says how far ahead of them to
// read: not at all while they jump about, and up to twice what has been read in
// a row where they follow one another.
type window struct {
	started     bool
	start, next int64 // the bytes read in a row, but for gaps within reach
	last        int64 // bytes of the last read
	ahead       int64 // all before it have been asked for
}

// move takes note of a read of bytes [off, off+n) and returns false if it does
// not follow those before. The kernel reads ahead by several requests at a
// time, which may come in any order: those within two lengths of where they
// should be do follow.
func (w *window) move(off, n int64) (follows bool) {
	slack := 2 * max(n, w.last)
	follows = w.started && w.next-slack <= off && off <= w.next+slack
	if !follows {
		*w = window{started: true, start: off, next: off, ahead: off}
	}
	w.next, w.last = max(w.next, off+n), n
	w.ahead = max(w.ahead, w.next)
	return follows
}

// want returns how far ahead to read: at most limit, and not past the file's
// end. A read from the beginning promises more.
func (w *window) want(follows bool, size, limit int64) int64 {
	if !follows && w.start != 0 {
		return 0
	}
	return min(max(firstAhead, 2*(w.next-w.start)), limit, size-w.next)
}
