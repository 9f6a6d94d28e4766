package fetch

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"
)

// toUTF8 returns the body as valid UTF-8 without a byte order mark, in the same
// buffer or another pooled one. What is UTF-8 already stays, whatever it is
// declared as: pages lie more often than bytes do. (The library's own sniffing
// sees 1,024 bytes only.)
func (p *pools) toUTF8(b *buffer, contentType string, lim limit) (*buffer, error) {
	if utf8.Valid(b.b) && !looksASCII(contentType) {
		b.b = trimBOM(b.b)
		return b, nil
	}
	enc, name, certain := charset.DetermineEncoding(b.b, contentType)
	switch {
	case name == "utf-8" && !marked(b.b) && !mostlyUTF8(b.b):
		enc = charmap.Windows1252 // says that it is UTF-8, and is Latin-1
	case name == "utf-8", enc == encoding.Nop, !certain && mostlyUTF8(b.b):
		enc = nil
	}
	out := p.buffer()
	if enc == nil {
		out.b = appendValid(out.b, trimBOM(b.b))
	} else if err := out.fill(transform.NewReader(bytes.NewReader(b.b), enc.NewDecoder()), lim); err != nil {
		p.putBuffer(out)
		return b, fmt.Errorf("convert to UTF-8: %w", err)
	}
	out.b = trimBOM(out.b)
	p.putBuffer(b)
	return out, nil
}

const mark = "\xef\xbb\xbf" // of UTF-8, at the beginning

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte(mark)) }

func marked(b []byte) bool { return bytes.HasPrefix(b, []byte(mark)) }

// looksASCII reports whether the declared charset writes other text in bytes
// that pass for ASCII, so that being valid UTF-8 proves nothing.
func looksASCII(contentType string) bool {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	cs := strings.ToLower(params["charset"])
	return strings.HasPrefix(cs, "utf-16") || strings.HasPrefix(cs, "iso-2022-") || strings.HasPrefix(cs, "hz-")
}

// mostlyUTF8 reports whether b is UTF-8 with some damage (a rune cut in two by
// a template, say) rather than text of another charset.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		b = b[n:]
	}
	return good > bad
}

// appendValid appends src with what is no UTF-8 in it replaced by the letter that the
// byte is in Windows-1252, as when a page takes its names from an old database. What
// is no letter there, or can only be the beginning of a rune that was cut in two, is
// left out.
func appendValid(dst, src []byte) []byte {
	for len(src) > 0 {
		r, n := utf8.DecodeRune(src)
		if r == utf8.RuneError && n == 1 {
			letter := charmap.Windows1252.DecodeByte(src[0])
			if n = cutRune(src); n > 0 || letter == utf8.RuneError {
				src = src[max(n, 1):]
				continue
			}
			r, n = letter, 1
		}
		dst = utf8.AppendRune(dst, r)
		src = src[n:]
	}
	return dst
}

// cutRune returns how many bytes b begins with of a rune that lacks its end, 0 = it is
// none: of quotes, dashes and pictures, whose first two bytes make no sense in
// Windows-1252.
func cutRune(b []byte) int {
	if len(b) < 2 || b[0] != 0xe2 && b[0] != 0xf0 || utf8.RuneStart(b[1]) {
		return 0
	}
	n := 2
	for b[0] == 0xf0 && n < min(len(b), 3) && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}
