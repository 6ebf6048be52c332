package convert

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math"
)

// An npzWriter holds the rows until it is closed. Then it writes what numpy.savez_compressed or
// scipy.sparse.save_npz would, and the labels as one array more.
type npzWriter struct {
	dst    io.Writer
	shape  shape
	sparse bool
	rows   int64
	values []float32
	keys   []int32
	ends   []int64 // of the sparse rows, in keys
	labels []float32
}

func (w *npzWriter) Write(row Row) error {
	if w.rows == 0 {
		w.sparse = row.Keys != nil
	}
	var err error
	if w.sparse {
		err = w.addSparse(row)
	} else {
		var values []float32
		values, err = w.shape.dense(row)
		w.values = append(w.values, values...)
	}
	if err != nil {
		return err
	}
	w.labels = append(w.labels, row.Label...)
	w.rows++
	return nil
}

// addSparse adds a row, of which zeros are left out where it is dense.
func (w *npzWriter) addSparse(row Row) error {
	columns := row.Columns
	if row.Keys == nil {
		columns = len(row.Values)
	}
	switch {
	case columns == 0:
		return ErrNoWidth
	case columns > math.MaxInt32:
		return errorf("a row of %d features", columns)
	}
	if err := w.shape.check(row); err != nil {
		return err
	}
	if row.Keys == nil {
		for j, x := range row.Values {
			if x != 0 {
				w.keys = append(w.keys, int32(j))
				w.values = append(w.values, x)
			}
		}
	} else {
		if len(row.Keys) != len(row.Values) {
			return errorf("%d keys for %d values", len(row.Keys), len(row.Values))
		}
		for _, key := range row.Keys {
			if key < 0 || int(key) >= columns {
				return errorf("key %d in a row of %d features", key, columns)
			}
		}
		w.keys = append(w.keys, row.Keys...)
		w.values = append(w.values, row.Values...)
	}
	w.ends = append(w.ends, int64(len(w.keys)))
	return nil
}

func (w *npzWriter) Close() error {
	archive := zip.NewWriter(w.dst)
	columns := int64(w.shape.columns)
	a := arrays{archive: archive}
	if w.sparse {
		a.integers("indices", w.keys)
		a.integers64("indptr", append([]int64{0}, w.ends...))
		a.add("format", appendNPYHeader(nil, "|S3"), func(dst io.Writer) error {
			_, err := io.WriteString(dst, "csr")
			return err
		})
		a.integers64("shape", []int64{w.rows, columns})
		a.floats("data", w.values, int64(len(w.values)))
	} else {
		a.floats("arr_0", w.values, w.rows, columns)
	}
	switch size := int64(w.shape.labels); {
	case size == 1:
		a.floats("label", w.labels, w.rows)
	case size > 1:
		a.floats("label", w.labels, w.rows, size)
	}
	if a.err != nil {
		return a.err
	}
	return archive.Close()
}

// arrays adds arrays to an archive. The first error stays.
type arrays struct {
	archive *zip.Writer
	err     error
}

func (a *arrays) add(name string, header []byte, write func(io.Writer) error) {
	if a.err != nil {
		return
	}
	var dst io.Writer
	if dst, a.err = a.archive.Create(name + ".npy"); a.err != nil {
		return
	}
	if _, a.err = dst.Write(header); a.err == nil {
		a.err = write(dst)
	}
}

func (a *arrays) floats(name string, numbers []float32, shape ...int64) {
	a.add(name, appendNPYHeader(nil, "<f4", shape...), func(dst io.Writer) error {
		return inPieces(dst, numbers, func(b []byte, x float32) []byte {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		})
	})
}

func (a *arrays) integers(name string, numbers []int32) {
	a.add(name, appendNPYHeader(nil, "<i4", int64(len(numbers))), func(dst io.Writer) error {
		return inPieces(dst, numbers, func(b []byte, x int32) []byte {
			return binary.LittleEndian.AppendUint32(b, uint32(x))
		})
	})
}

// integers64 writes int32 where that does, as SciPy does: it wants indptr like indices.
func (a *arrays) integers64(name string, numbers []int64) {
	wide := name == "shape"
	for _, x := range numbers {
		wide = wide || x > math.MaxInt32
	}
	if !wide {
		narrow := make([]int32, len(numbers))
		for i, x := range numbers {
			narrow[i] = int32(x)
		}
		a.integers(name, narrow)
		return
	}
	a.add(name, appendNPYHeader(nil, "<i8", int64(len(numbers))), func(dst io.Writer) error {
		return inPieces(dst, numbers, func(b []byte, x int64) []byte {
			return binary.LittleEndian.AppendUint64(b, uint64(x))
		})
	})
}

// inPieces writes numbers without holding all of them encoded.
func inPieces[T any](dst io.Writer, numbers []T, encode func([]byte, T) []byte) error {
	var b []byte
	for i, x := range numbers {
		if b = encode(b, x); len(b) >= chunk || i == len(numbers)-1 {
			if _, err := dst.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}
