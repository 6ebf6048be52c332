package kmeans_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/hyperparams"
)

// masked replaces what differs between runs: times, process numbers, numbers with a point, maps.
func masked(log string) []string {
	for _, mask := range []struct{ what, with string }{
		{`\[\d\d/\d\d/\d{4} \d\d:\d\d:\d\d (INFO|WARNING) \d+\]`, `[.. $1]`},
		{`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]`, `[..]`},
		{`\{'.*'\}`, `{..}`},
		{`Process \d+`, `Process N`},
		{`"duration": \d+`, `"duration": N`},
		{`(Time": |\.time": \{"sum": |setuptime": \{"sum": |totaltime": \{"sum": )[0-9.e+-]+`, `${1}N`},
		{`("sum": N, "count": 1, "min": )[0-9.e+-]+(, "max": )[0-9.e+-]+`, `${1}N${2}N`},
		{`[0-9]+\.[0-9]+%, \([0-9.e+-]+ secs\)`, `N%, (N secs)`},
		{`(TOTAL took: |distance |throughput=|<loss>=)[0-9.e+-]+`, `${1}N`},
	} {
		log = regexp.MustCompile(mask.what).ReplaceAllString(log, mask.with)
	}
	return strings.Split(strings.TrimSpace(log), "\n")
}

// The lines of the original's logs of 2020 and 2021, in their order (golden sagemaker-models, logs/kmeans_2021_g.txt), and no others but those
// that docs/compatibility.md names.
func TestTheLogHasTheOriginalsLines(t *testing.T) {
	rows := blobs(110, 3, 4, 1)
	_, log := train(t, params(t, 3, 2, hyperparams.Map{"mini_batch_size": "50", "local_lloyd_num_trials": "2"}), map[string]table{"train": rows})
	got := masked(log)
	// The parts of the time come with the largest first.
	for i, line := range got {
		if strings.HasSuffix(line, "took: N%, (N secs)") {
			got[i] = "[.. INFO] PART took: N%, (N secs)"
		}
	}
	const metrics = `#metrics {"StartTime": N, "EndTime": N, "Dimensions": {"Algorithm": "AWS/KMeansWebscale", "Host": "algo-1", "Operation": "training"`
	require.Equal(t, []string{
		`Docker entrypoint called with argument(s): train`,
		`[.. INFO] Reading default configuration from AWS/KMeansWebscale: {..}`,
		`[.. INFO] Merging with provided configuration from /opt/ml/input/config/hyperparameters.json: {}`,
		`[.. INFO] Final configuration: {..}`,
		`Process N is a worker.`,
		`[.. INFO] Using default worker.`,
		`[.. INFO] Checkpoint loading and saving are disabled.`,
		`[.. INFO] Create Store: local`,
		`[.. INFO] Number of GPUs being used: 0`,
		`[.. INFO] Setting up with params: {..}`,
		`[.. INFO] 'extra_center_factor' was set to 'auto', evaluated to 10.`,
		`[.. INFO] Number of GPUs being used: 0`,
		`[.. INFO] number of center slices 1`,
		metrics + `, "Meta": "init_train_data_iter"}, "Metrics": {` + counts("50", "1", "50", "1", "0", "50", "1") + `}}`,
		`[..] [tensorio] [info] epoch_stats={"data_pipeline": "/opt/ml/input/data/train", "epoch": 0, "duration": N, "num_examples": 3, "num_bytes": 3960}`,
		`[.. INFO] processed a total of 110 examples`,
		`[.. INFO] #progress_metric: host=algo-1, completed 100.0 % of epochs`,
		metrics + `, "epoch": 0, "Meta": "training_data_iter"}, "Metrics": {` + counts("110", "3", "110", "3", "1", "110", "3") + `}}`,
		`[.. INFO] #throughput_metric: host=algo-1, train throughput=N records/second`,
		`[.. WARNING] wait_for_all_workers will not sync workers since the kv store is not running distributed`,
		`[.. INFO] shrinking 20 centers into 2`,
		`[.. INFO] local kmeans attempt #0. Current mean square distance N`,
		`[.. INFO] local kmeans attempt #1. Current mean square distance N`,
		`[.. INFO] finished shrinking process. Mean Square Distance = 12`,
		`[.. INFO] #quality_metric: host=algo-1, train msd <loss>=N`,
		`[.. INFO] PART took: N%, (N secs)`,
		`[.. INFO] PART took: N%, (N secs)`,
		`[.. INFO] PART took: N%, (N secs)`,
		`[.. INFO] PART took: N%, (N secs)`,
		`[.. INFO] TOTAL took: N`,
		`[.. INFO] Number of GPUs being used: 0`,
		metrics + `}, "Metrics": {"_shrink.time": ` + took + `, "epochs": {"sum": 1, "count": 1, "min": 1, "max": 1}, "finalize.time": ` + took +
			`, "initialize.time": ` + took + `, "model.serialize.time": ` + took + `, "update.time": ` + took + `}}`,
		`[.. INFO] #quality_metric: host=algo-1, train data_msd <loss>=N`,
		`[.. INFO] Test data is not provided.`,
		metrics + `}, "Metrics": {"setuptime": ` + took + `, "totaltime": ` + took + `}}`,
	}, got)
}

const took = `{"sum": N, "count": 1, "min": N, "max": N}`

// counts is what a #metrics line has of the records and batches that were read, in all, in the longest pass and in the last.
func counts(records, batches, maxRecords, maxBatches, resets, lastRecords, lastBatches string) string {
	var parts []string
	for _, c := range [][2]string{ // by name, as Go's encoder orders them
		{"Max Batches Seen Between Resets", maxBatches}, {"Max Records Seen Between Resets", maxRecords},
		{"Number of Batches Since Last Reset", lastBatches}, {"Number of Records Since Last Reset", lastRecords},
		{"Reset Count", resets}, {"Total Batches Seen", batches}, {"Total Records Seen", records},
	} {
		parts = append(parts, `"`+c[0]+`": {"sum": `+c[1]+`, "count": 1, "min": `+c[1]+`, "max": `+c[1]+`}`)
	}
	return strings.Join(parts, ", ")
}
