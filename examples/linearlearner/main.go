// Linearlearner is the training container of linear classification and regression.
package main

import (
	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/linearlearner"
)

func main() { algospec.Main(linearlearner.Train) }
