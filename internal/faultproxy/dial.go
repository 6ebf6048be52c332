package faultproxy

import (
	"context"
	"net"
	"slices"
)

// DialContext is for the http.Transport of the client: names do not always resolve.
func (p *Proxy) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	random := p.draw("dial")
	if slices.Contains(p.opts.Faults, NoSuchHost) && random.Float64() < p.opts.Rate {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		p.record(Entry{Path: addr, Fault: NoSuchHost})
		lookup := &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		if random.IntN(2) == 0 {
			lookup = &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: lookup}
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}
