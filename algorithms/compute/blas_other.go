//go:build !linux || !cgo || !(amd64 || arm64)

package compute

func openBLAS() (blas, error) { return nil, errStatic }
