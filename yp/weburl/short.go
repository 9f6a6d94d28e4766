package weburl

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// short resolves the references that nearly all links are: a path from the root, one beside
// the page, a query, or a plain absolute address, in characters that stay as they are. ok is
// false for all others. (30 links of a page cost the parser 93 µs, and this 3.)
func (b *Base) short(ref string) (a Address, ok bool) {
	if ref == "" || len(ref)+len(b.address.Text) > MaxLen {
		return Address{}, false
	}
	known := b.address.Text != ""
	switch c := ref[0]; {
	case strings.HasPrefix(ref, "https://"):
		return shortAbsolute(ref, len("https://"))
	case strings.HasPrefix(ref, "http://"):
		return shortAbsolute(ref, len("http://"))
	case !known:
		return Address{}, false
	case c == '/':
		if len(ref) > 1 && ref[1] == '/' {
			return shortAbsolute(b.scheme()+":"+ref, b.address.host)
		}
		if !plain(ref) {
			return Address{}, false
		}
		return b.joined(b.address.path, ref), true
	case c == '?':
		if !plainBehind(ref, 0) {
			return Address{}, false
		}
		return b.joined(b.file, ref), true
	case class[c]&inPath != 0, c == '%':
		end := strings.IndexAny(ref, ":/?#")
		if end >= 0 && ref[end] == ':' || !plain(ref) {
			return Address{}, false
		}
		return b.joined(b.dir, ref), true
	}
	return Address{}, false
}

// joined returns the first n bytes of the base with a reference behind them.
func (b *Base) joined(n int, ref string) Address {
	return Address{Text: b.address.Text[:n] + ref, host: b.address.host, path: b.address.path}
}

// shortAbsolute takes an absolute address whose plain host begins at a place.
func shortAbsolute(ref string, host int) (a Address, ok bool) {
	path := strings.IndexByte(ref[host:], '/') + host
	if path < host {
		path = len(ref)
	}
	if !plainHost(ref[host:path]) || path < len(ref) && !plain(ref[path:]) {
		return Address{}, false
	}
	if path == len(ref) {
		ref += "/"
	}
	return Address{Text: ref, host: host, path: path}, true
}

// plainHost reports whether a host stays as it is: labels of lower-case letters, digits and single hyphens
// within, the last of which begins with a letter, so that it is no number; or an IPv4 address, as
// net/netip writes it. A port is one that no scheme has for its own.
func plainHost(s string) bool {
	if i := strings.IndexByte(s, ':'); i >= 0 {
		port, err := strconv.ParseUint(s[i+1:], 10, 16)
		if err != nil || port == 80 || port == 443 || s[i+1] == '0' {
			return false
		}
		s = s[:i]
	}
	label := 0
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case i == label || s[i-1] == '-': // empty label, leading hyphen, "xn--"
			return false
		case c == '.':
			label = i + 1
		case c != '-':
			return false
		}
	}
	if label == len(s) || s[len(s)-1] == '-' {
		return false
	}
	if s[label] >= 'a' {
		return true
	}
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is4()
}

// Classes of bytes.
const (
	inPath  = 1 << iota // stays as it is in a path
	inQuery             // likewise
	inFragment
)

var class = func() (t [256]byte) {
	for c := '!'; c <= '~'; c++ {
		if !strings.ContainsRune(`"#<>'`, c) {
			t[c] |= inQuery
		}
		if !strings.ContainsRune("\"<>`", c) {
			t[c] |= inFragment
		}
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if letter || '0' <= c && c <= '9' {
			t[c] |= inPath
		}
		if strings.ContainsRune("-_~!$&'()*+,;=:@[]/", c) {
			t[c] |= inPath
		}
	}
	return t
}()

// encoded returns a reference as the parser would write it, but for its host: what may not be in a path, a
// query or a fragment is escaped, and so is a percent sign in a path that starts no escape; a backslash in a path
// is a slash. What is odd in another way stays for the parser.
func encoded(ref string) string {
	path := hostEnd(ref)
	b := append(make([]byte, 0, len(ref)+len(ref)/2), strings.ReplaceAll(ref[:path], `\`, "/")...)
	in, buf := byte(inPath), [utf8.UTFMax]byte{}
	for i, r := range ref[path:] {
		switch {
		case in == inPath && r == '\\':
			r = '/'
		case in == inPath && r == '?':
			in = inQuery
		case in != inFragment && r == '#':
			in = inFragment
		case r == '%' && (in != inPath || escape(ref[path+i:])), r == '.', r < utf8.RuneSelf && class[r]&in != 0:
		default:
			for _, c := range utf8.AppendRune(buf[:0], r) {
				b = append(b, '%', upperHex[c>>4], upperHex[c&15])
			}
			continue
		}
		b = append(b, byte(r))
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// hostEnd returns where the host of a reference ends, 0 = it names none.
func hostEnd(ref string) int {
	rest := strings.TrimPrefix(strings.TrimPrefix(ref, "https:"), "http:")
	start := len(ref) - len(rest) + len("//")
	if len(rest) < 2 || !slash(rest[0]) || !slash(rest[1]) {
		return 0
	}
	if end := strings.IndexAny(ref[start:], `/\?#`); end >= 0 {
		return start + end
	}
	return len(ref)
}

// plain reports whether a path, with the query and the fragment behind it, stays as it is:
// it needs no encoding and has no dot segments.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case class[c]&inPath != 0:
		case c == '.' && i > 0 && s[i-1] != '/':
		case c == '%' && escape(s[i:]) && (s[i+1] != '2' || s[i+2]|0x20 != 'e'):
		case c == '?' || c == '#':
			return plainBehind(s, i)
		default:
			return false
		}
	}
	return true
}

// plainBehind reports the same of a query and a fragment that begin at i.
func plainBehind(s string, i int) bool {
	in := byte(inQuery)
	for ; i < len(s); i++ {
		if c := s[i]; c == '#' && in == inQuery {
			in = inFragment
		} else if class[c]&in == 0 {
			return false
		}
	}
	return true
}

// escape reports whether s, which begins with a percent sign, begins with an escape.
func escape(s string) bool { return len(s) > 2 && hex(s[1]) && hex(s[2]) }

func hex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }
