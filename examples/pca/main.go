// PCA is the training container of principal component analysis.
package main

import (
	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
)

func main() { algospec.Main(pca.Train) }
