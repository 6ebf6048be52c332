package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// LoadTLS returns an Options.TLS from PEM files: this host's certificate and key, and the authority that has
// signed those of all hosts, who all must show theirs. The name is what certificates are for; "" means the name
// of the host. With no file at all it returns nil.
func LoadTLS(certificate, key, authority, name string) (*tls.Config, error) {
	switch {
	case certificate == "" && key == "" && authority == "":
		return nil, nil
	case certificate == "" || key == "" || authority == "":
		return nil, errors.New("cluster: TLS: a certificate, its key and the authority's certificate are needed, and one of the files is not named")
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("cluster: TLS: %w", err)
	}
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, fmt.Errorf("cluster: TLS: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cluster: TLS: no certificate in %s", authority)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ServerName:   name,
		MinVersion:   tls.VersionTLS13,
	}, nil
}
