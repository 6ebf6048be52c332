package kmeans_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/kmeans"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
	"github.com/algospec/algospec/internal/fleet"
)

// A shard is what a host has of each channel; nil is a channel without records.
type shard map[string]table

// trainHosts trains on hosts in this process, all with the same artifact in the channel model unless that is nil, and returns their
// model directories and logs.
func trainHosts(t *testing.T, p kmeans.Params, artifact []byte, shards []shard) (dirs, logs []string, errs []error) {
	t.Helper()
	hosts := cluster.Loopback(len(shards))
	out := make([]bytes.Buffer, len(shards))
	errs = make([]error, len(shards))
	var wait sync.WaitGroup
	for rank, s := range shards {
		dirs = append(dirs, t.TempDir())
		job := &algospec.Job{
			Host: "algo-" + strconv.Itoa(rank+1), Cluster: hosts[rank],
			Model: algospec.Dir(dirs[rank]), Stdout: &out[rank], Channels: map[string]*channel.Channel{},
		}
		for name, rows := range s {
			job.Channels[name] = &channel.Channel{Name: name, Source: channel.Memory(rows.encode(t))}
		}
		if artifact != nil {
			job.Channels["model"] = &channel.Channel{Name: "model", Source: channel.Memory(artifact)}
		}
		wait.Go(func() {
			defer job.Cluster.Close()
			errs[rank] = kmeans.Train(t.Context(), job, p)
		})
	}
	wait.Wait()
	for i := range out {
		logs = append(logs, out[i].String())
	}
	return dirs, logs, errs
}

// centersOf returns the first rows as a model file.
func centersOf(t *testing.T, rows table) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := (&kmeans.Model{Centers: rows.matrix().X}).WriteTo(&b)
	require.NoError(t, err)
	return b.Bytes()
}

func modelBytes(t testing.TB, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, kmeans.ModelFile))
	require.NoError(t, err)
	return text
}

// requireNear compares centers that differ by the rounding of sums in another order.
func requireNear(t *testing.T, want, got *kmeans.Model) {
	t.Helper()
	require.Equal(t, want.Centers.Rows, got.Centers.Rows)
	require.InDeltaSlice(t, want.Centers.Data, got.Centers.Data, 1e-4)
}

// A round of several hosts is a batch of one host that has their batches one behind the other. From the same centers they
// come to the same model.
func TestARoundOfHostsIsALargerBatchOfOne(t *testing.T) {
	rows := blobs(600, 5, 6, 11)
	start := centersOf(t, rows[:24])
	for _, change := range []hyperparams.Map{{}, {"half_life_time_size": "100"}, {"epochs": "3"}, {"k": "24"}, {"_full_lloyd": "true"}} {
		t.Run(fmt.Sprint(change), func(t *testing.T) {
			p := params(t, 5, 6, change)
			p.MiniBatchSize = 60
			one, oneLog, errs := trainHosts(t, p, start, []shard{{"train": rows, "test": rows}})
			require.Equal(t, []error{nil}, errs)
			var parts [3]table
			for i := range 10 {
				for rank := range parts {
					parts[rank] = append(parts[rank], rows[i*60+rank*20:][:20]...)
				}
			}
			p.MiniBatchSize = 20
			dirs, logs, errs := trainHosts(t, p, start, []shard{{"train": parts[0], "test": rows}, {"train": parts[1], "test": rows}, {"train": parts[2], "test": rows}})
			require.Equal(t, []error{nil, nil, nil}, errs)
			requireNear(t, readModel(t, one[0]), readModel(t, dirs[0]))
			for _, series := range []string{"train data_msd <loss>", "test msd <loss>"} {
				require.InEpsilon(t, metric(t, oneLog[0], series), metric(t, logs[0], series), 1e-5, series)
			}
			for rank := 1; rank < 3; rank++ {
				require.NoFileExists(t, filepath.Join(dirs[rank], kmeans.ModelFile))
				require.NotContains(t, logs[rank], "#quality_metric")
				require.Contains(t, logs[rank], "processed a total of "+strconv.Itoa(200)+" examples")
			}
		})
	}
}

// Hosts without rows contribute zeros: the model is that of the host that has them, to the bit.
func TestHostsWithoutRowsChangeNothing(t *testing.T) {
	rows := blobs(300, 4, 5, 12)
	for _, method := range []string{"random", "kmeans++"} {
		p := params(t, 4, 5, hyperparams.Map{"mini_batch_size": "70", "init_method": method, "epochs": "2", "_full_lloyd": "true"})
		want, _ := train(t, p, map[string]table{"train": rows})
		for name, shards := range map[string][]shard{
			"all on the leader":   {{"train": rows}, {"train": nil}, {"train": nil}},
			"an empty leader":     {{"train": nil}, {"train": rows}, {"train": nil}},
			"too few for a draw":  {{"train": nil}, {"train": nil}, {"train": rows}},
			"one host with a row": {{"train": rows}},
		} {
			t.Run(method+", "+name, func(t *testing.T) {
				dirs, _, errs := trainHosts(t, p, nil, shards)
				for _, err := range errs {
					require.NoError(t, err)
				}
				require.Equal(t, want.Centers.Data, readModel(t, dirs[0]).Centers.Data)
			})
		}
	}
}

// Uneven shards, and each way to draw centers: hosts end together, and twice the same bits.
func TestHostsOfUnequalShardsMakeOneModel(t *testing.T) {
	rows := blobs(500, 4, 5, 13)
	for _, method := range []string{"random", "kmeans++", "kmeans||"} {
		t.Run(method, func(t *testing.T) {
			p := params(t, 4, 5, hyperparams.Map{"mini_batch_size": "60", "init_method": method, "epochs": "2"})
			one := inertia(fit(t, p, rows), rows)
			var first []byte
			for range 2 {
				dirs, logs, errs := trainHosts(t, p, nil, []shard{{"train": rows[:60]}, {"train": rows[60:61]}, {"train": rows[61:]}})
				require.Equal(t, []error{nil, nil, nil}, errs)
				if first == nil {
					first = modelBytes(t, dirs[0])
				}
				require.Equal(t, first, modelBytes(t, dirs[0]))
				require.Contains(t, logs[1], "processed a total of 1 examples")
				require.InEpsilon(t, one, inertia(readModel(t, dirs[0]), rows), 0.1)
			}
		})
	}
}

// k-means|| draws from the first batches of all hosts together, none of which has rows enough.
func TestParallelDrawsFromTheBatchesOfAllHosts(t *testing.T) {
	rows := blobs(90, 4, 5, 14)
	p := params(t, 4, 5, hyperparams.Map{"init_method": "kmeans||"})
	dirs, logs, errs := trainHosts(t, p, nil, []shard{{"train": rows[:30]}, {"train": rows[30:60]}, {"train": rows[60:]}})
	require.Equal(t, []error{nil, nil, nil}, errs)
	require.Contains(t, logs[0], "shrinking 50 centers into 5")
	require.Less(t, inertia(readModel(t, dirs[0]), rows)/90, 6.0) // of 4 in the blobs themselves

	p.InitMethod = "random"
	_, _, errs = trainHosts(t, p, nil, []shard{{"train": rows[:30]}, {"train": rows[30:60]}, {"train": rows[60:]}})
	for _, err := range errs {
		require.ErrorContains(t, err, "channel train: the first batch has 30 rows, fewer than the 50 centers to draw from it (5·10: k·extra_center_factor)")
		require.True(t, algospec.IsClientError(err))
	}
}

func TestATestChannelOfSomeHostsIsScored(t *testing.T) {
	rows := blobs(300, 4, 5, 15)
	p := params(t, 4, 5, hyperparams.Map{"eval_metrics": `["msd","ssd"]`})
	m, _ := train(t, p, map[string]table{"train": rows})
	_, logs, errs := trainHosts(t, p, nil, []shard{{"train": rows}, {"train": nil, "test": rows[:100]}, {"train": nil}})
	require.Equal(t, []error{nil, nil, nil}, errs)
	require.InEpsilon(t, inertia(m, rows[:100])/100, metric(t, logs[0], "test msd <loss>"), 1e-5)
	require.InEpsilon(t, inertia(m, rows[:100]), metric(t, logs[0], "test ssd <loss>"), 1e-5)
	require.Contains(t, logs[0], "Test data is not provided.")
}

// Three processes over TCP, through Main and the platform's files.
func TestProcessesTrainOneModel(t *testing.T) {
	rows := blobs(600, 4, 5, 16)
	parameters := map[string]string{"feature_dim": "4", "k": "5", "mini_batch_size": "100", "_seed": "3"}
	hosts := fleet.Start(t, fleet.Job{HyperParameters: parameters, Shards: []map[string][]byte{
		{"train": rows[:250].encode(t)}, {"train": nil}, {"train": rows[250:].encode(t)},
	}})
	for _, h := range hosts {
		require.Zero(t, h.Wait(), "%s: %s", h.Failure(t), h.Log())
	}
	p := params(t, 4, 5, hyperparams.Map{"mini_batch_size": "100", "_seed": "3"})
	dirs, _, errs := trainHosts(t, p, nil, []shard{{"train": rows[:250]}, {"train": nil}, {"train": rows[250:]}})
	require.Equal(t, []error{nil, nil, nil}, errs)
	require.Equal(t, modelBytes(t, dirs[0]), modelBytes(t, filepath.Join(hosts[0].Base, "model")))
}
