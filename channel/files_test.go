//go:build unix

package channel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/channel"
)

func TestFilesAreReadInByteOrderAndMarkersAreLeftOut(t *testing.T) {
	data := t.TempDir()
	dir := filepath.Join(data, "train")
	for _, name := range []string{
		"part/c", "part/d/e/f", "part-1", "a", "B", // byte order: B, a, part-1, part/c ('-' before '/')
		".amazon.manifest", "_SUCCESS", ".git/x", "_temporary/y", "a.sagemaker-uploaded",
	} {
		write(t, dir, name, []byte(name+"\n"))
	}
	write(t, data, "train-manifest", []byte("train\ns3://bucket/train/a\n")) // the service's list
	require.NoError(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "z-link")))
	require.NoError(t, os.Symlink("part", filepath.Join(dir, "y-link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	got, err := io.ReadAll(openEpoch(t, channel.Files{Dir: dir}))
	require.NoError(t, err)
	require.Equal(t, "B\na\npart-1\npart/c\npart/d/e/f\n"+"part/c\npart/d/e/f\n"+"a\n", string(got))
}

func TestADirectoryOfMarkersIsAnEmptyEpoch(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "_SUCCESS", []byte("x"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub", "sub"), 0o755))
	got, err := io.ReadAll(openEpoch(t, channel.Files{Dir: dir}))
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestFilesThatCannotBeListedAreErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", nil)
	write(t, dir, "dangling/file", nil)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dangling", "link")))
	write(t, dir, "round/file", nil)
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "round", "again")))
	for name, want := range map[string]error{
		"missing":  os.ErrNotExist,
		"file":     syscall.ENOTDIR,
		"dangling": os.ErrNotExist,
		"round":    syscall.ELOOP,
	} {
		_, err := channel.Files{Dir: filepath.Join(dir, name)}.Open(t.Context(), 0)
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, filepath.Join(dir, name))
	}
}

// Between the listing and the reading of file b, something befalls it.
func TestFilesThatCannotBeReadAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		mischief func(path string) error
		got      string
		want     error
		text     string
	}{
		"vanished": {os.Remove, "aaaa", os.ErrNotExist, "open PATH: no such file or directory"},
		"unreadable": {func(path string) error {
			if os.Getuid() == 0 { // who may read everything; a read of this one fails, though
				return errors.Join(os.Remove(path), os.Symlink("/proc/self/mem", path))
			}
			return os.Chmod(path, 0)
		}, "aaaa", nil, "PATH: "},
		"a directory now": {func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		}, "aaaa", syscall.EISDIR, "read PATH: is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a", []byte("aaaa"))
			write(t, dir, "b", []byte("bbbb"))
			epoch := openEpoch(t, channel.Files{Dir: dir})
			path := filepath.Join(dir, "b")
			require.NoError(t, c.mischief(path))
			got, err := io.ReadAll(epoch)
			require.Equal(t, c.got, string(got))
			require.ErrorContains(t, err, "channel train, epoch 0: ")
			require.ErrorContains(t, err, strings.Replace(c.text, "PATH", path, 1))
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestAFileThatShrinksIsAnError(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", make([]byte, 1000))
	write(t, dir, "b", []byte("bbbb"))
	epoch := openEpoch(t, channel.Files{Dir: dir})
	_, err := io.ReadFull(epoch, make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(filepath.Join(dir, "a"), 100))
	got, err := io.ReadAll(epoch)
	require.Len(t, got, 90)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualError(t, err, "channel train, epoch 0: "+filepath.Join(dir, "a")+" shrank from 1000 to 100 bytes while it was read: unexpected EOF")
}

// lines puts a newline between two parts where one is missing.
func lines(parts ...string) string {
	all := ""
	for _, part := range parts {
		if all != "" && part != "" && !strings.HasSuffix(all, "\n") {
			all += "\n"
		}
		all += part
	}
	return all
}

func TestLinesOfTwoFilesAreKeptApart(t *testing.T) {
	for _, parts := range [][]string{
		{},
		{"1,2"},
		{"1,2", "3,4"},
		{"1,2\n", "3,4\n", "5,6"},
		{"1,2", "", "\n", "", "3,4", "", ""},
		{"", "1,2\r\n", "3,4\r", "5"},
		{"1", "2", "3", "4", "5\n\n", "6"},
	} {
		dir := t.TempDir()
		var memory []channel.Source
		for i, part := range parts {
			write(t, dir, fmt.Sprint(i), []byte(part))
			memory = append(memory, oddly{channel.Memory(part), iotest.DataErrReader})
		}
		for _, src := range []channel.Source{channel.Files{Dir: dir, Lines: true}, channel.Concat{Sources: memory, Lines: true}} {
			require.NoError(t, iotest.TestReader(openEpoch(t, src), []byte(lines(parts...))), "%q", parts)
			for size := 1; size < 6; size++ {
				var got bytes.Buffer
				_, err := io.CopyBuffer(struct{ io.Writer }{&got}, openEpoch(t, src), make([]byte, size))
				require.NoError(t, err)
				require.Equal(t, lines(parts...), got.String(), "%q", parts)
			}
		}
	}
}

// at is an error of a reader of some format.
type at int64

func (e at) Error() string     { return fmt.Sprintf("record 7 at byte %d: bad", int64(e)) }
func (e at) ByteOffset() int64 { return int64(e) }

func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", []byte("0123"))
	write(t, dir, "b", nil)
	write(t, dir, "c/d", []byte("56789"))
	files := channel.Files{Dir: dir, Lines: true} // byte 4 is a newline
	memory := channel.Concat{Sources: []channel.Source{channel.Memory("xyz"), files}}
	for _, c := range []struct {
		src  channel.Source
		err  error
		want string
	}{
		{files, at(0), " (byte 0 of a)"},
		{files, at(3), " (byte 3 of a)"},
		{files, at(4), " (byte 4 of a)"},
		{files, fmt.Errorf("csv: %w", at(5)), " (byte 0 of c/d)"},
		{files, at(10), " (byte 5 of c/d)"},
		{files, at(-1), ""},
		{files, errors.New("bad"), ""},
		{channel.ReadAhead(files, 3), at(6), " (byte 1 of c/d)"},
		{memory, at(2), ""},
		{memory, at(8), " (byte 0 of c/d)"},
		{channel.File(filepath.Join(dir, "a")), at(1), " (byte 1 of " + filepath.Join(dir, "a") + ")"},
		{channel.Memory("0123"), at(1), ""},
	} {
		epoch := openEpoch(t, c.src)
		require.Empty(t, epoch.At(at(0)).(*channel.Error).Offset)
		_, err := io.Copy(io.Discard, epoch)
		require.NoError(t, err)
		require.EqualError(t, epoch.At(c.err), "channel train, epoch 0: "+c.err.Error()+c.want)
		require.ErrorIs(t, epoch.At(c.err), c.err)
	}
}

func ExampleFiles() {
	dir, err := os.MkdirTemp("", "train")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"part-1.csv": "1,2\n3,4", "part-2.csv": "5,6\n", "_SUCCESS": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}

	train := &channel.Channel{Name: "train", Source: channel.Files{Dir: dir, Lines: true}}
	for epoch, err := range train.Epochs(context.Background(), 1) {
		if err != nil {
			panic(err)
		}
		io.Copy(os.Stdout, epoch)
	}
	// Output:
	// 1,2
	// 3,4
	// 5,6
}
