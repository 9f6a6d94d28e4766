package yp

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPhone is the longest text that can be a phone number with its decoration
// and extension; beyond it there is nothing to look for.
const maxPhone = 128

// CanonicalPhone returns the E.164 form of a phone number of the North
// American Numbering Plan, as directories write it: "(310) 555-0123",
// "310.555.0123 ext. 4", "tel:+1-310-555-0123", and in letters, see dialed.word:
// "1-800-FLOWERS". Extensions and a second number
// after the first are dropped. ok is false for numbers of other countries,
// without an area code, and where the plan allows no such number: area code [2-9][0-8]X but not N11, exchange [2-9]XX
// (https://nationalnanpa.com, "About NANPA").
func CanonicalPhone(s string) (e164 string, ok bool) {
	if len(s) > maxPhone {
		return "", false
	}
	text, ok := dialText(s)
	if !ok {
		return "", false
	}
	if rest, ok := cutDialled(text, "001"); ok && rest[0] != '1' { // the prefix of most of the world, and the country code of the plan
		if _, plus := cutPlus(text); !plus {
			text = rest
		}
	}
	var d dialed
	d.read(text)
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

// dialText returns a phone number in ASCII, and as it reads when it is part of a tel: address.
func dialText(s string) (string, bool) {
	if plain, err := url.PathUnescape(s); err == nil {
		s = plain
	}
	return plain(s)
}

// E164 returns the E.164 form of a phone number on a page of a source in a country (ISO 3166, "US"). A number
// behind "+", or behind what is dialled there for a call to another country, has the form that it names itself, in whichever
// country. Any other number is read by the numbering plan of the source's country: see CanonicalPhone for those of the North
// American one, and numberingPlan.read for the others.
func E164(s, country string) (e164 string, ok bool) {
	if len(s) > maxPhone {
		return "", false
	}
	text, ok := dialText(s)
	if !ok {
		return "", false
	}
	abroad, ok := cutPlus(text)
	if !ok {
		if prefix := dialledAbroad(country); prefix != "" {
			abroad, ok = cutDialled(text, prefix)
			ok = ok && (abroad[0] != '0' || InNANP(country)) // no calling code begins with a zero: toll free numbers of India and Uruguay do with three
		}
	}
	switch {
	case ok && abroad[0] != '1' && InNANP(country) && groupedAsNANP(abroad):
		return "", false
	case ok && abroad[0] == '1':
		return CanonicalPhone("+" + abroad)
	case ok:
		return international(abroad)
	case InNANP(country):
		return CanonicalPhone(s)
	}
	return national(text, country)
}

// groupedAsNANP reports whether a number that is behind a plus may be one of the North American Numbering Plan that lacks its country
// code: "+415 555 0123" is of San Francisco, or of Switzerland, and "+212 555 0123" of New York, or cut off. Its digits are
// those of the plan, and so is the first group of them, which is no country code with numbers of seven digits.
func groupedAsNANP(s string) bool {
	if code := countryCode(s); digitsAt(s) != 3 || len(code) == 3 && !slices.Contains(notOfSeven, code) {
		return false
	}
	_, ok := CanonicalPhone(s)
	return ok
}

// notOfSeven are the country codes of three digits whose numbers never have seven more.
var notOfSeven = strings.Fields(`212 213 216 221 222 223 224 225 226 227 228 229 232 235 236 237 240 242 244 247 249 250 253 255 257 258 260 262 264 266 268
350 351 356 357 370 371 373 374 376 377 378 382 383 387 420 500 502 504 505 506 508 509 672 681 682 686 687 689 800 808 856 870 878 881 883 888 962 973 976 979`)

// cutPlus returns what follows a plus sign before the first digit, from the first digit on.
func cutPlus(s string) (rest string, ok bool) {
	first := strings.IndexAny(s, "0123456789")
	if first < 0 || strings.IndexByte(s[:first], '+') < 0 {
		return "", false
	}
	return s[first:], true
}

// cutDialled returns what follows the digits with which a number begins, from the next digit on.
func cutDialled(s, digits string) (rest string, ok bool) {
	for s = s[max(0, strings.IndexAny(s, "0123456789")):]; s != ""; s = s[1:] {
		switch {
		case !isDigit(s[0]):
			if strings.IndexByte(betweenDigits, s[0]) < 0 {
				return "", false
			}
		case digits == "":
			return s, true
		case s[0] != digits[0]:
			return "", false
		default:
			digits = digits[1:]
		}
	}
	return "", false
}

// betweenDigits are the signs that people write between the digits of one number.
const betweenDigits = " ()-./"

// international reads a number from its country code on, up to an extension, other words or a second number. A sign
// that nobody writes in a number may stand for digits that the page hides: then there is none.
func international(s string) (e164 string, ok bool) {
	code := countryCode(s)
	if code == "" {
		return "", false
	}
	buf, ok := appendDigits(append(make([]byte, 0, 1+maxE164), '+'), s, len(code), 1+maxE164, keepsZero[code])
	if !ok {
		return "", false
	}
	national := buf[1+len(code):]
	if len(national) < leastNational(code) || national[0] == '0' && !keepsZero[code] && !inPlan(code, string(national)) {
		return "", false
	}
	if code == "54" {
		return "+54" + mobileOfArgentina(string(national)), true
	}
	return string(buf), true
}

// appendDigits appends the digits of a number to buf, up to an extension, other words or a second number; the first ones, so many as
// code says, are its calling code. There is no number of more than limit bytes, nor one with a sign that nobody writes in numbers.
// A zero in brackets is dialled within a country alone, unless its numbers keep zeros.
func appendDigits(buf []byte, s string, code, limit int, zeros bool) (digits []byte, ok bool) {
	begin := len(buf) + code
	for ; s != "" && !endsPhone(s, len(buf)-begin); s = s[1:] {
		switch c := s[0]; {
		case isDigit(c) && len(buf) >= limit, !isDigit(c) && strings.IndexByte(betweenDigits, c) < 0, strings.HasPrefix(s, ".."):
			return nil, false
		case isDigit(c):
			buf = append(buf, c)
		case !zeros && strings.HasPrefix(s, "(0)"):
			s = s[2:]
		}
	}
	return buf, true
}

// maxE164 is how many digits the longest number has (ITU-T E.164, section 6).
const maxE164 = 15

// leastNational is how many digits a number has at least behind a calling code.
func leastNational(code string) int { return max(4, 7-len(code)) }

// endsPhone reports whether what follows the digits of a number, so many behind its country code, is no part of it. A
// slash is behind an area code, too.
func endsPhone(s string, digits int) bool {
	switch s[0] {
	case '+', ',', ';', '|', '#', '=', '?', '&':
		return true
	case '/':
		return digits > 5
	case ' ', '(':
		word, bracket := wordBehind(s)
		if !isASCII(word) || slices.Contains(besidePhones, strings.ToLower(word)) || bracket && strings.ToUpper(word) != word {
			return true
		}
	}
	return extension(s)
}

// wordBehind returns the word that a text begins with behind blanks and perhaps a bracket.
func wordBehind(s string) (word string, bracket bool) {
	bare := strings.TrimLeft(s, " (")
	return bare[:len(bare)-len(strings.TrimLeftFunc(bare, unicode.IsLetter))], strings.IndexByte(s[:len(s)-len(bare)], '(') >= 0
}

// besidePhones are words behind a number that are no part of it. Others may be letters that are dialled: "800 123 CALL".
var besidePhones = strings.Fields("or and oder und ou et o y e i och og of en fax tel telephone telefon phone mobile mobil cell handy office home work main direct toll free ext extension доб или")

// extension reports whether a text begins with the number of an extension: "x4", "ext. 12".
func extension(s string) bool {
	for _, word := range [...]string{"extension", "ext", "x"} {
		if len(s) > len(word) && strings.EqualFold(s[:len(word)], word) && digitsAt(strings.TrimLeft(s[len(word):], ". :")) > 0 {
			return true
		}
	}
	return false
}

// ShownPhone returns a phone number as a page of a source in a country shows it, without what is before it, such as
// "Phone:", and its E.164 form, if it has one, see E164. Both are "" for a text with too few digits
// to be a number.
func ShownPhone(s, country string) (shown, e164 string) {
	begin, digits := len(s), 0
	for i, r := range s {
		_, digit := zeroOf(r)
		if digit {
			digits++
		}
		if (digit || strings.ContainsRune("+(＋（", r)) && begin > i {
			begin = i
		}
	}
	if digits < leastDigits {
		return "", ""
	}
	s = s[begin:]
	e164, ok := E164(s, country)
	if digits < leastPhone && !ok { // nor are there letters that stand for the others
		return "", ""
	}
	return s, e164
}

// leastPhone is how many digits a number has that people can dial.
const leastPhone = 6

// leastDigits is how many of them are in digits at least: an area code.
const leastDigits = 3

// dialed gathers the digits of a number as it is read.
type dialed struct {
	digits  [12]byte // one more than the longest number, to tell it is too long
	n       int
	plus    bool // an international prefix is before the first digit
	foreign bool // a character that no number of ours has
	letters bool // some digits are written as letters
}

func (d *dialed) read(s string) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			d.add(c)
		case isLetter(c) && d.n > 0:
			end := i + 1
			for end < len(s) && isLetter(s[end]) {
				end++
			}
			if !d.word(s, i, end) {
				return
			}
			i = end - 1
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

// word reads the word s[i:end], and reports whether to read on. Where an area code is before it and the
// number is not whole yet, its letters may stand for digits, as they do on a telephone's keys (ITU-T E.161): "1-800-FLOWERS",
// "877-KARS-4-KIDS"; what a name has too many is not dialled. A word in small letters does only where a hyphen, a point or
// a bracket joins it to the number ("800-Flowers"): else it is other text ("310 555 call us"). What hides digits
// ("555-XXXX") or may be a misprint of one ("555-O123") makes no number.
func (d *dialed) word(s string, i, end int) bool {
	word := s[i:end]
	national := d.n
	if d.digits[0] == '1' {
		national--
	}
	upper, before := strings.ToUpper(word), s[i-1]
	switch {
	case d.complete(), national < 3, national > 6 && !d.letters, upper == "X", strings.HasPrefix(upper, "EXT"),
		slices.Contains(besidePhones, strings.ToLower(word)), word != upper && strings.IndexByte("-.)", before) < 0 && !isDigit(before):
		return false // an extension, or other text
	case hidesDigits(upper), len(word) < 3 && (isDigit(before) || end < len(s) && isDigit(s[end])):
		d.foreign = true
		return false
	}
	d.letters = true
	for _, c := range []byte(upper) {
		if d.add(keypad[c-'A']); d.complete() {
			return false
		}
	}
	return true
}

// keypad gives the digit on whose key each letter is.
const keypad = "22233344455566677778889999"

// hidesDigits reports whether a word, in capitals, is one letter again and again, as in "555-XXXX". (AAA is an
// automobile club.)
func hidesDigits(word string) bool {
	return len(word) > 1 && strings.Trim(word, word[:1]) == "" && (len(word) > 2 || word[0] == 'X') && word != "AAA"
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
