package algorithms

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/hyperparams"
)

// A Report prints the log lines of the built-in algorithms. Tuning jobs and dashboards scrape
// them, so their wording is an interface (builtin-algorithms, 1.7). It is not safe for concurrent
// use.
type Report struct {
	Algorithm string // the dimension Algorithm of #metrics lines, such as "PCA"
	Host      string

	println func(line string)
	began   time.Time
	final   hyperparams.Map
}

// NewReport returns a Report to the job's Stdout. It prints what a run begins with: the defaults,
// the job's own hyperparameters, and both together.
func NewReport(job *algospec.Job, algorithm string, defaults hyperparams.Map) *Report {
	r := &Report{Algorithm: algorithm, Host: job.Host, println: job.Println, began: time.Now()}
	if r.Host == "" {
		r.Host = "algo-1"
	}
	final := hyperparams.Map{}
	maps.Copy(final, defaults)
	maps.Copy(final, job.HyperParameters)
	r.final = final
	r.println("Docker entrypoint called with argument(s): train")
	r.Infof("Reading default configuration from %s: %s", algorithm, pythonMap(defaults))
	r.Infof("Merging with provided configuration from /opt/ml/input/config/hyperparameters.json: %s", pythonMap(job.HyperParameters))
	r.Infof("Final configuration: %s", pythonMap(final))
	r.println(fmt.Sprintf("Process %d is a worker.", os.Getpid()))
	r.Infof("Using default worker.")
	r.Infof("Checkpoint loading and saving are %s.", map[bool]string{true: "disabled", false: "enabled"}[job.CheckpointDir == ""])
	return r
}

// pythonMap prints a map as Python prints a dict.
func pythonMap(m hyperparams.Map) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		items = append(items, pythonString(name)+": "+pythonString(m[name]))
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// pythonString quotes s so that it stays on its line, whatever the user put into it.
func pythonString(s string) string {
	quoted := strconv.Quote(s)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(quoted, "'", `\'`) + "'"
}

// Infof prints a line of level INFO.
func (r *Report) Infof(format string, args ...any) { r.log("INFO", format, args) }

// Warnf prints a line of level WARNING.
func (r *Report) Warnf(format string, args ...any) { r.log("WARNING", format, args) }

func (r *Report) log(level, format string, args []any) {
	r.println(fmt.Sprintf("[%s %s %d] %s", time.Now().Format("01/02/2006 15:04:05"), level, os.Getpid(), fmt.Sprintf(format, args...)))
}

// Quality prints a #quality_metric line. Series is what the value is of, such as "test mse"; kind
// is "loss" or "score". A value that is no number is a warning: platforms cannot scrape it.
func (r *Report) Quality(series, kind string, value float64) {
	if !finite(value) {
		r.Warnf("%s is %v", series, value)
		return
	}
	r.Infof("#quality_metric: host=%s, %s <%s>=%s", r.Host, series, kind, strconv.FormatFloat(value, 'g', -1, 64))
}

// Progress prints a #progress_metric line: so many of the configured epochs are done.
func (r *Report) Progress(done, epochs int) {
	percent := strconv.FormatFloat(100*float64(done)/float64(epochs), 'f', 1, 64)
	r.Infof("#progress_metric: host=%s, completed %s %% of epochs", r.Host, percent)
}

// A Pass counts one pass over a channel.
type Pass struct {
	Began            time.Time
	Records, Batches int64
	Bytes            int64 // of the stream
	Before           int64 // of the Records, those that an earlier run has read, from whose snapshot this one goes on
}

// Add counts a batch.
func (p *Pass) Add(b *Batch) {
	p.Records += int64(b.Rows())
	p.Batches++
	p.Bytes += b.Bytes
}

// Pass prints what the pass number epoch over a training channel was: the lines epoch_stats,
// update.time, progress, record counts and throughput. It was pass epoch of epochs.
func (r *Report) Pass(channel string, p Pass, epoch, epochs int) {
	took := time.Since(p.Began)
	r.EpochStats(channel, p, epoch)
	r.Metrics(p.Began, Dimensions{}, map[string]float64{"epochs": float64(epochs), "update.time": milliseconds(took)})
	r.Progress(epoch+1, epochs)
	var counts Counts
	counts.Add(p)
	r.Counts(Dimensions{Epoch: &epoch, Meta: "training_data_iter"}, counts, p)
	r.Throughput(p)
}

// Timing prints a #metrics line with the milliseconds since began.
func (r *Report) Timing(name string, began time.Time) {
	r.Metrics(began, Dimensions{}, map[string]float64{name: milliseconds(time.Since(began))})
}

// Done prints how long the whole run took.
func (r *Report) Done() {
	r.Metrics(r.began, Dimensions{}, map[string]float64{"totaltime": milliseconds(time.Since(r.began))})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Dimensions are the optional dimensions of a #metrics line.
type Dimensions struct {
	Epoch *int   `json:"epoch,omitempty"`
	Model *int   `json:"model,omitempty"` // of several that are trained side by side
	Meta  string `json:"Meta,omitempty"`
}

// Metrics prints a #metrics line of single values, from began to now, without those that are NaN or
// infinite.
func (r *Report) Metrics(began time.Time, d Dimensions, values map[string]float64) {
	type metric struct {
		Sum   float64 `json:"sum"`
		Count int     `json:"count"`
		Min   float64 `json:"min"`
		Max   float64 `json:"max"`
	}
	type dimensions struct {
		Algorithm, Host, Operation string
		Dimensions
	}
	metrics := make(map[string]metric, len(values))
	for name, x := range values {
		if finite(x) {
			metrics[name] = metric{x, 1, x, x}
		}
	}
	r.println("#metrics " + PythonJSON(struct {
		StartTime, EndTime float64
		Dimensions         dimensions
		Metrics            map[string]metric
	}{unixSeconds(began), unixSeconds(time.Now()), dimensions{r.Algorithm, r.Host, "training", d}, metrics}))
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func unixSeconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// PythonJSON returns v's JSON with a blank after each comma and colon, as Python's encoder puts
// them and as people's regular expressions expect them.
func PythonJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own structs of numbers and strings
	}
	var b strings.Builder
	quoted := false
	for i, c := range text {
		if c == '"' && (i == 0 || text[i-1] != '\\') {
			quoted = !quoted
		}
		b.WriteByte(c)
		if !quoted && (c == ',' || c == ':') {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
