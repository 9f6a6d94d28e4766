package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Proxy is one of the operator's proxies: a row of the proxies table.
type Proxy struct {
	ID            int64     // of the row; 0 = none
	URL           *url.URL  // as ParseProxy returns it; may hold a password
	Name          string    // the same without it
	Consecutive   int       // failures in a row
	FailingSince  time.Time // the first of them; zero = it is not known
	CooldownUntil time.Time // it rests until then; zero = it does not
}

// String is the name, whatever verb prints the proxy.
func (p Proxy) String() string { return p.Name }

// GoString is String.
func (p Proxy) GoString() string { return p.Name }

// ParseProxy reads a proxy's address: "http://user:password@host:8080", with
// the schemes http, https, socks5 and socks5h (both have the proxy resolve the
// names of hosts), or "host:8080" and "user:password@host:8080" for http. The port is
// 80, 443 or 1080 where a scheme is without one; a bare word is a slip far more often
// than a proxy. It returns the one form of the URL, with the port, and the name to show:
// the same with the password redacted.
//
// The error is ErrBadProxy and says what is wrong without quoting the text:
// url.Parse would quote the part it stumbled over, which may be the password's.
func ParseProxy(text string) (u *url.URL, name string, err error) {
	text = strings.TrimSpace(text)
	bare := !strings.Contains(text, "://")
	if bare {
		text = "http://" + text
	}
	u, err = url.Parse(text)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%w: want scheme://user:password@host:port, with special characters of user and password written as %%XX",
			ErrBadProxy)
	case bare && u.Port() == "":
		return nil, "", fmt.Errorf("%w: without a scheme a port is needed, as in host:8080 or http://host", ErrBadProxy)
	}
	return usable(u)
}

// proxyPorts are the schemes of proxies, and the port of one that names none.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// usable brings a proxy's URL into its one form.
func usable(u *url.URL) (*url.URL, string, error) {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	n, err := strconv.ParseUint(port, 10, 16)
	if port == "" {
		port = proxyPorts[scheme]
	} else {
		port = strconv.FormatUint(n, 10)
	}
	user := u.User.Username()
	password, _ := u.User.Password()
	socks := u.User != nil && strings.HasPrefix(scheme, "socks5")
	host := hostname(u)
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		host = a.String()
	} else if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return nil, "", fmt.Errorf("%w: the host is neither a name nor an address", ErrBadProxy)
	}
	wrong := ""
	switch {
	case proxyPorts[scheme] == "":
		wrong = "the scheme must be http, https, socks5 or socks5h"
	case u.Opaque != "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		wrong = "nothing may follow the host and port"
	case u.Port() != "" && (err != nil || n == 0):
		wrong = "the port must be a number from 1 to 65535"
	case host == "":
		wrong = "the host is missing"
	case socks && (user == "" || len(user) > 255 || len(password) > 255): // a byte for each length, RFC 1929
		wrong = "user and password of a socks5 proxy have 1 to 255 characters"
	case !socks && strings.Contains(user, ":"): // RFC 7617 ends it at the first one
		wrong = "the user of an http proxy has no colon"
	}
	if wrong != "" {
		return nil, "", fmt.Errorf("%w: %s", ErrBadProxy, wrong)
	}
	one := &url.URL{Scheme: scheme, User: u.User, Host: net.JoinHostPort(host, port)}
	return one, one.Redacted(), nil
}

// ParseProxies reads a list of proxies: one a line as for ParseProxy, empty lines
// and comments ("# ...", alone or after a proxy) passed over, what stands twice
// taken once. The error names every bad line by its number.
func ParseProxies(r io.Reader) ([]Proxy, error) {
	var list []Proxy
	var bad []error
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if i := strings.IndexAny(text, " \t"); i >= 0 && strings.HasPrefix(strings.TrimSpace(text[i:]), "#") {
			text = text[:i]
		}
		if text == "" || text[0] == '#' {
			continue
		}
		u, name, err := ParseProxy(text)
		if err != nil {
			bad = append(bad, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		if !seen[u.String()] {
			seen[u.String()] = true
			list = append(list, Proxy{URL: u, Name: name})
		}
	}
	if err := lines.Err(); err != nil {
		bad = append(bad, fmt.Errorf("read proxies: %w", err))
	}
	return list, errors.Join(bad...)
}

// Policy says whether requests go through proxies (docs/health.md, section 6).
type Policy string

// The policies.
const (
	PolicyOff     Policy = "off"     // never
	PolicyPrefer  Policy = "prefer"  // while one is active, else directly
	PolicyRequire Policy = "require" // always: no active proxy, no request
)

// Policies lists every policy.
func Policies() []Policy { return []Policy{PolicyOff, PolicyPrefer, PolicyRequire} }

// ParsePolicy returns the policy named s, in any letter case, or an error that
// lists the valid ones.
func ParsePolicy(s string) (Policy, error) {
	p := Policy(strings.ToLower(strings.TrimSpace(s)))
	if slices.Contains(Policies(), p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown proxy policy %q: want one of %v", s, Policies())
}
