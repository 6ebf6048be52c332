package kmeans_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/compute"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/recordio"
)

// twoPlaces returns rows about (0, 0) and (10, 10), as RecordIO-protobuf.
func twoPlaces() channel.Source {
	var data bytes.Buffer
	w := recordio.NewWriter(&data)
	for i := range 100 {
		near := float32(i%5) / 10
		w.WriteRow([]float32{near, near})
		w.WriteRow([]float32{10 + near, 10 + near})
	}
	w.Flush()
	return channel.Memory(data.Bytes())
}

// A clustering without a container, and the clusters of new rows.
func ExampleFit() {
	ctx := context.Background()
	model, err := kmeans.Fit(ctx, twoPlaces(), kmeans.Params{K: 2, FullLloyd: true})
	if err != nil {
		log.Fatal(err)
	}
	rows := &channel.Channel{Name: "new", Source: twoPlaces()}
	for batch, err := range algorithms.Batches(ctx, rows, algorithms.Batching{FeatureDim: 2, MiniBatchSize: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		nearest, distance := make([]int32, batch.Rows()), make([]float32, batch.Rows())
		model.Predict(compute.Of(batch), nearest, distance)
		fmt.Printf("two clusters: %t, distances %.2f\n", nearest[0] != nearest[1], distance)
		break
	}
	// Output: two clusters: true, distances [0.28 0.28]
}

// A state is learned once, and makes models of any number of clusters.
func ExampleState_Cluster() {
	state := kmeans.State{
		K: 4, D: 1,
		Centers: []float64{1, 3, 10, 30},
		Counts:  []float64{100, 100, 50, 1},
	}
	for k := 1; k <= 4; k++ {
		_, msd, err := state.Cluster(context.Background(), k, kmeans.Params{Seed: hyperparams.Fixed(int64(1))})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d clusters: %.2f\n", k, msd)
	}
	// Output:
	// 1 clusters: 13.76
	// 2 clusters: 2.36
	// 3 clusters: 0.80
	// 4 clusters: 0.00
}
