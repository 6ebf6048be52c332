package recordio_test

import (
	"encoding/binary"
	"math"
)

func float32Bytes(row []float32) []byte {
	var b []byte
	for _, x := range row {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// goldenFloat32 reads a number of the manifest, which writes what JSON lacks as text.
func goldenFloat32(number any) float32 {
	switch number {
	case "NaN":
		return float32(math.NaN())
	case "Infinity":
		return float32(math.Inf(1))
	case "-Infinity":
		return float32(math.Inf(-1))
	case "-0":
		return float32(math.Copysign(0, -1))
	}
	return float32(number.(float64))
}
