package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// access decides who is let in.
type access struct {
	credentials map[string]string // secrets by access key
	token       string
	now         func() time.Time
}

func (a access) open() bool { return len(a.credentials) == 0 && a.token == "" }

// host reports whether a request's host is one to answer to. Where everyone is let in, it must be a name of this machine: a
// browser would otherwise let a site in that has its own name resolve to it (DNS rebinding).
func (a access) host(r *http.Request) bool {
	return !a.open() || loopbackName(r.Host)
}

func loopbackName(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// Listen listens on a TCP address for Handler. One that other machines can reach is refused unless public is set, and
// then there must be Credentials or a Token.
func (s *Service) Listen(address string, public bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if !loopbackName(host) {
		if !public {
			return nil, fmt.Errorf("api: %s can be reached from other machines, which must be asked for", address)
		}
		if len(s.opts.Credentials) == 0 && s.opts.Token == "" {
			return nil, fmt.Errorf("api: %s can be reached from other machines, which needs credentials or a token", address)
		}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok && !public && !at.IP.IsLoopback() { // a name that resolved to something else
		listener.Close()
		return nil, fmt.Errorf("api: %s is %s, which can be reached from other machines", address, at)
	}
	return listener, nil
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// api reports why a request of the API is not let in.
func (a access) api(r *http.Request, body []byte, service string) error {
	if a.open() {
		return nil
	}
	authorization := r.Header.Get("Authorization")
	if bearer, ok := strings.CutPrefix(authorization, "Bearer "); ok && a.token != "" {
		if same(bearer, a.token) {
			return nil
		}
		return clientError("UnrecognizedClientException", "The token included in the request is invalid.")
	}
	if authorization == "" {
		return clientError("MissingAuthenticationTokenException", "Missing Authentication Token")
	}
	return a.signed(r, body, service)
}

// algorithm of signatures.
const algorithmV4 = "AWS4-HMAC-SHA256"

// skew is how far a client's clock may be off.
const skew = 5 * time.Minute

// A signature is what an Authorization header of SigV4 says.
type signature struct {
	key, date, region, service string
	headers                    []string
	signature                  string
}

func parseSignature(authorization string) (signature, error) {
	incomplete := func(what string) (signature, error) {
		return signature{}, clientError("IncompleteSignatureException", "Authorization header requires %s.", what)
	}
	fields, ok := strings.CutPrefix(authorization, algorithmV4+" ")
	if !ok {
		return incomplete("the algorithm " + algorithmV4)
	}
	parts := map[string]string{}
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		parts[name] = value
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if parts[name] == "" {
			return incomplete("'" + name + "' parameter")
		}
	}
	scope := strings.Split(parts["Credential"], "/")
	if len(scope) != 5 || scope[4] != "aws4_request" {
		return incomplete("a Credential of <key>/<date>/<region>/<service>/aws4_request")
	}
	return signature{scope[0], scope[1], scope[2], scope[3], strings.Split(parts["SignedHeaders"], ";"), parts["Signature"]}, nil
}

// signed reports what is wrong with a request's signature. It signs the request again and compares.
func (a access) signed(r *http.Request, body []byte, service string) error {
	got, err := parseSignature(r.Header.Get("Authorization"))
	if err != nil {
		return err
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return clientError("IncompleteSignatureException", "Authorization header requires existence of a valid 'X-Amz-Date' header.")
	}
	secret, known := a.credentials[got.key]
	if !known {
		return clientError("UnrecognizedClientException", "The security token included in the request is invalid.")
	}
	wrong := func(format string, args ...any) error {
		return clientError("InvalidSignatureException", format, args...)
	}
	now := a.now()
	switch {
	case at.Before(now.Add(-skew)):
		return wrong("Signature expired: %s is now earlier than %s (%s - 5 min.)", stamp(at), stamp(now.Add(-skew)), stamp(now))
	case at.After(now.Add(skew)):
		return wrong("Signature not yet current: %s is still later than %s (%s + 5 min.)", stamp(at), stamp(now.Add(skew)), stamp(now))
	case got.date != at.Format("20060102"):
		return wrong("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s'.", got.date, at.Format("20060102"))
	case got.service != service:
		return wrong("Credential should be scoped to correct service: '%s'.", service)
	}
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "x-amz-") && !slices.Contains(got.headers, lower) {
			return wrong("'%.100s' must be a 'SignedHeader' in the AWS Authorization header.", lower)
		}
	}
	want, err := sign(r, body, got, aws.Credentials{AccessKeyID: got.key, SecretAccessKey: secret}, at)
	if err != nil || !same(want, got.signature) {
		return wrong("The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.")
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// sign returns the signature that a request of these signed headers and this body must have.
func sign(r *http.Request, body []byte, s signature, credentials aws.Credentials, at time.Time) (string, error) {
	again := &http.Request{Method: r.Method, Host: r.Host, Header: http.Header{}, URL: &url.URL{
		Scheme: "http", Host: r.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery,
	}}
	for _, name := range s.headers {
		switch name {
		case "host":
		case "content-length":
			again.ContentLength = int64(len(body))
		default:
			if values := r.Header.Values(name); values != nil {
				again.Header[http.CanonicalHeaderKey(name)] = values
			}
		}
	}
	hash := sha256.Sum256(body)
	err := v4.NewSigner().SignHTTP(context.Background(), credentials, again, hex.EncodeToString(hash[:]), s.service, s.region, at)
	if err != nil {
		return "", err
	}
	signed, err := parseSignature(again.Header.Get("Authorization"))
	return signed.signature, err
}

// cookie is what a browser keeps of a token. Browsers bring cookies to every port of a host: it is the token's digest, so
// that no other server there learns the token, and named for it, so that platforms do not take away each other's.
func cookie(token string) (name, value string) {
	sum := sha256.Sum256([]byte("algospec cookie " + token))
	text := hex.EncodeToString(sum[:])
	return "algospec-" + text[:8], text[8:]
}

// page lets a browser in that brings the token. One that brings it in the address gets a cookie instead, so that
// it does not stay in the browser's history.
func (a access) page(w http.ResponseWriter, r *http.Request, page http.Handler) {
	if a.open() {
		page.ServeHTTP(w, r)
		return
	}
	name, value := cookie(a.token)
	if given := r.URL.Query().Get("token"); given != "" && a.token != "" && same(given, a.token) && r.Method == http.MethodGet {
		http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		query := r.URL.Query()
		query.Del("token")
		to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()} // never another site
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
		return
	}
	if a.token != "" {
		bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		c, err := r.Cookie(name)
		if (ok && same(bearer, a.token)) || (err == nil && same(c.Value, value)) {
			page.ServeHTTP(w, r)
			return
		}
	}
	if a.token == "" {
		http.Error(w, "This platform asks for signatures, and has no token for its page: start it with one.", http.StatusUnauthorized)
		return
	}
	http.Error(w, "This page needs the platform's token: open it with ?token=<token>.", http.StatusUnauthorized)
}
