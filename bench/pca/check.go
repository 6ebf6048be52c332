package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec/bench/internal/compare"
)

// tolerance is how far our model may be from the one in float64: what rounding to float32 leaves.
const tolerance = 1e-5

// check notes each side's distance from the model in float64, and fails where ours is too far.
func (b *bench) check(c *compare.Case) error {
	for i, side := range c.Sides {
		m := b.models[c.Name+side.Name]
		if len(m.Singular) != components || len(m.Components) != components || len(m.Components[0]) != b.data.Cols() {
			return fmt.Errorf("%s, %s: %d singular values and %d components", c.Name, side.Name, len(m.Singular), len(m.Components))
		}
		values, space := values(m, &b.exact), space(m, &b.exact)
		if i == 0 && !(values <= tolerance && space <= tolerance) {
			return fmt.Errorf("%s, %s: errors of %.2g and %.2g, more than %g", c.Name, side.Name, values, space, tolerance)
		}
		c.Notes = append(c.Notes, fmt.Sprintf("%.1e, %.1e", values, space))
	}
	return nil
}

// values returns the largest relative error of the singular values.
func values(m, exact *model) float64 {
	worst := 0.0
	for j, s := range exact.Singular {
		worst = max(worst, math.Abs(m.Singular[j]-s)/s)
	}
	return worst
}

// space returns the sine of the largest angle between the spaces that the components span: the norm of what
// is left of m's components once those of exact are taken from them.
func space(m, exact *model) float64 {
	a, e := matrix(m), matrix(exact)
	var products, left mat.Dense
	products.Mul(a, e.T())
	left.Mul(&products, e)
	left.Sub(a, &left)
	return mat.Norm(&left, 2)
}

func matrix(m *model) *mat.Dense {
	var data []float64
	for _, row := range m.Components {
		data = append(data, row...)
	}
	return mat.NewDense(len(m.Components), len(m.Components[0]), data)
}
