package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A store keeps records in a file. What it has written is synced.
type store struct{ db *bbolt.DB }

// The buckets. Requests are by themselves as they are written once, and read only when asked for.
var (
	jobsBucket       = []byte("jobs")       // record by name
	requestsBucket   = []byte("requests")   // CreateTrainingJob's body by name
	algorithmsBucket = []byte("algorithms") // algorithmRecord by name
	tagsBucket       = []byte("tags")       // map of tags by ARN
)

// lockTimeout is how long another Service is given to leave the directory.
const lockTimeout = 2 * time.Second

func openStore(dir string) (*store, error) {
	if dir == "" {
		return nil, errors.New("api: no directory for the records")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	path := filepath.Join(dir, "records.db")
	var db *bbolt.DB
	err := intact(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout})
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("api: %s: another platform uses this directory", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("api: %s: %w", path, err)
	}
	if err := intact(func() error { return walk(db) }); err != nil {
		return nil, errors.Join(fmt.Errorf("api: %s: %w", path, err), db.Close())
	}
	db.MaxBatchDelay = 2 * time.Millisecond
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, bucket := range [][]byte{jobsBucket, requestsBucket, algorithmsBucket, tagsBucket} {
			if _, err := tx.CreateBucketIfNotExists(bucket); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("api: %s: %w", path, err), db.Close())
	}
	return &store{db}, nil
}

// intact calls f and makes an error of the panic, or the fault, with which bbolt meets a file that is damaged.
func intact(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if damage := recover(); damage != nil {
			err = fmt.Errorf("the file is damaged: %v", damage)
		}
	}()
	return f()
}

// walk looks at every page that records are on, so that damage is met here and not while jobs run.
func walk(db *bbolt.DB) error {
	info, err := os.Stat(db.Path())
	if err != nil {
		return err
	}
	return db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("the file is damaged: %d of its %d bytes are left", info.Size(), tx.Size())
		}
		return tx.ForEach(func(_ []byte, bucket *bbolt.Bucket) error {
			return bucket.ForEach(func(_, _ []byte) error { return nil })
		})
	})
}

func (s *store) close() error { return s.db.Close() }

// A write is one change to the store: a nil value deletes the key.
type write struct {
	bucket []byte
	key    string
	value  []byte
}

// write makes all changes or none. Those of several goroutines share a sync.
func (s *store) write(writes ...write) error {
	return s.db.Batch(func(tx *bbolt.Tx) error {
		for _, w := range writes {
			bucket, key := tx.Bucket(w.bucket), []byte(w.key)
			err := bucket.Delete(key)
			if w.value != nil {
				err = bucket.Put(key, w.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// read returns a copy of a value, nil without one.
func (s *store) read(bucket []byte, key string) (value []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if found := tx.Bucket(bucket).Get([]byte(key)); found != nil {
			value = append([]byte{}, found...)
		}
		return nil
	})
	return value, err
}

// each calls f with all that a bucket holds, in the order of keys.
func (s *store) each(bucket []byte, f func(key string, value []byte) error) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(key, value []byte) error {
			if err := f(string(key), value); err != nil {
				return fmt.Errorf("api: record %s of %s: %w", key, bucket, err)
			}
			return nil
		})
	})
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types
	}
	return text
}
