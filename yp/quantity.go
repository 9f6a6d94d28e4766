package yp

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostCounted is the largest number that can be a count.
const mostCounted = 1_000_000_000

// Count reads the first number of a text as a count of reviews or listings: "(12)", "1,234 reviews", "1.234", "1 234",
// "1'234" and "1,23,456" have their thousands apart, "1.2K" is 1200, "12.0" is 12. exact is false for a number that
// only says about how many: "1.2K", "1,000+", "about 300". ok is false when there is none, for "2.3", a share, a range,
// a date and a time, for one whose groups can't be told from decimals ("1.234K"), and for one too large to be a count.
func Count(s string) (n int, exact, ok bool) {
	s, ok = plain(s)
	at := strings.IndexAny(s, "0123456789")
	if !ok || at < 0 || !beginsCount(s[:at]) {
		return 0, false, false
	}
	num, rest, ok := readNumeral(s[at:])
	if !ok {
		return 0, false, false
	}
	factor, rest := magnitude(rest)
	if n, ok = num.times(factor); !ok || goesOn(rest) {
		return 0, false, false
	}
	return n, factor == 1 && !strings.HasPrefix(rest, "+") && !approximate(s[:at]), true
}

// WholeCount returns the part of a text that a pattern took, with what belongs to the number at its end: of "1.2K" and
// "1 234" it may have taken the first digit. behind is what follows the part.
func WholeCount(part, behind string) string {
	if behind == "" || part == "" || !isDigit(part[len(part)-1]) {
		return part
	}
	from := len(part)
	for from > 0 && (isDigit(part[from-1]) || from > 1 && isDigit(part[from-2]) && strings.IndexByte(".,' ", part[from-1]) >= 0) {
		from--
	}
	text, ok := plain(part[from:] + behind)
	if !ok {
		return ""
	}
	_, rest, ok := readNumeral(text)
	if !ok {
		return ""
	}
	if _, rest = magnitude(rest); rest != "" && strings.IndexByte("+%", rest[0]) >= 0 {
		rest = rest[1:]
	}
	if size := len(text) - len(rest); size > len(part)-from {
		return part[:from] + text[:size]
	}
	return part
}

// beginsCount reports whether a count may begin behind a text: not behind a decimal sign or one for less than nothing.
func beginsCount(before string) bool {
	if before == "" {
		return true
	}
	switch last := before[len(before)-1]; last {
	case '.', ',':
		return false
	case '-':
		return len(before) > 1 && before[len(before)-2] != ' ' && before[len(before)-2] != '('
	}
	return true
}

// goesOn reports whether what follows a number makes something else of it: a share, a range, a date, a time, a power.
func goesOn(rest string) bool {
	trimmed := strings.TrimLeft(rest, " ")
	if trimmed == "" {
		return false
	}
	next := strings.TrimLeft(trimmed[1:], " ")
	numbered := digitsAt(next) > 0
	switch trimmed[0] {
	case '%':
		return true
	case '-', '/':
		return numbered
	case ':', 'e', 'E':
		return len(trimmed) == len(rest) && (digitsAt(trimmed[1:]) > 0 || len(trimmed) > 2 && strings.IndexByte("+-", trimmed[1]) >= 0 && isDigit(trimmed[2]))
	}
	return false
}

// approximately are words before a number that is no exact one.
var approximately = strings.Fields("~ ≈ > ≥ < ≤ about approximately approx around circa ca over than nearly almost etwa ungefähr rund über environ")

// approximate reports whether what stands before a number says that it is only about right.
func approximate(before string) bool {
	before = strings.TrimRight(before, " .")
	word := strings.ToLower(before[strings.LastIndexByte(before, ' ')+1:])
	return slices.Contains(approximately, word)
}

// A numeral is a number as it is written.
type numeral struct {
	whole    int
	fraction string // digits behind the decimal sign
	grouped  bool   // its thousands are apart
}

// readNumeral reads the number that a text begins with. A sign before exactly three digits keeps thousands apart, as
// does a comma before two where three end the number (India); any other point or comma stands before decimals.
func readNumeral(s string) (n numeral, rest string, ok bool) {
	end := digitsAt(s)
	digits, sep := s[:end], byte(0)
	for size, last := 0, digits == "" || digits[0] == '0' || end > 3; !last; {
		if size, last = groupAt(s[end:], sep); size == 0 {
			break
		}
		n.grouped, sep = true, s[end]
		digits += s[end+1 : end+1+size]
		end += 1 + size
	}
	if n.whole, ok = wholeNumber(digits); !ok {
		return n, "", false
	}
	if fraction := decimalsAt(s[end:]); fraction > 0 {
		if s[end] == sep {
			return n, "", false
		}
		n.fraction = s[end+1 : end+1+fraction]
		if end += 1 + fraction; decimalsAt(s[end:]) > 0 {
			return n, "", false
		}
	}
	return n, s[end:], true
}

// decimalsAt returns how many digits follow the point or comma that a text begins with.
func decimalsAt(s string) int {
	if s == "" || s[0] != '.' && s[0] != ',' {
		return 0
	}
	return digitsAt(s[1:])
}

// groupAt returns how many digits the group has that a text begins with behind its sign, 0 = there is none; sep is the
// sign of the groups before, 0 = there were none. last says that no other may follow.
func groupAt(s string, sep byte) (size int, last bool) {
	if s == "" || sep != 0 && s[0] != sep || strings.IndexByte(".,' ", s[0]) < 0 {
		return 0, true
	}
	switch digitsAt(s[1:]) {
	case 3:
		return 3, false
	case 2:
		if s[0] == ',' && indianEnd(s[3:]) {
			return 2, false
		}
	}
	return 0, true
}

// indianEnd reports whether groups of two digits follow, and one of three.
func indianEnd(s string) bool {
	for range 4 { // more are no count
		if s == "" || s[0] != ',' {
			return false
		}
		switch digitsAt(s[1:]) {
		case 3:
			return true
		case 2:
			s = s[3:]
		default:
			return false
		}
	}
	return false
}

// wholeNumber reads digits, of which there are some.
func wholeNumber(digits string) (n int, ok bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n <= mostCounted
}

// times returns the number in units of which it counts factor each. It must be a whole one.
func (n numeral) times(factor int) (int, bool) {
	fraction := strings.TrimRight(n.fraction, "0")
	if n.grouped && factor > 1 || n.whole > mostCounted/factor {
		return 0, false
	}
	total := n.whole * factor
	for i := range len(fraction) {
		if factor%10 != 0 {
			return 0, false
		}
		factor /= 10
		total += int(fraction[i]-'0') * factor
	}
	return total, total <= mostCounted
}

// magnitudes are the words behind a number that counts thousands or millions: of English, German, Spanish and
// Portuguese, Italian, Polish, Russian, Turkish, Indonesian, Indian English, Chinese, Japanese and Korean.
var magnitudes = map[string]int{
	"k": 1e3, "thousand": 1e3, "tsd": 1e3, "mil": 1e3, "mila": 1e3, "tys": 1e3, "тыс": 1e3, "bin": 1e3, "rb": 1e3, "ribu": 1e3, "千": 1e3, "천": 1e3,
	"万": 1e4, "萬": 1e4, "만": 1e4, "lakh": 1e5, "lakhs": 1e5,
	"m": 1e6, "mn": 1e6, "mio": 1e6, "mln": 1e6, "million": 1e6, "millions": 1e6, "millionen": 1e6, "jt": 1e6, "juta": 1e6, "млн": 1e6,
	"億": 1e8, "亿": 1e8, "억": 1e8,
}

// magnitude reads the word that multiplies the number before it, if the text begins with one, and returns what follows.
func magnitude(s string) (factor int, rest string) {
	word := strings.TrimPrefix(s, " ")
	end := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(word)
	}
	if r, size := utf8.DecodeRuneInString(word); unicode.In(r, unicode.Han, unicode.Hangul) { // their words have no blanks between them
		end = size
	}
	if end == 0 || end > 16 {
		return 1, s
	}
	factor, ok := magnitudes[strings.ToLower(word[:end])]
	if !ok || word[:end] == "m" && len(word) < len(s) { // "12 m" are metres
		return 1, s
	}
	return factor, strings.TrimPrefix(word[end:], ".")
}
