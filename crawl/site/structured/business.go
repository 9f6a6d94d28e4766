package structured

import (
	"cmp"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// Bounds on what a business says.
const (
	maxPhones  = 8
	maxImages  = 8
	maxNames   = 50  // in each list of More
	maxRefs    = 100 // web addresses
	maxOffered = 100 // things in catalogues and offers that are looked at
)

// ID returns the id that the page gives the business, see yp.PlainID.
func (b *Business) ID() string {
	for _, p := range b.item.props {
		if p.name != "identifier" {
			continue
		}
		id := yp.PlainID(b.graph.textOf(p.value))
		if written := p.text == "" || yp.Clean(p.text) == yp.Fold(p.text); id != "" && written { // nothing was dropped from it
			return id
		}
	}
	return b.item.data
}

// AnyID returns the first text that the page gives the business as an id, see yp.Identifier: where ID
// finds none it may be that of something else, such as a register.
func (b *Business) AnyID() string {
	for _, p := range b.item.props {
		if p.name != "identifier" {
			continue
		}
		v := b.graph.resolve(p.value)
		if id := yp.Identifier(html.UnescapeString(v.text)); id != "" && v.item == nil {
			return id
		}
		for _, of := range v.properties() { // its name is that of the register
			if id := yp.Identifier(html.UnescapeString(of.text)); id != "" && of.name == "value" {
				return id
			}
		}
	}
	if b.item.element == nil {
		return ""
	}
	return dataID(b.item.element, yp.Identifier)
}

// Description returns what the business says of itself.
func (b *Business) Description() string { return b.graph.text(&b.item, "description") }

// PriceRange returns "$" to "$$$$", or "".
func (b *Business) PriceRange() string { return yp.PriceRange(b.graph.text(&b.item, "priceRange")) }

// Refs returns its web addresses, at most 100, as written: those that most likely lead to the business's own page on the
// directory come first.
func (b *Business) Refs() []string {
	refs := append(slices.Collect(b.graph.addresses(&b.item, "url")), b.listURL)
	refs = slices.AppendSeq(refs, b.graph.addresses(&b.item, "mainEntityOfPage"))
	if id := addressText(b.item.id); yp.AbsoluteURL(id) || strings.HasPrefix(id, "/") { // others are names within the page
		refs = append(refs, id)
	}
	refs = slices.AppendSeq(refs, b.graph.addresses(&b.item, "sameAs", linkProp))
	return refs[:min(len(refs), maxRefs)]
}

// Categories returns what the business is found under, each once.
func (b *Business) Categories() (out []string) {
	for s := range b.graph.each(&b.item, "category", "keywords") {
		if len(out) < yp.MaxCategories && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Images returns the addresses of pictures, as written.
func (b *Business) Images() (out []string) {
	for _, p := range b.item.props {
		if p.name != "image" && p.name != "photo" || len(out) >= maxImages {
			continue
		}
		src := addressText(p.text)
		if v := b.graph.resolve(p.value); v.item != nil {
			src = cmp.Or(b.graph.address(v.item, "url", "contentUrl"), addressText(v.item.id))
		}
		if src != "" {
			out = append(out, src)
		}
	}
	return out
}

// Phone returns the first number that can be dialled here, else the first, and its E.164 form.
func (b *Business) Phone() (shown, e164 string) {
	g := b.graph
	numbers := g.texts(&b.item, "telephone", "phone", "telephone_number")
	for _, v := range g.values(&b.item, "contactPoint") {
		if v.item != nil {
			numbers = append(numbers, g.texts(v.item, "telephone")...)
		}
	}
	for _, s := range numbers[:min(len(numbers), maxPhones)] {
		if len(s) > 4 && strings.EqualFold(s[:4], "tel:") {
			if plain, err := url.PathUnescape(s[4:]); err == nil {
				s = clean(plain)
			}
		}
		switch number, dialled := yp.ShownPhone(s, b.country()); {
		case dialled != "":
			return number, dialled
		case shown == "":
			shown = number
		}
	}
	return shown, ""
}

// Address is where a business is, or which area it serves. Line is an address in one line that can't be split surely:
// then the parts are not known.
type Address struct{ Street, City, State, PostalCode, Line, Area string }

func (a *Address) some() bool { return a.Street != "" || a.City != "" || a.PostalCode != "" }

// Address returns the address: in parts, as a text, or, when the business says no
// more than that, the area that it serves.
func (b *Business) Address() (a Address) {
	g := b.graph
	all := g.values(&b.item, "address")
	for _, v := range g.values(&b.item, "location") {
		if v.item != nil {
			all = append(all, g.values(v.item, "address")...)
		}
	}
	state, raw := "", ""                                  // the first may stand alone
	for _, v := range append(all, value{item: &b.item}) { // itself: the parts may be in it
		if v.item != nil {
			a = b.addressOf(v.item, a.Area)
			state = cmp.Or(state, a.State)
		}
		if line := g.textOf(v); !a.some() && v.item != &b.item {
			var split bool
			switch a.Street, a.City, a.State, a.PostalCode, split = yp.SplitLine(yp.WithoutCountry(line, b.country()), b.country()); {
			case b.isArea(line):
				a = Address{Area: line}
			case !split && raw == "" && yp.IsAddress(line):
				raw = line
			}
		}
		if a.some() {
			return a
		}
	}
	if a.State = cmp.Or(a.State, state); raw != "" {
		a.Line = raw
		return a
	}
	a.Area = cmp.Or(a.Area, g.text(&b.item, "areaServed", "serviceArea"))
	return a
}

// isArea reports whether a text names the area that is served.
func (b *Business) isArea(line string) bool {
	return slices.ContainsFunc(b.reader.Areas, func(area string) bool {
		return len(line) >= len(area) && strings.EqualFold(line[:len(area)], area)
	})
}

// addressOf reads an address in parts.
func (b *Business) addressOf(it *item, area string) Address {
	g := b.graph
	var street []string
	for s := range g.each(it, "streetAddress") {
		if len(street) < 3 && !slices.Contains(street, s) {
			street = append(street, s)
		}
	}
	city, state, zip := yp.SplitLocality(yp.WithoutCountry(g.text(it, "addressLocality"), b.country()), b.country())
	region := b.stateOf(yp.TrimPlace(strings.TrimPrefix(g.text(it, "addressRegion"), b.country()+"-")))
	return Address{
		Street: yp.TrimPlace(strings.Join(street, ", ")), City: city, State: cmp.Or(region, state),
		PostalCode: cmp.Or(b.postalCode(g.text(it, "postalCode")), zip), Area: area,
	}
}

// Rating returns aggregateRating, from 0.5 to 5 by the scale that it names, and the number of reviews.
func (b *Business) Rating() (rating float64, reviews int) {
	g := b.graph
	all := g.values(&b.item, "aggregateRating", "starRating")
	if len(all) == 0 {
		reviews, _, _ = yp.Count(g.text(&b.item, "reviewCount"))
		return 0, reviews
	}
	for _, v := range all {
		if r, n := b.ratingOf(v); r > 0 || n > 0 {
			return r, n
		}
	}
	return 0, 0
}

func (b *Business) ratingOf(v value) (rating float64, reviews int) {
	g, it, best := b.graph, v.item, 5.0
	if b.reader != nil {
		best = cmp.Or(b.reader.Best, best)
	}
	if it == nil {
		return yp.RatingOf(plainText(v.text), best), 0
	}
	reviews, _, _ = yp.Count(g.text(it, "reviewCount", "ratingCount"))
	said := yp.ReadRating(g.text(it, "ratingValue"))
	if text := g.text(it, "bestRating"); text != "" {
		best = yp.ReadRating(text).Value // 0 where it can't be read
	}
	if said.Best > 0 {
		best = said.Best
	}
	if !scaleUp(g.text(it, "worstRating"), said.Value, best) {
		return 0, reviews
	}
	return yp.Stars(said.Value, best), reviews
}

// scaleUp reports whether a scale begins at nothing or at a value up to the rating, and ends above it. On one that
// begins below nothing, or whose best is the least, such as that of school marks, a rating is no share of the best.
func scaleUp(worstText string, value, best float64) bool {
	if worstText == "" {
		return true
	}
	worst, err := strconv.ParseFloat(strings.Replace(worstText, ",", ".", 1), 64)
	return err == nil && 0 <= worst && worst < best && worst <= value
}

// More is what only the page of one business is asked for.
type More struct {
	Emails    []string
	Founded   string // a date
	Payment   []string
	Languages []string
	Services  []string
	Social    []string    // addresses on other sites
	Positions [][2]string // latitude and longitude
}

// More returns what else the page says of a business.
func (b *Business) More() More {
	g, it := b.graph, &b.item
	list := func(names ...string) []string {
		texts := g.texts(it, names...)
		return texts[:min(len(texts), maxNames)]
	}
	m := More{
		Emails: list("email"), Founded: g.text(it, "foundingDate"), Payment: list("paymentAccepted"),
		Languages: list("knowsLanguage"), Social: slices.Collect(g.addresses(it, "sameAs", linkProp)),
	}
	m.Social = m.Social[:min(len(m.Social), maxNames)]
	looks := 0
	m.Services = g.offered(it, &looks)
	for _, v := range append(g.values(it, "geo"), value{item: it}) { // itself: older pages have no geo around them
		if v.item != nil && len(m.Positions) < maxNames {
			m.Positions = append(m.Positions, [2]string{g.text(v.item, "latitude"), g.text(v.item, "longitude")})
		}
	}
	return m
}

// offered returns the names of what is in the catalogues and offers of an item. looks
// counts the items looked at, which may lead back to each other.
func (g *graph) offered(it *item, looks *int) (names []string) {
	for _, prop := range [...]string{"hasOfferCatalog", "makesOffer", "itemListElement", "itemOffered", "item"} {
		for _, v := range g.values(it, prop) {
			if *looks++; *looks > maxOffered {
				break
			}
			var inner []string
			if v.item != nil {
				inner = g.offered(v.item, looks)
			}
			if name := g.textOf(v); len(inner) == 0 && name != "" {
				inner = []string{name}
			}
			names = append(names, inner...)
		}
	}
	return names[:min(len(names), maxNames)]
}
