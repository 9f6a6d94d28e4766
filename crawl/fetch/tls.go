package fetch

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"ypcrawl/yp"
)

// tls is how TLS is spoken with a proxy.
func (c *Config) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.Roots, NextProtos: []string{"h2", "http/1.1"}}
}

// hostTLS is how TLS is spoken with a host: old servers have no key exchange but RSA, which browsers keep with AES for
// them. Go takes it last, whatever the order here.
func (c *Config) hostTLS() *tls.Config {
	how := c.tls()
	for _, suite := range tls.CipherSuites() {
		how.CipherSuites = append(how.CipherSuites, suite.ID)
	}
	how.CipherSuites = append(how.CipherSuites,
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_128_CBC_SHA,
		tls.TLS_RSA_WITH_AES_256_CBC_SHA)
	return how
}

// tlsError is a failed handshake.
type tlsError struct{ err error }

// Error is one sentence of what is wrong and what helps, where that is known, with Go's own words.
func (e *tlsError) Error() string {
	if says := noTLS(e.err, time.Now()); says != "" {
		return says + " (" + yp.Printable(yp.Clip(e.err.Error(), 300)) + ")"
	}
	return "tls handshake: " + e.err.Error()
}

func (e *tlsError) Unwrap() error { return e.err }

// Is makes it an ErrNoTLS where waiting does not help.
func (e *tlsError) Is(target error) bool {
	return target == ErrNoTLS && noTLS(e.err, time.Now()) != ""
}

// TLSFault is the part of an ErrNoTLS that says what is wrong and what helps.
func TLSFault(err error) error {
	if e, ok := errors.AsType[*tlsError](err); ok {
		return e
	}
	return ErrNoTLS
}

// authorities is what helps against an unknown one: Go reads these where the system's are.
const authorities = "if it is your own, add it to the system's authorities, or on Linux name a file with these and with it in SSL_CERT_FILE"

// between is what helps where a server leaves out the certificate of the authority that issued its own. One that stands among
// the system's is trusted as these are.
const between = "only the site can send it; or add it to the system's authorities, or on Linux name a file with these and with it in SSL_CERT_FILE"

// isAlone reports whether a server sent one certificate, which names where that of its issuer is to be had: one of its own
// making names no such place, and one of a public authority always does.
func isAlone(err error, leaf *x509.Certificate) bool {
	var sent *tls.CertificateVerificationError
	return errors.As(err, &sent) && len(sent.UnverifiedCertificates) == 1 &&
		leaf != nil && len(leaf.IssuingCertificateURL) > 0 && !bytes.Equal(leaf.RawIssuer, leaf.RawSubject)
}

// noTLS says why there can be no connection to a host that was reached, and what helps; "" = it may be chance, such as a
// connection that was cut. What crypto/tls itself finds wrong has no types, but texts.
func noTLS(err error, now time.Time) string {
	var issuer x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var roots x509.SystemRootsError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return validity(invalid.Cert, now)
	case errors.As(err, &host):
		return fmt.Sprintf("its certificate is not for %s: compare base_url with the address that a browser ends at",
			yp.Printable(yp.Clip(host.Host, 100)))
	case errors.As(err, &issuer):
		if isAlone(err, issuer.Cert) {
			return "it sends only its own certificate, and this machine does not know the intermediate authority (browsers fetch it): " + between
		}
		return "its certificate is from an authority that this machine does not know: " + authorities
	case errors.As(err, &roots):
		return "this machine has no certificate authorities: install them (ca-certificates), or name a file with them in SSL_CERT_FILE"
	case errors.As(err, &invalid):
		return "its certificate is not valid: a browser shows why"
	case errors.As(err, &record):
		return "it does not use TLS on this port: try base_url with http://"
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "unsupported protocol version"), strings.HasSuffix(text, "protocol version not supported"):
		return "it only supports TLS 1.1 or older, which is not safe and which browsers refuse, too: it can't be read over https"
	case strings.HasSuffix(text, "handshake failure"), strings.HasSuffix(text, "insufficient security level"),
		strings.Contains(text, "unconfigured cipher suite"):
		return "it refuses all encryption that is safe today, or requires a client certificate: it can't be read over https"
	}
	return ""
}

// validity says in which way a certificate is out of its time.
func validity(c *x509.Certificate, now time.Time) string {
	if now.Before(c.NotBefore) {
		return "its certificate is not valid before " + c.NotBefore.UTC().Format(time.DateOnly) + ": check the clock of this machine"
	}
	return "its certificate expired on " + c.NotAfter.UTC().Format(time.DateOnly) +
		": only the site can renew it (or check the clock of this machine)"
}
