package fastfile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/platform/s3stream"
)

// A mount is of type fuse.algospec and its source says fastfile.
const (
	subtype = "algospec"
	source  = "fastfile"
)

// maxReadAhead is how much the kernel asks for at a time.
const maxReadAhead = 1 << 20

// keepSpent is how much stays in the cache of what the kernel has, too. Memory
// that is used again soon is in the processor's cache, and costs no page
// faults: sequential reads took 1.7 s of processor per GB instead of 2.5.
const keepSpent = 16 << 20

// Mount puts a file system of the files on the directory dir, which must exist,
// for as long as ctx is not done and the FS is not closed. It returns once
// other processes can read there. It needs /dev/fuse and either the right to
// mount or fusermount. A process that is killed leaves a dead mount behind, for
// [Detach] to take away. For the rest it is as [New].
//
// Directories have mode 0555, files 0444 and the time of their object's last
// modification; this process's user owns them. Writes fail with EROFS, and
// reads with EIO where S3 failed.
func Mount(ctx context.Context, dir string, client s3stream.Client, files []s3stream.File, opts Options) (*FS, error) {
	dir, err := resolve(dir)
	if err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	f, err := New(ctx, client, files, opts)
	if err != nil {
		return nil, err
	}
	f.cache.keep = keepSpent
	m, err := serve(f, dir)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("mount %s: %w", dir, err)
	}
	f.close = sync.OnceValue(func() error {
		f.cancel(errClosed) // so that no reader keeps the mount busy
		err := m.unmount()
		f.stop()
		return err
	})
	context.AfterFunc(f.ctx, func() { f.Close() })
	return f, nil
}

// A mount is a directory and the goroutines that answer for it.
type mount struct {
	dir    string
	id     int // of the mount in the system's table; 0 if not known
	server *fuse.Server
	ended  chan struct{} // closed when the kernel has no more questions
}

func serve(f *FS, dir string) (*mount, error) {
	server, err := fuse.NewServer(newBridge(f), dir, mountOptions(f.opts))
	if err != nil {
		return nil, err
	}
	m := &mount{dir: dir, server: server, ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		server.Serve()
		f.cancel(errClosed) // somebody else may have unmounted it
	}()
	if err := server.WaitMount(); err != nil {
		return nil, errors.Join(err, m.unmount())
	}
	if top, err := topMount(dir); err == nil && top != nil && isOurs(top) {
		m.id = top.ID
	}
	readAhead(dir)
	return m, nil
}

// readAhead has the kernel read by as much at a time as the mount allows, instead
// of 128 KiB: sequential reads were a quarter faster. Only root may say so; for
// others it stays as it is.
func readAhead(dir string) {
	var stat unix.Stat_t
	if unix.Stat(dir, &stat) == nil {
		name := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(stat.Dev), unix.Minor(stat.Dev))
		_ = os.WriteFile(name, []byte(strconv.Itoa(maxReadAhead>>10)), 0)
	}
}

func mountOptions(opts Options) *fuse.MountOptions {
	return &fuse.MountOptions{
		FsName:     source,
		Name:       subtype,
		Options:    []string{"ro", "default_permissions"},
		AllowOther: opts.AllowOther,

		DirectMount:      true, // where fusermount is missing; it falls back on it
		DirectMountFlags: unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV,

		MaxWrite:                 1 << 20, // and the longest read
		MaxReadAhead:             maxReadAhead,
		MaxBackground:            64,
		ExplicitDataCacheControl: true, // what the kernel has does not change
		DisableXAttrs:            true,
		DisableSplice:            true, // views go by writev

		Logger: slog.NewLogLogger(logger(opts).Handler(), slog.LevelWarn),
	}
}

func logger(opts Options) *slog.Logger {
	if opts.Stream.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return opts.Stream.Logger
}

// unmount takes the mount away, from under open files if there are any, and
// waits for the goroutines that answered.
func (m *mount) unmount() error {
	switch top, err := topMount(m.dir); {
	case err != nil:
	case top == nil, !isOurs(top):
		m.wait() // somebody else took it away
		return nil
	case m.id != 0 && top.ID != m.id:
		if there, err := mountinfo.GetMounts(m.self); err != nil || len(there) > 0 {
			return errors.Join(err, fmt.Errorf("unmount %s: another file system is mounted on top", m.dir))
		}
		m.wait()
		return nil
	}
	err := unix.Unmount(m.dir, 0)
	switch {
	case errors.Is(err, unix.EBUSY):
		// MNT_FORCE has the kernel ask no more, so that the goroutines end.
		err = unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH)
	case errors.Is(err, unix.EPERM):
		if err = m.server.Unmount(); err != nil {
			err = fusermount(m.dir)
		}
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", m.dir, err)
	}
	m.wait()
	return nil
}

// self finds the mount in the system's table.
func (m *mount) self(i *mountinfo.Info) (skip, stop bool) { return i.ID != m.id, i.ID == m.id }

// wait waits for the goroutines to end. Where the mount was taken away without
// force, they do not before the last open file is closed: it does not wait for
// that.
func (m *mount) wait() {
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-m.ended:
	case <-patience.C:
	}
}
