package pca_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/algorithms"
	"github.com/algospec/algospec/algorithms/pca"
	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/internal/fleet"
	"github.com/algospec/algospec/internal/leaks"
	"github.com/algospec/algospec/internal/testenv"
	"github.com/algospec/algospec/internal/textrows"
	"github.com/algospec/algospec/recordio"
)

func TestMain(m *testing.M) {
	if _, ok := fleet.Member(); ok {
		algospec.Main(pca.Train) // see hosts_test.go
	}
	leaks.Main(m)
}

type table [][]float32

func load(t *testing.T, name string) (rows table) {
	t.Helper()
	for row, err := range textrows.File(filepath.Join(testenv.Shared(t), "data", name)) {
		require.NoError(t, err)
		rows = append(rows, append([]float32(nil), row...))
	}
	return rows
}

func (rows table) encode(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := recordio.NewWriter(&b)
	for _, row := range rows {
		require.NoError(tb, w.WriteRow(row))
	}
	require.NoError(tb, w.Flush())
	return b.Bytes()
}

func (rows table) general() blas32.General {
	g := blas32.General{Rows: len(rows), Cols: len(rows[0]), Stride: len(rows[0])}
	for _, row := range rows {
		g.Data = append(g.Data, row...)
	}
	return g
}

func params(d, k int) pca.Params {
	return pca.Params{
		Batching:      algorithms.Batching{FeatureDim: d, MiniBatchSize: 500},
		NumComponents: k, AlgorithmMode: "regular", SubtractMean: true, Epochs: 1,
	}
}

// train trains on channels in memory and returns the model as it was saved, and the log.
func train(t *testing.T, p pca.Params, channels map[string]table) (*pca.Model, string) {
	t.Helper()
	var log bytes.Buffer
	job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Stdout: &log, Channels: map[string]*channel.Channel{}}
	for name, rows := range channels {
		job.Channels[name] = &channel.Channel{Name: name, Source: channel.Memory(rows.encode(t))}
	}
	require.NoError(t, pca.Train(t.Context(), job, p))
	file, err := os.Open(filepath.Join(string(job.Model), pca.ModelFile))
	require.NoError(t, err)
	defer file.Close()
	var model pca.Model
	_, err = model.ReadFrom(file)
	require.NoError(t, err)
	return &model, log.String()
}

// reference is what scikit-learn 1.2.1 made of a data set: shared data, reference.json.
type reference struct {
	PCA struct {
		SingularValues []float64 `json:"singular_values"`
		Mean           []float64
		Components     [][]float64
	}
}

func referenceOf(t *testing.T, name string) (r reference) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Shared(t), "data", "reference.json"))
	require.NoError(t, err)
	var file struct{ Results map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal(text, &file))
	require.NoError(t, json.Unmarshal(file.Results[name], &r))
	require.NotEmpty(t, r.PCA.SingularValues)
	return r
}

// requireModel compares a model with the reference's first components: singular values and means
// to a relative tolerance, directions by the sine of the angle between them.
func requireModel(t *testing.T, m *pca.Model, want reference, tolerance float64) {
	t.Helper()
	k := len(m.S)
	for j := range k {
		column, rank := k-1-j, j // the model ascends, the reference descends
		require.InEpsilon(t, want.PCA.SingularValues[rank], m.S[column], tolerance, "singular value %d", rank)
		if rank >= len(want.PCA.Components) {
			continue
		}
		residual := 0.0
		dot := 0.0
		for i, w := range want.PCA.Components[rank] {
			dot += w * float64(m.V.Data[i*k+column])
		}
		for i, w := range want.PCA.Components[rank] {
			e := float64(m.V.Data[i*k+column]) - dot*w
			residual += e * e
		}
		require.Less(t, math.Sqrt(residual), tolerance, "component %d", rank)
	}
	for j, mean := range want.PCA.Mean {
		require.InDelta(t, mean, m.Mean[j], tolerance*max(1, math.Abs(mean)))
	}
}

// Acceptance P1 to P4 (builtin-algorithms, 10.1), on the training data of SageMaker's own models.
func TestAcceptanceOnTheCensus(t *testing.T) {
	rows := load(t, "census_scaled.csv.gz")
	m, log := train(t, params(34, 33), map[string]table{"train": rows, "test": rows})

	// P1: the exact singular values, which the specification prints to seven digits …
	exact := []float64{
		19.592184, 13.035982, 11.718245, 10.180057, 7.991313, 7.695218, 6.392514, 5.980974, 5.578648, 5.018964, 4.541036,
		4.345740, 4.189018, 3.696701, 3.573142, 3.395281, 3.017588, 2.806799, 2.695475, 2.385602, 2.296634, 2.166254,
		1.778378, 1.595799, 1.510045, 1.408480, 0.402901, 0.126999, 0.094832, 0.035568, 0.034521, 0.030883, 0.027102,
	}
	for j, want := range exact {
		require.InDelta(t, want, m.S[32-j], 1e-6*want+5e-7, "singular value %d", j)
	}
	// … and scikit-learn's, to the gate of 1e-6 relative for all 33.
	reference := referenceOf(t, "census_county_2015")
	for j := range m.S {
		require.InEpsilon(t, reference.PCA.SingularValues[j], m.S[32-j], 1e-6, "singular value %d", j)
	}
	for a := range 33 {
		for b := range 33 {
			dot := 0.0
			for i := range 34 {
				dot += float64(m.V.Data[i*33+a]) * float64(m.V.Data[i*33+b])
			}
			require.InDelta(t, map[bool]float64{true: 1, false: 0}[a == b], dot, 1e-6, "columns %d and %d", a, b)
		}
	}
	// P2
	for j, want := range []float64{0.009883, 0.009866, 0.009899, 0.110170, 0.756024, 0.100942} {
		require.InDelta(t, want, m.Mean[j], 1e-6)
	}
	// P3: the first county, largest component first.
	projected := blas32.General{Rows: 1, Cols: 33, Stride: 33, Data: make([]float32, 33)}
	m.Project(projected, rows[:1].general())
	for j, want := range []float64{0.060274, 0.160527, 0.088356, 0.120480, 0.010824, 0.040452, 0.025895} {
		require.InDelta(t, want, math.Abs(float64(projected.Data[32-j])), 1e-5)
	}
	// P4
	for k, want := range map[int]float64{5: 0.71798, 7: 0.80167} {
		_, log := train(t, params(34, k), map[string]table{"train": rows})
		require.InDelta(t, want, metric(t, log, "train explained_variance <score>"), 1e-4)
	}
	// All but one component rebuild nearly everything: the sum of squares left is the smallest
	// singular value's, here zero.
	require.Less(t, metric(t, log, "test mse <loss>"), 1e-12)
}

// metric returns the last value that the log has of a series.
func metric(t *testing.T, log, series string) float64 {
	t.Helper()
	matches := regexp.MustCompile(`#quality_metric: host=\S+, `+regexp.QuoteMeta(series)+`=(\S+)`).FindAllStringSubmatch(log, -1)
	require.NotEmpty(t, matches, log)
	value, err := strconv.ParseFloat(matches[len(matches)-1][1], 64)
	require.NoError(t, err)
	return value
}

// The taxi trips have features of very different sizes, some of them sums of others.
func TestTaxiTripsAgreeWithScikitLearn(t *testing.T) {
	if testenv.Race {
		t.Skip("too slow under the race detector; smaller data sets run there")
	}
	m, _ := train(t, params(50, 10), map[string]table{"train": load(t, "nyc_taxi_50.csv.gz")})
	requireModel(t, m, referenceOf(t, "nyc_taxi_50"), 1e-5)
}

// The service's own model of the census. Its smallest singular values are lost to float32, so its
// 20 largest are compared.
func TestTheServicesModelIsReadAndAgreed(t *testing.T) {
	file, err := os.Open(filepath.Join(testenv.Shared(t), "golden", "mxnet", "v2_pca_model_algo-1"))
	require.NoError(t, err)
	defer file.Close()
	var service pca.Model
	_, err = service.ReadFrom(file)
	require.NoError(t, err)
	ours, _ := train(t, params(34, 33), map[string]table{"train": load(t, "census_scaled.csv.gz")})
	for j := 13; j < 33; j++ {
		require.InEpsilon(t, service.S[j], ours.S[j], 1e-5)
		dot := 0.0
		for i := range 34 {
			dot += float64(service.V.Data[i*33+j]) * float64(ours.V.Data[i*33+j])
		}
		require.InDelta(t, 1, math.Abs(dot), 1e-4, "component %d", j)
	}
}

// P6: a feature twice makes the matrix singular; nothing may become NaN.
func TestADuplicatedColumnGivesNoNaN(t *testing.T) {
	rows := random(200, 4, 1)
	for i := range rows {
		rows[i] = append(rows[i], rows[i][2])
	}
	m, _ := train(t, params(5, 5), map[string]table{"train": rows})
	for _, x := range append(append(m.S, m.V.Data...), m.Mean...) {
		require.False(t, math.IsNaN(float64(x)))
	}
	require.InDelta(t, 0, m.S[0], 1e-6)
}

func random(n, d int, seed uint64) (rows table) {
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		row := make([]float32, d)
		for j := range row {
			row[j] = float32(r.NormFloat64() * float64(j+1))
		}
		rows = append(rows, row)
	}
	return rows
}

// Data far from zero: the scatter would be lost to cancellation without a pilot.
func TestALargeMeanCostsNoPrecision(t *testing.T) {
	near, far := random(1000, 3, 2), table{}
	for _, row := range near {
		// Whole numbers, so that moving them is exact in float32.
		moved := make([]float32, len(row))
		for j := range row {
			row[j] = float32(math.Round(float64(row[j]) * 100))
			moved[j] = row[j] + 1<<22
		}
		far = append(far, moved)
	}
	want, _ := train(t, params(3, 3), map[string]table{"train": near})
	got, _ := train(t, params(3, 3), map[string]table{"train": far})
	for j := range want.S {
		require.InEpsilon(t, want.S[j], got.S[j], 1e-7)
	}
}

// The same model however the rows are cut into batches; and exactly what an SVD of the data gives.
func TestTheModelIsThatOfAnSVDWhateverTheBatchSize(t *testing.T) {
	rows := random(333, 6, 3)
	for _, subtract := range []bool{true, false} {
		data := mat.NewDense(len(rows), 6, nil)
		for i, row := range rows {
			for j, x := range row {
				data.Set(i, j, float64(x))
			}
		}
		if subtract {
			for j := range 6 {
				mean := mat.Sum(data.ColView(j)) / float64(len(rows))
				for i := range rows {
					data.Set(i, j, data.At(i, j)-mean)
				}
			}
		}
		var svd mat.SVD
		require.True(t, svd.Factorize(data, mat.SVDThin))
		want := svd.Values(nil)
		for _, size := range []int{1, 7, 128, 129, 333, 1000} {
			t.Run(fmt.Sprintf("batches of %d, subtract_mean=%v", size, subtract), func(t *testing.T) {
				p := params(6, 4)
				p.MiniBatchSize, p.SubtractMean = size, subtract
				m, _ := train(t, p, map[string]table{"train": rows})
				require.Equal(t, subtract, m.Mean != nil)
				for j := range 4 {
					require.InEpsilon(t, want[3-j], m.S[j], 1e-6)
				}
			})
		}
	}
}

func TestTheTestChannelIsScoredByReconstruction(t *testing.T) {
	// Along the first axis only; the test row is 3 off in the second.
	rows := table{{1, 5}, {-1, 5}, {2, 5}, {-2, 5}}
	_, log := train(t, params(2, 1), map[string]table{"train": rows, "test": {{1, 8}}})
	require.InDelta(t, 9.0/2, metric(t, log, "test mse <loss>"), 1e-6)
	require.InDelta(t, 1, metric(t, log, "train explained_variance <score>"), 1e-9)
}

func TestAStopWhileTheTestChannelIsScoredCostsNoModel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	rows := random(100, 3, 5).encode(t)
	job := &algospec.Job{Model: algospec.Dir(t.TempDir()), Channels: map[string]*channel.Channel{
		"train": {Name: "train", Source: channel.Memory(rows)},
		"test":  {Name: "test", Source: stopping{channel.Memory(rows), cancel}},
	}}
	require.ErrorIs(t, pca.Train(ctx, job, params(3, 2)), algospec.ErrStopped)
	require.FileExists(t, filepath.Join(string(job.Model), pca.ModelFile))
}

// stopping is a Source that stops the job when it is opened.
type stopping struct {
	channel.Source
	cancel context.CancelCauseFunc
}

func (s stopping) Open(ctx context.Context, epoch int) (io.ReadCloser, error) {
	s.cancel(algospec.ErrStopped)
	return s.Source.Open(ctx, epoch)
}

// The lines of the original's log of 2021, in order (golden sagemaker-models, logs/pca_2021.txt).
func TestTheLogHasTheOriginalsLines(t *testing.T) {
	_, log := train(t, params(6, 2), map[string]table{"train": random(1100, 6, 4)})
	const prefix, number = `\[\d\d/\d\d/\d{4} \d\d:\d\d:\d\d INFO \d+\] `, `[0-9.e+-]+`
	var at int
	for _, line := range []string{
		`Docker entrypoint called with argument\(s\): train`,
		prefix + `Reading default configuration from .*: \{.*'algorithm_mode': 'regular', 'epochs': '1', .*\}`,
		prefix + `Merging with provided configuration from /opt/ml/input/config/hyperparameters.json: \{.*\}`,
		prefix + `Final configuration: \{.*\}`,
		`Process \d+ is a worker\.`,
		prefix + `Using default worker\.`,
		prefix + `Checkpoint loading and saving are disabled\.`,
		prefix + `Create Store: local`,
		prefix + `Number of GPUs being used: 0`,
		prefix + `The default executor is <PCAExecutor on cpu\(0\)>\.`,
		prefix + `6 feature\(s\) found in 'data'\.`,
		prefix + `<PCAExecutor on cpu\(0\)> is assigned to batch slice from 0 to 499\.`,
		`#metrics \{"StartTime": ` + number + `, "EndTime": ` + number + `, "Dimensions": \{"Algorithm": "PCA", "Host": "algo-1", "Operation": "training"\}, "Metrics": \{"initialize.time": \{"sum": ` + number + `, "count": 1, "min": ` + number + `, "max": ` + number + `\}\}\}`,
		`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] \[tensorio\] \[info\] epoch_stats=\{"data_pipeline": "/opt/ml/input/data/train", "epoch": 0, "duration": \d+, "num_examples": 3, "num_bytes": 52800\}`,
		`#metrics .*"update.time": .*`,
		prefix + `#progress_metric: host=algo-1, completed 100\.0 % of epochs`,
		`#metrics .*"epoch": 0, "Meta": "training_data_iter"\}.*"Total Records Seen": \{"sum": 1100, "count": 1, "min": 1100, "max": 1100\}.*`,
		prefix + `#throughput_metric: host=algo-1, train throughput=` + number + ` records/second`,
		`#metrics .*"finalize.time": .*`,
		`#metrics .*"model.serialize.time": .*`,
		prefix + `Test data is not provided\.`,
		`#metrics .*"setuptime": .*"totaltime": .*`,
	} {
		found := regexp.MustCompile(`(?m)^` + line + `$`).FindStringIndex(log[at:])
		require.NotNil(t, found, "no line %s in the rest of the log:\n%s", line, log[at:])
		at += found[1]
	}
}
