package yp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHoursText is the longest text that is read as opening hours, in bytes.
const maxHoursText = 400

// days are the two-letter codes of schema.org's openingHours, and the names.
var days = [7]struct{ code, name string }{
	{"Mo", "monday"}, {"Tu", "tuesday"}, {"We", "wednesday"}, {"Th", "thursday"}, {"Fr", "friday"}, {"Sa", "saturday"}, {"Su", "sunday"},
}

// AppendHours appends the opening hours in s to dst, an entry for each group
// of days, in the form of schema.org's openingHours
// (https://schema.org/openingHours): "Mo-Th 11:00-21:30". It reads that form
// and those of tables: "Mon - Fri 7:00 am - 5:00 pm", "Sat & Sun Closed", "Sunday:
// Open 24 Hours", several ranges of hours with commas. Hours past midnight are
// "12:00-02:00"; all day is 00:00-23:59; closed days are named without hours.
//
// ok is false, and dst unchanged, for a text that says anything else, or says
// it in a way that can be read as two: "9 - 5", "7 - 9 pm".
func AppendHours(dst []string, s string) (hours []string, ok bool) {
	if len(s) > maxHoursText {
		return dst, false
	}
	r := hoursReader{hoursLexer: hoursLexer{s: strings.ToLower(s)}}
	r.next()
	start := len(dst)
	for r.kind != hoursEnd {
		entry, ok := r.entry()
		if !ok || len(dst)-start >= 14 {
			return dst[:start], false
		}
		dst = append(dst, entry)
		for r.kind == hoursAnd {
			r.next()
		}
	}
	return dst, len(dst) > start
}

// JoinDays joins entries for one day each, as AppendHours writes them, that
// follow one another and have the same hours: a table's seven rows become
// "Mo-Fr 09:00-17:00", "Sa-Su". Entries for several days stay as they are.
func JoinDays(hours []string) []string {
	out := make([]string, 0, len(hours))
	for i := 0; i < len(hours); {
		first, rest, ok := oneDay(hours[i])
		n := 1
		for ok && i+n < len(hours) {
			day, same, ok := oneDay(hours[i+n])
			if !ok || day != (first+n)%7 || same != rest || n == 7 {
				break
			}
			n++
		}
		if n == 1 {
			out = append(out, hours[i])
		} else {
			out = append(out, days[first].code+"-"+days[(first+n-1)%7].code+rest)
		}
		i += n
	}
	return out
}

// oneDay splits an entry for a single day.
func oneDay(entry string) (day int, rest string, ok bool) {
	if len(entry) < 2 || len(entry) > 2 && entry[2] != ' ' {
		return 0, "", false
	}
	for i := range days {
		if days[i].code == entry[:2] {
			return i, entry[2:], true
		}
	}
	return 0, "", false
}

// Days returns the days that a text names as AppendHours writes them: "Monday - Friday" is "Mo-Fr"; ok is false
// for a text that says anything else.
func Days(s string) (written string, ok bool) {
	if len(s) > maxHoursText {
		return "", false
	}
	r := hoursReader{hoursLexer: hoursLexer{s: strings.ToLower(s)}}
	r.next()
	if !r.days() || r.kind != hoursEnd {
		return "", false
	}
	return r.dayText(), true
}

// hoursReader reads entries: days, then hours, "closed" or nothing.
type hoursReader struct {
	hoursLexer
	set   [7]bool
	list  []int // the days in the order given
	times []byte
}

func (r *hoursReader) entry() (string, bool) {
	r.set, r.list, r.times = [7]bool{}, r.list[:0], r.times[:0]
	if !r.days() {
		return "", false
	}
	switch r.kind {
	case hoursClosed:
		r.next()
	case hoursAllDay:
		r.times = append(r.times, " 00:00-23:59"...)
		r.next()
	case hoursTime:
		if !r.ranges() {
			return "", false
		}
	}
	return r.dayText() + string(r.times), true
}

// days reads the days of an entry: single ones, ranges and lists.
func (r *hoursReader) days() bool {
	for r.kind == hoursDay {
		from, to := r.day, r.last
		r.next()
		if r.kind == hoursTo {
			if r.next(); r.kind != hoursDay {
				return false
			}
			to = r.last
			r.next()
		}
		for d := from; ; d = (d + 1) % 7 {
			if !r.set[d] {
				r.set[d] = true
				r.list = append(r.list, d)
			}
			if d == to {
				break
			}
		}
		if r.kind == hoursAnd {
			r.next()
		}
	}
	return len(r.list) > 0
}

// dayText writes the days, runs of them as ranges.
func (r *hoursReader) dayText() string {
	var b []byte
	for i := 0; i < len(r.list); {
		n := 1
		for i+n < len(r.list) && r.list[i+n] == (r.list[i]+n)%7 {
			n++
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, days[r.list[i]].code...)
		if n > 1 {
			b = append(append(b, '-'), days[r.list[i+n-1]].code...)
		}
		i += n
	}
	return string(b)
}

// ranges reads the hours of an entry.
func (r *hoursReader) ranges() bool {
	sep := byte(' ')
	for r.kind == hoursTime {
		from := r.time
		if r.next(); r.kind != hoursTo {
			return false
		}
		if r.next(); r.kind != hoursTime || !from.before(r.time) {
			return false
		}
		r.times = append(r.times, sep)
		r.times = append(from.append(r.times), '-')
		r.times = r.time.append(r.times)
		sep = ','
		if r.next(); r.kind == hoursAnd {
			r.next()
		}
	}
	return true
}

// clockTime is a time of day as written.
type clockTime struct {
	minutes int  // from midnight
	twelve  bool // am or pm stood beside it
	loose   bool // no minutes, or one digit for the hour, as the 24-hour clock never has it
}

// before reports whether a range of hours from t to end can be read in one
// way. It may end past midnight. On the 24-hour clock both must look like it.
func (t clockTime) before(end clockTime) bool {
	if t.twelve != end.twelve || t.minutes == end.minutes || t.minutes == 24*60 {
		return false
	}
	return t.twelve || !t.loose && !end.loose
}

func (t clockTime) append(b []byte) []byte {
	h, m := t.minutes/60, t.minutes%60
	return append(b, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10))
}

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
