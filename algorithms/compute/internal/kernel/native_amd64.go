package kernel

import "golang.org/x/sys/cpu"

// native returns the sets in assembly that this processor and its system run.
func native() []Set {
	var sets []Set
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasBMI1 || !cpu.X86.HasBMI2 || !cpu.X86.HasPOPCNT {
		return nil
	}
	if cpu.X86.HasAVX512F {
		sets = append(sets, Set{
			Name: "avx512", Rows: 8, Lanes32: 16, Lanes64: 8,
			Tile32:   [...]func(int, []float32, int, int, []float32, int, []float32, int){nil, tile32x1AVX512, tile32x2AVX512, tile32x3AVX512},
			Gram32:   [...]func(int, []float32, []float32, int, []float64, int){nil, gram32x1AVX512, gram32x2AVX512, gram32x3AVX512},
			Gram64:   [...]func(int, []float64, []float64, int, []float64, int){nil, gram64x1AVX512, gram64x2AVX512, gram64x3AVX512},
			Sparse32: [...]func([]int32, []float32, []float32, int, []float32){nil, sparse32x1AVX512, sparse32x2AVX512, sparse32x3AVX512},
			Pack32:   pack32AVX512, Pack64: pack64AVX512,
			Shift: shiftAVX512, Distance: distanceAVX512, AddTo: addToAVX512, Axpy: axpyAVX512, Scan: scanAVX512,
		})
	}
	return append(sets, Set{
		Name: "avx2", Rows: 4, Lanes32: 8, Lanes64: 4,
		Tile32:   [...]func(int, []float32, int, int, []float32, int, []float32, int){nil, tile32x1AVX2, tile32x2AVX2, tile32x3AVX2},
		Gram32:   [...]func(int, []float32, []float32, int, []float64, int){nil, gram32x1AVX2, gram32x2AVX2, gram32x3AVX2},
		Gram64:   [...]func(int, []float64, []float64, int, []float64, int){nil, gram64x1AVX2, gram64x2AVX2, gram64x3AVX2},
		Sparse32: [...]func([]int32, []float32, []float32, int, []float32){nil, sparse32x1AVX2, sparse32x2AVX2, sparse32x3AVX2},
		Pack32:   pack32AVX2, Pack64: pack64AVX2,
		Shift: shiftAVX2, Distance: distanceAVX2, AddTo: addToAVX2, Axpy: axpyAVX2, Scan: scanAVX2,
	})
}
