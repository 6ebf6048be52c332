package s3test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A change is a line of a journal, in JSON. One of the two is set.
type change struct {
	Put    *object `json:",omitempty"`
	Delete string  `json:",omitempty"`
}

// A journal is a file with a line per change. A line that was cut off, by the
// end of the process or of the disk, has no newline and does not count; the
// next one is written over it.
type journal struct {
	file *os.File
	end  int64 // of the last whole line
}

// openJournal opens or makes a journal and replays it.
func openJournal(path string, replay func(change)) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return j, nil
		}
		var c change
		if err == nil {
			err = json.Unmarshal(line, &c)
		}
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("%s at byte %d: %w", path, j.end, err)
		}
		j.end += int64(len(line))
		replay(c)
	}
}

func (j *journal) write(c change) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	n, err := j.file.WriteAt(append(line, '\n'), j.end)
	if err == nil {
		j.end += int64(n)
	}
	return err
}
