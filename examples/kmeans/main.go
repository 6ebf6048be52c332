// Kmeans is the training container of k-means clustering.
package main

import (
	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
)

func main() { algospec.Main(kmeans.Train) }
