// Package convert reads and writes tables of numbers in the formats that training data come in,
// and so converts each of them to each other one: RecordIO-protobuf, CSV, LibSVM, JSON lines,
// NumPy's .npy and .npz, and SciPy's sparse .npz.
//
//	src, err := convert.NewReader(convert.NPY, file, convert.ReadOptions{LabelSize: 1})
//	…
//	dst, err := convert.NewWriter(convert.RecordIO, out, convert.WriteOptions{})
//	…
//	rows, err := convert.Copy(dst, src)
//	…
//	err = dst.Close()
//
// A [Row] is dense or sparse, with a label or none. Formats that know sparse rows get them sparse:
// RecordIO, LibSVM, JSON lines and .npz; the others get them dense. Numbers are float32: wider ones
// are rounded, and one too large for float32 is an error. RecordIO comes out as the SageMaker
// Python SDK writes the same rows of float32.
//
// Everything streams, in memory for a row, but for two cases: a .npy in Fortran order is read
// whole, and a .npz is held until its Writer is closed. Memory grows with the data that have
// arrived, never with what a header claims. A .npz that is not an io.ReaderAt, as a file is, is
// read whole, because its directory stands at its end.
package convert
