package page

// A dot is a point in the plane of a chart, and the value it stands for.
type dot struct {
	X, Y  float64
	Value float64
}

// thin returns the dots that a line as many pixels wide can show, which is to be in the order of X: of each
// pixel's the first, least, greatest and last one. The line through these looks the same as that through all
// (Jugel et al. 2014, M4).
func thin(dots []dot, width int) []dot {
	if len(dots) <= 4*width {
		return dots
	}
	var kept []dot
	for start := 0; start < len(dots); {
		column, end := int(dots[start].X), start+1
		least, greatest := start, start
		for ; end < len(dots) && int(dots[end].X) == column; end++ {
			if dots[end].Value < dots[least].Value {
				least = end
			}
			if dots[end].Value > dots[greatest].Value {
				greatest = end
			}
		}
		last := -1
		for _, i := range []int{start, min(least, greatest), max(least, greatest), end - 1} {
			if i != last {
				kept = append(kept, dots[i])
			}
			last = i
		}
		start = end
	}
	return kept
}
