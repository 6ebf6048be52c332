package picture

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform"
)

// Curves gathers the values of a job's metrics for a picture of each. The zero value is ready. Its memory does not
// grow with the number of values: of many, some at equal distances are kept.
type Curves struct{ metrics []curve }

type curve struct {
	name  string
	hosts []*hostCurve
}

// A hostCurve is every stride-th value of a host, from the first on, and the last.
type hostCurve struct {
	host   string
	stride int
	seen   int
	kept   []float64
	last   float64
}

// mostKept is how many values of a host are kept at most; it is even.
const mostKept = 2000

// Add takes a value. One that is no finite number has no place in a curve.
func (c *Curves) Add(m platform.Metric) {
	if math.IsNaN(m.Value) || math.Abs(m.Value) > math.MaxFloat64/16 {
		return
	}
	i := slices.IndexFunc(c.metrics, func(o curve) bool { return o.name == m.Name })
	if i < 0 {
		i = len(c.metrics)
		c.metrics = append(c.metrics, curve{name: m.Name})
	}
	hosts := &c.metrics[i].hosts
	j := slices.IndexFunc(*hosts, func(h *hostCurve) bool { return h.host == m.Host })
	if j < 0 {
		if len(*hosts) == len(palette) {
			return
		}
		j = len(*hosts)
		*hosts = append(*hosts, &hostCurve{host: m.Host, stride: 1})
	}
	(*hosts)[j].add(m.Value)
}

func (h *hostCurve) add(value float64) {
	if h.seen%h.stride == 0 {
		h.kept = append(h.kept, value)
	}
	h.seen, h.last = h.seen+1, value
	if len(h.kept) > mostKept {
		for i := range mostKept/2 + 1 {
			h.kept[i] = h.kept[2*i]
		}
		h.kept, h.stride = h.kept[:mostKept/2+1], 2*h.stride
	}
}

// Pictures are the curves of metrics with several values: a host's first at 1, the second at 2, and so on, which are
// epochs where an algorithm tells of each. The progress, which says nothing afterwards, is left out.
func (c *Curves) Pictures() []algospec.Picture {
	var pictures []algospec.Picture
	taken := map[string]int{}
	for _, m := range c.metrics {
		name := fileName(m.name)
		if taken[name]++; taken[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, taken[name])
		}
		p := algospec.Picture{Name: name, Title: m.name, X: "value", Y: m.name}
		several := false
		for _, h := range m.hosts {
			s := h.series()
			if len(m.hosts) == 1 {
				s.Name = ""
			}
			p.Lines = append(p.Lines, s)
			several = several || h.seen > 1
		}
		if several && m.name != algospec.ProgressDefinition.Name {
			pictures = append(pictures, p)
		}
	}
	return pictures
}

func (h *hostCurve) series() algospec.Series {
	s := algospec.Series{Name: h.host, Y: slices.Clone(h.kept)}
	if h.stride == 1 {
		return s
	}
	for i := range s.Y {
		s.X = append(s.X, float64(i*h.stride+1))
	}
	if s.X[len(s.X)-1] < float64(h.seen) {
		s.X, s.Y = append(s.X, float64(h.seen)), append(s.Y, h.last)
	}
	return s
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// fileName is a picture's name made of a metric's.
func fileName(metric string) string {
	name := notInNames.ReplaceAllString("metric "+strings.ToLower(metric), "-")
	return strings.Trim(name[:min(len(name), 50)], "-")
}
