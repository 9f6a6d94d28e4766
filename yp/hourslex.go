package yp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hoursKind is the kind of a word in a text of opening hours.
type hoursKind uint8

const (
	hoursEnd    hoursKind = iota
	hoursDay              // a day, or a run of them such as "daily"
	hoursTime             // "7:00 am", "noon"
	hoursTo               // a dash, "to"
	hoursAnd              // a comma, "and"
	hoursClosed           // "closed"
	hoursAllDay           // "24 hours"
	hoursOther            // anything else: the text is not understood
)

// hoursLexer reads a text of opening hours, in lower case, word by word.
type hoursLexer struct {
	s         string
	kind      hoursKind // of the word read last
	day, last int       // the days it names: from 0, Monday
	time      clockTime
}

// next reads a word.
func (x *hoursLexer) next() {
	x.skip()
	if x.s == "" {
		x.kind = hoursEnd
		return
	}
	c, size := utf8.DecodeRuneInString(x.s)
	switch {
	case '0' <= c && c <= '9':
		x.number()
	case 'a' <= c && c <= 'z':
		x.word()
	case strings.ContainsRune("-–—−‒", c):
		x.kind, x.s = hoursTo, x.s[size:]
	case strings.ContainsRune(",;&/|", c):
		x.kind, x.s = hoursAnd, x.s[size:]
	default:
		x.kind, x.s = hoursOther, x.s[size:]
	}
}

// skip passes over white space, and the marks behind days: "Mon.:".
func (x *hoursLexer) skip() {
	x.s = strings.TrimLeftFunc(x.s, func(r rune) bool { return unicode.IsSpace(r) || r == ':' || r == '.' })
}

// letters takes the letters at the front.
func (x *hoursLexer) letters() string {
	n := 0
	for n < len(x.s) && isLetter(x.s[n]) {
		n++
	}
	w := x.s[:n]
	x.s = x.s[n:]
	return w
}

func (x *hoursLexer) word() {
	w := x.letters()
	switch w {
	case "to", "through", "thru", "until", "till", "til":
		x.kind = hoursTo
	case "and":
		x.kind = hoursAnd
	case "closed":
		x.kind = hoursClosed
	case "open":
		x.next() // says nothing: "open 24 hours"
	case "daily", "everyday":
		x.kind, x.day, x.last = hoursDay, 0, 6
	case "weekdays":
		x.kind, x.day, x.last = hoursDay, 0, 4
	case "weekend", "weekends":
		x.kind, x.day, x.last = hoursDay, 5, 6
	case "noon":
		x.kind, x.time = hoursTime, clockTime{minutes: 12 * 60, twelve: true}
	case "midnight":
		x.kind, x.time = hoursTime, clockTime{twelve: true}
	default:
		x.dayWord(w)
	}
}

// dayWord takes a day's name or the beginning of one, of two letters or more.
func (x *hoursLexer) dayWord(w string) {
	x.kind = hoursOther
	for i := range days {
		if len(w) >= 2 && strings.HasPrefix(days[i].name, w) {
			x.kind, x.day, x.last = hoursDay, i, i
		}
	}
}

// number takes a time, or "24 hours".
func (x *hoursLexer) number() {
	x.kind = hoursOther
	h, width := x.digits()
	if width > 2 {
		return
	}
	if h == 24 && x.allDay() {
		x.kind = hoursAllDay
		return
	}
	m, minutes := x.minutes()
	if m > 59 || h > 24 || h == 24 && m > 0 {
		return
	}
	x.time = clockTime{minutes: h*60 + m, loose: !minutes || width == 1}
	if !x.meridiem(h) {
		return
	}
	x.kind = hoursTime
}

func (x *hoursLexer) digits() (n, width int) {
	for width < len(x.s) && width < 4 && '0' <= x.s[width] && x.s[width] <= '9' {
		n = n*10 + int(x.s[width]-'0')
		width++
	}
	x.s = x.s[width:]
	return n, width
}

// allDay takes the "hours" of "24 hours".
func (x *hoursLexer) allDay() bool {
	rest := hoursLexer{s: strings.TrimLeft(x.s, " -")}
	switch rest.letters() {
	case "hours", "hour", "hrs", "hr":
		x.s = rest.s
		return true
	}
	return false
}

// minutes takes ":30", and the seconds behind it.
func (x *hoursLexer) minutes() (m int, ok bool) {
	if len(x.s) < 3 || x.s[0] != ':' {
		return 0, false
	}
	x.s = x.s[1:]
	m, width := x.digits()
	if width != 2 {
		return 60, true // no minute: the caller refuses it
	}
	if len(x.s) >= 3 && x.s[0] == ':' {
		x.s = x.s[1:]
		x.digits()
	}
	return m, true
}

// meridiem takes "am" or "pm" behind hour h; false when the clock has no such
// hour.
func (x *hoursLexer) meridiem(h int) bool {
	rest := hoursLexer{s: strings.TrimLeft(x.s, " \u00a0")}
	w := rest.letters()
	if len(w) == 1 && strings.HasPrefix(rest.s, ".m") {
		rest.s = strings.TrimPrefix(rest.s[2:], ".")
		w += "m"
	}
	if w != "am" && w != "pm" && w != "a" && w != "p" {
		return true
	}
	if h < 1 || h > 12 {
		return false
	}
	x.s, x.time.twelve = rest.s, true
	x.time.minutes %= 12 * 60
	if w[0] == 'p' {
		x.time.minutes += 12 * 60
	}
	return true
}
