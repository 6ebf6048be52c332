// Package algorithms is the vocabulary that training algorithms share: batches of rows, decoded
// from a channel whatever its format ([Batches]), and the log lines and metrics that platforms
// scrape ([Report]). [Resume] has a training go on from its last snapshot; [EarlyStopping] and
// [TimeLimit] end one. The built-in algorithms are the packages below it.
package algorithms
