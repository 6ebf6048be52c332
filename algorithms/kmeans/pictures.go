package kmeans

import (
	"fmt"
	"math"
	"slices"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/compute"
)

// savePictures saves what there is to see of a training besides its metrics: how large the clusters are, and how the attempts
// of the reduction went. What is no number, as of data that overflow, is not drawn.
func (t *training) savePictures(m *Model) error {
	var pictures []algospec.Picture
	if shares := t.shares(m); shares != nil {
		pictures = append(pictures, sizesPicture(shares))
	}
	if len(t.trials) > 1 && finite(t.trials) {
		pictures = append(pictures, algospec.Picture{
			Name: "attempts", Title: fmt.Sprintf("Loss of the attempts to make %d clusters of %d centers", m.Centers.Rows, t.K),
			X: "attempt", Y: "mean square distance", Lines: []algospec.Series{{Y: t.trials[:min(len(t.trials), mostDrawn)]}},
		})
	}
	return t.job.SavePictures(pictures...)
}

// mostDrawn is how many bars or points a picture has at most.
const mostDrawn = 10_000

// shares returns which share of the rows each cluster has, as the counts of the centers tell that have become it; nil where
// there are no counts. The rows themselves are not read again.
func (t *training) shares(m *Model) []float64 {
	nearest := make([]int32, t.K)
	m.Predict(compute.Matrix{X: t.narrow()}, nearest, nil)
	shares, total := make([]float64, m.Centers.Rows), 0.0
	for j, count := range t.Counts {
		shares[nearest[j]] += count
		total += count
	}
	for i := range shares {
		shares[i] /= total
	}
	if !finite(shares) {
		return nil
	}
	return shares
}

func sizesPicture(shares []float64) algospec.Picture {
	k := len(shares)
	p := algospec.Picture{Name: "cluster-sizes", Title: fmt.Sprintf("Sizes of the %d clusters", k), X: "cluster, from 0", Y: "share of the rows"}
	sizes := algospec.Series{Y: shares}
	if k <= 50 {
		for i := range k {
			sizes.X = append(sizes.X, float64(i))
		}
	} else { // whose numbers nobody can make out
		p.X = "clusters, the largest first"
		sizes.Y = slices.Sorted(slices.Values(shares))
		slices.Reverse(sizes.Y)
	}
	if k > mostDrawn {
		all := sizes.Y
		sizes.Y = nil
		for i := range mostDrawn { // the first and the last are among them
			j := i * (k - 1) / (mostDrawn - 1)
			sizes.X, sizes.Y = append(sizes.X, float64(j+1)), append(sizes.Y, all[j])
		}
	}
	p.Bars = []algospec.Series{sizes}
	return p
}

func finite(numbers []float64) bool {
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
