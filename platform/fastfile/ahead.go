package fastfile

import "slices"

// ask starts requests for what is missing of a read of n bytes at off, and for
// what is worth reading ahead. Both go into one request where they meet.
func (r *reader) ask(off, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	block := r.fs.opts.Block
	first, last := off/block, (off+n+block-1)/block
	if r.closed {
		r.request(first, last, last, maxPart)
		return
	}
	end, part := r.look(off, n)
	ahead := r.window.ahead / block
	if ahead > last || end == 0 {
		r.request(first, last, last, maxPart)
		first = max(last, ahead)
	}
	if end < r.file.size() {
		end = first*block + (end-first*block)/part*part // whole requests only
	}
	last = r.request(first, (end+block-1)/block, last, part)
	r.window.ahead = max(r.window.ahead, last*block)
}

// look moves the window. It returns the byte up to which to read ahead, 0 for
// not at all, and by requests of how many bytes.
func (r *reader) look(off, n int64) (end, part int64) {
	w, limit := &r.window, r.fs.opts.ReadAhead
	follows := w.move(off, n)
	if !follows {
		r.settle()
	}
	size := r.hold(w.want(follows, r.file.size(), limit))
	part = min(max(size/8, min(minPart, limit/2), r.fs.opts.Block), maxPart)
	if size == 0 {
		return 0, part
	}
	return w.next + size, part
}

// request starts requests of at most part bytes for the missing blocks among
// [from, to). Those below asked are waited for, the others are ahead: if there
// is no room for more requests it leaves them. It returns where it stopped.
func (r *reader) request(from, to, asked, part int64) int64 {
	f, blocks := r.fs, max(part/r.fs.opts.Block, 1)
	for from < to {
		ahead, slots := from >= asked, f.asked
		if ahead {
			if slots = f.ahead; !slots.TryAcquire(1) {
				return from
			}
		}
		run := f.cache.reserve(r.file, from, min(from+blocks, to))
		if run == nil {
			if ahead {
				slots.Release(1)
			}
			from = min(from+blocks, to)
			continue
		}
		x := f.fetch(run, slots, ahead)
		if ahead {
			r.fetches = append(r.fetches, x)
		}
		from = run[len(run)-1].id.index + 1
	}
	return from
}

// hold sets what the reader holds of the budget for reading ahead. It returns
// what it may use: size, or less if that is not to be had.
func (r *reader) hold(size int64) int64 {
	f := r.fs
	switch {
	case size < r.held:
		f.budget.Release(r.held - size)
	case size > r.held && !f.budget.TryAcquire(size-r.held):
		return r.held
	}
	r.held = size
	r.fetches = slices.DeleteFunc(r.fetches, func(x *fetch) bool { return x.ctx.Err() != nil })
	return size
}

// settle ends what was begun ahead and gives the budget back.
func (r *reader) settle() {
	for _, x := range r.fetches {
		x.abandon()
	}
	r.fetches = nil
	r.hold(0)
}
