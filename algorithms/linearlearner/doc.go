// Package linearlearner is linear classification and regression, drop-in for SageMaker's built-in algorithm: the same
// hyperparameters, model file and log lines. [Train] is a whole training container, and [Fit] trains within a program:
//
//	func main() { algospec.Main(linearlearner.Train) }
//
// One pass over the data trains many models at once, by default 32 with different learning rates, schedules and weight
// decays, which share the two matrix products of each batch. After each epoch the models are compared, on the channel
// validation where there is one, and the best model of the best epoch is the result. Features are scaled by the mean and
// deviation of the first rows; the model that is saved is for features as they come.
//
// Rows are used in the order of the channel, in every epoch, and the last rows that fill no batch are left out of training,
// as the original does: data that are sorted by label train badly, and data of fewer rows than mini_batch_size not at all.
//
// Several hosts train together: each takes a batch of its own part of the data, and a step is by the sum of all, in the order of
// the hosts, so that all hold the same bits.
//
// Beyond the original, _exact=true takes the exact solution of squared_loss, logistic or softmax_loss, in a few passes and for up to
// 4,096 weights: one model whose objective is that of scikit-learn's LinearRegression, Ridge and LogisticRegression. With
// _sample_weights=true records have two label values, the label and the weight of the row. A job's output has the coefficients, for
// features as they come, in coefficients.json, with their names where _feature_names tells them, and the best model's loss by epoch as a picture.
//
// Sources are builtin-algorithms, section 4, whose numbers of a published job the tests reproduce.
package linearlearner
