package filemode

import (
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
)

var (
	// ErrBusy means that another Download works in the same directory.
	ErrBusy = errors.New("another download into this directory is at work")

	errReserved = errors.New("the name " + workshop + " is the downloader's own")
	errNoSize   = errors.New("the size of its object is not known")
)

// A FileError says which file could not be made. What is wrong with an object is
// an s3stream.ObjectError instead.
type FileError struct {
	Path string // below the channel's directory if relative
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("Data download failed: %s: %v", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// A SpaceError says that the file system cannot hold the files.
type SpaceError struct {
	Dir  string // of the channel
	Path string // of the first file that does not fit, relative to Dir; "" where not even an empty one does
	Need int64  // bytes that were missing of all files when the download began
	Free int64  // bytes that are free; -1 if not known
	Err  error  // syscall.ENOSPC or what the system says
}

func (e *SpaceError) Error() string {
	free := "unknown bytes"
	if e.Free >= 0 {
		free = humanize.Bytes(uint64(e.Free))
	}
	what := e.Path
	if what == "" {
		what = "anything"
	}
	return fmt.Sprintf("Data download failed: no space for %s: %s needs %s for the files of the channel, %s are free: %v",
		what, e.Dir, humanize.Bytes(uint64(e.Need)), free, e.Err)
}

func (e *SpaceError) Unwrap() error { return e.Err }

// ClientError reports that the volume is too small for the data.
func (e *SpaceError) ClientError() bool { return true }
