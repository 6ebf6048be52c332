package algospec

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// A Metric is a value to be scraped from the log.
type Metric struct {
	Name  string
	Value float64
}

// Metrics prints the values in one line, such as
//
//	#metric: host=algo-1, epoch=3; train:loss=0.25;
//
// from which the platform scrapes them with the MetricDefinitions of the same names. Only the leader
// prints: the platform mixes what several hosts print. A value that is NaN or infinite cannot be
// scraped, and becomes a warning.
func (j *Job) Metrics(values ...Metric) {
	if !j.Cluster.Leader() {
		return
	}
	var line strings.Builder
	for _, m := range values {
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			j.Println("warning: metric " + metricName(m.Name) + " is " + strconv.FormatFloat(m.Value, 'g', -1, 64))
			continue
		}
		line.WriteString(" " + metricName(m.Name) + "=" + strconv.FormatFloat(m.Value, 'g', -1, 64) + ";")
	}
	if line.Len() > 0 {
		j.Println("#metric: host=" + j.host() + "," + line.String())
	}
}

// A MetricDefinition has a platform scrape a metric: the first group of Regex, which RE2 and Java read
// alike. Its JSON is that of CreateTrainingJob.
type MetricDefinition struct{ Name, Regex string }

// MetricDefinitions returns the definitions of what Metrics prints by these names.
func MetricDefinitions(names ...string) []MetricDefinition {
	definitions := make([]MetricDefinition, len(names))
	for i, name := range names {
		definitions[i] = MetricDefinition{name, `#metric: host=\S+,.* ` + regexp.QuoteMeta(metricName(name)) + `=([^;\s]+);`}
	}
	return definitions
}

// metricName returns the name as it is printed: what would end a name in the line is replaced.
func metricName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '=' || r == ';' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
}

// host returns the host's name as log lines have it.
func (j *Job) host() string {
	if j.Host == "" {
		return "algo-1"
	}
	return j.Host
}
