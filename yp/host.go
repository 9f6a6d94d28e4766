package yp

import (
	_ "embed"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxHost is the longest host name of the DNS, in ASCII.
const maxHost = 253

// webHost is a canonical host with what the public suffix list says of it.
type webHost struct {
	name   string // lower case ASCII, without a final dot and "www."
	suffix string // public suffix of name; empty for an IP address
	icann  bool   // registries own the suffix (com, co.uk), not a firm (wixsite.com)
}

// parseHost returns the canonical form of host, and whether it can be the host
// of a public web site. With known set its suffix must be on the public list,
// not merely fall under the rule for unknown ones: that tells a bare host from
// the name of a file.
func parseHost(host string, known bool) (webHost, bool) {
	if len(host) > 4*maxHost { // an IDN is longer in UTF-8 than in ASCII, but not four times
		return webHost{}, false
	}
	host = strings.TrimSuffix(host, ".")
	host, ok := asciiHost(host)
	if !ok || !validHost(host) {
		return webHost{}, false
	}
	if numericLabel(host[strings.LastIndexByte(host, '.')+1:]) {
		addr, err := netip.ParseAddr(host) // a host that ends in a number is an IPv4 address or nothing
		return webHost{name: host}, err == nil && addr.Is4() && !known
	}
	h := webHost{name: host}
	h.suffix, h.icann = publicsuffix.PublicSuffix(host)
	h.dropWWW()
	listed := h.icann || strings.IndexByte(h.suffix, '.') > 0
	owned := h.name != h.suffix || listed && !h.icann
	return h, owned && (listed || !known)
}

// asciiHost returns host in lower case ASCII. Only a host that has something
// of IDNA in it pays for the tables.
func asciiHost(host string) (string, bool) {
	host = strings.ToLower(host)
	if !isASCII(host) || strings.Contains(host, "xn--") {
		ascii, err := idna.Lookup.ToASCII(host)
		return strings.TrimSuffix(ascii, "."), err == nil
	}
	return host, true
}

// validHost reports whether each label of a lower case host is well formed.
// Underscores are let through: some hosting firms gave them to customers.
func validHost(host string) bool {
	if host == "" || len(host) > maxHost {
		return false
	}
	label := 0
	for i := range len(host) {
		c := host[i]
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_':
			label++
		case c == '-' && label > 0:
			label++
		case c == '.' && label > 0 && host[i-1] != '-':
			label = 0
		default:
			return false
		}
		if label > 63 {
			return false
		}
	}
	return label > 0 && host[len(host)-1] != '-'
}

// dropWWW removes "www." from the front as long as a name is left that
// somebody can own: a suffix only when it is a firm's.
func (h *webHost) dropWWW() {
	shortest := len(h.suffix)
	if h.icann || strings.IndexByte(h.suffix, '.') < 0 {
		shortest += len("a.")
	}
	for strings.HasPrefix(h.name, "www.") && len(h.name)-len("www.") >= shortest {
		h.name = h.name[len("www."):]
	}
}

func numericLabel(s string) bool {
	return strings.HasPrefix(s, "0x") || s != "" && strings.Trim(s, "0123456789") == ""
}

// domain returns the name under which somebody registered the host. It is the
// host itself for an IP address and for the home of a hosting platform that is
// a suffix by itself (wixsite.com).
func (h *webHost) domain() string {
	if h.suffix == "" || h.name == h.suffix {
		return h.name
	}
	before := strings.LastIndexByte(h.name[:len(h.name)-len(h.suffix)-1], '.')
	return h.name[before+1:]
}

// shared reports whether many businesses share the host, so that an address on
// it says nothing about which business it is: social networks, link pages,
// directories, map and order portals, link shorteners, placeholders. With site builders that
// give each customer a host (acme.wixsite.com, acme.business.site) only the
// builder's own host is shared.
func (h *webHost) shared() bool {
	return h.name == h.suffix || hostKinds()[h.domain()] == "shared" || hostKinds()[h.name] == "builder"
}

//go:embed hosts.txt
var hostsText string

// hostKinds says of the hosts in hosts.txt what they are: "shared", "builder" or "agents".
var hostKinds = sync.OnceValue(func() map[string]string {
	kinds := map[string]string{}
	for line := range strings.Lines(hostsText) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			for _, host := range words[1:] {
				kinds[host] = words[0]
			}
		}
	}
	return kinds
})

// OwnPort is the port of u, "" for one of those that http and https have.
func OwnPort(u *url.URL) string {
	if port := u.Port(); port != "80" && port != "443" {
		return port
	}
	return ""
}

// webKey returns the part of a website that is the key of a company: the canonical
// address without scheme, and without the names that servers give to the front page
// ("/index.html") and sites to pages that every one has ("/contact"). Other paths stay:
// a place's page on the site of a brand says which place it is. ok is false for the
// front page of a brand whose agents are businesses of their own.
func webKey(w *Website) (key string, ok bool) {
	key = w.URL[len("https://"):]
	rest := key[len(w.Host):]
	if strings.HasPrefix(rest, ":") { // a port belongs to the host
		end := strings.IndexAny(rest, "/?")
		if end < 0 {
			end = len(rest)
		}
		rest = rest[end:]
	}
	if path := frontPage(rest); len(path) < len(rest) {
		key, rest = key[:len(key)-len(rest)+len(path)], path
	}
	return key, rest != "" && rest[0] == '/' || hostKinds()[w.Domain] != "agents"
}

// A page right under the root that every site has once says nothing of a place.
var (
	frontNames  = [...]string{"index", "default", "home", "main", "welcome"}
	frontExts   = [...]string{"html", "htm", "php", "asp", "aspx", "shtml", "jsp", "cfm"}
	commonPages = [...]string{"home", "index", "contact", "contact-us", "contactus", "about", "about-us", "aboutus"}
)

// frontPage returns path without the name of a front page at its end.
func frontPage(path string) string {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || len(path)-slash > len("/welcome.shtml") || strings.IndexByte(path, '?') >= 0 {
		return path
	}
	name := strings.ToLower(path[slash+1:])
	base, ext, dotted := strings.Cut(name, ".")
	front := dotted && slices.Contains(frontNames[:], base) && slices.Contains(frontExts[:], ext)
	if front || slash == 0 && slices.Contains(commonPages[:], name) {
		return path[:slash]
	}
	return path
}
