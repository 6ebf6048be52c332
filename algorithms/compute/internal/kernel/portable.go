package kernel

// portable is Go alone. Two rows of four columns are as many accumulators as stay in the registers of
// amd64 and arm64.
var portable = Set{
	Name:     "go",
	Rows:     4,
	Lanes32:  4,
	Lanes64:  4,
	Tile32:   [...]func(int, []float32, int, int, []float32, int, []float32, int){nil, tile32(1), tile32(2), tile32(3)},
	Gram32:   [...]func(int, []float32, []float32, int, []float64, int){nil, gram[float32](1), gram[float32](2), gram[float32](3)},
	Gram64:   [...]func(int, []float64, []float64, int, []float64, int){nil, gram[float64](1), gram[float64](2), gram[float64](3)},
	Sparse32: [...]func([]int32, []float32, []float32, int, []float32){nil, sparse32(1), sparse32(2), sparse32(3)},
	Pack32:   pack[float32],
	Pack64:   pack[float64],
	Shift:    shift,
	Distance: distance,
	AddTo:    addTo,
	Axpy:     axpy,
	Scan:     scan,
}

const (
	portableRows  = 4
	portableLanes = 4
)

func tile32(panels int) func(k int, a []float32, aRow, aCol int, b []float32, bPanel int, c []float32, cRow int) {
	return func(k int, a []float32, aRow, aCol int, b []float32, bPanel int, c []float32, cRow int) {
		for p := range panels {
			for i := 0; i < portableRows; i += 2 {
				sums := outer(k, a[i*aRow:], a[(i+1)*aRow:], aCol, b[p*bPanel:])
				for j, v := range sums {
					c[(i+j/portableLanes)*cRow+p*portableLanes+j%portableLanes] += v
				}
			}
		}
	}
}

func gram[T float32 | float64](panels int) func(k int, a, b []T, bPanel int, c []float64, cRow int) {
	return func(k int, a, b []T, bPanel int, c []float64, cRow int) {
		for p := range panels {
			for i := 0; i < portableRows; i += 2 {
				sums := outer(k, a[i:], a[i+1:], portableLanes, b[p*bPanel:])
				for j, v := range sums {
					c[(i+j/portableLanes)*cRow+p*portableLanes+j%portableLanes] += float64(v)
				}
			}
		}
	}
}

// outer returns the sums of k products of two rows of a and a panel's four columns.
func outer[T float32 | float64](k int, a, a1 []T, aCol int, b []T) [2 * portableLanes]T {
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	b = b[:k*portableLanes]
	at := 0
	for len(b) >= portableLanes {
		x, y := a[at], a1[at]
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		c00 += x * b0
		c01 += x * b1
		c02 += x * b2
		c03 += x * b3
		c10 += y * b0
		c11 += y * b1
		c12 += y * b2
		c13 += y * b3
		at += aCol
		b = b[portableLanes:]
	}
	return [...]T{c00, c01, c02, c03, c10, c11, c12, c13}
}

func sparse32(panels int) func(columns []int32, values, b []float32, bPanel int, c []float32) {
	return func(columns []int32, values, b []float32, bPanel int, c []float32) {
		for p := range panels {
			var c0, c1, c2, c3 float32
			for l, column := range columns {
				v, row := values[l], b[p*bPanel+int(column)*portableLanes:][:portableLanes]
				c0 += v * row[0]
				c1 += v * row[1]
				c2 += v * row[2]
				c3 += v * row[3]
			}
			dst := c[p*portableLanes:][:portableLanes]
			dst[0] += c0
			dst[1] += c1
			dst[2] += c2
			dst[3] += c3
		}
	}
}

func pack[T float32 | float64](n int, x []float32, xRow int, pilot []float32, panel []T, sum []float64) {
	var sums [portableLanes]float64
	for i := range n {
		dst := panel[i*portableLanes:][:portableLanes]
		for j, v := range x[i*xRow:][:portableLanes] {
			dst[j] = T(v) - T(pilot[j])
			sums[j] += float64(dst[j])
		}
	}
	for j, v := range sums {
		sum[j] += v
	}
}

func shift(n int, x, pilot, dst []float32) float64 {
	square := 0.0
	pilot, dst = pilot[:n], dst[:n]
	for j, v := range x[:n] {
		v -= pilot[j]
		dst[j] = v
		square += float64(v) * float64(v)
	}
	return square
}

func distance(n int, x, c []float32) float64 {
	square := 0.0
	c = c[:n]
	for j, v := range x[:n] {
		diff := float64(v - c[j])
		square += diff * diff
	}
	return square
}

func addTo(n int, dst []float64, x []float32, w float64) {
	dst = dst[:n]
	for j, v := range x[:n] {
		dst[j] += w * float64(v)
	}
}

func axpy(n int, v float32, x, dst []float32) {
	dst = dst[:n]
	for j, w := range x[:n] {
		dst[j] += v * w
	}
}

func scan(n int, x []float32, slack float32) (first, count int) {
	x = x[:n]
	least := x[0]
	for _, v := range x {
		if v < least {
			least = v
		}
	}
	first, least = -1, least+slack
	for j, v := range x {
		if v > least {
			continue
		}
		if count == 0 {
			first = j
		}
		count++
	}
	return first, count
}
