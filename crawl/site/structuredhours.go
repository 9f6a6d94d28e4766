package site

import "strings"

// hoursOf returns the opening hours in schema.org's short form:
// openingHours as it stands, or each openingHoursSpecification written so.
func hoursOf(g *graph, it *item) []string {
	list := g.texts(it, "openingHours")
	if len(list) == 0 {
		for _, v := range g.values(it, "openingHoursSpecification") {
			if v.item != nil {
				list = append(list, specHours(g, v.item))
			}
		}
	}
	var out []string
	for _, h := range list {
		if h != "" && len(out) < maxHours {
			out = append(out, keep(h, maxLine))
		}
	}
	return out
}

// specHours writes an OpeningHoursSpecification: "Mo,Tu 09:00-17:00"; days
// alone are those on which the business is closed.
func specHours(g *graph, it *item) string {
	var days []string
	for _, day := range g.texts(it, "dayOfWeek") {
		if day = schemaWord(day); len(day) >= 2 && weekday(day) {
			days = append(days, strings.ToUpper(day[:1])+strings.ToLower(day[1:2]))
		}
	}
	if len(days) == 0 {
		return ""
	}
	opens, closes := clockTime(g.text(it, "opens")), clockTime(g.text(it, "closes"))
	if opens == "" || closes == "" || opens == closes && opens == "00:00" {
		return strings.Join(days, ",")
	}
	return strings.Join(days, ",") + " " + opens + "-" + closes
}

func weekday(s string) bool {
	for _, day := range [...]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		if strings.EqualFold(s, day) || len(s) <= 3 && strings.HasPrefix(day, strings.ToLower(s)) {
			return true
		}
	}
	return false
}

// clockTime returns "hh:mm" of a time that may have seconds and a zone.
func clockTime(s string) string {
	if i := strings.IndexByte(s, 'T'); i >= 0 {
		s = s[i+1:]
	}
	if len(s) < 5 || !digits(s[:2]) || s[2] != ':' || !digits(s[3:5]) {
		return ""
	}
	return s[:5]
}
