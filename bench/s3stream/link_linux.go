package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func init() { children["link"] = link }

// The two ends of a link.
const (
	nearAddress = "10.77.0.2"
	farAddress  = "10.77.0.1"
	linkDevice  = "link0"
)

// link joins two network namespaces until it is killed: FAR NEAR RTT BITS. What
// far sends goes by BITS a second at most, and each direction takes half of
// RTT. It does what `tc qdisc add … netem delay … rate … limit …` does, for
// kernels without it: packets wait in this process, as large as TCP makes them
// (64 KiB), which is cheap. Those that would wait for the line for longer than
// loseAfter are lost.
func link(ctx context.Context, args []string) error {
	rtt, err := time.ParseDuration(args[2])
	bits, err2 := strconv.ParseFloat(args[3], 64)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	far, err := openEnd(args[0], farAddress)
	if err != nil {
		return err
	}
	near, err := openEnd(args[1], nearAddress)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	ended := make(chan error)
	go func() { ended <- (&line{delay: rtt / 2, rate: bits / 8}).carry(far, near) }()
	go func() { ended <- (&line{delay: rtt / 2, rate: bits / 8}).carry(near, far) }()
	return <-ended
}

// openEnd makes a device in a namespace, and gives it an address.
func openEnd(namespace, address string) (device int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends in the other namespace
		device, err = openDevice(namespace)
	}()
	<-done
	if err != nil {
		return 0, fmt.Errorf("namespace %s: %w", namespace, err)
	}
	for _, args := range [][]string{
		{"addr", "add", address + "/30", "dev", linkDevice},
		{"link", "set", linkDevice, "mtu", "1500", "txqueuelen", "100000", "up"},
	} {
		if out, err := exec.Command("ip", append([]string{"-n", namespace}, args...)...).CombinedOutput(); err != nil {
			return 0, fmt.Errorf("namespace %s: %w: %s", namespace, err, out)
		}
	}
	return device, nil
}

func openDevice(namespace string) (int, error) {
	ns, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return 0, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return 0, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	request, err := unix.NewIfreq(linkDevice)
	if err != nil {
		return 0, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	return fd, errors.Join(
		unix.IoctlIfreq(fd, unix.TUNSETIFF, request),
		unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4))
}

// A line carries packets one way.
type line struct {
	delay time.Duration
	rate  float64 // bytes a second
}

// A packet is bytes, and when they arrive.
type packet struct {
	bytes []byte
	due   time.Time
}

const (
	loseAfter   = 2 * time.Second
	linePackets = 1 << 16 // under way, at most
)

func (l *line) carry(from, to int) error {
	underWay := make(chan packet, linePackets)
	spare := make(chan []byte, linePackets)
	failed := make(chan error, 1)
	go func() { failed <- arrive(underWay, spare, to) }()
	var free time.Time // when the line has sent what is before
	for {
		var buffer []byte
		select {
		case buffer = <-spare:
		default:
			buffer = make([]byte, 66<<10)
		}
		n, err := unix.Read(from, buffer[:cap(buffer)])
		if err != nil {
			return err
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		if free.Sub(now) > loseAfter {
			spare <- buffer
			continue
		}
		free = free.Add(time.Duration(float64(n) / l.rate * 1e9))
		select {
		case underWay <- packet{buffer[:n], free.Add(l.delay)}:
		case err := <-failed:
			return err
		default:
		}
	}
}

func arrive(packets <-chan packet, spare chan<- []byte, to int) error {
	for p := range packets {
		for wait := time.Until(p.due); wait > 0; wait = time.Until(p.due) {
			pause := unix.NsecToTimespec(int64(wait))
			unix.Nanosleep(&pause, nil) // a Timer is a millisecond late
		}
		if _, err := unix.Write(to, p.bytes); err != nil && err != unix.EINVAL && err != unix.EIO {
			return err
		}
		select {
		case spare <- p.bytes:
		default:
		}
	}
	return nil
}
