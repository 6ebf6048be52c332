//go:build unix

package s3stream

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// offHeap is the size from which on blocks are worth a mapping of their own.
const offHeap = 64 << 10

// allocate returns memory that belongs to nobody until deallocate.
func allocate(size int) []byte {
	if size < offHeap {
		return make([]byte, size)
	}
	block, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("s3stream: no memory: %v", err)) // as the runtime does
	}
	return block
}

func deallocate(block []byte) {
	if len(block) >= offHeap {
		unix.Munmap(block)
	}
}
