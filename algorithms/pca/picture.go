package pca

import (
	"fmt"

	"github.com/algospec/algospec"
)

// mostDrawn is how many components a picture shows: of more, those after are next to nothing.
const mostDrawn = 1000

// picture shows which share of the variance each component explains, the largest first, and all up to it together.
func (e *Explained) picture() algospec.Picture {
	k := min(len(e.Ratio), mostDrawn)
	title := fmt.Sprintf("Variance explained by the components: %.4g %%", 100*e.Cumulative[len(e.Ratio)-1])
	return algospec.Picture{
		Name: "explained-variance", Title: title, X: "component, the largest first", Y: "share of the variance",
		Bars:  []algospec.Series{{Name: "each", Y: e.Ratio[:k]}},
		Lines: []algospec.Series{{Name: "all up to it", Y: e.Cumulative[:k]}},
	}
}
