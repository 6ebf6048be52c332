//go:build !linux || !cgo || !(amd64 || arm64)

package compute

import "errors"

var errStatic = errors.New("no system BLAS: the program is linked statically (built without cgo), or for a system on which none is looked for")

func openBLAS() (blas, error) { return nil, errStatic }
