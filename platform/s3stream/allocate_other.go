//go:build !unix

package s3stream

func allocate(size int) []byte { return make([]byte, size) }

func deallocate([]byte) {}
