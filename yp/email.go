package yp

import (
	"encoding/hex"
	"net/url"
	"strings"
)

// Bounds of RFC 5321 (4.5.3.1) on a mail address, in bytes.
const (
	maxMail      = 254
	maxMailLocal = 64
	maxMailText  = 1024 // what is looked at: an address with its "mailto:" and parameters
	maxMailValue = 4096 // a text with an address in it
)

// CanonicalEmail returns a mail address fit to keep: s without "mailto:", its
// parameters, the name around "<…>" and percent-encoding, the host in lower
// case ASCII. Of a list the first address counts. ok is false for what is no
// address that a business can have: a local part beyond the dot-atoms of RFC
// 5322, quoted ones too, or one that starts with anything but a letter, a digit
// or "_"; a host without a dot, an IP address, the name of an image
// ("logo@2x.png").
func CanonicalEmail(s string) (email string, ok bool) {
	if len(s) > maxMailText {
		return "", false
	}
	s, ok = mailText(s)
	if !ok {
		return "", false
	}
	at := strings.IndexByte(s, '@')
	if at < 0 || !mailLocal(s[:at]) {
		return "", false
	}
	host, ok := mailHost(s[at+1:])
	if !ok || at+1+len(host) > maxMail {
		return "", false
	}
	if s[at+1:] == host {
		return strings.Clone(s), true
	}
	return s[:at+1] + host, true
}

// mailText cuts all that may be around an address.
func mailText(s string) (string, bool) {
	s = tidyAddress(s)
	if len(s) >= 7 && strings.EqualFold(s[:7], "mailto:") {
		s, _, _ = strings.Cut(s[7:], "?")
		plain, err := url.PathUnescape(s)
		if err != nil {
			return "", false
		}
		s = tidyAddress(plain)
	}
	if i := strings.IndexAny(s, ",;"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	if open := strings.LastIndexByte(s, '<'); open >= 0 && strings.HasSuffix(s, ">") {
		s = strings.TrimSpace(s[open+1 : len(s)-1])
	}
	return s, true
}

func mailLocal(s string) bool {
	if s == "" || len(s) > maxMailLocal || s[len(s)-1] == '.' || !isAlnum(s[0]) && s[0] != '_' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c == '.' && s[i-1] == '.' || !isAlnum(c) && strings.IndexByte(".!#$%&'*+-/=?^_`{|}~", c) < 0 {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool { return isLetter(c) || isDigit(c) }

// mailHost returns the host of an address in lower case ASCII.
func mailHost(s string) (string, bool) {
	if len(s) > 4*maxHost {
		return "", false
	}
	host, ok := asciiHost(strings.TrimSuffix(s, "."))
	if !ok || !validHost(host) || strings.IndexByte(host, '_') >= 0 {
		return "", false
	}
	dot := strings.LastIndexByte(host, '.')
	top := host[dot+1:]
	if dot < 0 || len(top) < 2 || !isLetter(top[0]) || imageName(top) {
		return "", false
	}
	return host, true
}

// imageName reports whether what looks like a top-level domain is the ending
// of a picture's file name; none of them is a domain.
func imageName(top string) bool {
	switch top {
	case "png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "ico", "css", "js":
		return true
	}
	return false
}

// HiddenEmailPath is where the CDN Cloudflare leads links to mail addresses that it
// hides from machines; the address is behind it and a "#", in hex.
const HiddenEmailPath = "/cdn-cgi/l/email-protection"

// FindEmail returns the mail address in a value from a page: a link with "mailto:", a
// link or an attribute that hides the address, or a text with the address in it.
func FindEmail(value string) (email string, ok bool) {
	if len(value) > maxMailValue {
		return "", false
	}
	if _, hidden, ok := strings.Cut(value, HiddenEmailPath+"#"); ok {
		value = hidden
	}
	if plain, ok := cloudflareEmail(value); ok {
		value = "mailto:" + plain // it is a link's address: parameters may follow
	}
	if email, ok = CanonicalEmail(value); ok {
		return email, true
	}
	return CanonicalEmail(addressIn(value))
}

// cloudflareEmail decodes a mail address that Cloudflare has hidden: bytes in
// hex, each XORed with the first. It returns what is there, which may be
// anything; ok is false when the form is another.
func cloudflareEmail(s string) (text string, ok bool) {
	if len(s) < 4 || len(s) > maxMailText {
		return "", false
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return "", false
	}
	for i := range b[1:] {
		b[i+1] ^= b[0]
	}
	return string(b[1:]), true
}

// addressIn returns the word of a text that has an "@", without the marks
// around it.
func addressIn(text string) string {
	for w := range strings.FieldsSeq(text) {
		if strings.IndexByte(w, '@') > 0 {
			if i := strings.LastIndexByte(w[:strings.IndexByte(w, '@')], ':'); i >= 0 {
				w = w[i+1:] // "E-mail:info@acme.com"
			}
			return strings.Trim(w, "()[]{}<>\"'.,;:!")
		}
	}
	return ""
}
