package fastfile

import (
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A bridge answers the kernel's questions about a file system. Nodes live as
// long as it does and never change, so the kernel may keep what it learns for
// ever; the mount is read-only, so it asks for no change.
type bridge struct {
	fuse.RawFileSystem // answers the rest with ENOSYS
	fs                 *FS
	owner              fuse.Owner
	readers            sync.Map // of open files by handle, as *reader
	handles            atomic.Uint64
}

func newBridge(f *FS) *bridge {
	owner := fuse.Owner{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	return &bridge{RawFileSystem: fuse.NewDefaultRawFileSystem(), fs: f, owner: owner}
}

const forEver = math.MaxInt64 * time.Nanosecond

func (b *bridge) String() string { return subtype }

func (b *bridge) node(inode uint64) *node { return b.fs.tree.nodes[inode-1] }

// Lookup finds a child. The kernel keeps in mind, too, that there is none.
func (b *bridge) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	out.SetEntryTimeout(forEver)
	if n := b.node(in.NodeId).child(name); n != nil {
		b.entry(n, out)
	}
	return fuse.OK
}

func (b *bridge) entry(n *node, out *fuse.EntryOut) {
	out.NodeId = n.inode
	out.SetEntryTimeout(forEver)
	out.SetAttrTimeout(forEver)
	b.attributes(n, &out.Attr)
}

// GetAttr describes a node.
func (b *bridge) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	out.SetTimeout(forEver)
	b.attributes(b.node(in.NodeId), &out.Attr)
	return fuse.OK
}

func (b *bridge) attributes(n *node, out *fuse.Attr) {
	out.Ino = n.inode
	out.Owner = b.owner
	out.SetTimes(&n.modified, &n.modified, &n.modified)
	out.Mode, out.Nlink = mode(n), 1
	if n.isDir() {
		out.Nlink = 2
	}
	out.Size = uint64(n.size())
	out.Blocks = (out.Size + 511) / 512
}

func mode(n *node) uint32 {
	if n.isDir() {
		return syscall.S_IFDIR | 0o555
	}
	return syscall.S_IFREG | 0o444
}

// Open makes a reader. What the kernel has of the file stays valid.
func (b *bridge) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.Fh = b.handles.Add(1)
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE | fuse.FOPEN_NOFLUSH
	b.readers.Store(out.Fh, b.fs.open(b.node(in.NodeId)))
	return fuse.OK
}

// Release ends what Open began.
func (b *bridge) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if r, open := b.readers.LoadAndDelete(in.Fh); open {
		r.(*reader).close()
	}
}

// OpenDir lets the kernel keep the listing.
func (b *bridge) OpenDir(_ <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE | fuse.FOPEN_CACHE_DIR
	return fuse.OK
}

// ReadDir lists names.
func (b *bridge) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	b.list(in, func(e fuse.DirEntry, _ *node) bool { return out.AddDirEntry(e) })
	return fuse.OK
}

// ReadDirPlus lists names and what Lookup says about them.
func (b *bridge) ReadDirPlus(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	b.list(in, func(e fuse.DirEntry, child *node) bool {
		entry := out.AddDirLookupEntry(e)
		if entry != nil && child != nil {
			b.entry(child, entry)
		}
		return entry != nil
	})
	return fuse.OK
}

// list adds the entries from in.Offset on until one does not fit: the two that
// every directory has, for which child is nil, and the children.
func (b *bridge) list(in *fuse.ReadIn, add func(e fuse.DirEntry, child *node) bool) {
	dir := b.node(in.NodeId)
	for i := in.Offset; i < uint64(len(dir.children))+2; i++ {
		n, child := dir, (*node)(nil)
		name := "."
		switch {
		case i == 1:
			n, name = dir.parent, ".."
		case i > 1:
			child = dir.children[i-2]
			n, name = child, child.name
		}
		if !add(fuse.DirEntry{Name: name, Ino: n.inode, Mode: mode(n)}, child) {
			return
		}
	}
}

// Read sends bytes out of the cache.
func (b *bridge) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	found, open := b.readers.Load(in.Fh)
	if !open {
		return nil, fuse.EBADF
	}
	r, off := found.(*reader), int64(in.Offset)
	n := min(int64(in.Size), r.file.size()-off)
	if n <= 0 {
		return fuse.ReadResultData(nil), fuse.OK
	}
	ctx := &fuse.Context{Cancel: cancel}
	v, err := r.view(ctx, off, n)
	if err == nil && v != nil {
		return sent{v}, fuse.OK
	}
	if err == nil {
		_, err = r.readAt(ctx, buf[:n], off)
	}
	if err == nil {
		return fuse.ReadResultData(buf[:n]), fuse.OK
	}
	if ctx.Err() != nil {
		return nil, fuse.EINTR
	}
	return nil, fuse.EIO
}

// StatFs says how many bytes there are, all of them used.
func (b *bridge) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	out.Blocks = uint64(b.fs.tree.size+4095) / 4096
	out.Files = uint64(len(b.fs.tree.nodes))
	return fuse.OK
}

// Sent is a view on its way to the kernel, which takes it piece by piece
// straight from the cache.
type sent struct{ *view }

// Size implements fuse.ReadResult.
func (s sent) Size() int { return s.length }

// Done implements fuse.ReadResult.
func (s sent) Done() { s.release() }

// Slices is what go-fuse asks for first.
func (s sent) Slices() ([][]byte, fuse.Status) { return s.bytes, fuse.OK }

// Bytes implements fuse.ReadResult.
func (s sent) Bytes(buf []byte) ([]byte, fuse.Status) {
	buf = buf[:0]
	for _, piece := range s.bytes {
		buf = append(buf, piece...)
	}
	return buf, fuse.OK
}
