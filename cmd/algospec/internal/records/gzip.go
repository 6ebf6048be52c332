package records

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decompress returns what src holds, which is compressed with gzip if its first bytes say so.
func decompress(src io.Reader) io.Reader {
	return &decompressor{src: bufio.NewReaderSize(src, 256<<10)}
}

// A decompressor looks at the first bytes when it is read first.
type decompressor struct {
	src *bufio.Reader
	out io.Reader // src or what decompresses it; nil before
}

func (d *decompressor) Read(p []byte) (int, error) {
	if d.out == nil {
		head, _ := d.src.Peek(2) // an error comes again with the next read
		if !bytes.Equal(head, []byte{0x1f, 0x8b}) {
			d.out = d.src
			return d.src.Read(p)
		}
		plain, err := gzip.NewReader(d.src)
		if err != nil {
			return 0, gzipError(err)
		}
		d.out = plain
	}
	n, err := d.out.Read(p)
	if d.out == d.src {
		return n, err
	}
	return n, gzipError(err)
}

// errGzip marks compressed data that are damaged.
var errGzip = errors.New("gzip")

// gzipError marks what the decoder, not the source, says.
func gzipError(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case err == io.ErrUnexpectedEOF:
		return fmt.Errorf("%w: the compressed stream ends too early", errGzip)
	}
	for _, decoder := range []string{"gzip: ", "flate: "} {
		if text, ok := strings.CutPrefix(err.Error(), decoder); ok {
			return fmt.Errorf("%w: %s", errGzip, text)
		}
	}
	return err
}
