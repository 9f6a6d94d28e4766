package site

import (
	"slices"
	"strings"

	"ypcrawl/yp"
)

// moreLD is what the JSON-LD of a detail page says besides: there the url is
// the business's own site, not its profile.
type moreLD struct {
	name, email, founded string
	about                string
	lat, lon             string
	payment, sameAs      []string
	languages, services  []string
	specs                []string // openingHoursSpecification, written as opening hours
}

// maxWords bounds each list in the JSON-LD of a business.
const maxWords = 50

// moreMember reads a member that results pages have no use for.
func (r *ldReader) moreMember(m *moreLD, key string) {
	switch key {
	case "name":
		m.name = r.word()
	case "email":
		m.email = r.word()
	case "foundingDate":
		m.founded = r.word()
	case "paymentAccepted":
		m.payment = r.list(m.payment)
	case "sameAs":
		m.sameAs = r.list(m.sameAs)
	case "description":
		m.about = r.word()
	case "knowsLanguage":
		m.languages = r.names(m.languages)
	case "hasOfferCatalog", "makesOffer":
		m.services = r.names(m.services)
	case "geo":
		r.objects(func() { r.geo(m) })
	case "openingHoursSpecification":
		r.objects(func() { r.hoursSpec(m) })
	default:
		r.skip()
	}
}

// list appends a string or a list of them.
func (r *ldReader) list(to []string) []string {
	r.words(func(s string) {
		if len(to) < maxWords {
			to = append(to, s)
		}
	})
	return to
}

// names appends what a value names: a text, an object by its name, a catalogue or an
// offer by what is in it; or each one of a list.
func (r *ldReader) names(to []string) []string {
	switch r.peek() {
	case '[':
		r.open('[')
		for first := true; r.more(']', first); first = false {
			to = r.names(to)
		}
		return to
	case '{':
	default:
		return r.list(to)
	}
	r.open('{')
	name, before := "", len(to)
	for first := true; r.more('}', first); first = false {
		switch r.key() {
		case "name":
			name = r.word()
		case "itemListElement", "itemOffered", "item":
			to = r.names(to)
		default:
			r.skip()
		}
	}
	if len(to) == before && name != "" && len(to) < maxWords {
		to = append(to, name)
	}
	return to
}

func (r *ldReader) geo(m *moreLD) {
	r.open('{')
	for first := true; r.more('}', first); first = false {
		switch r.key() {
		case "latitude":
			m.lat = r.word()
		case "longitude":
			m.lon = r.word()
		default:
			r.skip()
		}
	}
}

// hoursSpec reads one openingHoursSpecification. Days whose opening and closing
// time are the same are closed
// (https://developers.google.com/search/docs/appearance/structured-data/local-business).
// One for some dates only, a holiday, is passed over.
func (r *ldReader) hoursSpec(m *moreLD) {
	r.open('{')
	var days []string
	opens, closes, dated := "", "", false
	for first := true; r.more('}', first); first = false {
		switch r.key() {
		case "dayOfWeek":
			days = r.list(days)
		case "opens":
			opens = r.word()
		case "closes":
			closes = r.word()
		case "validFrom", "validThrough":
			dated = r.word() != "" || dated
		default:
			r.skip()
		}
	}
	if dated || len(days) == 0 || len(m.specs) >= maxWords {
		return
	}
	for i, d := range days {
		days[i] = d[strings.LastIndexByte(d, '/')+1:] // "http://schema.org/Monday"
	}
	text := strings.Join(days, ",")
	if opens != closes {
		text += " " + opens + "-" + closes
	}
	m.specs = append(m.specs, text)
}

// detailBusinesses returns what the scripts of a detail page say of businesses.
// A script in which nothing is found is read once more without what is no
// JSON: comments, CDATA marks, commas too many.
func detailBusinesses(scripts []string) []business {
	var all []business
	for _, script := range scripts {
		found := readBusinesses([]string{script}, true)
		if len(found) == 0 && len(script) <= maxScript {
			if text, ok := tidyJSON(script); ok {
				found = readBusinesses([]string{string(text)}, true)
			}
		}
		all = append(all, found...)
	}
	return all[:min(len(all), maxBusinesses)]
}

// pick returns what the scripts of a detail page say of its business, or nil.
// Such a page may describe others too, such as its neighbours or the site
// itself: ours is the one whose url leads to this page, else the one of this
// name, else the only one, unless it plainly bears another name.
func (r *detailReader) pick(all []business) *business {
	var ours []*business
	for i := range all {
		b := &all[i]
		switch r.leadsHere(b.url) {
		case linkHere:
			return b
		case linkElsewhere:
			continue
		}
		ours = append(ours, b)
	}
	for _, b := range ours {
		if r.Name != "" && strings.EqualFold(part(b.more.name), r.Name) {
			return b
		}
	}
	if len(ours) == 1 && alike(part(ours[0].more.name), r.Name) {
		return ours[0]
	}
	return nil
}

const (
	linkOut       = iota // to another site, or none at all
	linkHere             // to this page
	linkElsewhere        // to another page of this site
)

// leadsHere tells where the url of a business leads.
func (r *detailReader) leadsHere(ref string) int {
	ref = strings.TrimSpace(ref)
	if len(ref) > maxURL || !absolute(ref) && !strings.HasPrefix(ref, "/") {
		return linkOut // "acme.com" is meant as a host here
	}
	u, err := r.final.Parse(ref)
	if err != nil || !r.src.ownHost(u.Hostname()) {
		return linkOut
	}
	if id := r.src.detail.pathID(u.Path); id != "" && id == r.ID {
		return linkHere
	}
	return linkElsewhere
}

// alike reports whether two names may be of one business: one is unknown, or
// begins with the other ("Joe's Plumbing", "Joe's Plumbing & Heating").
func alike(a, b string) bool {
	a, b = yp.Slug(a), yp.Slug(b)
	return a == "" || b == "" || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// openingHours returns the hours in the forms of schema.org.
func (b *business) openingHours() []string {
	var out []string
	for _, h := range slices.Concat(b.hours, b.more.specs) {
		if len(out) < maxHours {
			out, _ = yp.AppendHours(out, part(h))
		}
	}
	return boundHours(out)
}

// boundHours joins single days, and leaves out what is said twice.
func boundHours(hours []string) []string {
	var out []string
	for _, h := range yp.JoinDays(hours) {
		if len(out) < maxHours && !contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}
