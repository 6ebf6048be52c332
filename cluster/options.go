package cluster

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"
)

// Options are how hosts find and watch each other. The zero value is every default; all hosts must
// have the same Heartbeat and Silence.
type Options struct {
	Job       string            // hosts that say another one are refused
	Attempt   string            // of the job, likewise
	Addresses map[string]string // of hosts on this machine, as "address" or "address:port"; the others are resolved by name
	Port      int               // where the leader listens, and the others where that is free; 0 means 7777

	Secret string      // without it hosts are refused; "" is for networks without strangers
	TLS    *tls.Config // of connections, which are encrypted then; its certificates serve both ends. ServerName "" means the host's. nil means plain TCP

	Rendezvous time.Duration // until when all hosts must have come; 0 means 15 minutes
	Reminder   time.Duration // between log lines about missing hosts; 0 means 30 s
	Heartbeat  time.Duration // between signs of life; 0 means 2 s
	Silence    time.Duration // after which a host is lost; 0 means 10 s

	Logger *slog.Logger // told who is missing, in the goroutine that waits; nil discards
}

func (o Options) withDefaults() Options {
	o.Port = cmp.Or(o.Port, 7777)
	o.Rendezvous = cmp.Or(o.Rendezvous, 15*time.Minute)
	o.Reminder = cmp.Or(o.Reminder, 30*time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, 2*time.Second)
	o.Silence = cmp.Or(o.Silence, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// address returns where a host listens: with a port, and by name where no address is known.
func (o Options) address(host string) string {
	address := cmp.Or(o.Addresses[host], host)
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, strconv.Itoa(o.Port))
}

// ParseAddresses reads Options.Addresses from text such as
// "algo-1=127.83.12.1,algo-2=127.0.0.1:40001". Empty text is none.
func ParseAddresses(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	addresses := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		host, address, ok := strings.Cut(item, "=")
		switch {
		case !ok || host == "" || address == "":
			return nil, fmt.Errorf("cluster: addresses: %.100q is not host=address", item)
		case addresses[host] != "":
			return nil, fmt.Errorf("cluster: addresses: host %.100q is there twice", host)
		}
		addresses[host] = address
	}
	return addresses, nil
}
