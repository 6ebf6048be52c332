package s3test

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A store keeps buckets below one directory:
//
//	incoming/              bodies on their way in, parts of uploads
//	buckets/NAME/data/     the bytes, one file per object, never written again
//	buckets/NAME/journal   a line per object put or deleted
//
// The line in the journal is what makes an object exist. An index of all keys
// is held in memory.
type store struct {
	dir string

	mu      sync.RWMutex
	buckets map[string]*bucket
	uploads map[string]*upload
}

// A newFile holds a body that has arrived and does not belong to an object yet.
type newFile struct {
	path string
	size int64
	md5  []byte
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func openStore(dir string) (*store, error) {
	s := &store{dir: dir, buckets: map[string]*bucket{}, uploads: map[string]*upload{}}
	if err := os.RemoveAll(s.incoming()); err != nil { // of a server that was killed
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(s.incoming(), 0o755), os.MkdirAll(s.bucketDir(""), 0o755)); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.bucketDir(""))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		b, err := openBucket(s.bucketDir(entry.Name()))
		if err != nil {
			s.close()
			return nil, err
		}
		s.buckets[entry.Name()] = b
	}
	return s, nil
}

// close closes the journals.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.buckets {
		b.close()
	}
}

func (s *store) incoming() string             { return filepath.Join(s.dir, "incoming") }
func (s *store) bucketDir(name string) string { return filepath.Join(s.dir, "buckets", name) }

func (s *store) createBucket(name string) error {
	if !bucketName.MatchString(name) || strings.Contains(name, "..") {
		return errBucketName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets[name] != nil {
		return errBucketExists
	}
	b, err := openBucket(s.bucketDir(name))
	if err == nil {
		s.buckets[name] = b
	}
	return err
}

func (s *store) deleteBucket(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.bucket(name)
	if err != nil {
		return err
	}
	if b.objects.Len() > 0 {
		return errBucketNotEmpty
	}
	delete(s.buckets, name)
	return errors.Join(b.close(), os.RemoveAll(s.bucketDir(name)))
}

// bucket finds a bucket; the caller holds the lock.
func (s *store) bucket(name string) (*bucket, error) {
	if b := s.buckets[name]; b != nil {
		return b, nil
	}
	return nil, errNoSuchBucket
}

// receive streams body into a file of its own and, if sum is not nil, into it.
// On an error nothing is left.
func (s *store) receive(body io.Reader, sum hash.Hash) (*newFile, error) {
	path := filepath.Join(s.incoming(), rand.Text()) // a name that it keeps
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	digest := md5.New()
	sinks := []io.Writer{f, digest}
	if sum != nil {
		sinks = append(sinks, sum)
	}
	buffer := copyBuffers.Get().(*[128 << 10]byte)
	defer copyBuffers.Put(buffer)
	n, err := io.CopyBuffer(io.MultiWriter(sinks...), onlyReader{body}, buffer[:])
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return nil, err
	}
	return &newFile{path: path, size: n, md5: digest.Sum(nil)}, nil
}

var copyBuffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// onlyReader hides a WriteTo, which would bypass the buffer.
type onlyReader struct{ io.Reader }

// commit makes file the object o, replacing one of the same key, if the
// conditions hold. It takes the file over, also when it fails.
func (s *store) commit(bucket string, file *newFile, o *object, when conditions) error {
	defer os.Remove(file.path) // once it is renamed there is none
	o.Size = file.size
	o.Modified = time.Now().UTC().Truncate(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.bucket(bucket)
	if err != nil {
		return err
	}
	old, _ := b.objects.Get(o.Key)
	if err := when.allowWrite(old); err != nil {
		return err
	}
	return b.put(file, o, old)
}

// open finds an object and opens its bytes, which stay readable if the object
// is replaced. The caller closes the file.
func (s *store) open(bucket, key string) (*object, *os.File, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, err := s.bucket(bucket)
	if err != nil {
		return nil, nil, err
	}
	o, ok := b.objects.Get(key)
	if !ok {
		return nil, nil, errNoSuchKey
	}
	f, err := os.Open(b.dataFile(o))
	return o, f, err
}

// remove deletes an object. An object that does not exist is no error.
func (s *store) remove(bucket, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.bucket(bucket)
	if err != nil {
		return err
	}
	return b.remove(key)
}

func validKey(key string) error {
	switch {
	case key == "" || !utf8.ValidString(key):
		return errKeyName
	case len(key) > 1024:
		return errKeyTooLong
	}
	return nil
}

func quote(sum []byte) string { return `"` + hex.EncodeToString(sum) + `"` }
