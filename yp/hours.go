package yp

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxHoursText is the longest text that is read as opening hours, in bytes.
const maxHoursText = 400

type dayName struct{ code, name string }

// days are the two-letter codes of schema.org's openingHours, and the names.
var days = [7]dayName{
	{"Mo", "monday"}, {"Tu", "tuesday"}, {"We", "wednesday"}, {"Th", "thursday"}, {"Fr", "friday"}, {"Sa", "saturday"}, {"Su", "sunday"},
}

// AppendHours appends the opening hours in s to dst, an entry for each group
// of days, in the form of schema.org's openingHours
// (https://schema.org/openingHours): "Mo-Th 11:00-21:30". It reads that form
// and those of tables: "Mon - Fri 7:00 am - 5:00 pm", "Sat & Sun Closed", "Sunday:
// Open 24 Hours", "Mo 9-17 Uhr", "Tu 09h00-12h00", several ranges of hours with commas.
// Hours past midnight are "12:00-02:00"; "24 hours" are 00:00-23:59. Days that are
// closed are left out: hours is an empty list, not nil, when all are. Days in the
// two-letter form without hours are open all day by the words of schema.org: "Mo-Su" is
// "Mo-Su 00:00-24:00".
//
// ok is false, and dst unchanged, for a text that says anything else, or says
// it in a way that can be read as two: "9 - 5", "7 - 9 pm", "Monday".
func AppendHours(dst []string, s string) (hours []string, ok bool) {
	if hours = dst; hours == nil {
		hours = []string{}
	}
	if canonicalHours(s) {
		return append(hours, s), true
	}
	r, ok := readHours(s)
	if len(r) == 0 {
		return dst, false
	}
	for n := 0; ok && len(r) > 0; n++ {
		var entry string
		if entry, ok = r.entry(); !ok || n >= 14 {
			return dst, false
		}
		if entry != "" {
			hours = append(hours, entry)
		}
		for r.take(hoursAnd) != nil {
		}
	}
	if !ok {
		return dst, false
	}
	return hours, true
}

// canonicalHours reports whether a text is an entry for one day or a run of days in the
// form that AppendHours writes: nearly all of a page are, and the words of the others cost much more.
func canonicalHours(s string) bool {
	if len(s) > 5 && s[2] == '-' && dayCode(s[:2]) >= 0 && s[:2] != s[3:5] {
		s = s[3:]
	}
	if len(s) < 14 || dayCode(s[:2]) < 0 || s[2] != ' ' {
		return false
	}
	for s = s[3:]; ; s = s[12:] {
		if len(s) < 11 || !plainClock(s[:5]) || s[5] != '-' || !plainClock(s[6:11]) || s[:5] == s[6:11] || s[:5] == "24:00" {
			return false
		}
		if len(s) == 11 {
			return true
		}
		if s[11] != ',' {
			return false
		}
	}
}

// dayCode returns the number of the day that a two-letter code names, -1 for none.
func dayCode(s string) int {
	for i := range days {
		if days[i].code == s {
			return i
		}
	}
	return -1
}

// plainClock reports whether five bytes are a time as "09:00", up to 24:00.
func plainClock(s string) bool {
	return AllDigits(s[:2]) && s[2] == ':' && AllDigits(s[3:]) && s[3] < '6' && (s[:2] < "24" || s == "24:00")
}

// clockForm is a time of day alone: a date and "T" before it, seconds and a zone behind it count for nothing. Its groups are hour, minutes,
// what says that it is of the 24-hour clock, am or pm, and a word.
var clockForm = regexp.MustCompile(`(?i)^(?:\d{4}-\d{2}-\d{2}[T ])?T?(?:(\d{1,2}?)(?:[:.h]?(\d{2})(?:[:.]\d{2}(?:\.\d+)?)?)?[ \x{a0}\x{202f}]*(h|uhr|hrs)?(?:([ap])\.? ?m?\.?)?|(?:12(?:[:.]00)? ?)?(noon|midnight))[ \x{a0}]*(?:z|utc|[+-]\d{2}(?::?\d{2})?)?$`)

// HoursBetween returns the hours from opens to closes as "09:00-17:00". Each is a time of day in one of the forms of
// AppendHours, or as schema.org has it ("09:00:00-05:00"). It is "" when both are 00:00, by which a page says closed
// (https://developers.google.com/search/docs/appearance/structured-data/local-business). ok is false where one can't be
// read, or in two ways.
func HoursBetween(opens, closes string) (hours string, ok bool) {
	from, ok := clockOf(opens)
	to, ok2 := clockOf(closes)
	switch {
	case !ok || !ok2:
		return "", false
	case from.minutes == 0 && to.minutes == 0:
		return "", true
	case from.minutes == to.minutes || from.minutes == 24*60:
		return "", false
	case from.definite() && to.definite() || from.before(to):
		return from.String() + "-" + to.String(), true
	}
	return "", false
}

func clockOf(s string) (t clockTime, ok bool) {
	if len(s) > maxHoursText {
		return t, false
	}
	m := clockForm.FindStringSubmatch(strings.TrimSpace(s))
	switch {
	case m == nil:
		return t, false
	case m[5] != "":
		return hoursWords[strings.ToLower(m[5])].time, true
	}
	t, ok = readClock(m[1], m[2], strings.ToLower(m[4]), m[2] != "")
	t.hours24 = m[3] != ""
	return t, ok
}

// definite reports whether a time can be read in one way without another beside it.
func (t clockTime) definite() bool {
	return t.twelve || t.hours24 || !t.loose || t.minutes >= 13*60
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
	day = dayCode(entry[:2])
	return day, entry[2:], day >= 0
}

// Days returns the days that a text names as AppendHours writes them: "Monday - Friday" is "Mo-Fr"; ok is false
// for a text that says anything else.
func Days(s string) (written string, ok bool) {
	r, ok := readHours(s)
	if ok {
		written = r.days()
	}
	return written, written != "" && len(r) == 0
}

// BeginsWithDay reports whether the first word of a text names a day or a run of them.
func BeginsWithDay(s string) bool {
	m := hoursWord.FindStringSubmatch(strings.ToLower(Clip(s, maxHoursText)))
	if m == nil || m[7] == "" {
		return false
	}
	t, ok := wordToken(m[7])
	return ok && t.kind == hoursDay
}

// hoursKind is the kind of a word in a text of opening hours.
type hoursKind uint8

const (
	hoursDay    hoursKind = iota // a day, or a run of them such as "daily"
	hoursTime                    // "7:00 am", "noon"
	hoursTo                      // a dash, "to"
	hoursAnd                     // a comma, "and"
	hoursClosed                  // "closed"
	hoursAllDay                  // "24 hours"
)

// hoursToken is a word with what it means.
type hoursToken struct {
	kind        hoursKind
	first, last int  // the days that it names: from 0, Monday
	code        bool // the day is a two-letter code
	time        clockTime
}

// clockTime is a time of day as written.
type clockTime struct {
	minutes int  // from midnight
	twelve  bool // am or pm stood beside it
	hours24 bool // a word says that it is of the 24-hour clock: "17 Uhr", "17h"
	loose   bool // no minutes, or one digit for the hour, as the 24-hour clock never has it
}

// before reports whether a range of hours from t to end can be read in one
// way. It may end past midnight. On the 24-hour clock both must look like it, or one
// be a time that only that clock has.
func (t clockTime) before(end clockTime) bool {
	if t.twelve != end.twelve || t.minutes == end.minutes || t.minutes == 24*60 {
		return false
	}
	return t.twelve || !t.loose && !end.loose || t.only24() || end.only24()
}

// only24 reports whether a time is one that the 12-hour clock does not have.
func (t clockTime) only24() bool { return !t.twelve && (t.hours24 || t.minutes >= 13*60) }

func (t clockTime) String() string { return fmt.Sprintf("%02d:%02d", t.minutes/60, t.minutes%60) }

// hoursWords are the words, in lower case, that are no days' names.
var hoursWords = map[string]hoursToken{
	"to": {kind: hoursTo}, "through": {kind: hoursTo}, "thru": {kind: hoursTo}, "until": {kind: hoursTo},
	"till": {kind: hoursTo}, "til": {kind: hoursTo},
	"bis": {kind: hoursTo}, "und": {kind: hoursAnd}, "and": {kind: hoursAnd}, "closed": {kind: hoursClosed},
	"daily": {last: 6}, "everyday": {last: 6}, "weekdays": {last: 4},
	"weekend": {first: 5, last: 6}, "weekends": {first: 5, last: 6},
	"noon": {kind: hoursTime, time: clockTime{minutes: 12 * 60, twelve: true}}, "midnight": {kind: hoursTime, time: clockTime{twelve: true}},
}

// hoursWord is a word, and what may be before it: white space, and the marks behind days ("Mon.:"). Its groups are "24
// hours"; hour, what is behind it, minutes, what says 24-hour clock, am or pm; a name; a dash; what joins.
var hoursWord = regexp.MustCompile(`^[\s\p{Z}\x{85}:.]*(?:(24[ -]*(?:hours?|hrs?)\b)|(\d+)(?:([:.h])(\d*)(?::\d{1,4})?)?(?:[ \x{a0}\x{202f}]*(h|hrs|uhr)\b)?(?:[ \x{a0}\x{202f}]*([ap])(?:\.? ?m\b\.?|\b))?|([a-z]+)|([-–—−‒])|([,;&/|])|$)`)

// hoursReader is what is left of a text: words with what they mean.
type hoursReader []hoursToken

// readHours reads the words of a text; ok is false where one of them says something else than opening hours.
func readHours(s string) (r hoursReader, ok bool) {
	if len(s) > maxHoursText {
		return nil, false
	}
	for s = strings.ToLower(s); s != ""; {
		m := hoursWord.FindStringSubmatch(s)
		if m == nil {
			return nil, false
		}
		s = s[len(m[0]):]
		t, ok := hoursToken{}, true
		switch {
		case m[1] != "":
			t.kind = hoursAllDay
		case m[2] != "":
			t, ok = timeToken(m)
		case m[7] == "open": // says nothing: "open 24 hours"
			continue
		case m[7] != "":
			if r.twelveNamed(m[7]) {
				continue
			}
			t, ok = wordToken(m[7])
		case m[8] != "":
			t.kind = hoursTo
		case m[9] != "":
			t.kind = hoursAnd
		default:
			return r, true
		}
		if !ok {
			return nil, false
		}
		r = append(r, t)
	}
	return r, true
}

// timeToken reads the groups of hoursWord that are a time: "9", "9:00", "9h", "0900".
func timeToken(m []string) (t hoursToken, ok bool) {
	alone := m[3] == "" || m[3] != ":" && m[4] == "" // "9h", or a full stop behind
	t.kind = hoursTime
	t.time, ok = readClock(m[2], m[4], m[6], !alone)
	t.time.hours24 = m[3] == "h" || m[5] != ""
	return t, ok
}

// wordToken reads a name in lower case: of a day, or the beginning of one, or one of hoursWords.
func wordToken(name string) (t hoursToken, ok bool) {
	if t, ok = hoursWords[name]; ok || len(name) < 2 {
		return t, ok
	}
	t.first = slices.IndexFunc(days[:], func(d dayName) bool { return strings.HasPrefix(d.name, name) })
	t.last, t.code = t.first, len(name) == 2
	return t, t.first >= 0
}

// twelveNamed reports whether a word says which twelve the time before it is, "12 noon", and settles that.
func (r hoursReader) twelveNamed(word string) bool {
	if len(r) == 0 || word != "noon" && word != "midnight" {
		return false
	}
	last := &r[len(r)-1]
	if last.kind != hoursTime || last.time.minutes != 12*60 || last.time.twelve {
		return false
	}
	last.time = hoursWords[word].time
	return true
}

// readClock reads a time of day; with: minutes are behind the hour. Four digits are both.
func readClock(hour, minutes, half string, with bool) (t clockTime, ok bool) {
	if len(hour) == 4 && !with {
		hour, minutes, with = hour[:2], hour[2:], true
	}
	h, err := strconv.Atoi(hour)
	m := 0
	if with {
		if m, err = strconv.Atoi(minutes); err != nil || len(minutes) != 2 {
			return t, false
		}
	}
	if err != nil || len(hour) > 2 || m > 59 || h > 24 || h == 24 && m > 0 || half != "" && (h < 1 || h > 12) {
		return t, false
	}
	t = clockTime{minutes: h*60 + m, twelve: half != "", loose: !with || len(hour) == 1}
	if t.twelve {
		t.minutes %= 12 * 60
	}
	if half == "p" {
		t.minutes += 12 * 60
	}
	return t, true
}

// take takes the next word if it is of a kind; else it returns nil.
func (r *hoursReader) take(kind hoursKind) *hoursToken {
	if len(*r) == 0 || (*r)[0].kind != kind {
		return nil
	}
	t := &(*r)[0]
	*r = (*r)[1:]
	return t
}

// entry reads days, then hours or "closed"; of closed days the entry is "".
func (r *hoursReader) entry() (string, bool) {
	codes := r.codes()
	text := r.days()
	switch {
	case text == "":
		return "", false
	case r.take(hoursClosed) != nil:
		return "", true
	case r.take(hoursAllDay) != nil:
		return text + " 00:00-23:59", true
	case codes && (len(*r) == 0 || (*r)[0].kind != hoursTime):
		return text + " 00:00-24:00", true
	}
	separator := " "
	for from := r.take(hoursTime); from != nil; from = r.take(hoursTime) {
		dash, to := r.take(hoursTo), r.take(hoursTime)
		if dash == nil || to == nil || !from.time.before(to.time) {
			return "", false
		}
		text += separator + from.time.String() + "-" + to.time.String()
		separator = ","
		r.take(hoursAnd)
	}
	return text, separator == ","
}

// codes reports whether the days that come next are two-letter codes, all of them.
func (r *hoursReader) codes() bool {
	for _, t := range *r {
		switch {
		case t.kind == hoursDay && !t.code:
			return false
		case t.kind != hoursDay && t.kind != hoursTo && t.kind != hoursAnd:
			return true
		}
	}
	return true
}

// days reads the days of an entry, single ones, ranges and lists, and writes runs of them as ranges; empty when there are none.
func (r *hoursReader) days() string {
	var list []int // in the order given
	for from := r.take(hoursDay); from != nil; from = r.take(hoursDay) {
		to := from
		if r.take(hoursTo) != nil {
			if to = r.take(hoursDay); to == nil {
				return ""
			}
		}
		for d := from.first; ; d = (d + 1) % 7 {
			if !slices.Contains(list, d) {
				list = append(list, d)
			}
			if d == to.last {
				break
			}
		}
		r.take(hoursAnd)
	}
	var runs []string
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && list[i+n] == (list[i]+n)%7 {
			n++
		}
		run := days[list[i]].code
		if n > 1 {
			run += "-" + days[list[i+n-1]].code
		}
		runs = append(runs, run)
		i += n
	}
	return strings.Join(runs, ",")
}
