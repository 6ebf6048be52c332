package ndarray

import "fmt"

// A Format is the version of the layout of one array. The zero Format is version 2.
type Format uint8

const (
	V2 Format = iota // with a storage type; the one to write
	V1               // 64-bit dimensions, dense only
	V0               // no magic number, 32-bit dimensions, dense only
)

// String returns "version 2" and the like.
func (f Format) String() string {
	if f > V0 {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return fmt.Sprintf("version %d", V0-f)
}

const (
	magicFile = 0x112 // kMXAPINDArrayListMagic
	magicV1   = 0xF993FAC8
	magicV2   = 0xF993FAC9
	magicV3   = 0xF993FACA
)

// A device is MXNet's Context. The zero device stands for {deviceCPU, 0}.
type device struct{ kind, id int32 }

const deviceCPU = 1

// bufSize is the size of the buffers of reader and writer, and thereby the most that is allocated
// ahead of bytes that have arrived.
const bufSize = 32 << 10

// A FormatError says where a file is not an NDArray file that this package reads.
type FormatError struct {
	Array  int   // number of the array, or of the array whose name it is, from 0; -1 outside arrays
	Offset int64 // in bytes from the start of the file; where bytes are missing, the end of the input
	Err    error // io.ErrUnexpectedEOF if the input ends early
}

func (e *FormatError) Error() string { return place(e.Array, e.Offset) + e.Err.Error() }

// Unwrap returns e.Err.
func (e *FormatError) Unwrap() error { return e.Err }

// ClientError reports true: the data is at fault.
func (e *FormatError) ClientError() bool { return true }

func place(array int, offset int64) string {
	if array < 0 {
		return fmt.Sprintf("ndarray: byte %d: ", offset)
	}
	return fmt.Sprintf("ndarray: array %d at byte %d: ", array, offset)
}

// A contentError is that a well-formed file does not hold what its reader needs.
type contentError string

func (e contentError) Error() string     { return string(e) }
func (e contentError) ClientError() bool { return true }
