package pca_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/internal/fleet"
)

// A shard is what a host has of each channel; nil is a channel without records.
type shard map[string]table

// trainHosts trains on hosts in this process and returns their model directories and logs.
func trainHosts(t *testing.T, p pca.Params, shards []shard, changes ...func(*algospec.Job)) (dirs, logs []string, errs []error) {
	t.Helper()
	hosts := cluster.Loopback(len(shards))
	out := make([]bytes.Buffer, len(shards))
	errs = make([]error, len(shards))
	var wait sync.WaitGroup
	for rank, s := range shards {
		dirs = append(dirs, t.TempDir())
		job := &algospec.Job{
			Host: []string{"algo-1", "algo-2", "algo-3"}[rank], Cluster: hosts[rank],
			Model: algospec.Dir(dirs[rank]), Stdout: &out[rank], Channels: map[string]*channel.Channel{},
		}
		for name, rows := range s {
			job.Channels[name] = &channel.Channel{Name: name, Source: channel.Memory(rows.encode(t))}
		}
		for _, change := range changes {
			change(job)
		}
		wait.Go(func() {
			defer job.Cluster.Close()
			errs[rank] = pca.Train(t.Context(), job, p)
		})
	}
	wait.Wait()
	for i := range out {
		logs = append(logs, out[i].String())
	}
	return dirs, logs, errs
}

// withChannel gives each host a channel of these bytes.
func withChannel(name string, content []byte) func(*algospec.Job) {
	return func(job *algospec.Job) {
		job.Channels[name] = &channel.Channel{Name: name, Source: channel.Memory(content)}
	}
}

func readModel(t *testing.T, dir string) *pca.Model {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, pca.ModelFile))
	require.NoError(t, err)
	var m pca.Model
	_, err = m.ReadFrom(bytes.NewReader(text))
	require.NoError(t, err)
	return &m
}

// requireSame compares models whose float64 statistics differ by rounding: a number of the model, which
// is float32, may then fall on the other side of where float32 rounds, one unit in its last place.
// What is zero but for rounding is compared with the largest number of its kind.
func requireSame(t *testing.T, want, got *pca.Model) {
	t.Helper()
	same := func(what string, want, got []float32) {
		require.Len(t, got, len(want))
		largest := 0.0
		for _, x := range want {
			largest = max(largest, math.Abs(float64(x)))
		}
		for i := range want {
			if got[i] == want[i] || math.Nextafter32(want[i], got[i]) == got[i] {
				continue
			}
			require.InDelta(t, want[i], got[i], 1e-12*largest, "%s[%d]", what, i)
		}
	}
	same("s", want.S, got.S)
	same("v", want.V.Data, got.V.Data)
	same("mean", want.Mean, got.Mean)
}

// cuts are ways to cut rows into three shards.
func cuts(rows table) map[string][]table {
	n := len(rows)
	return map[string][]table{
		"even":              {rows[:n/3], rows[n/3 : 2*n/3], rows[2*n/3:]},
		"one row":           {rows[:1], rows[1 : n/2], rows[n/2:]},
		"an empty leader":   {nil, rows[:n/2], rows[n/2:]},
		"an empty middle":   {rows[:n/2], nil, rows[n/2:]},
		"all on the last":   {nil, nil, rows},
		"all on the leader": {rows, nil, nil},
	}
}

func TestTheModelIsThatOfOneHost(t *testing.T) {
	for data, rows := range map[string]table{"random": random(600, 7, 11), "far from zero": far(random(600, 7, 12))} {
		for _, subtract := range []bool{true, false} {
			p := params(7, 5)
			p.SubtractMean, p.MiniBatchSize = subtract, 50
			want, oneLog := train(t, p, map[string]table{"train": rows, "test": rows[:100]})
			for cut, parts := range cuts(rows) {
				t.Run(data+", "+cut, func(t *testing.T) {
					var shards []shard
					for i, part := range parts {
						shards = append(shards, shard{"train": part, "test": rows[i*20 : [3]int{20, 40, 100}[i]]})
					}
					dirs, logs, errs := trainHosts(t, p, shards)
					for rank, err := range errs {
						require.NoError(t, err, "rank %d", rank)
						require.Contains(t, logs[rank], "#progress_metric: host="+[]string{"algo-1", "algo-2", "algo-3"}[rank]+", completed")
					}
					requireSame(t, want, readModel(t, dirs[0]))
					for rank := 1; rank < 3; rank++ {
						require.NoFileExists(t, filepath.Join(dirs[rank], pca.ModelFile))
						require.NotContains(t, logs[rank], "#quality_metric")
					}
					for _, series := range []string{"train explained_variance <score>", "test mse <loss>"} {
						require.InEpsilon(t, metric(t, oneLog, series), metric(t, logs[0], series), 1e-6, series)
					}
				})
			}
		}
	}
}

// far moves the rows far from zero, where sums about different pilots would part.
func far(rows table) table {
	for _, row := range rows {
		for j := range row {
			row[j] = float32(math.Round(float64(row[j])*100)) + 1<<20
		}
	}
	return rows
}

func TestATestChannelOfSomeHostsIsScored(t *testing.T) {
	rows := random(300, 4, 13)
	_, oneLog := train(t, params(4, 2), map[string]table{"train": rows, "test": rows[:50]})
	_, logs, errs := trainHosts(t, params(4, 2), []shard{{"train": rows[:100]}, {"train": rows[100:], "test": rows[:50]}, {"train": nil, "test": nil}})
	require.Equal(t, []error{nil, nil, nil}, errs)
	require.InEpsilon(t, metric(t, oneLog, "test mse <loss>"), metric(t, logs[0], "test mse <loss>"), 1e-6)

	_, logs, errs = trainHosts(t, params(4, 2), []shard{{"train": rows}, {"train": nil}, {"train": nil}})
	require.Equal(t, []error{nil, nil, nil}, errs)
	for _, log := range logs {
		require.Contains(t, log, "Test data is not provided.")
		require.NotContains(t, log, "test mse")
	}
}

func TestWhatIsWrongWithTheHostsDataIsAnErrorOnAll(t *testing.T) {
	_, _, errs := trainHosts(t, params(4, 2), []shard{{"train": nil}, {"train": nil}, {"train": nil}})
	for _, err := range errs {
		require.EqualError(t, err, "channel train: no record in it")
		require.True(t, algospec.IsClientError(err))
	}
	_, _, errs = trainHosts(t, params(4, 2), []shard{{"train": nil}, {"train": random(9, 4, 1)}, {"train": random(9, 5, 1)}})
	for _, err := range errs {
		require.EqualError(t, err, "channel train: the host of rank 2 has 5 features, and one before it 4")
		require.True(t, algospec.IsClientError(err))
	}
	_, _, errs = trainHosts(t, params(4, 3), []shard{{"train": nil}, {"train": random(9, 2, 1)}, {"train": nil}})
	require.ErrorContains(t, errs[1], "hyperparameter num_components: 3: more than the 2 features of the data")
	for _, rank := range []int{0, 2} {
		require.EqualError(t, errs[rank], "cluster: host algo-2 is lost: it ended before a collective that others called")
	}
}

// Three processes over TCP, through Main and the platform's files.
func TestProcessesTrainTheModelOfOneHost(t *testing.T) {
	rows := random(600, 7, 14)
	p := params(7, 5)
	want, _ := train(t, p, map[string]table{"train": rows})
	parameters := map[string]string{"feature_dim": "7", "num_components": "5", "mini_batch_size": "500"}
	hosts := fleet.Start(t, fleet.Job{HyperParameters: parameters, Shards: []map[string][]byte{
		{"train": rows[:250].encode(t)}, {"train": nil}, {"train": rows[250:].encode(t)},
	}})
	for _, h := range hosts {
		require.Zero(t, h.Wait(), "%s: %s", h.Failure(t), h.Log())
		require.Contains(t, h.Log(), `"Host": "`+h.Name+`"`)
		require.Equal(t, h.Name == "algo-1", strings.Contains(h.Log(), "#quality_metric: host=algo-1"))
	}
	requireSame(t, want, readModel(t, filepath.Join(hosts[0].Base, "model")))
	for _, h := range hosts[1:] {
		require.NoFileExists(t, filepath.Join(h.Base, "model", pca.ModelFile))
	}
}

func TestAHostWithBadDataIsNamedInTheOthersFailureFiles(t *testing.T) {
	parameters := map[string]string{"feature_dim": "3", "num_components": "2", "mini_batch_size": "500"}
	rows := random(10, 3, 15).encode(t)
	hosts := fleet.Start(t, fleet.Job{HyperParameters: parameters, Shards: []map[string][]byte{
		{"train": rows}, {"train": rows}, {"train": rows[:len(rows)-1]},
	}})
	require.Equal(t, 2, hosts[2].Wait())
	require.Contains(t, hosts[2].Failure(t), "ClientError: channel train, epoch 0: ")
	for _, h := range hosts[:2] {
		require.Equal(t, 1, h.Wait())
		require.Equal(t, "AlgorithmError: cluster: host algo-3 is lost: it ended before a collective that others called", h.Failure(t))
	}
}

// Randomized mode on several hosts: one model, as good as that of one host.
func TestHostsSketchTogether(t *testing.T) {
	rows := random(900, 120, 16)
	for _, row := range rows { // variances that differ, without which no sketch tells directions apart
		for j := range row {
			row[j] *= float32(math.Pow(0.8, float64(j)))
		}
	}
	p := params(120, 4)
	p.AlgorithmMode, p.ExtraComponents = "randomized", -1
	exact := params(120, 4)
	want := fit(t, rows, exact)
	for cut, parts := range cuts(rows) {
		t.Run(cut, func(t *testing.T) {
			var shards []shard
			for _, part := range parts {
				shards = append(shards, shard{"train": part})
			}
			dirs, logs, errs := trainHosts(t, p, shards)
			require.Equal(t, []error{nil, nil, nil}, errs)
			got := readModel(t, dirs[0])
			for j := range got.S {
				require.InEpsilon(t, want.S[3-j], got.S[j], 0.02)
			}
			got.Rows, got.TotalSquares = want.Rows, want.TotalSquares
			left, least := got.SquaredError(matrix(rows)), want.SquaredError(matrix(rows))
			require.GreaterOrEqual(t, want.TotalSquares-left, 0.98*(want.TotalSquares-least))
			require.Contains(t, logs[1], "The default executor is <RandomizedPCAExecutor on cpu(0)>.")
		})
	}
}
