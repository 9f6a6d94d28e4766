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
// Open 24 Hours", several ranges of hours with commas. Hours past midnight are
// "12:00-02:00"; all day is 00:00-23:59; closed days are named without hours.
//
// ok is false, and dst unchanged, for a text that says anything else, or says
// it in a way that can be read as two: "9 - 5", "7 - 9 pm".
func AppendHours(dst []string, s string) (hours []string, ok bool) {
	r, ok := readHours(s)
	start := len(dst)
	for ok && len(r) > 0 {
		var entry string
		if entry, ok = r.entry(); ok && len(dst)-start < 14 {
			dst = append(dst, entry)
			for r.take(hoursAnd) != nil {
			}
			continue
		}
		return dst[:start], false
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
	day = slices.IndexFunc(days[:], func(d dayName) bool { return d.code == entry[:2] })
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
	first, last int // the days that it names: from 0, Monday
	time        clockTime
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

func (t clockTime) String() string { return fmt.Sprintf("%02d:%02d", t.minutes/60, t.minutes%60) }

// hoursWords are the words, in lower case, that are no days' names.
var hoursWords = map[string]hoursToken{
	"to": {kind: hoursTo}, "through": {kind: hoursTo}, "thru": {kind: hoursTo}, "until": {kind: hoursTo}, "till": {kind: hoursTo}, "til": {kind: hoursTo},
	"and": {kind: hoursAnd}, "closed": {kind: hoursClosed}, "daily": {last: 6}, "everyday": {last: 6}, "weekdays": {last: 4},
	"weekend": {first: 5, last: 6}, "weekends": {first: 5, last: 6},
	"noon": {kind: hoursTime, time: clockTime{minutes: 12 * 60, twelve: true}}, "midnight": {kind: hoursTime, time: clockTime{twelve: true}},
}

// hoursWord is a word, and what may stand before it: white space, and the marks behind days ("Mon.:"). Its groups are "24 hours"; hour, minutes
// and am or pm; a name; a dash; what joins.
var hoursWord = regexp.MustCompile(`^[\s\p{Z}\x{85}:.]*(?:(24[ -]*(?:hours?|hrs?)\b)|(\d+)(?::(\d*)(?::\d{1,4})?)?(?:[ \x{a0}]*([ap])(?:\.m\b\.?|m\b|\b))?|([a-z]+)|([-–—−‒])|([,;&/|])|$)`)

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
			t.kind = hoursTime
			t.time, ok = readClock(m[2], m[3], m[4], strings.Contains(m[0], m[2]+":"))
		case m[5] == "open": // says nothing: "open 24 hours"
			continue
		case m[5] != "":
			if t, ok = hoursWords[m[5]]; !ok && len(m[5]) > 1 { // a day's name, or the beginning of one
				t.first = slices.IndexFunc(days[:], func(d dayName) bool { return strings.HasPrefix(d.name, m[5]) })
				t.last, ok = t.first, t.first >= 0
			}
		case m[6] != "":
			t.kind = hoursTo
		case m[7] != "":
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

// readClock reads a time of day; with: minutes stand behind the hour.
func readClock(hour, minutes, half string, with bool) (t clockTime, ok bool) {
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

// entry reads days, then hours, "closed" or nothing.
func (r *hoursReader) entry() (string, bool) {
	text := r.days()
	switch {
	case text == "":
		return "", false
	case r.take(hoursClosed) != nil:
		return text, true
	case r.take(hoursAllDay) != nil:
		return text + " 00:00-23:59", true
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
	return text, true
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
