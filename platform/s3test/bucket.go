package s3test

import (
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/btree"
)

// An object is what the store knows of one key. It is not changed once it is
// in the index.
type object struct {
	Key      string
	File     string // in the bucket's data directory
	Size     int64
	ETag     string // with its quotes
	Modified time.Time
	Header   map[string]string `json:",omitempty"` // given with PUT, returned with GET
	Checksum map[string]string `json:",omitempty"` // returned to who asks for it
	Parts    []int64           `json:",omitempty"` // sizes, of an object that was uploaded in parts
}

// A bucket is an index of objects in key order, their directory, and the
// journal that outlives the index.
type bucket struct {
	dir     string
	created time.Time
	objects btree.Map[string, *object]
	journal *journal
}

func openBucket(dir string) (*bucket, error) {
	b := &bucket{dir: dir}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(dir, "data"))
	if err != nil {
		return nil, err
	}
	b.created = info.ModTime().UTC()
	b.journal, err = openJournal(filepath.Join(dir, "journal"), func(c change) {
		if c.Put != nil {
			b.objects.Set(c.Put.Key, c.Put)
		} else {
			b.objects.Delete(c.Delete)
		}
	})
	return b, err
}

func (b *bucket) close() error { return b.journal.file.Close() }

func (b *bucket) dataFile(o *object) string { return filepath.Join(b.dir, "data", o.File) }

// put makes file the object o in place of old, which may be nil.
func (b *bucket) put(file *newFile, o, old *object) error {
	o.File = filepath.Base(file.path)
	if err := os.Rename(file.path, b.dataFile(o)); err != nil {
		return err
	}
	if err := b.journal.write(change{Put: o}); err != nil {
		os.Remove(b.dataFile(o))
		return err
	}
	b.objects.Set(o.Key, o)
	if old != nil {
		os.Remove(b.dataFile(old))
	}
	return nil
}

func (b *bucket) remove(key string) error {
	o, ok := b.objects.Get(key)
	if !ok {
		return nil
	}
	if err := b.journal.write(change{Delete: key}); err != nil {
		return err
	}
	b.objects.Delete(key)
	return os.Remove(b.dataFile(o))
}
