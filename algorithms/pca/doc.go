// Package pca is principal component analysis, drop-in for SageMaker's built-in algorithm: the
// same hyperparameters, model file and log lines. [Train] is a whole training container:
//
//	func main() { algospec.Main(pca.Train) }
//
// and [Fit] is the same with no container around it:
//
//	model, err := pca.Fit(ctx, source, pca.NewParams(10))
//
// Regular mode is exact: one pass over the data sums the d×d scatter matrix about a
// pilot near the mean, so that nothing cancels, and its eigenvectors are the components. Memory is O(d²),
// whatever the number of rows, and d at most 32,768. Over several hosts each moves its matrix to the mean of all before
// they are added, and the leader saves the model. The original sums in float32, which ruins its smallest singular
// values; those here agree with a float64 SVD of the data (builtin-algorithms, section 2).
//
// Randomized mode keeps a sketch of num_components + extra_components directions, in O(d) memory for each, for
// data of up to millions of features, sparse ones without making them dense (force_dense=false): the comment at the type sketch has the
// algorithm and its guarantee. Where the scatter matrix is not larger than the sketch would be, it takes
// that, and is exact. The same seed, data and number of hosts give the same model.
//
// Where the platform keeps checkpoints, each host saves what it has learned there about once a minute, in regular mode d²/2
// numbers of 8 bytes, and takes as much memory again for the copy. A job that starts again reads on behind it.
//
// A job with _save_state=true leaves [StateFile] beside the model, and a later job with that model as its channel
// "model" goes on from there: its model is of the rows of both. [Learner] is the same for a program. The model file alone does not
// hold what that takes.
package pca
