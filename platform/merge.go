package platform

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/algospec/algospec/internal/atomicfile"
	"github.com/algospec/algospec/platform/internal/upload"
)

// A merged is what several hosts' directories hold, as if it were in one.
type merged struct {
	entries []*entry // directories before what is in them, otherwise by name
	roots   []*os.Root
}

// An entry is a file, a directory or a symbolic link.
type entry struct {
	host string
	root *os.Root
	name string // relative to the root, with slashes
	info fs.FileInfo
}

// merge looks at the directories, in their order; see storeArchive. A directory that does not exist is
// empty; one that is a link is what it leads to, which is an error out of within.
func merge(dirs []hostDir, warn func(string)) (*merged, error) {
	m := &merged{}
	found := entries{byName: map[string]*entry{}, warn: warn}
	for _, dir := range dirs {
		if err := m.add(found, dir); err != nil {
			m.close()
			return nil, fmt.Errorf("%s: %w", dir.host, err)
		}
	}
	m.entries = slices.SortedFunc(maps.Values(found.byName), func(a, b *entry) int {
		return strings.Compare(strings.ReplaceAll(a.name, "/", "\x00"), strings.ReplaceAll(b.name, "/", "\x00"))
	})
	return m, nil
}

func (m *merged) add(found entries, dir hostDir) error {
	if _, err := os.Lstat(dir.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	root, err := upload.OpenDir(dir.path, dir.within)
	if err != nil {
		return err
	}
	m.roots = append(m.roots, root)
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	return found.walk(&entry{dir.host, root, ".", info})
}

func (m *merged) close() {
	for _, root := range m.roots {
		root.Close()
	}
}

// empty says whether there are no files and links.
func (m *merged) empty() bool {
	return !slices.ContainsFunc(m.entries, func(e *entry) bool { return !e.info.IsDir() })
}

// entries are those found so far.
type entries struct {
	byName map[string]*entry
	warn   func(string)
}

// walk adds what is in a directory.
func (f entries) walk(dir *entry) error {
	below, err := upload.ReadDir(dir.root, dir.name, dir.info)
	if err != nil {
		return fmt.Errorf("%s: %w", shown(dir.name), err)
	}
	for _, b := range below {
		e := &entry{host: dir.host, root: dir.root, name: path.Join(dir.name, b.Name())}
		if e.info, err = b.Info(); err != nil {
			return fmt.Errorf("%s: %w", shown(e.name), err)
		}
		if err := f.take(e); err != nil {
			return err
		}
	}
	return nil
}

func (f entries) take(e *entry) error {
	switch mode := e.info.Mode(); {
	case mode.IsDir():
		if err := f.add(e); err != nil {
			return err
		}
		return f.walk(e)
	case atomicfile.Unfinished(e.name):
		return nil
	case mode.IsRegular() || mode.Type() == fs.ModeSymlink:
		return f.add(e)
	}
	f.warn(fmt.Sprintf("%s of %s is not stored, as it is no regular file (%s)", shown(e.name), e.host, e.info.Mode().Type()))
	return nil
}

// add puts an entry in the place of an earlier host's.
func (f entries) add(e *entry) error {
	if old := f.byName[e.name]; old != nil {
		switch {
		case old.info.IsDir() != e.info.IsDir():
			dir, file := old, e
			if e.info.IsDir() {
				dir, file = e, old
			}
			return fmt.Errorf("%s is a directory on %s and a file on %s", shown(e.name), dir.host, file.host)
		case !e.info.IsDir():
			f.warn(fmt.Sprintf("%s is on %s and on %s: that of %s is stored", shown(e.name), old.host, e.host, e.host))
		}
	}
	f.byName[e.name] = e
	return nil
}

// wrap says whose file an error is about.
func (e *entry) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", e.host, shown(e.name), err)
}

// shown returns a file's name for people, quoted where it could be taken for something else, and cut.
func shown(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '"' || r == ':' }
	if len(name) > longestShown {
		name = name[:longestShown/2] + "…" + name[len(name)-longestShown/2:]
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return strconv.Quote(name)
	}
	return name
}

// longestShown is a third of a FailureReason.
const longestShown = 300
