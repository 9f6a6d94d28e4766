package fetch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ypcrawl/yp"
)

// issue makes a certificate that signs itself.
func issue(t *testing.T, change func(c *x509.Certificate), key any) tls.Certificate {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
	}
	change(c)
	var public any
	switch k := key.(type) {
	case *rsa.PrivateKey:
		public = k.Public()
	case *ecdsa.PrivateKey:
		public = k.Public()
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, public, key)
	noErr(t, err)
	leaf, err := x509.ParseCertificate(der)
	noErr(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// secured is a server of https that speaks it as how says, and a client that knows its certificate.
func secured(t *testing.T, cert tls.Certificate, known bool, how *tls.Config) (*Client, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "page") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = how
	s.TLS.Certificates = []tls.Certificate{cert}
	s.StartTLS()
	t.Cleanup(s.Close)
	cfg := patiently(Config{})
	cfg.Roots = x509.NewCertPool()
	if known {
		cfg.Roots.AddCert(cert.Leaf)
	}
	return newClient(t, cfg), s.URL
}

// A server that leaves out the certificate between its own and an authority's is told apart from one whose authority
// is not known: to add an authority of one's own is no help there.
func TestCertificateBetween(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noErr(t, err)
	issuer := issue(t, func(c *x509.Certificate) { c.Subject.CommonName = "between" }, key)
	for _, tt := range []struct {
		name  string
		place []string // where the issuer's certificate is to be had
		send  bool
		says  string
	}{
		{"left out", []string{"http://authority.example/between.crt"}, false, "it sends only its own certificate"},
		{"sent", []string{"http://authority.example/between.crt"}, true, "from an authority that this machine does not know"},
		{"of one's own authority", nil, false, "from an authority that this machine does not know"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &x509.Certificate{
				SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "host"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
				NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IssuingCertificateURL: tt.place,
			}
			der, err := x509.CreateCertificate(rand.Reader, c, issuer.Leaf, key.Public(), key)
			noErr(t, err)
			cert := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
			if tt.send {
				cert.Certificate = append(cert.Certificate, issuer.Certificate[0])
			}
			client, url := secured(t, cert, false, &tls.Config{})
			_, err = client.Get(t.Context(), Request{URL: url + "/page"})
			if !errors.Is(err, ErrNoTLS) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

// What is wrong with a connection is one sentence with what helps, also where robots.txt meets it first.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noErr(t, err)
	day := 24 * time.Hour
	for _, tt := range []struct {
		name   string
		change func(c *x509.Certificate)
		known  bool
		how    *tls.Config
		says   string
	}{
		{"an unknown issuer", func(*x509.Certificate) {}, false, &tls.Config{}, "an authority that this machine does not know"},
		{"another host", func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"other.example"} }, true, &tls.Config{}, "its certificate is not for 127.0.0.1"},
		{"expired", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = time.Now().Add(-9*day), time.Now().Add(-day) }, true, &tls.Config{}, "expired on " + time.Now().Add(-day).UTC().Format(time.DateOnly)},
		{"not valid yet", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = time.Now().Add(2*day), time.Now().Add(9*day) }, true, &tls.Config{}, "not valid before " + time.Now().Add(2*day).UTC().Format(time.DateOnly)},
		{"TLS 1.1", func(*x509.Certificate) {}, true, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "it only supports TLS 1.1 or older"},
		{"no encryption that is safe", func(*x509.Certificate) {}, true, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA}}, "refuses all encryption that is safe"},
		{"wants a certificate", func(*x509.Certificate) {}, true, &tls.Config{MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}, ""}, // told apart by nothing
	} {
		for _, robots := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, robots.txt: %v", tt.name, robots), func(t *testing.T) {
				t.Parallel()
				c, url := secured(t, issue(t, tt.change, key), tt.known, tt.how.Clone())
				if !robots {
					c.robots = nil
				}
				e := mustFail(t, c, Request{URL: url})
				if e.Class != yp.ClassTLS || e.Code() != yp.CodeNetworkError || e.Proxy {
					t.Errorf("%v, class %s, code %s", e, e.Class, e.Code())
				}
				if tt.says == "" {
					return
				}
				says := TLSFault(e).Error()
				if !errors.Is(e, ErrNoTLS) || !strings.Contains(says, tt.says) || strings.Contains(e.Error(), "robots.txt is unavailable") {
					t.Errorf("%v", e)
				}
				if until, reason := c.HeldUntil(strings.TrimPrefix(url, "https://")); !until.IsZero() {
					t.Errorf("held until %s: %s", until, reason)
				}
			})
		}
	}
}

// A port without TLS.
func TestNoTLSAtAll(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	c := newClient(t, patiently(Config{}))
	e := mustFail(t, c, Request{URL: "https" + strings.TrimPrefix(s.URL, "http")})
	if !errors.Is(e, ErrNoTLS) || e.Class != yp.ClassTLS || !strings.Contains(TLSFault(e).Error(), "base_url with http://") {
		t.Errorf("%v", e)
	}
}

// What may be chance is none of these.
func TestTLSByChance(t *testing.T) {
	t.Parallel()
	url := rawServer(t, func(conn net.Conn) { readRequest(conn) })
	c := newClient(t, patiently(noRobots()))
	if e := mustFail(t, c, Request{URL: "https" + strings.TrimPrefix(url, "http")}); errors.Is(e, ErrNoTLS) {
		t.Errorf("%v", e)
	}
}

// Servers that have no key exchange but RSA are read, by the suites that browsers keep.
func TestKeyExchangeByRSA(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	noErr(t, err)
	for _, suite := range []uint16{
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA,
	} {
		t.Run(tls.CipherSuiteName(suite), func(t *testing.T) {
			t.Parallel()
			how := &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}
			c, url := secured(t, issue(t, func(*x509.Certificate) {}, key), true, how)
			mustGet(t, c, Request{URL: url})
		})
	}
	t.Run("last of all", func(t *testing.T) {
		t.Parallel()
		var got uint16
		how := &tls.Config{MaxVersion: tls.VersionTLS12, VerifyConnection: func(s tls.ConnectionState) error { got = s.CipherSuite; return nil }}
		how.CipherSuites = new(Config).hostTLS().CipherSuites
		c, url := secured(t, issue(t, func(*x509.Certificate) {}, key), true, how)
		mustGet(t, c, Request{URL: url})
		if name := tls.CipherSuiteName(got); !strings.Contains(name, "ECDHE") {
			t.Errorf("taken: %s", name)
		}
	})
	t.Run("not with proxies", func(t *testing.T) {
		t.Parallel()
		if new(Config).tls().CipherSuites != nil {
			t.Error("proxies are offered suites of old")
		}
	})
}
