// Package builtin has the built-in algorithms as containers of this command, by the names of their images.
package builtin

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/algorithms/pca"
)

// An algorithm is a container and what it prints for a platform to scrape.
type algorithm struct {
	run     func()
	metrics func() []algospec.MetricDefinition
}

// algorithms are by the names that their images have in every registry and region. Those that this version does not have
// are nil.
var algorithms = map[string]*algorithm{
	"factorization-machines": nil,
	"kmeans":                 {func() { algospec.Main(kmeans.Train) }, kmeans.Metrics},
	"lda":                    nil,
	"linear-learner":         {func() { algospec.Main(linearlearner.Train) }, linearlearner.Metrics},
	"ntm":                    nil,
	"pca":                    {func() { algospec.Main(pca.Train) }, pca.Metrics},
	"randomcutforest":        nil,
}

// Name returns the last part of an image's name, without tag and digest: pca of
// 382416733822.dkr.ecr.us-east-1.amazonaws.com/pca:1.
func Name(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndexByte(image, '/')+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}

// Command returns the program that runs the algorithm of an image: this one. An image of another name has none;
// one of an algorithm that this version does not have is an error.
func Command(image string) ([]string, error) {
	name := Name(image)
	a, known := algorithms[name]
	switch {
	case !known:
		return nil, nil
	case a == nil:
		return nil, fmt.Errorf("the built-in algorithm %s is not part of this version, which has %s", name, strings.Join(Names(), ", "))
	}
	self, err := os.Executable()
	return []string{self, "container", name}, err
}

// Metrics returns the definitions of what the algorithm of an image prints; nil where it is none of those here.
func Metrics(image string) []algospec.MetricDefinition {
	if a := algorithms[Name(image)]; a != nil {
		return a.metrics()
	}
	return nil
}

// Names returns the names of the algorithms that this version has.
func Names() []string {
	var names []string
	for name, a := range algorithms {
		if a != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Container is the command that a built-in algorithm's container is.
type Container struct {
	Name      string   `arg:"" help:"Which algorithm."`
	Arguments []string `arg:"" optional:"" passthrough:"" help:"What the platform gives the container: train."`
}

// Run runs the container and exits with its status.
func (c *Container) Run() error {
	a := algorithms[c.Name]
	if a == nil {
		return fmt.Errorf("no built-in algorithm %s: there is %s", cmp.Or(c.Name, `""`), strings.Join(Names(), ", "))
	}
	os.Args = append(os.Args[:1:1], c.Arguments...)
	a.run()
	return nil
}
