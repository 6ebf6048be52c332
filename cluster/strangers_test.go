package cluster_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/algospec/algospec/cluster"
	"github.com/algospec/algospec/cluster/clustertest"
)

// authority makes certificates.
type authority struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der := a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, a.key)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.write("ca", "CERTIFICATE", der)
	return a
}

func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "test"}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	require.NoError(a.t, err)
	return der
}

func (a *authority) write(name, kind string, der []byte) {
	require.NoError(a.t, os.WriteFile(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// config is that of a host whose certificate is for the names.
func (a *authority) config(names ...string) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	a.write("cert", "CERTIFICATE", a.sign(&x509.Certificate{DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature}, key))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	a.write("key", "PRIVATE KEY", der)
	config, err := cluster.LoadTLS(filepath.Join(a.dir, "cert"), filepath.Join(a.dir, "key"), filepath.Join(a.dir, "ca"), "")
	require.NoError(a.t, err)
	return config
}

func TestTLSWithASecretKeepsTheContract(t *testing.T) {
	opts := patientOptions()
	opts.Secret, opts.TLS = "secret", newAuthority(t).config(names(3)...)
	require.NoError(t, clustertest.TestCluster(t.Context(), func() []cluster.Cluster { return overTCP(t, 3, opts) }))
}

func TestTLSFilesThatAreMissingAreNamed(t *testing.T) {
	config, err := cluster.LoadTLS("", "", "", "name")
	require.NoError(t, err)
	require.Nil(t, config)
	_, err = cluster.LoadTLS("cert.pem", "", "ca.pem", "")
	require.ErrorContains(t, err, "one of the files is not named")
	_, err = cluster.LoadTLS("nowhere.pem", "key.pem", "ca.pem", "")
	require.ErrorContains(t, err, "nowhere.pem")
	a := newAuthority(t)
	a.config("algo-1")
	_, err = cluster.LoadTLS(filepath.Join(a.dir, "cert"), filepath.Join(a.dir, "key"), filepath.Join(a.dir, "key"), "")
	require.ErrorContains(t, err, "cluster: TLS: no certificate in ")
}

// A host that must not come in is told why, and those that may come in are not disturbed.
func TestAHostWithoutTheSecretOrTheCertificateIsRefused(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	for name, c := range map[string]struct {
		set, unset func(o *cluster.Options)
		want       string
	}{
		"another secret": {
			func(o *cluster.Options) { o.Secret = "ours" }, func(o *cluster.Options) { o.Secret = "theirs" }, "missing algo-1: it has another secret"},
		"no secret": {
			func(o *cluster.Options) { o.Secret = "ours" }, func(o *cluster.Options) {}, "missing algo-1: it has another secret"},
		"another authority": {
			func(o *cluster.Options) { o.TLS = ours.config(names(2)...) }, func(o *cluster.Options) { o.TLS = theirs.config(names(2)...) }, "certificate signed by unknown authority"},
		"a certificate of another name": {
			func(o *cluster.Options) { o.TLS = ours.config("algo-2") }, func(o *cluster.Options) { o.TLS = ours.config(names(2)...) }, "certificate is valid for algo-2, not algo-1"},
		"no TLS": {
			func(o *cluster.Options) { o.TLS = ours.config(names(2)...) }, func(o *cluster.Options) {}, "missing algo-1: "},
	} {
		t.Run(name, func(t *testing.T) {
			opts := addressed(t)
			stranger := opts
			c.set(&opts)
			c.unset(&stranger)
			stranger.Rendezvous = time.Second
			leader := host(t, 0, 2, opts)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- leader.Connect(ctx) }()
			require.ErrorContains(t, host(t, 1, 2, stranger).Connect(t.Context()), c.want)
			select {
			case err := <-ended:
				t.Fatalf("the leader ended: %v", err)
			default:
			}
			if name != "a certificate of another name" {
				require.NoError(t, host(t, 1, 2, opts).Connect(t.Context()))
				require.NoError(t, <-ended)
			}
			cancel()
		})
	}
}

// Strangers who connect and say nothing, many more than are let wait, keep no host out.
func TestSilentStrangersKeepNobodyOut(t *testing.T) {
	for name, secure := range map[string]func(o *cluster.Options){
		"plain": func(*cluster.Options) {},
		"TLS":   func(o *cluster.Options) { o.TLS = newAuthority(t).config(names(2)...) },
	} {
		t.Run(name, func(t *testing.T) {
			opts := addressed(t)
			opts.Rendezvous, opts.Silence = time.Minute, 10*time.Minute // which none of them can wait out
			secure(&opts)
			leader := host(t, 0, 2, opts)
			ended := make(chan error, 1)
			go func() { ended <- leader.Barrier(t.Context()) }()
			var first net.Conn
			for i := range 200 {
				var conn net.Conn
				require.Eventually(t, func() (ok bool) {
					var err error
					conn, err = net.Dial("tcp", opts.Addresses["algo-1"])
					return err == nil
				}, time.Minute, time.Millisecond)
				defer conn.Close()
				if i == 0 {
					first = conn
				}
			}
			_, err := io.Copy(io.Discard, first) // it is hung up on
			require.False(t, isTimeout(err))
			require.NoError(t, host(t, 1, 2, opts).Barrier(t.Context()))
			require.NoError(t, <-ended)
		})
	}
}
