package fastfile

import (
	"slices"
	"strings"
	"time"

	"github.com/algospec/algospec/platform/s3stream"
)

// A tree is all files and the directories that their paths imply. It does not
// change once it is built.
type tree struct {
	nodes []*node // by inode number; nodes[0] is the root, whose number is 1
	size  int64   // bytes of all files
}

// A node is a file or a directory.
type node struct {
	name     string
	inode    uint64
	object   *s3stream.Object // nil for a directory
	modified time.Time        // of a directory, the newest below it
	parent   *node            // the root's is itself
	children []*node          // by name
}

func (n *node) isDir() bool { return n.object == nil }

func (n *node) size() int64 {
	if n.isDir() {
		return 0
	}
	return n.object.Size
}

// child returns the child of that name, or nil.
func (n *node) child(name string) *node {
	i, found := slices.BinarySearchFunc(n.children, name, func(n *node, name string) int {
		return strings.Compare(n.name, name)
	})
	if !found {
		return nil
	}
	return n.children[i]
}

// walk returns the node at a path below n, or nil. The path "." is n.
func (n *node) walk(path string) *node {
	if path == "." {
		return n
	}
	for name := range strings.SplitSeq(path, "/") {
		if n = n.child(name); n == nil {
			return nil
		}
	}
	return n
}

// A planter builds a tree.
type planter struct {
	tree  *tree
	paths map[string]*node
}

// plant returns the tree of the files, or a *PathError for the first that has
// no place in it. The tree keeps the slice.
func plant(files []s3stream.File) (*tree, error) {
	p := planter{&tree{}, make(map[string]*node, len(files))}
	root := p.add("", "", nil, nil)
	root.parent = root
	for i := range files {
		if err := p.file(&files[i]); err != nil {
			return nil, &PathError{files[i].Path, files[i].Object, err}
		}
	}
	for _, n := range p.tree.nodes {
		slices.SortFunc(n.children, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	}
	return p.tree, nil
}

func (p *planter) file(f *s3stream.File) error {
	if f.IsDir() {
		return p.folder(strings.TrimSuffix(f.Path, "/"), f.Object.LastModified)
	}
	if err := check(f.Path); err != nil {
		return err
	}
	if f.Object.Size < 0 {
		return errNoSize
	}
	if n, taken := p.paths[f.Path]; taken {
		if n.isDir() {
			return errBoth
		}
		return errDuplicate
	}
	dir, name, err := p.parent(f.Path)
	if err != nil {
		return err
	}
	n := p.add(f.Path, name, dir, &f.Object)
	p.tree.size += n.size()
	n.touch(f.Object.LastModified)
	return nil
}

// touch has the node, and the directories above it, be no older than t.
func (n *node) touch(t time.Time) {
	for ; n.modified.Before(t); n = n.parent {
		n.modified = t
	}
}

// folder makes a directory, if there is none yet.
func (p *planter) folder(path string, modified time.Time) error {
	if err := check(path); err != nil {
		return err
	}
	if n, taken := p.paths[path]; taken {
		if !n.isDir() {
			return errBoth
		}
		n.touch(modified)
		return nil
	}
	dir, name, err := p.parent(path)
	if err == nil {
		p.add(path, name, dir, nil).touch(modified)
	}
	return err
}

// parent returns the directory that a path is in, which it makes if there is
// none yet, and the path's last element.
func (p *planter) parent(path string) (dir *node, name string, err error) {
	slash := strings.LastIndexByte(path, '/')
	name = path[slash+1:]
	above := path[:max(slash, 0)]
	dir, there := p.paths[above]
	switch {
	case there && !dir.isDir():
		return nil, "", errBoth
	case !there:
		up, last, err := p.parent(above)
		if err != nil {
			return nil, "", err
		}
		dir = p.add(above, last, up, nil)
	}
	return dir, name, nil
}

func (p *planter) add(path, name string, parent *node, object *s3stream.Object) *node {
	n := &node{name: name, object: object, parent: parent, inode: uint64(len(p.tree.nodes)) + 1}
	p.tree.nodes = append(p.tree.nodes, n)
	p.paths[path] = n
	if parent != nil {
		parent.children = append(parent.children, n)
	}
	return n
}

// check refuses what a file system cannot hold.
func check(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "":
			return errEmpty
		case name == "." || name == "..":
			return errDots
		case strings.IndexByte(name, 0) >= 0:
			return errNUL
		case len(name) > 255:
			return errTooLong
		}
	}
	return nil
}
