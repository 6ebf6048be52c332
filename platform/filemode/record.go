package filemode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

// A record tells a later run which bytes have been written. It is a file of
// lines, each a checksum and a JSON object, and begins with the system's boot:
//
//	1b9e2f04 {"boot":"d4a99455-d484-4470-a13e-025cb1681607"}
//	73c1a6d2 {"id":"9f2c…","path":"a/x.csv","size":20,"from":0,"to":16}
//
// A line is written after its bytes, and none of it is synced: what a process
// has written is there when the process is killed, and all is distrusted once
// the system has started anew.
type record struct {
	mu   sync.Mutex
	file *os.File
}

// An entry says that a span of a target was written, to its temporary file.
type entry struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	span
}

type header struct {
	Boot string `json:"boot"`
}

// add writes an entry.
func (r *record) add(t *target, s span) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.file.Write(line(entry{t.id, t.Path, t.Object.Size, s}))
	return err
}

func line(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text)
}

// A past is what a record says of one target.
type past struct {
	path  string
	size  int64
	spans []span
}

func (p *past) whole() bool { return len(missing(p.spans, p.size, p.size)) == 0 }

// readRecord returns what is known, by id. It skips lines that are broken, and
// knows nothing if the first is, or of another boot.
func readRecord(r io.Reader, boot string) map[string]*past {
	known := map[string]*past{}
	lines := bufio.NewScanner(r)
	var h header
	if boot == "" || !lines.Scan() || !parse(lines.Bytes(), &h) || h.Boot != boot {
		return known
	}
	for lines.Scan() {
		var e entry
		if !parse(lines.Bytes(), &e) || e.From < 0 || e.From > e.To || e.To > e.Size {
			continue
		}
		p := known[e.ID]
		if p == nil {
			p = &past{path: e.Path, size: e.Size}
			known[e.ID] = p
		}
		p.spans = append(p.spans, e.span)
	}
	return known
}

func parse(text []byte, v any) bool {
	sum, text, ok := bytes.Cut(text, []byte(" "))
	return ok && string(sum) == fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) && json.Unmarshal(text, v) == nil
}
