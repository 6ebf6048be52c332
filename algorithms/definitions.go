package algorithms

import (
	"regexp"
	"strings"

	"github.com/algospec/algospec"
)

// Definitions returns the definitions of what a Report prints: its progress, its throughput, and the
// values of Quality, such as "test msd <loss>", whose name is test:msd.
func Definitions(qualities ...string) []algospec.MetricDefinition {
	definitions := []algospec.MetricDefinition{
		algospec.ProgressDefinition,
		{Name: "train:throughput", Regex: `#throughput_metric: host=\S+, train throughput=(\S+) records/second`},
	}
	for _, quality := range qualities {
		series, _, _ := strings.Cut(quality, " <")
		definitions = append(definitions, algospec.MetricDefinition{
			Name:  strings.Replace(series, " ", ":", 1),
			Regex: `#quality_metric: host=\S+, ` + regexp.QuoteMeta(quality) + `=(\S+)`,
		})
	}
	return definitions
}
