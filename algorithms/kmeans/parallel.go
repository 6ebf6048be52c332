package kmeans

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/algospec/algospec/algorithms/compute"
)

// k-means|| (Bahmani et al. 2012): rounds, and how many rows are expected to be chosen in each, by K.
const (
	parallelRounds = 5
	parallelRate   = 2
)

// A parallelDraw draws centers from the first batches of all hosts together by k-means||: in a few rounds, each row is chosen with a
// probability that grows with its distance from those chosen before; these candidates, weighted by the rows that are nearest to
// each, are reduced to K by k-means++.
type parallelDraw struct {
	*reading
	k, d     int
	x        compute.Matrix // this host's first batch
	rows     []int          // of each host
	chosen   []bool         // of this host's rows
	closest  []float32      // squared distance of this host's rows to the candidates
	distance []float32
	found    blas32.General // candidates, the same on all hosts
}

// draw returns K·d numbers, the same on all hosts.
func (p *parallelDraw) draw() ([]float64, error) {
	n := p.rows[p.job.Cluster.Rank()]
	p.chosen, p.closest, p.distance = make([]bool, n), make([]float32, n), make([]float32, n)
	p.found = blas32.General{Cols: p.d, Stride: p.d}
	for i := range p.closest {
		p.closest[i] = math.MaxFloat32
	}
	if err := p.fill(1); err != nil { // the first one, uniformly
		return nil, err
	}
	for round := range parallelRounds {
		if err := p.round(uint64(round)); err != nil {
			return nil, err
		}
	}
	if missing := p.k - p.found.Rows; missing > 0 { // rows that are alike, or few
		if err := p.fill(missing); err != nil {
			return nil, err
		}
	}
	return p.reduceToK()
}

// fill chooses so many rows uniformly of those that are left on all hosts.
func (p *parallelDraw) fill(many int) error {
	left := make([]float64, len(p.rows))
	for _, c := range p.chosen {
		if !c {
			left[p.job.Cluster.Rank()]++
		}
	}
	if err := p.job.Cluster.AllReduce(p.save, left); err != nil {
		return err
	}
	before, all := 0, 0 // rows that are left on hosts before this one, and on all
	for rank, n := range left {
		if rank < p.job.Cluster.Rank() {
			before += int(n)
		}
		all += int(n)
	}
	wanted := map[int]bool{}
	for _, i := range stream(p.seed, streamParallel).Perm(all)[:many] {
		wanted[i] = true
	}
	var mine []int
	for i, c := range p.chosen {
		if c {
			continue
		}
		if wanted[before] {
			mine = append(mine, i)
		}
		before++
	}
	return p.share(mine)
}

// round chooses each row with a probability by its distance.
func (p *parallelDraw) round(number uint64) error {
	cost := []float64{0}
	for i, d := range p.closest {
		if !p.chosen[i] {
			cost[0] += float64(d)
		}
	}
	if err := p.job.Cluster.AllReduce(p.save, cost); err != nil {
		return err
	}
	r := stream(p.seed, streamParallel+1+number*uint64(p.job.Cluster.Size())+uint64(p.job.Cluster.Rank()))
	var mine []int
	for i, d := range p.closest {
		if u := r.Float64(); !p.chosen[i] && u*cost[0] < parallelRate*float64(p.k)*float64(d) {
			mine = append(mine, i)
		}
	}
	return p.share(mine)
}

// share makes candidates of the rows that each host has chosen.
func (p *parallelDraw) share(mine []int) error {
	rank := p.job.Cluster.Rank()
	counts := make([]float64, len(p.rows))
	counts[rank] = float64(len(mine))
	if err := p.job.Cluster.AllReduce(p.save, counts); err != nil {
		return err
	}
	begin, all := 0, 0
	for i, n := range counts {
		if i < rank {
			begin += int(n)
		}
		all += int(n)
	}
	if all == 0 {
		return nil
	}
	numbers := make([]float64, all*p.d)
	for l, i := range mine {
		p.chosen[i] = true
		for c, v := range rowsOf(p.x, mine[l:l+1]).Data {
			numbers[(begin+l)*p.d+c] = float64(v)
		}
	}
	if err := p.job.Cluster.AllReduce(p.save, numbers); err != nil {
		return err
	}
	s := State{K: all, D: p.d, Centers: numbers}
	added := s.narrow()
	if len(p.closest) > 0 {
		compute.Default().NewCenters(added).Assign(p.x, nil, p.distance)
		for i, d := range p.distance {
			p.closest[i] = min(d, p.closest[i])
		}
	}
	p.found.Rows += all
	p.found.Data = append(p.found.Data, added.Data...)
	return nil
}

// reduceToK has the leader choose K of the candidates.
func (p *parallelDraw) reduceToK() ([]float64, error) {
	nearest := make([]int32, len(p.closest))
	weights := make([]float64, p.found.Rows)
	if len(nearest) > 0 {
		compute.Default().NewCenters(p.found).Assign(p.x, nearest, nil)
	}
	for _, j := range nearest {
		weights[j]++
	}
	if err := p.job.Cluster.AllReduce(p.save, weights); err != nil {
		return nil, err
	}
	centers := make([]float64, p.k*p.d)
	if p.job.Cluster.Leader() {
		weight := make([]float32, len(weights))
		for j, w := range weights {
			weight[j] = float32(w)
		}
		candidates := compute.Matrix{X: p.found}
		chosen, err := plusPlus(p.save, stream(p.seed, streamInit), candidates, weight, p.k, 1)
		if err != nil {
			return nil, err
		}
		for i, v := range rowsOf(candidates, chosen).Data {
			centers[i] = float64(v)
		}
	}
	return centers, p.job.Cluster.Broadcast(p.save, 0, centers)
}
