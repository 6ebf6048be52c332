package channel_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/channel"
)

// A crowd is as many Pipe-mode channels as a job may have, through pipes that hold less than half
// a record.
const (
	crowd       = 20
	crowdRounds = 30
	crowdRecord = 10_000
)

func crowdBytes(c, k int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%4d %4d ", c, k), crowdRecord/10)
}

// openCrowd plays the platform's half of the opening: it opens the last pipe first, and each next
// one when the one before it has a reader.
func openCrowd(path string) (writers []*os.File, err error) {
	writers = make([]*os.File, crowd)
	for c := crowd - 1; c >= 0; c-- {
		if writers[c], err = os.OpenFile(fmt.Sprint(path, c, "_0"), os.O_WRONLY, 0); err != nil {
			return nil, err
		}
	}
	return writers, nil
}

// shrink makes a pipe hold no more than a page.
func shrink(w *os.File) (err error) {
	conn, failed := w.SyscallConn()
	if failed == nil {
		failed = conn.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 4096) })
	}
	if failed != nil {
		return failed
	}
	return err
}

// writeEach gives each channel a writer of its own, as the contract has it.
func writeEach(writers []*os.File) error {
	var group errgroup.Group
	for c, w := range writers {
		group.Go(func() error {
			for k := range crowdRounds {
				if _, err := w.Write(crowdBytes(c, k)); err != nil {
					return err
				}
			}
			return w.Close()
		})
	}
	return group.Wait()
}

// writeInTurn is a platform that goes from channel to channel and waits at each until its record
// is taken.
func writeInTurn(writers []*os.File) error {
	for k := range crowdRounds {
		for c, w := range writers {
			if _, err := w.Write(crowdBytes(c, k)); err != nil {
				return err
			}
		}
	}
	for _, w := range writers {
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}

// One goroutine needs a record of each channel before it goes on, and asks in another order each
// time. Where the platform waits too, what is needed is to read ahead by a record.
func TestTwentyChannelsInLockStepDoNotBlockOneAnother(t *testing.T) {
	for name, test := range map[string]struct {
		decorate func(channel.Source) channel.Source
		write    func([]*os.File) error
	}{
		"each with a writer": {func(src channel.Source) channel.Source { return src }, writeEach},
		"read ahead, each with a writer": {
			func(src channel.Source) channel.Source { return channel.ReadAhead(src, 100) }, writeEach},
		"read ahead by a record, written in turn": {
			func(src channel.Source) channel.Source { return channel.ReadAhead(src, crowdRecord) }, writeInTurn},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "channel-")
			for c := range crowd {
				require.NoError(t, syscall.Mkfifo(fmt.Sprint(path, c, "_0"), 0o600))
			}
			var platform errgroup.Group
			opened := make(chan struct{})
			platform.Go(func() error {
				writers, err := openCrowd(path)
				if err != nil {
					return err
				}
				<-opened
				for _, w := range writers {
					if err := shrink(w); err != nil {
						return err
					}
				}
				return test.write(writers)
			})
			epochs := make([]*channel.Epoch, crowd)
			for c := range epochs {
				epochs[c] = openEpoch(t, test.decorate(channel.FIFO{Path: fmt.Sprint(path, c)}))
			}
			close(opened)

			rng, got := seeded(1), make([]byte, crowdRecord)
			for k := range crowdRounds {
				for _, c := range rng.Perm(crowd) {
					_, err := io.ReadFull(epochs[c], got)
					require.NoError(t, err)
					require.True(t, bytes.Equal(crowdBytes(c, k), got), "record %d of channel %d", k, c)
				}
			}
			for _, c := range rng.Perm(crowd) {
				_, err := epochs[c].Read(got)
				require.Equal(t, io.EOF, err)
			}
			require.NoError(t, platform.Wait())
		})
	}
}
