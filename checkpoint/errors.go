package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrNone says that there is no snapshot to restore: a run begins at its beginning.
var ErrNone = errors.New("checkpoint: no snapshot")

// ErrLocked says that another process saves snapshots of this host in the directory.
var ErrLocked = errors.New("another process saves snapshots of this host here")

// ErrClosed is the error of saving after Close.
var ErrClosed = errors.New("checkpoint: the store is closed")

// What can be wrong with a snapshot's file. A [VersionError] is the fourth.
var (
	ErrFormat   = errors.New("not a snapshot")
	ErrCut      = errors.New("cut short")
	ErrChecksum = errors.New("checksum mismatch")
)

// errName is the error of a file that was renamed.
var errName = errors.New("the name is another snapshot's")

// isDamage reports whether err is about what a file holds, and not about reading it.
func isDamage(err error) bool {
	_, future := errors.AsType[*VersionError](err)
	return future || errors.Is(err, ErrFormat) || errors.Is(err, ErrCut) || errors.Is(err, ErrChecksum) || errors.Is(err, errName)
}

// A VersionError is the error of a snapshot that a newer program has saved, in a format of its own.
type VersionError struct{ Version uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("format version %d, and this program reads version %d", e.Version, version)
}

// An Error says which snapshot something is wrong with.
type Error struct {
	Step int64
	Path string // of its file
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("checkpoint: step %d: %v", e.Step, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// A DamagedError says that there are snapshots, and none of them is whole. Starting anew would throw
// them away, which is for a person to decide.
type DamagedError struct{ Damaged []error }

func (e *DamagedError) Error() string {
	texts := make([]string, len(e.Damaged))
	for i, err := range e.Damaged {
		texts[i] = strings.TrimPrefix(err.Error(), "checkpoint: ")
	}
	return "checkpoint: no snapshot is whole: " + strings.Join(texts, "; ")
}

func (e *DamagedError) Unwrap() []error { return e.Damaged }

// A HyperParametersError says that a snapshot was saved with other hyperparameters.
type HyperParametersError struct{ Then, Now map[string]string }

func (e *HyperParametersError) Error() string {
	keys := slices.Collect(maps.Keys(e.Then))
	for key := range e.Now {
		if _, both := e.Then[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var texts []string
	for _, key := range keys {
		then, now := value(e.Then, key), value(e.Now, key)
		if e.Then[key] != e.Now[key] || then != now {
			texts = append(texts, fmt.Sprintf("%s was %s, now %s", key, then, now))
		}
	}
	return "saved with other hyperparameters: " + strings.Join(texts, "; ")
}

// ClientError reports that the settings are at fault.
func (e *HyperParametersError) ClientError() bool { return true }

func value(parameters map[string]string, key string) string {
	text, ok := parameters[key]
	if !ok {
		return "not set"
	}
	return fmt.Sprintf("%.40q", text)
}

// A WorldError says that a snapshot, one of several that belong together, was saved by another number
// of hosts.
type WorldError struct{ Then, Now int }

func (e *WorldError) Error() string {
	return fmt.Sprintf("saved by one of %d hosts, and now there are %d", e.Then, e.Now)
}

// ClientError reports that the settings are at fault.
func (e *WorldError) ClientError() bool { return true }
