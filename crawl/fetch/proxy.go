package fetch

import (
	"bufio"
	"encoding/base64"
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

	"golang.org/x/net/idna"
)

// Proxy is one of the operator's proxies: a row of the proxies table.
type Proxy struct {
	ID            int64     // of the row; 0 = none
	URL           *url.URL  // as ParseProxy returns it; may hold a password
	Name          string    // the same without it
	Consecutive   int       // failures in a row
	CooldownUntil time.Time // it rests until then; zero = it does not
}

// String is the name, whatever verb prints the proxy.
func (p Proxy) String() string { return p.Name }

// GoString is String.
func (p Proxy) GoString() string { return p.Name }

// ParseProxy reads a proxy's address: "http://user:password@host:8080", with
// the schemes http, https, socks5 and socks5h (both have the proxy resolve the
// names of hosts, so that none is looked up here), or "host:8080" and
// "user:password@host:8080" for http. The port is 80, 443 or 1080 when there is
// none. It returns the one form of the URL, with the port, and the name to show:
// the same with the password redacted.
//
// The error is ErrBadProxy and says what is wrong without quoting the text:
// url.Parse would quote the part it stumbled over, which may be the password's.
func ParseProxy(text string) (u *url.URL, name string, err error) {
	text = strings.TrimSpace(text)
	if scheme, _, ok := strings.Cut(text, "://"); !ok || !isScheme(scheme) {
		text = "http://" + text
	}
	u, err = url.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("%w: want scheme://user:password@host:port, special characters of user and password written as %%XX", ErrBadProxy)
	}
	return usable(u)
}

func isScheme(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// proxyPorts are the schemes of proxies, and the port of one that names none.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// usable brings a proxy's URL into its one form.
func usable(u *url.URL) (*url.URL, string, error) {
	scheme := strings.ToLower(u.Scheme)
	port := proxyPorts[scheme]
	switch {
	case port == "":
		return nil, "", fmt.Errorf("%w: the scheme must be http, https, socks5 or socks5h", ErrBadProxy)
	case u.Opaque != "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, "", fmt.Errorf("%w: nothing may follow host and port", ErrBadProxy)
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return nil, "", fmt.Errorf("%w: the port must be a number from 1 to 65535", ErrBadProxy)
		}
		port = strconv.FormatUint(n, 10)
	}
	host, err := proxyHost(u.Hostname())
	if err != nil {
		return nil, "", err
	}
	if err := checkUser(scheme, u.User); err != nil {
		return nil, "", err
	}
	one := &url.URL{Scheme: scheme, User: u.User, Host: net.JoinHostPort(host, port)}
	return one, one.Redacted(), nil
}

// proxyHost brings the host into its one form: an address, or an ASCII name.
func proxyHost(host string) (string, error) {
	if host == "" {
		return "", fmt.Errorf("%w: the host is missing", ErrBadProxy)
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		return a.String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(strings.ToLower(host))
	if err != nil || ascii == "" {
		// A name of a private network may be no proper one ("my_proxy").
		ascii = strings.ToLower(host)
	}
	if strings.Trim(ascii, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return "", fmt.Errorf("%w: the host is neither a name nor an address", ErrBadProxy)
	}
	return ascii, nil
}

// checkUser: SOCKS5 has a byte for the length of each (RFC 1929), and HTTP ends
// the user at the first colon (RFC 7617).
func checkUser(scheme string, user *url.Userinfo) error {
	if user == nil {
		return nil
	}
	name := user.Username()
	password, _ := user.Password()
	socks := strings.HasPrefix(scheme, "socks5")
	switch {
	case socks && (name == "" || len(name) > 255 || len(password) > 255):
		return fmt.Errorf("%w: user and password of a socks5 proxy have 1 to 255 characters", ErrBadProxy)
	case !socks && strings.Contains(name, ":"):
		return fmt.Errorf("%w: the user of an http proxy has no colon", ErrBadProxy)
	}
	return nil
}

// basic is what HTTP makes of user and password (RFC 7617).
func basic(u *url.Userinfo) string {
	password, _ := u.Password()
	return base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))
}

// hide takes a proxy's password, in whatever form, out of a text that somebody
// else wrote: net/http quotes answers that make no sense, and a proxy may repeat
// what it was sent.
func hide(text string, proxy *url.URL) string {
	if proxy == nil {
		return text
	}
	password, _ := proxy.User.Password()
	if password == "" {
		return text
	}
	_, asWritten, _ := strings.Cut(proxy.User.String(), ":")
	var pairs []string
	for _, form := range []string{basic(proxy.User), password, asWritten, url.QueryEscape(password), url.PathEscape(password)} {
		pairs = append(pairs, form, "xxxxx")
	}
	return strings.NewReplacer(pairs...).Replace(text)
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
