package main

import (
	"context"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/bench/internal/jobs"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

var engine = compute.Default()

type centers = blas32.General

// first returns the first k rows.
func (b *bench) first(k int) centers {
	first := b.data.Batch(0, k)
	first.Data = slices.Clone(first.Data)
	return first
}

// fitEpoch moves each center to the mean of the rows that have come to it, batch by batch: what training does with
// a batch, with counts from 0, as scikit-learn's.
func (b *bench) fitEpoch(k int) centers {
	c := b.first(k)
	on := engine.NewCenters(c)
	counts := make([]float64, k)
	sums, weights := make([]float64, len(c.Data)), make([]float64, k)
	for i := 0; i < b.data.Rows(); i += batchRows {
		clear(sums)
		clear(weights)
		on.AssignAndSum(compute.Matrix{X: b.data.Batch(i, min(i+batchRows, b.data.Rows()))}, nil, sums, weights)
		for j, m := range weights {
			if m == 0 {
				continue
			}
			counts[j] += m
			p := m / counts[j]
			for l := range c.Cols {
				at := &c.Data[j*c.Cols+l]
				*at = float32((1-p)*float64(*at) + p*sums[j*c.Cols+l]/m)
			}
		}
		on.Set(c)
	}
	return c
}

// fitLloyd is Lloyd's algorithm, with the rows' labels in the end.
func (b *bench) fitLloyd(k int) centers {
	c := b.first(k)
	on := engine.NewCenters(c)
	x := compute.Matrix{X: b.data.X}
	sums, weights := make([]float64, len(c.Data)), make([]float64, k)
	for range iterations {
		clear(sums)
		clear(weights)
		on.AssignAndSum(x, nil, sums, weights)
		for j, m := range weights {
			for l := range c.Cols {
				if m > 0 {
					c.Data[j*c.Cols+l] = float32(sums[j*c.Cols+l] / m)
				}
			}
		}
		on.Set(c)
	}
	on.Assign(x, make([]int32, x.Rows()), nil)
	return c
}

// train runs a whole job on the file, without the pass that only tells the loss of the data.
func (b *bench) train(ctx context.Context, k, factor int) (centers, error) {
	result, err := jobs.Run(ctx, b.dir, kmeans.Train, channel.File(b.recorded), hyperparams.Map{
		"feature_dim": strconv.Itoa(b.data.Cols()), "k": strconv.Itoa(k), "mini_batch_size": strconv.Itoa(batchRows),
		"extra_center_factor": strconv.Itoa(factor), "_seed": "1", "_data_msd": "false",
	})
	if err != nil {
		return centers{}, err
	}
	var m kmeans.Model
	if err := result.Read(kmeans.ModelFile, &m); err != nil {
		return centers{}, err
	}
	return m.Centers, os.RemoveAll(result.Dir)
}

// judge returns the mean squared distance of the first rows to the nearest center.
func (b *bench) judge(c centers) float64 {
	n := min(judged, b.data.Rows())
	distances := make([]float32, n)
	engine.NewCenters(c).Assign(compute.Matrix{X: b.data.Batch(0, n)}, nil, distances)
	sum := 0.0
	for _, d := range distances {
		sum += float64(d)
	}
	return sum / float64(n)
}
