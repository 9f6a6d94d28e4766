package weburl

import (
	"net/url"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/text/encoding"
)

// MaxLen is the longest address, in bytes, that is asked for: servers refuse request lines
// over 8 kB (Apache's LimitRequestLine is 8,190, nginx's large_client_header_buffers 8k).
const MaxLen = 8000

// Base is what the references of one page are resolved against. Its zero value knows no
// page: it takes absolute references only. It is not for use by several goroutines at once.
type Base struct {
	address Address
	dir     int         // end of what a relative path follows: "https://www.example.com/austin-tx/"
	file    int         // end of the path
	parsed  *whatwg.Url // of address; nil until the parser is needed
	charset encoding.Encoding
}

// NewBase returns the base of a page. charset is the page's encoding by its name in the
// Encoding Standard (https://encoding.spec.whatwg.org): what a query holds beyond ASCII is
// written in it. "" and unknown ones are UTF-8.
func NewBase(page *url.URL, charset string) Base {
	plain := url.URL{Scheme: page.Scheme, Host: page.Host, Path: page.Path, RawPath: page.RawPath, RawQuery: page.RawQuery}
	none := Base{charset: encodingOf(charset)}
	address, reason := none.Resolve(plain.String())
	if reason != "" {
		return none
	}
	return none.at(address)
}

// Within returns the base that a page's <base href> makes of this one, its address: it is
// the same when the href is no http or https address.
// (https://html.spec.whatwg.org/#set-the-frozen-base-url)
func (b *Base) Within(href string) Base {
	if strings.Trim(href, " \t\n\r\f") == "" {
		return *b
	}
	address, reason := b.Resolve(href)
	if reason != "" {
		return *b
	}
	return b.at(address)
}

// at returns the base at an address.
func (b *Base) at(a Address) Base {
	text, _, _ := strings.Cut(a.Text, "#")
	file := len(text)
	if i := strings.IndexByte(text, '?'); i >= 0 {
		file = i
	}
	a.Text = text
	return Base{address: a, file: file, dir: strings.LastIndexByte(text[:file], '/') + 1, charset: b.charset}
}

// Address returns the base itself; it is the zero Address when it is not known.
func (b *Base) Address() Address { return b.address }

// Address is an http or https address.
type Address struct {
	Text string // as the URL Standard writes it: "https://www.example.com/austin-tx?page=2#top"
	User bool   // the reference named a user or a password, which Text leaves out
	host int    // where the host begins in Text
	path int    // where the path begins in Text
}

// Host returns the host, with its port if that is not the scheme's own.
func (a *Address) Host() string { return a.Text[a.host:a.path] }

// Hostname returns the host alone, an IPv6 address without its brackets.
func (a *Address) Hostname() string {
	host, _ := a.splitHost()
	return strings.Trim(host, "[]")
}

// Port returns the port, "" for the scheme's own.
func (a *Address) Port() string {
	_, port := a.splitHost()
	return port
}

func (a *Address) splitHost() (host, port string) {
	host = a.Host()
	if i := strings.LastIndexByte(host, ':'); i >= 0 && host[len(host)-1] != ']' {
		return host[:i], host[i+1:]
	}
	return host, ""
}

// EscapedPath returns the path as it is written.
func (a *Address) EscapedPath() string {
	path := a.Text[a.path:]
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		return path[:end]
	}
	return path
}

// Path returns the path with its escapes undone, as net/url has it.
func (a *Address) Path() string {
	path := a.EscapedPath()
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

// Hostname returns the host of an address as the standard writes it: in ASCII and lower case,
// without the brackets of an IPv6 address.
func Hostname(u *url.URL) string {
	b := NewBase(&url.URL{Scheme: u.Scheme, Host: u.Host}, "")
	if b.address.Text == "" {
		return strings.ToLower(u.Hostname())
	}
	return b.address.Hostname()
}

// URL returns the address in the form of net/url, without a fragment.
func (a *Address) URL() *url.URL {
	text, _, _ := strings.Cut(a.Text, "#")
	u, err := url.Parse(text)
	if err != nil { // Resolve has tried it
		panic(err)
	}
	return u
}
