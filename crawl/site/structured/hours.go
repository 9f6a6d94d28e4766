package structured

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// Hours returns the opening hours: those of openingHours, or, when it has none that can be read, those of
// openingHoursSpecification, in the form of yp.AppendHours; nil when the business does not say, or says
// one part of it in a way that can't be read: the days left out would be closed ones. Days alone are open all
// day in openingHours (https://schema.org/openingHours).
func (b *Business) Hours() []string {
	if hours := b.written(); hours != nil {
		return hours
	}
	return b.specified()
}

// written reads openingHours. What is in schema.org's form already stays as it is.
func (b *Business) written() (hours []string) {
	for s := range b.graph.each(&b.item, "openingHours") {
		if len(hours) >= yp.MaxHours {
			break
		}
		n, ok := len(hours), false
		if hours, ok = yp.AppendHours(hours, s); !ok {
			return nil
		}
		if len(hours) == n+1 && sameForm(s, hours[n]) {
			hours[n] = s
		}
	}
	return hours
}

// sameForm reports whether a text differs from the entry that it was read as in how it lists the days at most: "Mo,Tu".
func sameForm(s, entry string) bool {
	days, ok := strings.CutSuffix(s, entry[strings.IndexByte(entry, ' '):])
	if !ok || len(days)%3 != 2 {
		return false
	}
	for i := 2; i < len(days); i += 3 {
		if days[i] != ',' && days[i] != '-' {
			return false
		}
	}
	return true
}

// specified reads openingHoursSpecification. Those without dates are the regular ones. Without any, those count of which
// the dates hold the day of the Reader, a week of days at least, and of several spans the longest alone: the others
// are for special days.
func (b *Business) specified() []string {
	var regular, dated []specification
	for _, v := range b.graph.values(&b.item, "openingHoursSpecification") {
		if len(regular)+len(dated) >= yp.MaxHours {
			break
		}
		s := specification{b.graph, v}
		if s.dated() {
			dated = append(dated, s)
		} else if !s.empty() {
			regular = append(regular, s)
		}
	}
	if len(regular) == 0 && len(dated) > 0 {
		var ok bool
		if regular, ok = current(dated, b.reader.Day); !ok {
			return nil
		}
	}
	return hoursOf(regular)
}

// current returns which of the specifications with dates hold a day; ok is false where a date can't be read.
func current(dated []specification, day time.Time) (now []specification, ok bool) {
	const week = 7
	longest := week
	for _, s := range dated {
		days, ok := s.span(day)
		switch {
		case !ok:
			return nil, false
		case days > longest:
			now, longest = append(now[:0], s), days
		case days == longest:
			now = append(now, s)
		}
	}
	return now, true
}

// hoursOf writes specifications; nil when there is none, or one can't be read.
func hoursOf(specs []specification) (hours []string) {
	for _, s := range specs {
		entry, special, ok := s.entry()
		switch {
		case !ok:
			return nil
		case special:
			continue
		case hours == nil:
			hours = []string{}
		}
		if entry != "" {
			hours = append(hours, entry)
		}
	}
	return hours
}

// specification is an OpeningHoursSpecification (https://schema.org/OpeningHoursSpecification).
type specification struct {
	*graph
	v value
}

func (s specification) text(name string) string {
	if s.v.item == nil {
		return ""
	}
	return s.graph.text(s.v.item, name)
}

func (s specification) dated() bool {
	return cmp.Or(s.text("validFrom"), s.text("validThrough")) != ""
}

func (s specification) empty() bool { return s.v.item == nil || len(s.v.item.props) == 0 }

// span returns how many days there are from the first to the last on which the specification holds, when day is among
// them; else 0. ok is false where they can't be read.
func (s specification) span(day time.Time) (days int, ok bool) {
	from, some, ok := date(s.text("validFrom"))
	to, someEnd, ok2 := date(s.text("validThrough"))
	day = day.UTC().Truncate(24 * time.Hour)
	switch {
	case !ok || !ok2:
		return 0, false
	case day.IsZero(), some && day.Before(from), someEnd && day.After(to):
		return 0, true
	case !some || !someEnd:
		return math.MaxInt, true
	}
	return int(to.Sub(from).Hours()/24) + 1, true
}

// date reads a date, of one with a time the day; some is false for nothing.
func date(s string) (day time.Time, some, ok bool) {
	if s == "" {
		return day, false, true
	}
	if len(s) > len(time.DateOnly) && (s[len(time.DateOnly)] == 'T' || s[len(time.DateOnly)] == ' ') {
		s = s[:len(time.DateOnly)]
	}
	day, err := time.Parse(time.DateOnly, s)
	return day, true, err == nil
}

// entry writes a specification as an entry of openingHours; it is "" for closed days. special says that it is for public
// holidays alone. "The place is open if the opens property is specified, and closed otherwise".
func (s specification) entry() (entry string, special, ok bool) {
	days, special, ok := s.days()
	if !ok || special {
		return "", special, ok
	}
	opens, closes := s.text("opens"), s.text("closes")
	if opens == "" && closes == "" {
		return "", false, true
	}
	hours, ok := yp.HoursBetween(opens, closes)
	if !ok || hours == "" {
		return "", false, ok
	}
	return days + " " + hours, false, true
}

// days returns the days of a specification, as openingHours has them.
func (s specification) days() (days string, special, ok bool) {
	var list []string
	for _, v := range s.values(s.v.item, "dayOfWeek") {
		text := s.textOf(v)
		if text == "" && v.item != nil {
			text = clean(v.item.id)
		}
		text = lastWord(text)
		if text == "PublicHolidays" {
			special = true
			continue
		}
		named, ok := yp.Days(text)
		if !ok {
			return "", false, false
		}
		if !slices.Contains(list, named) {
			list = append(list, named)
		}
	}
	return strings.Join(list, ","), special && list == nil, special || list != nil
}

// lastWord returns the name at the end of an address, as https://schema.org/Monday and
// http://purl.org/goodrelations/v1#Monday have it.
func lastWord(s string) string {
	s = strings.TrimRight(schemaWord(s), "/")
	if strings.Contains(s, "://") {
		return s[strings.LastIndexAny(s, "/#")+1:]
	}
	for _, prefix := range [...]string{"gr:", "#"} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}
