package platform

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
)

// hostsVariable tells processes and goroutines that are hosts of one job where their peers are: pairs
// of name and address, which has a port where the machine has no more than one loopback address.
const hostsVariable = "ALGOSPEC_HOSTS"

// assignAddresses gives the hosts addresses of this machine. On Linux each has its own, any of
// 127.0.0.0/8, so that all hosts can listen on the same port; elsewhere they have a port each. They are none that
// the members had before.
func assignAddresses(members []member) error {
	if runtime.GOOS != "linux" {
		return assignPorts(members)
	}
	// Jobs that run at the same time, of several platforms even, hardly meet.
	network := newNetwork(rand.N(networks), members)
	for i := range members {
		members[i].address = loopbackAddress(network, i)
	}
	return nil
}

// newNetwork returns the network that was drawn, or another one where the members are in that.
func newNetwork(drawn int, members []member) int {
	if members[0].address == loopbackAddress(drawn, 0) {
		return (drawn + 1) % networks
	}
	return drawn
}

// networks are those of 256 addresses from 127.1.0.0 on.
const networks = 0xfe00

// loopbackAddress returns a host's address in one of the networks: maxHosts are fewer than 255.
func loopbackAddress(network, host int) string {
	address := 1<<16 + network<<8 + host + 1
	return fmt.Sprintf("127.%d.%d.%d", address>>16&0xff, address>>8&0xff, address&0xff)
}

func assignPorts(members []member) error {
	for i := range members {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close() // once all have one
		members[i].address = listener.Addr().String()
	}
	return nil
}

// hostsValue is the value of hostsVariable.
func hostsValue(members []member) string {
	var pairs []string
	for _, m := range members {
		pairs = append(pairs, m.name+"="+m.address)
	}
	return strings.Join(pairs, ",")
}

// hostsFile is the machine's /etc/hosts with the members in it, which come first and so count.
func hostsFile(members []member, machine []byte) []byte {
	var text []byte
	for _, m := range members {
		if !strings.Contains(m.address, ":") {
			text = fmt.Appendf(text, "%s %s\n", m.address, m.name)
		}
	}
	return append(text, machine...)
}
