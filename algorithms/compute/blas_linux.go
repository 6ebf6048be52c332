//go:build cgo && (amd64 || arm64)

package compute

import (
	"cmp"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libraries are the names of OpenBLAS, which says how to keep it to one thread.
var libraries = []string{"libopenblas.so.0", "libopenblas.so"}

// openBLAS loads the system's BLAS, once. It needs the dynamic linker, which a program has that is built with cgo:
// nothing here is linked to the library, so that programs start where it is not installed.
var openBLAS = sync.OnceValues(func() (blas, error) {
	var first error
	for _, name := range libraries {
		lib, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		b := new(openblas)
		var threads uintptr
		for symbol, at := range map[string]*uintptr{"sgemm_": &b.single, "dgemm_": &b.double, "openblas_set_num_threads": &threads} {
			if *at, err = purego.Dlsym(lib, symbol); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		purego.SyscallN(threads, 1)
		return b, nil
	}
	return nil, fmt.Errorf("no system BLAS: %w", first)
})

// openblas calls OpenBLAS as Fortran does, by reference throughout: so no call has a floating-point argument.
type openblas struct {
	single, double uintptr
	calls          sync.Pool // of *call
}

// call holds the arguments of a call.
type call struct {
	transA, transB         byte
	m, n, k, lda, ldb, ldc int32
	alpha32, beta32        float32
	alpha64, beta64        float64
}

func (o *openblas) sgemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	o.gemm(o.single, false, transA, transB, m, n, k, unsafe.Pointer(unsafe.SliceData(a)), lda, unsafe.Pointer(unsafe.SliceData(b)), ldb, unsafe.Pointer(unsafe.SliceData(c)), ldc)
}

func (o *openblas) dgemm(transA, transB bool, m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	o.gemm(o.double, true, transA, transB, m, n, k, unsafe.Pointer(unsafe.SliceData(a)), lda, unsafe.Pointer(unsafe.SliceData(b)), ldb, unsafe.Pointer(unsafe.SliceData(c)), ldc)
}

// gemm computes cᵀ += op(b)ᵀ·op(a)ᵀ, as Fortran's matrices are column by column.
func (o *openblas) gemm(f uintptr, double, transA, transB bool, m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, c unsafe.Pointer, ldc int) {
	v, _ := o.calls.Get().(*call)
	if v == nil {
		v = new(call)
	}
	*v = call{transA: letter(transA), transB: letter(transB), m: int32(m), n: int32(n), k: int32(k), lda: int32(lda), ldb: int32(ldb), ldc: int32(ldc), alpha32: 1, beta32: 1, alpha64: 1, beta64: 1}
	alpha, beta := unsafe.Pointer(&v.alpha32), unsafe.Pointer(&v.beta32)
	if double {
		alpha, beta = unsafe.Pointer(&v.alpha64), unsafe.Pointer(&v.beta64)
	}
	purego.SyscallN(f, uintptr(unsafe.Pointer(&v.transB)), uintptr(unsafe.Pointer(&v.transA)), uintptr(unsafe.Pointer(&v.n)), uintptr(unsafe.Pointer(&v.m)), uintptr(unsafe.Pointer(&v.k)), uintptr(alpha),
		uintptr(b), uintptr(unsafe.Pointer(&v.ldb)), uintptr(a), uintptr(unsafe.Pointer(&v.lda)), uintptr(beta), uintptr(c), uintptr(unsafe.Pointer(&v.ldc)))
	o.calls.Put(v)
}

// letter says in Fortran's way whether a matrix is transposed.
func letter(transposed bool) byte {
	if transposed {
		return 'T'
	}
	return 'N'
}
