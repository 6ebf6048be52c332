package algospec

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/algospec/algospec/channel"
	"github.com/algospec/algospec/checkpoint"
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
	Stdout          io.Writer                   // where Println, Metrics and Progress print; nil discards
	CheckpointDir   Dir                         // where snapshots are kept; "" where the platform keeps none

	life *life // nil where nobody stops the job

	mu     sync.Mutex
	saves  []func(context.Context) error // see OnStop
	stores []*checkpoint.Store
	bar    string // on the terminal's last line
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
	if j.Stdout == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bar != "" {
		line = eraseLine + line
	}
	io.WriteString(j.Stdout, line+"\n"+j.bar)
}

// draw replaces the bar below the lines of the log; the last one stays as a line.
func (j *Job) draw(bar string, last bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bar = bar
	text := eraseLine + bar
	if last {
		j.bar = ""
		text += "\n"
	}
	io.WriteString(j.Stdout, text)
}

// close ends what the job has open.
func (j *Job) close() {
	for _, store := range j.stores {
		store.Close()
	}
	j.Cluster.Close()
}

// HostOutput returns where in Output the files of this host go: Output itself where there is one host,
// and a directory of the host's name where there are several, as the platform puts the files of all of them
// into one archive, where those of equal names would clash.
func (j *Job) HostOutput() Dir {
	if j.Cluster.Size() == 1 {
		return j.Output
	}
	return Dir(filepath.Join(string(j.Output), j.Host))
}

// Channel returns the named channel. Where the job has none of that name, opening the channel
// fails and says which ones there are.
func (j *Job) Channel(name string) *channel.Channel {
	if c, ok := j.Channels[name]; ok {
		return c
	}
	return &channel.Channel{Name: name, Source: channel.Absent(slices.Sorted(maps.Keys(j.Channels)))}
}
