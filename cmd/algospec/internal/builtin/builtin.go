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

// containers are the algorithms by the names that their images have in every registry and region. Those that this
// version does not have are nil.
var containers = map[string]func(){
	"factorization-machines": nil,
	"kmeans":                 func() { algospec.Main(kmeans.Train) },
	"lda":                    nil,
	"linear-learner":         func() { algospec.Main(linearlearner.Train) },
	"ntm":                    nil,
	"pca":                    func() { algospec.Main(pca.Train) },
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
	run, known := containers[name]
	switch {
	case !known:
		return nil, nil
	case run == nil:
		return nil, fmt.Errorf("the built-in algorithm %s is not part of this version, which has %s", name, strings.Join(Names(), ", "))
	}
	self, err := os.Executable()
	return []string{self, "container", name}, err
}

// Names returns the names of the algorithms that this version has.
func Names() []string {
	var names []string
	for name, run := range containers {
		if run != nil {
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
	run := containers[c.Name]
	if run == nil {
		return fmt.Errorf("no built-in algorithm %s: there is %s", cmp.Or(c.Name, `""`), strings.Join(Names(), ", "))
	}
	os.Args = append(os.Args[:1:1], c.Arguments...)
	run()
	return nil
}
