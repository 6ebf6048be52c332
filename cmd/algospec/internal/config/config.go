// Package config is the file that says what a platform on this machine can't know: what runs for an image, and
// which directories stand for file systems.
//
//	images:
//	  my-algorithm:                  # of any registry, with any tag; the more is named, the sooner it counts
//	    command: [python3, train.py]
//	    environment: {THREADS: "2"}
//	  registry.example/team/forest:2:
//	    image: localhost/forest      # what podman or docker runs instead
//	fileSystems:
//	  fs-0123456789abcdef0: /srv/data
//	credentials:                     # access key and secret key; with any, requests must be signed
//	  AKIDEXAMPLE: secret
//	region: eu-west-1
//	account: "123456789012"
//	jobs: 2
//	grace: 30s
//
// It is YAML, of which JSON is a part. Paths are relative to the file.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/algospec/algospec/cmd/algospec/internal/builtin"
	"github.com/algospec/algospec/platform"
	"github.com/algospec/algospec/platform/api"
)

// A Config is what the file says. The zero value knows the built-in algorithms.
type Config struct {
	Images      map[string]Algorithm
	FileSystems map[string]string `yaml:"fileSystems"` // directories by FileSystemId
	Credentials map[string]string // secret keys by access key
	Region      string
	Account     string
	Jobs        int           // that run at once
	Grace       time.Duration // between SIGTERM and SIGKILL
}

// An Algorithm is what runs for an image: a command, or an image of this machine.
type Algorithm struct {
	Command     []string
	Image       string
	Environment map[string]string
}

// limit is how long a file may be.
const limit = 1 << 20

// Read reads a file; without a path it returns the zero Config.
func Read(path string) (*Config, error) {
	c := new(Config)
	if path == "" {
		return c, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > limit:
		err = fmt.Errorf("longer than %d bytes", limit)
	default:
		err = c.parse(text, filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func (c *Config) parse(text []byte, dir string) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return plain(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	if err := c.validate(); err != nil {
		return err
	}
	return c.resolvePaths(dir)
}

// inType is how the YAML package names Go types, which say nothing to who writes the file.
var inType = regexp.MustCompile(` (in|into) (type )?\S*config\.\S+`)

func plain(err error) error {
	if types, ok := errors.AsType[*yaml.TypeError](err); ok {
		var problems []string
		for _, e := range types.Errors {
			problems = append(problems, inType.ReplaceAllString(e, ""))
		}
		return errors.New(strings.Join(problems, "; "))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
}

var (
	accountForm = regexp.MustCompile(`^[0-9]{12}$`)
	regionForm  = regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`)
)

func (c *Config) validate() error {
	for name, a := range c.Images {
		if (len(a.Command) == 0) == (a.Image == "") {
			return fmt.Errorf("images: %q: want one of command and image", name)
		}
		if len(a.Command) > 0 && a.Command[0] == "" {
			return fmt.Errorf("images: %q: command: the program has no name", name)
		}
	}
	for key, secret := range c.Credentials {
		if key == "" || secret == "" {
			return errors.New("credentials: an access key or its secret is empty")
		}
	}
	switch {
	case c.Account != "" && !accountForm.MatchString(c.Account):
		return fmt.Errorf("account: %q: want 12 digits, in quotes", c.Account)
	case c.Region != "" && !regionForm.MatchString(c.Region):
		return fmt.Errorf("region: %q: want one such as us-east-1", c.Region)
	case c.Jobs < 0:
		return fmt.Errorf("jobs: %d: want at least 1", c.Jobs)
	case c.Grace < 0:
		return fmt.Errorf("grace: %v: negative", c.Grace)
	}
	return nil
}

// resolvePaths makes relative paths those of the file's directory.
func (c *Config) resolvePaths(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, a := range c.Images {
		Absolute(a.Command, dir)
	}
	for id, path := range c.FileSystems {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
			c.FileSystems[id] = path
		}
		if info, err := os.Stat(path); err != nil {
			return fmt.Errorf("fileSystems: %s: %w", id, err)
		} else if !info.IsDir() {
			return fmt.Errorf("fileSystems: %s: %s is not a directory", id, path)
		}
	}
	return nil
}

// Absolute makes the words of a command that name files in dir absolute, as algorithms run elsewhere. A program without a
// slash stays one to look for on the PATH.
func Absolute(command []string, dir string) {
	for i, word := range command {
		if filepath.IsAbs(word) || i == 0 && !strings.ContainsRune(word, filepath.Separator) {
			continue
		}
		path := filepath.Join(dir, word)
		if info, err := os.Stat(path); i == 0 || err == nil && info.Mode().IsRegular() {
			command[i] = path
		}
	}
}

// Resolve finds what runs for an image: what the file says of it, a built-in algorithm, or the image itself where
// there is podman or docker.
func (c *Config) Resolve(image string) (api.Algorithm, error) {
	repository, _, _ := strings.Cut(image, "@")
	untagged := repository
	if i := strings.LastIndexByte(repository, ':'); i > strings.LastIndexByte(repository, '/') {
		untagged = repository[:i]
	}
	for _, name := range []string{image, repository, untagged, builtin.Name(image)} {
		if a, ok := c.Images[name]; ok {
			return api.Algorithm{Command: a.Command, Image: a.Image, Environment: a.Environment}, nil
		}
	}
	command, err := builtin.Command(image)
	if err != nil || command != nil {
		a := api.Algorithm{Command: command}
		for _, d := range builtin.Metrics(image) {
			a.Metrics = append(a.Metrics, platform.MetricDefinition(d))
		}
		return a, err
	}
	for _, engine := range []string{"podman", "docker"} {
		if _, err := exec.LookPath(engine); err == nil {
			return api.Algorithm{Image: image}, nil
		}
	}
	return api.Algorithm{}, fmt.Errorf("neither a built-in algorithm (%s) nor in a config file, and there is no podman or docker to run it",
		strings.Join(builtin.Names(), ", "))
}
