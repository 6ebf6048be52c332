// Package kmeans is k-means clustering, drop-in for SageMaker's built-in algorithm: the same
// hyperparameters, model file and log lines. [Train] is a whole training container:
//
//	func main() { algospec.Main(kmeans.Train) }
//
// and [Fit] the same as a library, of any channel.Source.
//
// Training draws K = k·extra_center_factor rows of the first batch as centers, moves them towards the rows of
// each batch that are nearest to them, as running means (Sculley 2010), and in the end clusters the K centers, weighted
// by the rows that each stands for, into k by Lloyd's algorithm: one pass over the data, in memory of K·d
// numbers (builtin-algorithms, section 3). The logged `train msd` is the loss of that last step, as the original's
// is; `train data_msd`, which is ours, is the loss of the data.
//
// Over several hosts a round is a batch of each: the sums are added in rank order, so that all hosts hold the same
// bits, and a host that has no rows left goes on contributing zeros.
//
// With _full_lloyd=true the k centers are improved over the data themselves, which are read once more and held in
// memory, by breathing k-means (Fritzke 2020). [State] holds what training has learned before the last step, from
// which fewer clusters can be made without the data.
package kmeans
