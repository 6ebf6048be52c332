package algorithms

import (
	"fmt"
	"time"
)

// Counts are what has been read of a training channel, in all its passes.
type Counts struct {
	Records, Batches       int64 // of all passes
	MaxRecords, MaxBatches int64 // of the longest pass
	Passes                 int64 // that are over
}

// Add counts a pass.
func (c *Counts) Add(p Pass) {
	c.Records += p.Records
	c.Batches += p.Batches
	c.MaxRecords = max(c.MaxRecords, p.Records)
	c.MaxBatches = max(c.MaxBatches, p.Batches)
	c.Passes++
}

// SettingUp prints the line of the final hyperparameters that some originals print once more.
func (r *Report) SettingUp() { r.Infof("Setting up with params: %s", pythonMap(r.final)) }

// EpochStats prints the line epoch_stats of a pass over a channel.
func (r *Report) EpochStats(channel string, p Pass, epoch int) {
	now := time.Now()
	r.println(fmt.Sprintf("[%s] [tensorio] [info] epoch_stats=%s", now.Format("2006-01-02 15:04:05.000"), PythonJSON(struct {
		DataPipeline string `json:"data_pipeline"`
		Epoch        int    `json:"epoch"`
		Duration     int64  `json:"duration"` // ms
		NumExamples  int64  `json:"num_examples"`
		NumBytes     int64  `json:"num_bytes"`
	}{"/opt/ml/input/data/" + channel, epoch, now.Sub(p.Began).Milliseconds(), p.Batches, p.Bytes})))
}

// Counts prints the #metrics line of what has been read of a channel; last is its last pass, which is in c.
func (r *Report) Counts(d Dimensions, c Counts, last Pass) {
	r.Metrics(last.Began, d, map[string]float64{
		"Total Records Seen":                 float64(c.Records),
		"Total Batches Seen":                 float64(c.Batches),
		"Max Records Seen Between Resets":    float64(c.MaxRecords),
		"Max Batches Seen Between Resets":    float64(c.MaxBatches),
		"Reset Count":                        float64(c.Passes),
		"Number of Records Since Last Reset": float64(last.Records),
		"Number of Batches Since Last Reset": float64(last.Batches),
	})
}

// Throughput prints the #throughput_metric line of a pass.
func (r *Report) Throughput(p Pass) {
	r.Infof("#throughput_metric: host=%s, train throughput=%v records/second", r.Host, float64(p.Records-p.Before)/time.Since(p.Began).Seconds())
}
