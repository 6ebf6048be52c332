package convert

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// An npzReader reads the rows of an array in a .npz, or of a sparse matrix that is one.
type npzReader struct {
	src   io.Reader
	opts  ReadOptions
	files map[string]*zip.File // by name, without .npy
	rows  Reader               // nil until opened
	open  []io.Closer
	err   error // sticky
}

func (r *npzReader) Next() (Row, error) {
	if r.err == nil && r.rows == nil {
		r.err = r.start()
	}
	if r.err != nil {
		return Row{}, r.err
	}
	row, err := r.rows.Next()
	if err != nil {
		for _, file := range r.open {
			_ = file.Close() // the rows' error is the one that tells
		}
		r.err = err
	}
	return row, err
}

// start opens the archive and finds out what it is.
func (r *npzReader) start() error {
	src, size, err := randomAccess(r.src)
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(src, size)
	if isCorrupt(err) {
		return &Error{Place: "npz", Err: err}
	}
	if err != nil {
		return fmt.Errorf("npz: %w", err)
	}
	r.files = map[string]*zip.File{}
	for _, file := range archive.File {
		name, isArray := strings.CutSuffix(file.Name, ".npy")
		if _, twice := r.files[name]; twice {
			return &Error{Place: "npz", Err: fmt.Errorf("array %q twice", name)}
		}
		if isArray {
			r.files[name] = file
		}
	}
	if _, sparse := r.files["indptr"]; sparse && r.opts.Array == "" {
		r.rows, err = r.startCSR()
	} else {
		r.rows, err = r.startDense()
	}
	if err != nil {
		return err
	}
	label := r.opts.LabelArray
	if _, ok := r.files["label"]; ok && label == "" {
		label = "label"
	}
	if label != "" {
		labels, err := r.array(label)
		if err != nil {
			return err
		}
		r.rows = &labelledBeside{Reader: r.rows, labels: &npyReader{array: labels}}
	}
	return nil
}

// array opens an array, whose header is not read yet.
func (r *npzReader) array(name string) (*array, error) {
	file, ok := r.files[name]
	if !ok {
		return nil, &Error{Place: "npz", Err: fmt.Errorf("no array %q%s", name, r.names())}
	}
	src, err := file.Open()
	if err != nil {
		return nil, (&array{name: "npz: " + name}).at("", sourceError{err})
	}
	r.open = append(r.open, src)
	return newArray("npz: "+name, src), nil
}

func (r *npzReader) startDense() (Reader, error) {
	name := r.opts.Array
	if name == "" {
		name = "arr_0"
		var others []string
		for other := range r.files {
			if other != "label" && other != r.opts.LabelArray {
				others = append(others, other)
			}
		}
		if len(others) == 1 {
			name = others[0]
		}
	}
	array, err := r.array(name)
	return &npyReader{array: array}, err
}

func (r *npzReader) names() string {
	var names []string
	for name := range r.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Sprintf(" (there is %.200q)", strings.Join(names, ", "))
}

// isCorrupt reports whether an archive's error means that the data are wrong.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) || errors.Is(err, zip.ErrChecksum) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt)
}

// randomAccess returns src as what a directory at the end can be read from.
func randomAccess(src io.Reader) (io.ReaderAt, int64, error) {
	if at, ok := src.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		if size, err := at.Seek(0, io.SeekEnd); err == nil {
			return at, size, nil
		}
	}
	all, err := io.ReadAll(src)
	return bytes.NewReader(all), int64(len(all)), err
}
