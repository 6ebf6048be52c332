// Package serve is the command "algospec platform": the training-job API, the page and an S3 server, for as long
// as it runs or for as long as a command of the user does.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/algospec/algospec/cmd/algospec/internal/config"
	"github.com/algospec/algospec/cmd/algospec/internal/console"
	"github.com/algospec/algospec/cmd/algospec/internal/home"
)

// Platform is the command line.
type Platform struct {
	Command []string `arg:"" optional:"" passthrough:"" help:"Run this command with the environment set, end with it, and exit with its status."`

	Dir      string        `placeholder:"DIR" help:"Keeps jobs, logs and S3 objects (the user's cache, algospec/platform)."`
	Listen   string        `placeholder:"HOST:PORT" help:"Where the API and the page are (127.0.0.1:8080, or a free port with a command). Port 0 is any free one."`
	S3       string        `name:"s3" default:"embedded" placeholder:"URL" help:"The S3 server: embedded, a URL, or aws for what the AWS configuration names (${default})."`
	S3Listen string        `name:"s3-listen" placeholder:"HOST:PORT" help:"Where the embedded S3 server is (the port after the API's). It lets everyone in, so only an address of this machine."`
	Public   bool          `help:"Let other machines in. Needs --token, or credentials in the configuration file."`
	Token    string        `env:"ALGOSPEC_TOKEN" help:"Whom the API lets in: the secret key of access key \"algospec\", and of the page's visitors."`
	MaxJobs  int           `name:"jobs" placeholder:"N" help:"How many jobs run at once, the others being Pending (4)."`
	Grace    time.Duration `placeholder:"TIME" help:"How long a job that is told to stop has before it is killed (2m)."`
	Config   string        `placeholder:"FILE" help:"What runs for images, file systems, credentials: YAML or JSON."`
	EnvFile  string        `placeholder:"FILE" help:"Write the environment to a file, too, which appears when all is ready."`
	PrintEnv bool          `help:"Print the environment of the platform that runs with this --dir, and end."`
}

// Help tells what the flags don't.
func (p *Platform) Help() string {
	return `The environment that it prints leads boto3, the AWS CLI and the SageMaker Python SDK to it, unchanged.

    algospec platform                          # in one terminal, until Ctrl-C; the page is at http://127.0.0.1:8080/
    eval "$(algospec platform --print-env)"    # in another one
    python train.py

    algospec platform -- python train.py       # or both in one

Images of the built-in algorithms (".../pca:1" of any registry) run as processes of this program. For other images
a configuration file has a command; without one, podman or docker runs them:

    images:
      my-algorithm: {command: [./train.sh], environment: {THREADS: "2"}}
    fileSystems: {fs-0123456789abcdef0: /srv/data}
    credentials: {AKIDEXAMPLE: secret}
    region: eu-west-1
    jobs: 2
    grace: 30s

Ctrl-C stops the jobs that run, and what they had saved is stored; a second one ends them at once. Jobs that wait run the
next time. The embedded S3 server asks for no credentials and stays on this machine, even with --public.`
}

// Validate checks what the types do not.
func (p *Platform) Validate() error {
	if p.MaxJobs < 0 {
		return fmt.Errorf("--jobs %d: want at least 1", p.MaxJobs)
	}
	if p.Grace < 0 {
		return fmt.Errorf("--grace %v: negative", p.Grace)
	}
	if p.S3Listen != "" && p.S3 != embedded {
		return errors.New("--s3-listen is for the embedded S3 server")
	}
	for flag, address := range map[string]string{"--listen": p.Listen, "--s3-listen": p.S3Listen} {
		if err := validAddress(address); err != nil {
			return fmt.Errorf("%s %q: %w", flag, address, err)
		}
	}
	return nil
}

func validAddress(address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n > 65535 {
		return errors.New("want HOST:PORT, such as 127.0.0.1:8080")
	}
	return nil
}

// Run carries out the command.
func (p *Platform) Run(ctx context.Context, streams console.Streams) error {
	if len(p.Command) > 0 && p.Command[0] == "--" {
		p.Command = p.Command[1:]
	}
	if p.Dir == "" {
		dir, err := home.Default()
		if err != nil {
			return err
		}
		p.Dir = dir
	}
	if p.PrintEnv {
		return p.printEnv(streams)
	}
	if len(p.Command) > 0 {
		if _, err := exec.LookPath(p.Command[0]); err != nil {
			return console.Usagef("%w", err)
		}
	}
	settings, err := config.Read(p.Config)
	if err != nil {
		return console.Usagef("%w", err)
	}
	p.complete(settings)
	if err := p.checkAccess(settings); err != nil {
		return err
	}
	s, err := p.start(ctx, settings, streams)
	if err != nil {
		return err
	}
	err = p.serve(ctx, s, streams)
	return errors.Join(err, s.close(streams))
}

// complete puts in what neither the flags nor the file say, and what the flags say over the file.
func (p *Platform) complete(settings *config.Config) {
	standard := "127.0.0.1:8080"
	if len(p.Command) > 0 { // several may run at a time
		standard = "127.0.0.1:0"
	}
	p.Listen = cmp.Or(p.Listen, standard)
	settings.Jobs = cmp.Or(p.MaxJobs, settings.Jobs)
	settings.Grace = cmp.Or(p.Grace, settings.Grace)
	if p.Token != "" && len(settings.Credentials) == 0 { // so that SDKs, which sign requests, are let in
		settings.Credentials = map[string]string{tokenKey: p.Token}
	}
}

// checkAccess refuses to let other machines in by mistake.
func (p *Platform) checkAccess(settings *config.Config) error {
	switch {
	case p.Public && len(settings.Credentials) == 0: // a token is credentials, too
		return console.Usagef("--public: needs --token, or credentials in the configuration file")
	case !p.Public && !ofThisMachine(p.Listen):
		return console.Usagef("--listen %s: other machines could reach it, which --public allows", p.Listen)
	case p.S3Listen != "" && !ofThisMachine(p.S3Listen):
		return console.Usagef("--s3-listen %s: the embedded S3 server asks for no credentials, and is for this machine only", p.S3Listen)
	}
	return nil
}

// ofThisMachine reports whether an address is one that only this machine reaches.
func ofThisMachine(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// tokenKey is the access key whose secret is the token.
const tokenKey = "algospec"

func (p *Platform) printEnv(streams console.Streams) error {
	environment, err := home.Running(p.Dir)
	if err != nil {
		return fmt.Errorf("%s: %w (\"algospec platform\" starts one)", p.Dir, err)
	}
	_, err = fmt.Fprint(streams.Out, environment.Exports())
	return err
}

// serve waits for the user's command to end, or else for an interrupt.
func (p *Platform) serve(ctx context.Context, s *stack, streams console.Streams) error {
	if p.EnvFile != "" {
		if err := home.WritePrivate(p.EnvFile, []byte(s.environment.Exports())); err != nil {
			return err
		}
		defer os.Remove(p.EnvFile)
	}
	if err := s.home.Publish(s.environment); err != nil {
		return err
	}
	if len(p.Command) > 0 {
		return p.runCommand(ctx, s.environment, streams)
	}
	if _, err := fmt.Fprint(streams.Out, s.environment.Exports()); err != nil {
		return err
	}
	fmt.Fprintf(streams.Err, "\npage  %s\ndata  %s\n\nOther terminals:  eval \"$(algospec platform%s --print-env)\"\nCtrl-C stops it.\n", s.pageURL, s.home.Dir, p.dirFlag())
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.broken:
		return err
	}
}

// dirFlag is how other commands name the directory.
func (p *Platform) dirFlag() string {
	if standard, err := home.Default(); err == nil && standard == p.Dir {
		return ""
	}
	return " --dir " + strconv.Quote(p.Dir)
}
