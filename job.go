package algospec

import (
	"io"
	"maps"
	"slices"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/hyperparams"
)

// A Job is what one host knows of its training job. Main and Run make it from the platform's
// files; a test makes it by hand and calls its train function:
//
//	job := &algospec.Job{
//		Channels: map[string]*channel.Channel{"train": {Name: "train", Source: channel.Memory(data)}},
//		Model:    algospec.Dir(t.TempDir()),
//	}
type Job struct {
	Name            string                      // of the training job; "" when the platform gave none
	Host            string                      // this host, such as algo-1
	HyperParameters hyperparams.Map             // as the platform gave them
	Channels        map[string]*channel.Channel // by name
	Cluster         cluster.Cluster             // the hosts; the zero value is one
	Model           Dir                         // becomes model.tar.gz
	Output          Dir                         // becomes output.tar.gz
	Env             func(key string) string     // the environment; nil is one without variables
	Stdout          io.Writer                   // where Println prints; nil discards
}

// Getenv returns a variable of the environment, "" where it is not set.
func (j *Job) Getenv(key string) string {
	if j.Env == nil {
		return ""
	}
	return j.Env(key)
}

// Println prints one line to the log, from which the platform scrapes metrics.
func (j *Job) Println(line string) {
	if j.Stdout != nil {
		io.WriteString(j.Stdout, line+"\n")
	}
}

// Channel returns the named channel. Where the job has none of that name, opening the channel
// fails and says which ones there are.
func (j *Job) Channel(name string) *channel.Channel {
	if c, ok := j.Channels[name]; ok {
		return c
	}
	return &channel.Channel{Name: name, Source: channel.Absent(slices.Sorted(maps.Keys(j.Channels)))}
}
