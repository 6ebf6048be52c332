package container

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Spec describes a container: one host of a training job.
type Spec struct {
	Name  string
	Image string

	// What runs (container contract, 1.1). Without both, the image's entry point gets the argument
	// "train", or, where it has none, the program "train" on the PATH runs.
	Entrypoint []string // instead of the image's
	Arguments  []string // instead of "train", and of the image's

	Env     map[string]string // further variables; the image's and HOME, HOSTNAME and the like are there
	Mounts  []Mount
	Network string // that the container joins, by name; "" means none, with the loopback interface only
	Alias   string // the container's name for the others on the network; "" means Name
	Labels  map[string]string

	Hostname string // what the program takes its own name to be; "" means the container's id

	// Stdout gets what the program writes to standard output and standard error, from one goroutine at
	// a time, in whole lines, of which one that is longer than 256 KiB is cut into several. Lines of
	// one of the two are in order. nil discards. A writer that blocks makes the program wait, and Remove.
	Stdout io.Writer

	Memory int64   // bytes, of which none may be swapped out; 0 means no limit
	CPUs   float64 // processors; 0 means no limit
}

// A Mount shows a file or directory of this machine in the container: itself, so that pipes connect,
// with the file systems that are mounted below it, and those that will be if its file system is
// shared (mount_namespaces(7)).
type Mount struct {
	Source   string // an absolute path
	Target   string // an absolute path in the container
	ReadOnly bool
}

// name is what podman and docker both take for containers, networks and aliases.
var name = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$`)

func validName(s string) error {
	if !name.MatchString(s) {
		return fmt.Errorf("name %.130q: want 1 to 128 letters, digits, and inner _ . -", s)
	}
	return nil
}

// validate refuses what the command line would take for something else, or fail on without saying why.
func (s *Spec) validate() error {
	for _, name := range []string{s.Name, s.Alias, s.Network, s.Hostname} {
		if name == "" && s.Name != "" {
			continue
		}
		if err := validName(name); err != nil {
			return err
		}
	}
	if s.Image == "" || s.Image[0] == '-' {
		return fmt.Errorf("image %q: not a name of an image", s.Image)
	}
	if len(s.Entrypoint) > 0 && s.Entrypoint[0] == "" {
		return errors.New("the entry point is an empty word")
	}
	for key := range s.Env {
		if key == "" || strings.ContainsRune(key, '=') {
			return fmt.Errorf("environment variable %q: not a name", key)
		}
	}
	for _, m := range s.Mounts {
		if !filepath.IsAbs(m.Source) || !path.IsAbs(m.Target) {
			return fmt.Errorf("mount of %q on %q: want absolute paths", m.Source, m.Target)
		}
	}
	if i := slices.IndexFunc(s.words(), func(word string) bool { return strings.ContainsRune(word, 0) }); i >= 0 {
		return fmt.Errorf("%q holds a NUL byte", s.words()[i])
	}
	if s.Memory < 0 || s.CPUs < 0 {
		return errors.New("a limit is negative")
	}
	return nil
}

// words returns what reaches the command line as it is.
func (s *Spec) words() []string {
	words := slices.Concat([]string{s.Image}, s.Entrypoint, s.Arguments, pairs("", s.Env), pairs("", s.Labels))
	for _, m := range s.Mounts {
		words = append(words, m.Source, m.Target)
	}
	return words
}

// flags returns the flags of create, less those of the runtime.
func (s *Spec) flags() ([]string, error) {
	flags := []string{
		"--name", s.Name,
		"--pull", "never", // it has been
		"--log-driver", "none", // we are attached
		"--security-opt", "label=disable", // SELinux would hide the mounts
	}
	if s.Network == "" {
		flags = append(flags, "--network", "none")
	} else {
		// A peer that is not there yet is asked for outside, too, and offline nobody answers there.
		flags = append(flags, "--network", s.Network, "--dns-option", "timeout:1")
	}
	if s.Network != "" && s.Alias != "" {
		flags = append(flags, "--network-alias", s.Alias)
	}
	if s.Hostname != "" {
		flags = append(flags, "--hostname", s.Hostname)
	}
	if s.Memory > 0 {
		limit := strconv.FormatInt(s.Memory, 10) + "b"
		flags = append(flags, "--memory", limit, "--memory-swap", limit)
	}
	if s.CPUs > 0 {
		flags = append(flags, "--cpus", strconv.FormatFloat(s.CPUs, 'f', -1, 64))
	}
	flags = append(flags, pairs("--env", s.Env)...)
	for _, m := range s.Mounts {
		flag, err := m.flag()
		if err != nil {
			return nil, err
		}
		flags = append(flags, "--mount", flag)
	}
	if len(s.Entrypoint) > 0 {
		flags = append(flags, "--entrypoint", s.Entrypoint[0])
	}
	return flags, nil
}

// arguments returns what stands after the image.
func (s *Spec) arguments() []string {
	switch {
	case len(s.Entrypoint) > 0:
		return append(s.Entrypoint[1:len(s.Entrypoint):len(s.Entrypoint)], s.Arguments...)
	case len(s.Arguments) > 0:
		return s.Arguments
	}
	return []string{"train"}
}

// flag returns the mount as --mount takes it: a record of CSV, as a path may hold commas.
func (m *Mount) flag() (string, error) {
	fields := []string{"type=bind", "source=" + m.Source, "target=" + m.Target}
	propagates, err := propagates(m.Source)
	if err != nil {
		return "", fmt.Errorf("mount of %q: %w", m.Source, err)
	}
	if propagates {
		fields = append(fields, "bind-propagation=rslave")
	}
	if m.ReadOnly {
		fields = append(fields, "readonly")
	}
	var record strings.Builder
	w := csv.NewWriter(&record)
	if err := w.Write(fields); err != nil {
		return "", err
	}
	w.Flush()
	return strings.TrimSuffix(record.String(), "\n"), w.Error()
}

// pairs returns the flag with key=value for each of them, in order.
func pairs(flag string, values map[string]string) (flags []string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if flag != "" {
			flags = append(flags, flag)
		}
		flags = append(flags, key+"="+values[key])
	}
	return flags
}
