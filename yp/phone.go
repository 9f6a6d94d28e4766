package yp

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPhone is the longest text that can be a phone number with its decoration
// and extension; beyond it there is nothing to look for.
const maxPhone = 128

// CanonicalPhone returns the E.164 form of a phone number of the North
// American Numbering Plan, as directories write it: "(310) 555-0123",
// "310.555.0123 ext. 4", "tel:+1-310-555-0123". Extensions and a second number
// after the first are dropped. ok is false for numbers of other countries, in
// letters ("1-800-FLOWERS"), without an area code, and where the plan
// allows no such number: area code [2-9][0-8]X but not N11, exchange [2-9]XX
// (https://nationalnanpa.com, "About NANPA").
func CanonicalPhone(s string) (e164 string, ok bool) {
	if len(s) > maxPhone {
		return "", false
	}
	var d dialed
	if plain, err := url.PathUnescape(s); err == nil { // of a tel: address
		d.read(plain)
	} else {
		d.read(s)
	}
	national, ok := d.national()
	if !ok {
		return "", false
	}
	buf := [12]byte{'+', '1'}
	copy(buf[2:], national)
	if string(buf[:]) == s {
		return s, true
	}
	return string(buf[:]), true
}

// ShownPhone returns a phone number as a page shows it, without what stands before it, such as
// "Phone:", and its E.164 form, if it has one. Both are "" for a text with too few digits
// to be a number.
func ShownPhone(s string) (shown, e164 string) {
	s = s[max(0, strings.IndexAny(s, "+(0123456789")):]
	digits := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			digits++
		}
	}
	if digits < 7 {
		return "", ""
	}
	e164, _ = CanonicalPhone(s)
	return s, e164
}

// dialed gathers the digits of a number as it is read.
type dialed struct {
	digits  [12]byte // one more than the longest number, to tell it is too long
	n       int
	plus    bool // an international prefix stands before the first digit
	foreign bool // a character that no number of ours has
}

func (d *dialed) read(s string) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			d.add(c)
		case isLetter(c) && d.n > 0:
			return // an extension, other text, or a word that stands for digits
		case c == '+':
			d.plus = d.plus || d.n == 0
		case strings.IndexByte(",;/|#=?&", c) >= 0 && d.complete():
			return // an extension, a parameter or a second number follows
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			d.foreign = d.foreign || unicode.IsDigit(r)
			i += size - 1
		}
	}
}

func (d *dialed) add(c byte) {
	if d.n < len(d.digits) {
		d.digits[d.n] = c
		d.n++
	}
}

// complete reports whether the digits so far make a whole number, so that what
// follows is an extension, a parameter or a second number.
func (d *dialed) complete() bool {
	return d.n == 10 && d.digits[0] != '1' || d.n == 11
}

// national returns the ten digits after the country code, if the plan allows
// them.
func (d *dialed) national() ([]byte, bool) {
	digits := d.digits[:d.n]
	switch {
	case d.foreign:
		return nil, false
	case d.n == 11 && digits[0] == '1':
		digits = digits[1:]
	case d.n != 10 || d.plus:
		return nil, false
	}
	area, exchange := digits[:3], digits[3:6]
	if area[0] < '2' || area[1] == '9' || area[1] == '1' && area[2] == '1' || exchange[0] < '2' {
		return nil, false
	}
	return digits, true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
