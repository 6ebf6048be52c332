// Package compute is the numeric seam of the built-in algorithms: the handful of fused operations
// over batches of rows that training spends its time in, behind the interface [Engine].
//
//	engine, err := compute.Select("")
//	…
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
//
// # The processor's engine
//
// [CPU] has kernels in assembly for AVX-512 and for AVX2, chosen by what the processor has, and in Go for
// the others; where there is no assembly and OpenBLAS is installed, as libopenblas.so.0, products are left to it. The environment
// variable ALGOSPEC_COMPUTE asks for one by name: auto, avx512, avx2, blas, go. A program finds OpenBLAS only if it is
// linked dynamically, as one built with cgo is.
//
// Work is cut into pieces whose number and extent do not depend on the threads, or whose results
// do not touch each other, and as many goroutines as GOMAXPROCS at most take them in turn: those of all calls to an
// engine together, and small batches are done by the caller alone. No goroutine outlives a call. Memory is kept from call to call.
//
// # Precision
//
// A Gram of up to 384 columns is of float64 products. With more, products are float32, added up over 64 rows, and from there on in
// float64: the error does not grow with the number of rows. The nearest center is chosen by ‖c‖²−2x·c in
// float32, about the mean of the centers; where the scores of two differ by less than rounding can, their distances in
// float64 decide, so that the choice is the exact one.
//
// Sparse rows stay sparse in Assign, AssignAndSum and Multiply. A Gram keeps them so about a pilot of zeros, and where
// that is faster; about another pilot they are dense.
package compute
