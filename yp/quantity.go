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
// only says about how many: "1.2K", "1,000+", "500 or more", "about 300". ok is false when there is none, for "2.3", a share, a range,
// a date and a time, for a rating ("5 stars"), for one with letters that may multiply it ("1B", "12th"), for one whose
// groups can't be told from decimals ("1.234K"), and for one too large to be a count.
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
	if n, ok = num.times(factor); !ok || goesOn(rest) || countsOther(rest) || rated(s[:at], rest) {
		return 0, false, false
	}
	return n, factor == 1 && !atLeast(rest) && !approximate(s[:at]), true
}

// atLeast reports whether what stands behind a number says that there may be more: "+", " or more".
func atLeast(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " "), "+") || strings.Contains(strings.ToLower(rest), "or more")
}

// WholeCount returns the part of a text that a pattern took, with what else belongs to the numbers at its ends: of "1.2K",
// "1 234" and "1,234" it may have taken some digits. before and behind are what the part is between. "" where
// it is not clear which number the part is of, as between "1 " and "234".
func WholeCount(before, part, behind string) string {
	if part == "" {
		return ""
	}
	at := numberStart(before)
	text, ok := plain(before[at:] + part)
	if !ok {
		return ""
	}
	head, _ := plain(before[at:])
	if cutsNumber(head, text[len(head):]) {
		if part = strings.TrimLeft(text, ".,' "); strings.Contains(strings.TrimLeft(head, " "), " ") || numberEnd(part) < len(part) {
			return ""
		}
	}
	return withEnd(part, behind)
}

// numberStart returns where the digits, and the signs between them, begin that a text ends with.
func numberStart(s string) int {
	at := len(s)
	for at > 0 && len(s)-at < maxNumber {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		r = plainSign(r)
		if _, digit := zeroOf(r); !digit && r >= 0 && !strings.ContainsRune(".,' ", r) {
			break
		}
		at -= size
	}
	return at
}

// cutsNumber reports whether a number may go from one text on in the next one. Behind a blank that is three digits alone.
func cutsNumber(head, part string) bool {
	if head == "" || digitsAt(part) == 0 {
		return false
	}
	digits := strings.TrimRight(head[:len(head)-1], "0123456789")
	switch n := len(head) - 1 - len(digits); {
	case isDigit(head[len(head)-1]):
		return true
	case head[len(head)-1] == ' ':
		return 0 < n && n <= 3 && digitsAt(part) == 3
	default:
		return n > 0
	}
}

// maxNumber is the longest number in bytes.
const maxNumber = 64

// numberEnd returns where the number ends that a text begins with.
func numberEnd(s string) int {
	_, rest, ok := readNumeral(s)
	if !ok {
		return 0
	}
	return len(s) - len(rest)
}

// withEnd returns a part of a text with what belongs to the number at its end.
func withEnd(part, behind string) string {
	if behind == "" || !isDigit(part[len(part)-1]) {
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
		return len(trimmed) == len(rest) &&
			(digitsAt(trimmed[1:]) > 0 || len(trimmed) > 2 && strings.IndexByte("+-", trimmed[1]) >= 0 && isDigit(trimmed[2]))
	}
	return false
}

// countsOther reports whether what follows a number makes something else of it that is not read: a letter or two right behind it
// ("1B", "12th"), letters with digits, another part of a number ("1'23"), a word for many, a range.
func countsOther(rest string) bool {
	if rest == "" {
		return false
	}
	if strings.IndexByte("'_~*\"", rest[0]) >= 0 && digitsAt(rest[1:]) > 0 || strings.HasPrefix(rest, "·") && digitsAt(rest[len("·"):]) > 0 {
		return true
	}
	word := strings.TrimLeft(rest, " ")
	end := len(word) - len(strings.TrimLeftFunc(word, unicode.IsLetter))
	glued, after := len(word) == len(rest), word[end:]
	r, _ := utf8.DecodeRuneInString(word)
	switch word = word[:end]; {
	case end == 0:
		return false
	case slices.Contains(multitudes, strings.ToLower(word)):
		return true
	case slices.Contains(upTo, strings.ToLower(word)):
		return digitsAt(strings.TrimLeft(after, " ")) > 0
	case !glued:
		return len(word) == 1 && 'A' <= r && r <= 'Z'
	case digitsAt(after) > 0:
		return true
	}
	return !unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) &&
		(utf8.RuneCountInString(word) <= 2 || slices.Contains(ordinals, strings.ToLower(word)))
}

// multitudes are words behind a number that multiply it and that are not read: they are too large, too rough, or stand for another number
// in another language. upTo are those within a range, and ordinals the ends of one.
var (
	multitudes = strings.Fields("b bn billion billions billionen mrd mia milliard milliards milliarde milliarden miliardi t tn trillion trillions billón billones crore crores cr lac lacs l dozen dozens dutzend hundred hundreds hundert")
	upTo       = strings.Fields("to bis à through until")
	ordinals   = strings.Fields("ste ème eme ième")
)

// rated reports whether a number is a rating by what is around it: "5 stars", "4 out of 5", "Rated 4".
func rated(before, rest string) bool {
	word, _ := lastWord(strings.TrimRight(before, " :("))
	if word == "rated" || strings.TrimRight(before, " ("+starSigns) != strings.TrimRight(before, " (") {
		return true
	}
	rest = strings.TrimLeft(rest, " -")
	if r, _ := utf8.DecodeRuneInString(rest); strings.ContainsRune(starSigns, r) || cutWord(rest, starNames) != rest {
		return rest != ""
	}
	if len(rest) > 7 && strings.EqualFold(rest[:7], "out of ") {
		return true
	}
	best, behind := ratingScale(rest)
	behind = strings.TrimLeft(behind, " ")
	return best > 0 && cutWord(behind, starNames) != behind
}

// approximately are words before a number that is no exact one.
var approximately = strings.Fields("~ ≈ > ≥ < ≤ about approximately approx around circa ca over than nearly almost etwa ungefähr rund über environ")

// approximate reports whether what is before a number says that it is only about right.
func approximate(before string) bool {
	before = strings.TrimRight(before, " .")
	word := strings.ToLower(before[strings.LastIndexByte(before, ' ')+1:])
	return slices.Contains(approximately, word)
}

// A numeral is a number as it is written.
type numeral struct {
	whole    int
	point    int    // digits of it behind the only point or comma that keeps its thousands apart; else 0
	fraction string // digits behind the decimal sign
	grouped  bool   // its thousands are apart
}

// readNumeral reads the number that a text begins with. A sign before exactly three digits keeps thousands apart, as
// does a comma before two where three end the number (India); any other point or comma is before decimals.
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
		if n.point = 0; size == 3 && end <= 7 && (sep == '.' || sep == ',') {
			n.point = 3
		}
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

// times returns the number in units of which it counts factor each. It must be a whole one. "1.234M" has decimals, as it is
// too large a number otherwise; of "1.234K" nobody knows.
func (n numeral) times(factor int) (int, bool) {
	if n.point > 0 && factor > 1 && n.fraction == "" && n.whole > mostCounted/factor {
		digits := strconv.Itoa(n.whole)
		n.whole, n.fraction, n.grouped = n.whole/1000, digits[len(digits)-n.point:], false
	}
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
	"k": 1e3, "thousand": 1e3, "tsd": 1e3, "mil": 1e3, "mila": 1e3, "tys": 1e3, "тыс": 1e3, "bin": 1e3, "rb": 1e3,
	"ribu": 1e3, "千": 1e3, "천": 1e3,
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
