// Package pca is principal component analysis, drop-in for SageMaker's built-in algorithm: the
// same hyperparameters, model file and log lines. [Train] is a whole training container:
//
//	func main() { algospec.Main(pca.Train) }
//
// Regular mode is exact: one pass over the data sums the d×d scatter matrix in float64, about a
// pilot mean so that nothing cancels, and its eigenvectors are the components. Memory is O(d²),
// whatever the number of rows. Over several hosts each moves its matrix to the mean of all before
// they are added, and the leader saves the model. The original sums in float32, which ruins its smallest singular
// values; those here agree with a float64 SVD of the data (builtin-algorithms, section 2).
//
// Where the platform keeps checkpoints, each host saves its matrix there about once a minute, in d²/2 numbers
// of 8 bytes, and takes as much memory again for the copy. A job that starts again reads on behind it.
package pca
