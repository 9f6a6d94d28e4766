package yp

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// localities say how countries write the line of an address that names the city (Universal Postal Union, Addressing solutions by
// country), and which names of the country may end an address. The postal code stands before the city ("80331 München"), behind it and a state
// ("Perth WA 6000"), or behind it ("London SW1A 1AA"). Of countries that are not here it is not known.
const localities = `
before AD Andorra
before AT Austria,Österreich
before AX Åland
before BA Bosnia and Herzegovina,Bosna i Hercegovina
before BE Belgium,België,Belgique,Belgien
before BG Bulgaria
before CH Switzerland,Schweiz,Suisse,Svizzera
before CZ Czech Republic,Czechia,Česko,Česká republika
before DE Germany,Deutschland
before DK Denmark,Danmark
before EE Estonia,Eesti
before ES Spain,España
before FI Finland,Suomi
before FO Faroe Islands
before FR France
before GF Guyane
before GL Greenland
before GP Guadeloupe
before GR Greece,Hellas
before HR Croatia,Hrvatska
before HU Hungary,Magyarország
before IS Iceland,Ísland
before IT Italy,Italia
before LI Liechtenstein
before LU Luxembourg,Luxemburg
before MC Monaco
before ME Montenegro,Crna Gora
before MK North Macedonia
before MQ Martinique
before NL Netherlands,The Netherlands,Nederland
before NO Norway,Norge
before PL Poland,Polska
before PT Portugal
before RE La Réunion,Réunion
before RS Serbia,Srbija
before SE Sweden,Sverige
before SI Slovenia,Slovenija
before SK Slovakia,Slovensko
before SM San Marino
before VA Vatican City
state AU Australia
state CA Canada
behind GB United Kingdom,UK,U.K.,Great Britain,England,Scotland,Wales,Northern Ireland
behind GG Guernsey
behind IE Ireland,Éire
behind IM Isle of Man
behind JE Jersey
`

// locality is a line of localities.
type locality struct {
	country string
	order   string   // "before", "state" or "behind"
	names   []string // of the country, and its code
	codes   string   // forms of its postal codes
	states  *StateSet
}

var localitiesByCountry = sync.OnceValue(func() map[string]*locality {
	all := map[string]*locality{}
	for line := range strings.Lines(strings.TrimPrefix(localities, "\n")) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		order, country := words[0], words[1]
		all[country] = &locality{
			country: country, order: order, names: append(strings.Split(words[2], ","), country), codes: postalForms(country), states: StatesOf(country),
		}
	}
	return all
})

// place is what a line says of where something is.
type place struct{ city, state, code string }

// split splits a line that names the city, see SplitLocality. ok is false where it holds neither a postal code nor a state.
func (l *locality) split(s string) (p place, ok bool) {
	s = l.withoutCountry(s)
	if l.order == "before" {
		return l.codeBefore(s)
	}
	if p, ok = l.codeBehind(s); ok && (p.city == "" || isCity(p.city)) {
		return p, true
	}
	return place{}, false
}

// splitLine splits an address in one line from the right, see SplitLine.
func (l *locality) splitLine(s string) (street string, p place, ok bool) {
	s = l.withoutCountry(s)
	if l.order == "before" {
		return l.lineBefore(s)
	}
	if p, ok = l.codeBehind(s); !ok {
		words := strings.Fields(string(appendStreet(nil, s))) // without a unit, and what is behind it
		return s, place{}, isStreet(s) && len(words) == len(strings.Fields(s))
	}
	street, p.city = cutLast(p.city)
	if !isCity(p.city) || l.order == "behind" && !townBehind(street, p.city) {
		return "", place{}, false
	}
	return street, p, true
}

// lineBefore splits "Marienplatz 1, 80331 München", perhaps with a state or province behind the city.
func (l *locality) lineBefore(s string) (street string, p place, ok bool) {
	s, state := l.cutRegion(s)
	street, line := cutLast(s)
	if p, ok = l.codeBefore(line); !ok || p.city == "" {
		return "", place{}, false
	}
	p.state = state
	return street, p, true
}

// townBehind reports whether a part of an address is a town behind a street, and not a county behind the town: a house number has to begin
// the part before it.
func townBehind(street, city string) bool {
	_, last := cutLast(street)
	return last != "" && isDigit(last[0]) && !isCounty(city)
}

// cutLast cuts a text at its last comma; without one it is all behind it.
func cutLast(s string) (before, last string) {
	i := strings.LastIndexByte(s, ',')
	return TrimPlace(s[:max(0, i)]), TrimPlace(s[i+1:])
}

// codeBefore reads a line that begins with the postal code: alone, or before a city and perhaps a state.
func (l *locality) codeBefore(s string) (p place, ok bool) {
	if rest, state := l.cutRegion(s); state != "" {
		if p.code, p.city = l.cutCodeBefore(rest); p.city != "" { // else the name is that of the city: "1010, Wien"
			p.state = state
			return p, true
		}
	}
	p.code, p.city = l.cutCodeBefore(s)
	return p, p.code != ""
}

// cutCodeBefore takes a postal code from the beginning of a text, and with it the letters of the country: "A-1010 Wien", "A 1010 Wien".
func (l *locality) cutCodeBefore(s string) (code, city string) {
	words := strings.Fields(s)
	if len(words) > 1 && (words[0] == l.country || words[0] == plates[l.country]) {
		words = words[1:]
	}
	for n := min(2, len(words)); n > 0; n-- {
		text := strings.TrimRight(strings.Join(words[:n], " "), ",")
		code, city = wholeCode(text, l.codes, l.country), strings.TrimLeft(strings.Join(words[n:], " "), ",-– ")
		if code != "" && text == strings.ToUpper(text) && (city == "" || isCity(city) && !inUSA(city)) {
			return code, city
		}
	}
	return "", ""
}

// cutRegion takes a state from the end of a text, in Italy the two letters of a province: "80331 München, Bayern", "00184 Roma (RM)".
func (l *locality) cutRegion(s string) (rest, state string) {
	if before, last := cutLast(s); before != "" {
		if st, ok := l.states.Lookup(last); ok {
			return before, st.Code
		}
	}
	i := strings.LastIndexAny(s, " ,(")
	if l.country != "IT" || i < 1 {
		return s, ""
	}
	letters := s[i+1:]
	if s[i] == '(' {
		letters = strings.TrimSuffix(letters, ")")
	}
	if len(letters) != 2 || strings.Trim(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return s, ""
	}
	return TrimPlace(s[:i]), letters
}

// codeBehind reads a text that ends with the postal code, and a state before it in countries that write one; what is before them is the
// city, or an address. A code of digits alone counts only behind a state, or where it is the whole text: else it may be any number.
func (l *locality) codeBehind(s string) (p place, ok bool) {
	rest, code := l.cutCode(s)
	p.city, p.code = l.withoutCountry(rest), code
	if l.order == "state" {
		p.city, p.state = l.cutState(rest)
	}
	if p.state == "" && (code == "" || AllDigits(code) && rest != "") {
		return place{}, false
	}
	return p, true
}

// cutCode takes a postal code from the end of a text: one or two words of it, in capitals.
func (l *locality) cutCode(s string) (rest, code string) {
	last := strings.LastIndexAny(s, " ,") + 1
	before := strings.LastIndexAny(s[:max(0, last-1)], " ,") + 1
	for _, at := range [...]int{before, last} {
		if word := s[at:]; word == strings.ToUpper(word) {
			if code = inForm(word, l.codes); code != "" {
				return TrimPlace(s[:at]), code
			}
		}
	}
	return s, ""
}

// cutState takes a state from the end of a text: a code or name behind a comma or in brackets, or a code in capitals behind a blank.
func (l *locality) cutState(s string) (rest, state string) {
	if i := strings.LastIndexAny(s, ",("); i > 0 {
		if st, ok := l.states.Lookup(strings.Trim(s[i+1:], " )")); ok {
			return TrimPlace(s[:i]), st.Code
		}
	}
	i := strings.LastIndexByte(s, ' ')
	if st, ok := l.states.Lookup(s[i+1:]); ok && i > 0 && st.Code == s[i+1:] {
		return TrimPlace(s[:i]), st.Code
	}
	return s, ""
}

// withoutCountry returns an address without a name of the country at its end: behind a comma, or behind a postal code.
func (l *locality) withoutCountry(s string) string {
	s = TrimPlace(s)
	for _, name := range l.names {
		at := len(s) - len(name)
		if at < 2 || !strings.EqualFold(s[at:], name) {
			continue
		}
		before := strings.TrimRight(s[:at], " ")
		lastWord := before[strings.LastIndexByte(before, ' ')+1:]
		if strings.HasSuffix(before, ",") || l.order != "before" && len(before) < at && hasDigit(lastWord) {
			return TrimPlace(before)
		}
	}
	return s
}

// inUSA reports whether a text is a name of the USA: "DE 19901 USA" is in Delaware.
func inUSA(s string) bool {
	return slices.ContainsFunc(countryNames[:], func(name string) bool { return strings.EqualFold(name, s) })
}

// isCity reports whether a text may be the name of a city: it begins with a letter, and has no digits but those of a district at its end
// ("Dublin 2", "Praha 10", "Paris 8e").
func isCity(s string) bool {
	if r, _ := utf8.DecodeRuneInString(s); !unicode.IsLetter(r) && r != '\'' && r != '’' { // 's-Hertogenbosch
		return false
	}
	name, district := s, ""
	if i := strings.LastIndexByte(s, ' '); len(s)-i <= 4 {
		name, district = s[:max(0, i)], s[i+1:]
	}
	n := digitsAt(district)
	return !hasDigit(name) && n < 3 && !hasDigit(district[n:])
}

// counties are those of Britain and Ireland that no "shire", "Co" or "County" marks as one. Such a name may be behind that of a town.
var counties = strings.Split("Kent,Surrey,Essex,Sussex,East Sussex,West Sussex,Norfolk,Suffolk,Devon,Dorset,Somerset,Cornwall,Cumbria,"+
	"Northumberland,Merseyside,Greater Manchester,Greater London,West Midlands,Tyne and Wear,Tyne & Wear,Middlesex,Rutland,Isle of Wight,"+
	"Cleveland,Avon,Humberside,Gwent,Gwynedd,Dyfed,Clwyd,Powys,Mid Glamorgan,South Glamorgan,West Glamorgan,Fife,Highland,Moray,Angus,"+
	"Lothian,East Lothian,West Lothian,Midlothian,Scottish Borders,Antrim,Armagh,Down,Fermanagh,Tyrone,Londonderry,Herts,Bucks,Berks,Beds,"+
	"Cambs,Hants,Lancs,Leics,Lincs,Northants,Notts,Oxon,Staffs,Wilts,Worcs,Glos,Middx,Carlow,Cavan,Clare,Donegal,Kerry,Kildare,Laois,"+
	"Leitrim,Mayo,Meath,Offaly,Tipperary,Westmeath", ",")

// isCounty reports whether a text is, or may be, the name of a county.
func isCounty(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	first = strings.TrimSuffix(first, ".")
	return strings.HasSuffix(strings.ToLower(s), "shire") || strings.EqualFold(first, "co") || strings.EqualFold(first, "county") ||
		slices.ContainsFunc(counties, func(c string) bool { return strings.EqualFold(c, s) })
}
