package site

import (
	"strings"

	"ypcrawl/yp"
)

// business is what a JSON-LD script says of one business, as far as a listing
// has room for it. Such scripts on results pages know no website and no
// categories.
type business struct {
	local, typed bool // its type is LocalBusiness; it has a type
	url, phone   string
	address      *address
	hours        []string
	rating       string
	reviews      string
	price        string
	more         *moreLD // nil unless the reader is wide
}

type address struct{ street, city, state, zip string }

// Bounds on JSON-LD: pages of 30 cards carry some 20 KB of it.
const (
	maxScript     = 1 << 20
	maxBusinesses = 1000
)

// businesses returns what the scripts say of businesses. A script that is no
// JSON is passed over, whatever it begins with.
func businesses(scripts []string) []business { return readBusinesses(scripts, false) }

// readBusinesses does that; wide says to read what detail pages have, too.
func readBusinesses(scripts []string, wide bool) []business {
	var found []business
	for _, script := range scripts {
		if len(script) > maxScript {
			continue
		}
		r := ldReader{jsonText: jsonText{s: script}, wide: wide}
		r.objects(r.object)
		if r.peek(); !r.bad && r.i == len(script) {
			found = append(found, r.found...)
		}
	}
	return found[:min(len(found), maxBusinesses)]
}

// ldReader gathers the businesses of one script: of an object, a list, a graph
// or an item list.
type ldReader struct {
	jsonText
	wide  bool
	found []business
}

// object reads one object, and keeps it if it is a business.
func (r *ldReader) object() {
	if !r.open('{') {
		return
	}
	var b business
	if r.wide {
		b.more = &moreLD{}
	}
	for first := true; r.more('}', first); first = false {
		r.member(&b, r.key())
	}
	if b.is() && len(r.found) < maxBusinesses {
		if r.found == nil {
			r.found = make([]business, 0, 32)
		}
		r.found = append(r.found, b)
	}
}

func (r *ldReader) member(b *business, key string) {
	switch key {
	case "@type":
		r.words(func(t string) {
			b.typed = true
			b.local = b.local || t == "LocalBusiness" || strings.HasSuffix(t, "/LocalBusiness")
		})
	case "@graph", "itemListElement", "item":
		r.objects(r.object)
	case "url":
		b.url = r.word()
	case "telephone":
		b.phone = r.word()
	case "address":
		r.objects(func() { r.address(b) })
	case "openingHours":
		r.words(func(h string) {
			if len(b.hours) < maxHours {
				b.hours = append(b.hours, h)
			}
		})
	case "aggregateRating":
		r.objects(func() { r.rating(b) })
	case "priceRange":
		b.price = r.word()
	default:
		if b.more == nil {
			r.skip()
			return
		}
		r.moreMember(b.more, key)
	}
}

func (r *ldReader) address(b *business) {
	r.open('{')
	var a address
	for first := true; r.more('}', first); first = false {
		switch r.key() {
		case "streetAddress":
			a.street = r.word()
		case "addressLocality":
			a.city = r.word()
		case "addressRegion":
			a.state = r.word()
		case "postalCode":
			a.zip = r.word()
		default:
			r.skip()
		}
	}
	if b.address == nil {
		b.address = &a
	}
}

func (r *ldReader) rating(b *business) {
	r.open('{')
	for first := true; r.more('}', first); first = false {
		switch r.key() {
		case "ratingValue":
			b.rating = r.word()
		case "reviewCount":
			b.reviews = r.word()
		default:
			r.skip()
		}
	}
}

// is reports whether the type is LocalBusiness, or one of its many subtypes,
// told by an address or a telephone beside the url.
func (b *business) is() bool {
	return b.local || b.more != nil && b.typed && b.more.name != "" && (b.address != nil || b.phone != "") || b.typed && b.url != "" && (b.address != nil || b.phone != "")
}

// fillFromJSONLD gives listings what their cards lack and the page's JSON-LD
// has. The two are matched by the path of the profile URL.
func fillFromJSONLD(list []yp.Listing, scripts []string) {
	all := businesses(scripts)
	if len(all) == 0 {
		return
	}
	byPath := make(map[string]*business, len(all))
	for i := range all {
		if path := urlPath(all[i].url); path != "" && byPath[path] == nil {
			byPath[path] = &all[i]
		}
	}
	for i := range list {
		if b := byPath[urlPath(list[i].ProfileURL)]; b != nil {
			b.fill(&list[i])
		}
	}
}

// urlPath returns the path of an absolute or site-relative URL, without the
// slash at its end; "" when there is none to match by.
func urlPath(u string) string {
	if i := strings.Index(u, "://"); i >= 0 {
		u = u[i+3:]
		j := strings.IndexByte(u, '/')
		if j < 0 {
			return ""
		}
		u = u[j:]
	}
	if i := strings.IndexAny(u, "?#"); i >= 0 {
		u = u[:i]
	}
	if !strings.HasPrefix(u, "/") {
		return ""
	}
	return strings.TrimRight(u, "/")
}

// part makes a text from JSON-LD fit to keep.
func part(s string) string { return yp.Clean(clip(s, maxText)) }

func (b *business) fill(l *yp.Listing) {
	if l.Phone == "" {
		setPhone(l, part(strings.TrimPrefix(b.phone, "tel:")))
	}
	b.fillAddress(l)
	if l.Rating == 0 {
		l.Rating = rating(part(b.rating))
	}
	if l.ReviewCount == 0 {
		l.ReviewCount, _ = firstInt(part(b.reviews))
	}
	if l.PriceRange == "" {
		l.PriceRange = priceRange(part(b.price))
	}
	if len(b.hours) == 0 {
		return
	}
	l.Hours = make([]string, 0, len(b.hours))
	for _, h := range b.hours {
		if h = part(h); h != "" {
			l.Hours = append(l.Hours, keep(h, maxLine))
		}
	}
}

// fillAddress fills the address when the card has none, or only the same city:
// half of one from here and half from there would be nobody's.
func (b *business) fillAddress(l *yp.Listing) {
	if b.address == nil || l.Street != "" || l.PostalCode != "" || l.ServiceArea != "" {
		return
	}
	a := b.address
	city := trimPlace(part(a.city))
	if l.City != "" && !strings.EqualFold(city, l.City) {
		return
	}
	l.Street = keep(trimPlace(part(a.street)), maxLine)
	l.PostalCode = strings.Clone(postalCode(part(a.zip)))
	if l.City == "" {
		l.City = keep(city, maxLine)
	}
	if l.State == "" {
		l.State = strings.Clone(stateCode(trimPlace(part(a.state))))
	}
}
