package testenv

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Containers goes on where containers run: with podman or docker, or what ALGOSPEC_CONTAINER_RUNTIME
// names, and the flags of ALGOSPEC_CONTAINER_FLAGS. It tries one, once in a process. The command it
// returns comes with its flags. ALGOSPEC_REQUIRE calls it "containers".
func Containers(tb testing.TB) (command []string) {
	tb.Helper()
	command, err := runtime()
	if err != nil {
		absent(tb, "containers", "no containers: "+err.Error())
	}
	return command
}

var runtime = sync.OnceValues(func() ([]string, error) {
	candidates := [][]string{{"podman"}, {"docker"}}
	if named := strings.Fields(os.Getenv("ALGOSPEC_CONTAINER_RUNTIME")); len(named) > 0 {
		candidates = [][]string{named}
	}
	var problems []string
	for _, command := range candidates {
		err := try(command)
		if err == nil {
			return command, nil
		}
		problems = append(problems, err.Error())
	}
	return nil, fmt.Errorf("%s", strings.Join(problems, "; "))
})

// try runs a container of the smallest image.
func try(command []string) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "testenv")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := dir + "/nothing"
	if err := os.WriteFile(program+".go", []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		return err
	}
	if err := build(program, program+".go"); err != nil {
		return err
	}
	image := fmt.Sprintf("localhost/algospec-nothing:%d", os.Getpid())
	if err := load(command, image, ImageSpec{Programs: map[string]string{"/nothing": program}}); err != nil {
		return err
	}
	defer run(command, nil, "rmi", "--force", image)
	args := append([]string{"run", "--rm", "--network", "none"}, strings.Fields(os.Getenv("ALGOSPEC_CONTAINER_FLAGS"))...)
	return run(command, nil, append(args, image, "/nothing")...)
}

// run runs the container command.
func run(command []string, stdin []byte, args ...string) error {
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", strings.Join(command, " "), args[0], err, bytes.TrimSpace(out))
	}
	return nil
}
