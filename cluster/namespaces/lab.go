package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A lab is namespaces with a cable each to a switch, in a namespace too.
type lab struct{ name string }

const size = 4 // of a lab

func (l lab) host(rank int) string    { return fmt.Sprintf("%s-%d", l.name, rank+1) }
func (l lab) etc(rank int) string     { return "/etc/netns/" + l.host(rank) }
func (l lab) address(rank int) string { return fmt.Sprintf("10.77.0.%d", rank+1) }

// build makes the namespaces. The names of hosts do not resolve yet.
func (l lab) build() error {
	lines := []string{"netns add " + l.name, "-n " + l.name + " link add hub type bridge", "-n " + l.name + " link set hub up"}
	for rank := range size {
		ns := l.host(rank)
		lines = append(lines, "netns add "+ns,
			fmt.Sprintf("link add eth0 netns %s type veth peer name port%d netns %s", ns, rank, l.name),
			fmt.Sprintf("-n %s link set port%d master hub up", l.name, rank),
			fmt.Sprintf("-n %s address add %s/24 dev eth0", ns, l.address(rank)),
			"-n "+ns+" link set lo up", "-n "+ns+" link set eth0 up")
		if err := os.MkdirAll(l.etc(rank), 0o755); err != nil {
			return err
		}
		if err := l.resolve(rank, 0); err != nil {
			return err
		}
	}
	for _, line := range lines {
		if err := command("ip", strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

// resolve lets so many names resolve in a host's namespace. The file stays the same: it is mounted.
func (l lab) resolve(rank, n int) error {
	text := "127.0.0.1 localhost\n"
	for other, name := range names(n) {
		text += l.address(other) + " " + name + "\n"
	}
	return os.WriteFile(filepath.Join(l.etc(rank), "hosts"), []byte(text), 0o644)
}

// remove is what is left to do whatever has happened before.
func (l lab) remove() {
	for rank := range size {
		command("ip", "netns", "del", l.host(rank))
		os.RemoveAll(l.etc(rank))
	}
	command("ip", "netns", "del", l.name)
	os.Remove("/etc/netns") // where it is empty
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// cable plugs a host's cable in, or pulls it out.
func (l lab) cable(rank int, state string) error {
	return command("ip", "-n", l.name, "link", "set", fmt.Sprintf("port%d", rank), state)
}

// drop lets a host not get packets that match.
func (l lab) drop(rank int, match string) error {
	rules := "table inet faults { chain in { type filter hook input priority 0; iifname eth0 " + match + " drop; }; }"
	return command("ip", "netns", "exec", l.host(rank), "nft", rules)
}

// repair undoes drop and cable.
func (l lab) repair() error {
	for rank := range size {
		command("ip", "netns", "exec", l.host(rank), "nft", "flush", "ruleset")
		if err := l.cable(rank, "up"); err != nil {
			return err
		}
	}
	return nil
}

// A process is a member that runs.
type process struct {
	cmd   *exec.Cmd
	log   bytes.Buffer // stderr
	lines chan string  // of stdout; closed at its end
}

func (l lab) start(m member) (*process, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command("ip", "netns", "exec", l.host(m.Rank), self, "-member", string(text)), lines: make(chan string, 10)}
	p.cmd.Stderr = &p.log
	p.cmd.Env = append(os.Environ(), "GODEBUG=netdns=go", "GOTRACEBACK=all")
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p, nil
}

// line returns the next line that the process prints.
func (p *process) line(limit time.Duration) (string, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", fmt.Errorf("it ended without a word")
		}
		return line, nil
	case <-timer.C:
		p.cmd.Process.Signal(syscall.SIGCONT)
		p.cmd.Process.Signal(syscall.SIGQUIT) // tells where it hangs
		for range p.lines {
		}
		return "", fmt.Errorf("hangs: nothing for %v", limit)
	}
}

// end makes sure that the process is no more. Its log is complete afterwards.
func (p *process) end() {
	p.cmd.Process.Kill()
	for range p.lines {
	}
	p.cmd.Wait()
}

// leaves waits until the process has ended by itself.
func (p *process) leaves(limit time.Duration) error {
	if line, err := p.line(limit); err == nil {
		return fmt.Errorf("it says %q after its end", line)
	} else if strings.HasPrefix(err.Error(), "hangs") {
		return fmt.Errorf("in Close it %w", err)
	}
	return nil
}
