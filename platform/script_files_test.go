package platform_test

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/algospec/algospec/algorithms"
)

// fileStep does the words of a script that concern files and the ends of an algorithm:
//
//	config, siblings       print inputdataconfig.json; print what is in input/data
//	tree                   of a channel's directory: print each path, with its mode and size
//	text, records          print the channel's next epoch, as it is or as RecordIO
//	file=P, mmap=P, hold=P read, map or open a file of the channel's directory; the first two print its sum
//	write=P, try=P         write to one or read it, and print how that went
//	lend=P                 start another process that has it open
//	die, panic, succeed    end so; the last before the script does
func (s *script) fileStep(name, what, argument string) error {
	base := filepath.Join(s.job.Getenv("SAGEMAKER_BASE_DIR"), "input")
	dir := filepath.Join(base, "data", name)
	path := filepath.Join(dir, argument)
	switch cmp.Or(what, name) {
	case "config":
		text, err := os.ReadFile(filepath.Join(base, "config/inputdataconfig.json"))
		s.job.Println("config " + string(text))
		return err
	case "siblings":
		entries, err := os.ReadDir(filepath.Join(base, "data"))
		s.job.Println(fmt.Sprint("siblings ", entries))
		return err
	case "tree":
		return fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.IsDir() {
				s.job.Println(fmt.Sprintf("tree %v %s", info.Mode(), path))
			} else if err == nil {
				s.job.Println(fmt.Sprintf("tree %v %s %d", info.Mode(), path, info.Size()))
			}
			return err
		})
	case "text":
		for epoch, err := range s.job.Channel(name).Epochs(s.ctx, 1) {
			if err != nil {
				return err
			}
			text, err := io.ReadAll(epoch)
			if err != nil {
				return err
			}
			s.job.Println(fmt.Sprintf("text %q", brief(string(text))))
		}
		return nil
	case "records":
		var records []string
		for record, err := range algorithms.Records(s.ctx, s.job.Channel(name), algorithms.Framing{}) {
			if err != nil {
				return err
			}
			records = append(records, brief(string(record)))
		}
		s.job.Println(fmt.Sprintf("records %q", records))
		return nil
	case "file":
		content, err := os.ReadFile(path)
		s.job.Println(fmt.Sprintf("file %s %08x", argument, crc32.ChecksumIEEE(content)))
		return err
	case "try":
		_, err := os.ReadFile(path)
		s.job.Println(fmt.Sprintf("try %s: %v", argument, errno(err)))
		return nil
	case "mmap":
		sum, err := mapped(path)
		s.job.Println(fmt.Sprintf("file %s %08x", argument, sum))
		return err
	case "hold":
		file, err := os.Open(path)
		s.pipes[path] = file
		return err
	case "write":
		err := os.WriteFile(path, []byte("written"), 0o644)
		s.job.Println(fmt.Sprintf("write %s: %v", argument, errno(err)))
		return nil
	case "lend":
		other := exec.Command("/bin/sh", "-c", `exec 3<"$0"; echo open >&2; exec sleep 1000`, path)
		told, err := other.StderrPipe()
		if err != nil {
			return err
		}
		if err := other.Start(); err != nil {
			return err
		}
		s.job.Println(fmt.Sprintf("pid %d", other.Process.Pid))
		_, err = told.Read(make([]byte, 1))
		return err
	case "die":
		s.job.Println(fmt.Sprintf("pid %d", os.Getpid()))
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "panic":
		panic("at the disco")
	case "succeed":
		return s.job.Model.Save("done", strings.NewReader(""))
	}
	return errors.New("no such word")
}

// errno returns what the system says, without where.
func errno(err error) error {
	if code, ok := errors.AsType[syscall.Errno](err); ok {
		return code
	}
	return err
}

// brief keeps a line of the log from being cut.
func brief(s string) string {
	if len(s) > 1000 {
		return fmt.Sprintf("%d bytes, crc %08x", len(s), crc32.ChecksumIEEE([]byte(s)))
	}
	return s
}

// mapped returns the sum of a file that is read as memory. The pages come from the file's server,
// which should be another process: a fault stops a whole thread of the Go runtime.
func mapped(path string) (sum uint32, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	defer unix.Munmap(memory)
	return crc32.ChecksumIEEE(memory), nil
}

// said returns the lines of a log that begin with a word, without it.
func said(log fmt.Stringer, word string) (lines []string) {
	for line := range strings.Lines(log.String()) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word+" "); ok {
			lines = append(lines, rest)
		}
	}
	return lines
}
