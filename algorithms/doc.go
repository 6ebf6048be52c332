// Package algorithms is the vocabulary that training algorithms share: batches of rows, decoded
// from a channel whatever its format ([Batches]), and the log lines and metrics that platforms
// scrape ([Report]). The built-in algorithms are the packages below it.
package algorithms
