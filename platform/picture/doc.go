// Package picture draws the pictures that training jobs describe, with gonum/plot, as SVG.
//
// A platform knows no algorithm, and a training container carries no plot library. So an algorithm leaves its
// numbers in a small file of its output (algospec.Picture, Job.SavePictures), whoever wrote it and in whatever
// language, and what shows the job to people draws them: "algospec run" into files beside the model, and the page of
// "algospec platform". Two other ways were looked at. Drawing from the model would need to know each artifact,
// which does not hold all that is worth a look: neither the sizes of clusters nor the variance of the components
// left out. Drawing from metrics alone gives curves over time and no more; those are drawn, too ([Curves]).
//
// The same picture gives the same bytes. A drawing holds no script and refers to nothing outside. Its colours
// follow the reader's preference for light or dark where the viewer has one; other viewers show the light ones.
package picture
