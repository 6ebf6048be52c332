package algorithms

import (
	"math"
	"unsafe"
)

// notFinite returns the place of the first number that is NaN or infinite, or -1.
func notFinite(row []float32) int {
	// Two numbers in a word and four words at a time. An exponent of all ones, which only such numbers have, carries into
	// the place of the sign.
	const (
		exponents = 0x7f800000_7f800000
		ones      = 0x00800000_00800000
		signs     = 0x80000000_80000000
	)
	j := 0
	for ; j+8 <= len(row); j += 8 {
		w := (*[4]uint64)(unsafe.Pointer(&row[j]))
		carries := (w[0]&exponents + ones) | (w[1]&exponents + ones) | (w[2]&exponents + ones) | (w[3]&exponents + ones)
		if carries&signs != 0 {
			break
		}
	}
	for ; j < len(row); j++ {
		if math.Float32bits(row[j])&0x7f800000 == 0x7f800000 {
			return j
		}
	}
	return -1
}
