package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/algospec/algospec/recordio"
)

// ManifestName is the name of the object, beside the shards, that holds their Manifest.
const ManifestName = ".amazon.manifest"

// ShardName returns the name of shard i of n: matrix_<i>.pbr, with i from 0 in as many digits as n
// has.
func ShardName(i, n int) string {
	return fmt.Sprintf("matrix_%0*d.pbr", len(fmt.Sprint(n)), i)
}

// Shard writes the rows of src, of which there must be as many as told (Count tells), as n
// RecordIO-protobuf shards, in the way that the SageMaker Python SDK uploads arrays: each has
// rows/n rows, rounded down, and the last one the remainder too. It is an error if there are fewer
// rows than shards. create opens the shard of a name, which is closed when it is complete. Shard
// returns the names.
func Shard(create func(name string) (io.WriteCloser, error), src Reader, rows int64, n int) (names []string, err error) {
	if n < 1 || rows < int64(n) {
		return nil, fmt.Errorf("convert: %d rows in %d shards", rows, n)
	}
	size := rows / int64(n)
	var shape shape // of all shards
	for i := range n {
		name := ShardName(i, n)
		if i == n-1 {
			size = rows - size*int64(n-1)
		}
		if err := writeShard(create, name, src, size, &shape); err != nil {
			return names, fmt.Errorf("%s: %w", name, err)
		}
		names = append(names, name)
	}
	switch _, err := src.Next(); err {
	case io.EOF:
		return names, nil
	case nil:
		return names, fmt.Errorf("convert: more than %d rows", rows)
	default:
		return names, err
	}
}

func writeShard(create func(string) (io.WriteCloser, error), name string, src Reader, rows int64, shape *shape) (err error) {
	out, err := create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := &recordWriter{records: recordio.NewWriter(out), shape: shape}
	got, err := Copy(w, &first{Reader: src, left: rows})
	if err != nil {
		return err
	}
	if got < rows {
		return fmt.Errorf("%d rows, want %d", got, rows)
	}
	return w.Close()
}

// first ends after so many rows.
type first struct {
	Reader
	left int64
}

func (r *first) Next() (Row, error) {
	if r.left == 0 {
		return Row{}, io.EOF
	}
	r.left--
	return r.Reader.Next()
}

// Manifest returns what the SageMaker Python SDK stores beside the shards under ManifestName: the
// prefix, an s3:// URL to which a final slash is added where it has none, and the names.
func Manifest(prefix string, names []string) []byte {
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	var b bytes.Buffer
	b.WriteString(`[{"prefix": ` + quoteJSON(prefix) + `}`)
	for _, name := range names {
		b.WriteString(", " + quoteJSON(name))
	}
	b.WriteString("]")
	return b.Bytes()
}

// quoteJSON quotes text, without the escapes that only HTML needs.
func quoteJSON(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
