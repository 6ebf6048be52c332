// Package compute is the numeric seam of the built-in algorithms: the handful of fused operations
// over batches of rows that training spends its time in, behind the interface [Engine].
//
//	engine := compute.Default()
//	gram := engine.NewGram(pilot)
//	for batch, err := range algorithms.Batches(ctx, train, p) {
//		…
//		gram.Add(compute.Of(batch))
//	}
//
// What an operation accumulates lives in the engine, which may be a device, from batch to batch, and
// comes back as float64. Rows are float32, dense or sparse. An engine's results are the same bits for
// the same calls, however many threads it has; two engines' agree within the tolerances that
// package computetest states and checks.
package compute
