// Package home is the directory of a platform, by which other commands find the one that runs.
package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Default returns the directory of a platform that is given none, in the user's cache.
func Default() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the platform's data (--dir names one): %w", err)
	}
	return filepath.Join(cache, "algospec", "platform"), nil
}

// A Home is a directory that this process holds.
type Home struct {
	Dir  string // absolute
	lock *os.File
}

// Open makes the directory if there is none and holds it until Close, or until the process ends.
func Open(dir string) (*Home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	h := &Home{dir, lock}
	err = unix.FcntlFlock(lock.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		lock.Close()
		return nil, fmt.Errorf("%s: another platform uses this directory; --dir names another one, and --print-env tells of the one that runs", dir)
	case err != nil:
		lock.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	os.Remove(h.path()) // of one that was killed
	return h, nil
}

// Close gives the directory back.
func (h *Home) Close() error {
	err := os.Remove(h.path())
	if errors.Is(err, fs.ErrNotExist) { // it was not published
		err = nil
	}
	return errors.Join(err, h.lock.Close())
}

const published = "environment.json"

func (h *Home) path() string { return filepath.Join(h.Dir, published) }

// Publish lets other commands know the platform's environment.
func (h *Home) Publish(e Environment) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return WritePrivate(h.path(), text)
}

// WritePrivate writes a file that its owner alone can read, whole or not at all.
func WritePrivate(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
		return err
	}
	return os.Rename(file.Name(), path)
}

// ErrNotRunning says that no platform holds the directory.
var ErrNotRunning = errors.New("no platform runs")

// Running returns the environment of the platform that holds the directory.
func Running(dir string) (Environment, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotRunning
	}
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	holder := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(lock.Fd(), unix.F_GETLK, &holder); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if holder.Type == unix.F_UNLCK {
		return nil, ErrNotRunning
	}
	text, err := os.ReadFile(filepath.Join(dir, published))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w yet; one is starting or ending", ErrNotRunning)
	}
	if err != nil {
		return nil, err
	}
	var e Environment
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, published), err)
	}
	return e, nil
}
