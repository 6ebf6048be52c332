package platform

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/algospec/algospec"
	"github.com/algospec/algospec/platform/s3stream"
)

// jobName is what the API allows (CreateTrainingJob, TrainingJobName).
var jobName = regexp.MustCompile(`^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$`)

const maxChannels = 20

// validate returns everything that is wrong with the description.
func (j *Job) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !jobName.MatchString(j.Name) {
		bad("job name %.70q: want 1 to 63 letters, digits and inner hyphens", j.Name)
	}
	j.validateAlgorithm(bad)
	j.validateHosts(bad)
	j.validateEnds(bad)
	if j.S3 == nil {
		bad("no S3 client")
	}
	if _, _, err := s3stream.ParseURI(j.OutputPath); err != nil {
		bad("output path %q: %w", j.OutputPath, err)
	}
	if len(j.Channels) > maxChannels {
		bad("%d channels; at most %d", len(j.Channels), maxChannels)
	}
	seen := map[string]bool{}
	for _, c := range j.Channels {
		if seen[c.Name] {
			bad("channel %s: twice", c.Name)
		}
		seen[c.Name] = true
		c.validate(func(format string, args ...any) {
			bad("channel %.70s: %w", c.Name, fmt.Errorf(format, args...))
		})
	}
	j.validateTree(bad)
	if _, err := compileMetrics(j.MetricDefinitions); err != nil {
		bad("%w", err)
	}
	if len(problems) > 0 {
		return algospec.ClientErrorf("platform: %w", errors.Join(problems...))
	}
	return nil
}

// validateAlgorithm reports what keeps the algorithm from being started.
func (j *Job) validateAlgorithm(bad func(format string, args ...any)) {
	given := 0
	for _, is := range []bool{len(j.Command) > 0, j.Image != "", j.Trainer != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		bad("want one of Command, Image and Trainer")
	}
	if j.Trainer != nil && len(j.Entrypoint)+len(j.Arguments) > 0 {
		bad("a Trainer has no entry point and no arguments")
	}
	for name, value := range j.Environment {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			bad("environment variable %.70q: want a name without '=', and no NUL bytes", name)
		}
	}
	if len(j.Command) > 0 {
		if _, err := exec.LookPath(j.argv()[0]); err != nil {
			bad("%w", err)
		}
	}
}

// validateEnds reports limits, checkpoints and outputs that make no sense.
func (j *Job) validateEnds(bad func(format string, args ...any)) {
	for what, d := range map[string]time.Duration{"MaxRuntime": j.MaxRuntime, "MaxWait": j.MaxWait, "Grace": j.Grace} {
		if d < 0 {
			bad("%s %v: negative", what, d)
		}
	}
	switch {
	case j.MaxWait > 0 && !j.Spot:
		bad("MaxWait: only with Spot")
	case j.MaxWait > 0 && j.MaxWait < j.MaxRuntime:
		bad("MaxWait %v: less than MaxRuntime %v", j.MaxWait, j.MaxRuntime)
	}
	if j.Retries < 0 {
		bad("%d retries", j.Retries)
	}
	if c := j.OutputCompression; c != "" && c != "GZIP" && c != "NONE" {
		bad("OutputCompression %.70q: want GZIP or NONE", c)
	}
	j.Checkpoints.validate(bad)
}

func (c Checkpoints) validate(bad func(format string, args ...any)) {
	if c.S3URI == "" {
		if c.LocalPath != "" {
			bad("checkpoints: a local path without an S3 URI")
		}
		return
	}
	if _, _, err := s3stream.ParseURI(c.S3URI); err != nil {
		bad("checkpoints: %q: %w", c.S3URI, err)
	}
	local := path.Clean(cmp.Or(c.LocalPath, base+"/checkpoints"))
	if !path.IsAbs(local) || local == "/" {
		bad("checkpoints: local path %.70q: want an absolute one", c.LocalPath)
	}
	if strings.HasPrefix(base, local+"/") { // it would be hidden
		bad("checkpoints: local path %.70q holds the platform's own", c.LocalPath)
	}
	for _, taken := range []string{base, base + "/input", base + "/model", base + "/output"} {
		if local == taken || taken != base && strings.HasPrefix(local, taken+"/") {
			bad("checkpoints: local path %.70q is the platform's own", c.LocalPath)
		}
	}
}

// validateTree reports directories of channels that stand where another channel's list, or its pipe
// of some epoch, is to appear.
func (j *Job) validateTree(bad func(format string, args ...any)) {
	pipes, lists := map[string]bool{}, map[string]bool{}
	for _, c := range j.Channels {
		c := c.withDefaults()
		pipes[c.Name] = c.InputMode == pipeMode
		lists[c.Name] = c.hasList()
	}
	for _, c := range j.Channels {
		if of, ok := strings.CutSuffix(c.Name, listSuffix); ok && lists[of] {
			bad("channel %s: has the name of the list of channel %s", c.Name, of)
		}
		i := strings.LastIndexByte(c.Name, '_')
		if pipes[c.Name] || i < 0 || !pipes[c.Name[:i]] {
			continue
		}
		if n, err := strconv.Atoi(c.Name[i+1:]); err == nil && strconv.Itoa(n) == c.Name[i+1:] {
			bad("channel %s: its directory has the name of a pipe of channel %s", c.Name, c.Name[:i])
		}
	}
}
