package site

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"ypcrawl/yp"
)

// rulebook is what a listing must be to be promoted.
type rulebook struct {
	required []*yp.ListingField
	formats  []format
}

// format is what the value of a field must look like when there is one.
type format struct {
	field *yp.ListingField
	match *regexp.Regexp // it must match
	not   *regexp.Regexp // it must not match
	max   int            // runes; 0 = any number
	kind  string         // "", or one of formatKinds
}

// Check returns why a listing may not be promoted: what is missing, and every
// value of the wrong form, such as `id: "abc" does not match ^\d+$`. nil means
// that it may. An id and a name are required of every source.
func (s *Source) Check(l *yp.Listing) []string {
	var reasons []string
	for _, f := range s.rules.required {
		if textOf(f, l) == "" {
			reasons = append(reasons, f.Name+": is missing")
		}
	}
	for i := range s.rules.formats {
		f := &s.rules.formats[i]
		v := textOf(f.field, l)
		if v == "" {
			continue
		}
		if why := s.fault(f, v); why != "" {
			reasons = append(reasons, fmt.Sprintf("%s: %q %s", f.field.Name, yp.Clip(v, 80), why))
		}
	}
	return reasons
}

// fault says what is wrong with a value, or "".
func (s *Source) fault(f *format, v string) string {
	switch {
	case f.max > 0 && len(v) > f.max && utf8.RuneCountInString(v) > f.max:
		return fmt.Sprintf("is longer than %d characters", f.max)
	case f.match != nil && !f.match.MatchString(v):
		return "does not match " + f.match.String()
	case f.not != nil && f.not.MatchString(v):
		return "matches " + f.not.String()
	}
	switch f.kind {
	case kindState:
		if _, ok := s.stateSet.Lookup(v); !ok {
			if s.country == yp.DefaultCountry {
				return "is not one of the 50 states or DC"
			}
			return "is not a state of " + s.country
		}
	case kindOwnURL:
		if !s.ownURL(v) {
			return "is not on " + s.base.Host
		}
	case kindPublicURL:
		if !publicURL(v) {
			return "is not an http or https address of a public host"
		}
	}
	return ""
}

// The kinds of values that no regular expression can tell.
const (
	kindState     = "state"      // a state of the source or its country (in the USA the 50 states and DC), by code or name
	kindOwnURL    = "own_url"    // an address on the source's own host
	kindPublicURL = "public_url" // an http or https address whose host is reachable from the internet
)

var formatKinds = []string{kindOwnURL, kindPublicURL, kindState}

// ownURL reports whether a URL is on the source's host and port.
func (s *Source) ownURL(ref string) bool {
	u, ok := webURL(ref)
	return ok && bareHost(u) == s.host && u.Port() == s.base.Port()
}

// publicURL reports whether a URL is http(s), and its host can be reached from
// the internet: a name with a dot that is not set aside for local use (RFC
// 6762, RFC 6761, RFC 8375, and .internal by ICANN), or an address of no
// private, loopback or otherwise special network. The names under .example, which are
// nobody's either (RFC 2606), pass: the demo directory is full of them.
func publicURL(ref string) bool {
	u, ok := webURL(ref)
	if !ok {
		return false
	}
	host := u.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsGlobalUnicast() && !addr.IsPrivate()
	}
	dot := strings.LastIndexByte(host, '.')
	if dot <= 0 || digit(host[len(host)-1]) || strings.HasSuffix(host, "home.arpa") {
		return false
	}
	switch host[dot+1:] {
	case "", "local", "localhost", "internal", "intranet", "lan", "home", "corp", "invalid", "test", "onion":
		return false
	}
	return true
}

// webURL parses an http(s) URL.
func webURL(ref string) (*url.URL, bool) {
	u, err := url.Parse(ref)
	return u, err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// textFields are the fields that rules can speak of.
var textFields = func() (fields []*yp.ListingField) {
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		if _, ok := f.At(&yp.Listing{}).(*string); ok {
			fields = append(fields, f)
		}
	}
	return fields
}()

// textField returns the field of that name, or an error that lists those there are.
func textField(name string) (*yp.ListingField, error) {
	names := make([]string, len(textFields))
	for i, f := range textFields {
		if names[i] = f.Name; f.Name == name {
			return f, nil
		}
	}
	return nil, unknown("field", name, names)
}

// textOf returns the value of a text field.
func textOf(f *yp.ListingField, l *yp.Listing) string { return *f.At(l).(*string) }
