package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/algospec/algospec/algorithms/linearlearner"
	"github.com/algospec/algospec/bench/internal/compare"
	"github.com/algospec/algospec/bench/internal/datasets"
	"github.com/algospec/algospec/bench/internal/jobs"
	"github.com/algospec/algospec/bench/internal/peers"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
)

// published runs jobs of the shapes whose records a second public logs tell, of one small CPU instance (builtin-algorithms,
// 11), and prints ours next to them.
func published(ctx context.Context, s *peers.Setup) error {
	fmt.Print("\n| job of 32 models, train throughput of the last epoch, records/s | ours here | the original's, ml.c4.xlarge or ml.m4.xlarge |\n|---|---|---|\n")
	for _, job := range []struct {
		name  string
		data  *datasets.Table
		batch int
		told  string
	}{
		{"6,548×20, mini-batches of 100", datasets.Linear(6548, 20, true, 1), 100, "4,000 to 4,600"},
		{"30,000×3, mini-batches of 1000", datasets.Linear(30000, 3, true, 1), 1000, "22,700"},
		{"32,561×123 sparse, as Adult, mini-batches of 1000", datasets.Indicators(32561, 1), 1000, "7,000 to 8,000"},
	} {
		path := filepath.Join(s.Dir, "published.pbr")
		if err := job.data.SaveRecords(path); err != nil {
			return err
		}
		result, err := jobs.Run(ctx, s.Dir, linearlearner.Train, channel.File(path), hyperparams.Map{
			"predictor_type": "binary_classifier", "mini_batch_size": strconv.Itoa(job.batch), "epochs": "3",
		})
		if err != nil {
			return err
		}
		rate, err := result.Metric("train throughput")
		if err != nil {
			return err
		}
		if err := os.RemoveAll(result.Dir); err != nil {
			return err
		}
		fmt.Printf("| %s | %s | %s |\n", job.name, compare.Count(rate), job.told)
	}
	return nil
}
