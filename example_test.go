package algospec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/algospec/algospec"
)

// Metrics are printed in one form, and scraped by the definitions that go with it.
func ExampleJob_Metrics() {
	job := &algospec.Job{Stdout: os.Stdout}
	job.Metrics(algospec.Metric{Name: "epoch", Value: 3}, algospec.Metric{Name: "train:loss", Value: 0.25})

	definitions, _ := json.Marshal(algospec.MetricDefinitions("train:loss")) // for CreateTrainingJob
	fmt.Println(string(definitions))
	// Output:
	// #metric: host=algo-1, epoch=3; train:loss=0.25;
	// [{"Name":"train:loss","Regex":"#metric: host=\\S+,.* train:loss=([^;\\s]+);"}]
}

// A job that is stopped in the middle of its epochs leaves the best model so far, and the loops of the train
// function know nothing of it.
func ExampleJob_OnStop() {
	train := func(ctx context.Context, job *algospec.Job) error {
		best := map[string]float64{}
		job.OnStop(func(ctx context.Context) error {
			job.Println("saving the best model so far")
			return job.Model.Save("model.json", algospec.JSON(best))
		})
		for epoch := 0; ; epoch++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			best["loss"] = 1 / float64(epoch+1)
			stop() // stands for the platform
		}
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	err = algospec.Run(stoppable, train, algospec.Options{BaseDir: dir})
	fmt.Println(err, algospec.ExitStatus(err))
	// Output:
	// saving the best model so far
	// algospec: stopped by the platform 0
}

var stoppable, cancel = context.WithCancelCause(context.Background())

func stop() { cancel(algospec.ErrStopped) }
