package site

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// Rule is a rule of a definition, as the definition has it.
type Rule struct {
	Key  string `json:"key"`            // "fields.phone[1]"
	File string `json:"file"`           // the definition as given to Parse, or the built-in one that it extends
	Line int    `json:"line,omitempty"` // from 1; 0 = not known
	Text string `json:"rule"`           // "a.name, attr href"
}

// Value is what a page says of one field, and what gave it: Rule, or From where it was no rule of the definition.
type Value struct {
	Field string `json:"field"`
	Text  string `json:"value"` // "" = it was rejected: Taken is no value of the field
	Rule  *Rule  `json:"by,omitempty"`
	From  string `json:"from,omitempty"`  // "JSON-LD telephone"
	Taken string `json:"taken,omitempty"` // what the rule took from the page, where that differs
}

// Card is a card of a results page, or a business of its structured data.
type Card struct {
	Listing yp.Listing `json:"-"`
	Rule    *Rule      `json:"card,omitempty"`     // that found the card; nil = structured data
	Values  []Value    `json:"fields"`             // in the order of yp.ListingFields
	Empty   []string   `json:"empty"`              // fields that a definition may name and this card does not have
	Unread  string     `json:"unread,omitempty"`   // why the card is no listing
	Reasons []string   `json:"rejected,omitempty"` // why the listing may not be promoted, see Source.Check
}

// Hint is a rule that gives nothing on any card, or on the page, and what it may lack.
type Hint struct {
	Rule
	Text string `json:"hint"`
}

// Reading is a page with what gave each of its values.
type Reading struct {
	*Page
	Cards  []Card  // of a results page
	Detail []Value // of a listing's own page
	Around []Value // next link, total, and what the page says that it shows
	Signs  []Rule  // signs of the site, and of an empty result, that the page has
	Never  []string
	Hints  []Hint
}

// Read reads a page as ParsePage does, or ParseDetail with detail, and says what gave each value. It takes several
// times as long.
func (s *Source) Read(body []byte, final *url.URL, status int, detail bool) (*Reading, error) {
	t := &trace{notes: map[string]note{}, around: map[string]note{}, uses: map[*Rule]*use{}, words: map[string]bool{}}
	traced := *s
	traced.trace = t
	parse := traced.ParsePage
	if detail {
		parse = traced.ParseDetail
	}
	p, err := parse(body, final, status)
	if err != nil {
		return nil, err
	}
	r := &Reading{Page: p}
	doc, _, err := region.Parse(body)
	if err != nil {
		doc = &html.Node{Type: html.DocumentNode} // its regions could be read: there is nothing to tell of the rest
	}
	r.signs(s, doc)
	if detail {
		r.Detail = t.detailValues(&traced, p)
		return r, nil
	}
	r.Cards, r.Around = t.cardsOf(s, p), t.aroundValues(s, p, final)
	r.hints(s, t, doc)
	return r, nil
}

// trace gathers what the rules of a page give while it is read.
type trace struct {
	notes  map[string]note // of the card that is being read, or of a listing's own page, by field
	around map[string]note // of the page: next, total, shown
	cards  []tracedCard
	found  []sighting     // of structured data
	detail *detailReader  // of a listing's own page
	uses   map[*Rule]*use // on all cards
	words  map[string]bool
}

// note is what a rule took.
type note struct {
	rule *Rule
	text string
}

type tracedCard struct {
	listing yp.Listing
	rule    *Rule
	notes   map[string]note
}

// use is what became of a rule on the cards.
type use struct {
	found, gave int    // cards in which its selector finds an element, and in which it gives a text
	sample      string // what the first element has, where the rule gives no text
}

// note notes what a rule took. In a crawl there is no trace.
func (c *cardReader) note(r *rule, text string) {
	if t := c.src.trace; t != nil {
		t.note(r.def, text)
	}
}

func (t *trace) note(r *Rule, text string) {
	field := fieldOf(r.Key)
	notes := t.notes
	if !strings.Contains(r.Key, ".") {
		notes = t.around
	}
	notes[strings.Clone(field)] = note{r, strings.Clone(text)}
}

// fieldOf returns the field to which a rule with that key belongs: "next[1]" is "next", "fields.phone" is "phone".
func fieldOf(key string) string {
	key, _, _ = strings.Cut(key, "[")
	return key[strings.LastIndexByte(key, '.')+1:]
}

// begin forgets the cards: a page may be read twice.
func (t *trace) begin() {
	t.cards = nil
	clear(t.notes)
	clear(t.uses)
}

// card notes the card that was just read.
func (t *trace) card(c *cardReader, at card, l *yp.Listing) {
	t.cards = append(t.cards, tracedCard{*l, c.src.cardRules[at.sel], maps.Clone(t.notes)})
	clear(t.notes)
	for _, f := range c.src.fields.all() {
		for i := range f {
			t.use(c, &f[i])
		}
	}
	for n := range at.n.Descendants() {
		t.addWords(n)
	}
}

// use counts what a rule finds in the card read last.
func (t *trace) use(c *cardReader, r *rule) {
	u := t.uses[r.def]
	if u == nil {
		u = &use{}
		t.uses[r.def] = u
	}
	nodes := r.nodes(c)
	if len(nodes) == 0 {
		return
	}
	u.found++
	if slices.ContainsFunc(nodes, func(n *html.Node) bool { return r.take(c, n) != "" }) {
		u.gave++
		return
	}
	if u.sample == "" {
		u.sample = r.lacks(c, nodes[0])
	}
}

// lacks says why a rule takes nothing from an element.
func (r *rule) lacks(c *cardReader, n *html.Node) string {
	whole := rule{attr: r.attr, json: r.json, own: r.own}
	switch text := whole.take(c, n); {
	case text != "":
		return fmt.Sprintf("match does not fit %q", yp.Clip(text, 60))
	case r.attr == "":
		return "the element has no text"
	case r.json != "" && region.Attr(n, r.attr) != "":
		return fmt.Sprintf("%s holds no JSON with %q", r.attr, r.json)
	}
	names := make([]string, len(n.Attr))
	for i := range n.Attr {
		names[i] = strings.Clone(n.Attr[i].Key)
	}
	if len(names) == 0 {
		return "the element has no attributes"
	}
	return "the element has no such attribute: it has " + strings.Join(names, ", ")
}

// addWords notes the classes and the id of an element.
func (t *trace) addWords(n *html.Node) {
	for _, class := range strings.Fields(region.Attr(n, "class")) {
		t.words["."+class] = true
	}
	if id := region.Attr(n, "id"); id != "" {
		t.words["#"+strings.TrimSpace(id)] = true
	}
}

// all returns the rules of all fields.
func (f *fields) all() []field {
	out := []field{f.id, f.name, f.street, f.locality, f.city, f.state, f.postal, f.address}
	for i := range f.others {
		out = append(out, f.others[i].rules)
	}
	return out
}

// cardsOf says what gave each value of each card.
func (t *trace) cardsOf(s *Source, p *Page) (cards []Card) {
	kept := map[string]*yp.Listing{}
	for i := range p.Listings {
		kept[p.Listings[i].ID] = &p.Listings[i]
	}
	for i := range t.cards {
		c := &t.cards[i]
		out := Card{Listing: c.listing, Rule: c.rule}
		l := kept[c.listing.ID]
		switch {
		case c.listing.ID == "" && c.listing.Name == "":
			out.Unread = "it has neither an id nor a name"
		case c.listing.ID == "":
			out.Unread = "it has no id"
		case c.listing.Name == "":
			out.Unread = "it has no name"
		case l == nil || l.Sponsored != c.listing.Sponsored:
			out.Unread = "another card has its id"
		default:
			out.Listing, out.Reasons = *l, s.Check(l)
			delete(kept, l.ID)
		}
		out.read(func(f *yp.ListingField, text string) Value { return c.value(f, text) }, c.notes)
		cards = append(cards, out)
	}
	for i := range p.Listings {
		l := &p.Listings[i]
		if kept[l.ID] != l || len(t.cards) > 0 {
			continue
		}
		out := Card{Listing: *l, Reasons: s.Check(l)}
		out.read(func(f *yp.ListingField, text string) Value { return t.sighted(f, l, text) }, nil)
		cards = append(cards, out)
	}
	return cards
}

// read lists the values of a card, and what is empty.
func (c *Card) read(value func(f *yp.ListingField, text string) Value, notes map[string]note) {
	c.Empty = []string{}
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		text := textOfValue(f.At(&c.Listing))
		n, taken := notes[f.Name]
		switch {
		case text != "":
			c.Values = append(c.Values, value(f, text))
		case taken && c.Unread == "":
			c.Values = append(c.Values, Value{Field: f.Name, Rule: n.rule, Taken: n.text})
		case f.Is(yp.Defined):
			c.Empty = append(c.Empty, f.Name)
		}
	}
}

// givers are the rules that may give a field, in their order, where they are not those of its own name.
var givers = map[string][]string{
	"phone_e164": {"phone"}, "website_url": {"website"}, "domain": {"website"},
	"street": {"street", "address"}, "city": {"locality", "city", "address"}, "state": {"locality", "state", "address"},
	"postal_code": {"locality", "postal_code", "address"}, "service_area": {"street", "address"},
}

// gives reports whether the text of a rule holds a field.
func gives(giver, field, text string) bool {
	var street, city, state, zip string
	switch giver {
	case "locality":
		city, state, zip = yp.SplitLocality(text)
	case "address":
		street, city, state, zip = yp.SplitAddress(text)
	default:
		return true
	}
	part, ok := map[string]string{"street": street, "city": city, "state": state, "postal_code": zip}[field]
	return !ok || part != ""
}

// value says what gave a field of the card.
func (c *tracedCard) value(f *yp.ListingField, text string) Value {
	v := Value{Field: f.Name, Text: text}
	names := givers[f.Name]
	if names == nil {
		names = []string{f.Name}
	}
	for _, name := range names {
		if n, ok := c.notes[name]; ok && textOfValue(f.At(&c.listing)) == text && gives(name, f.Name, n.text) {
			if v.Rule = n.rule; n.text != text {
				v.Taken = n.text
			}
			return v
		}
	}
	if v.From = from(structured.JSONLD, f.Name); f.Name == "sponsored" {
		v.Rule, v.From = c.rule, "where the card stands, or a mark of cards.sponsored_marks"
	}
	return v
}

// sighted says in which form of structured data a field of a listing stands.
func (t *trace) sighted(f *yp.ListingField, l *yp.Listing, text string) Value {
	v := Value{Field: f.Name, Text: text, From: "the page's structured data"}
	for i := range t.found {
		s := &t.found[i]
		same := s.ident != "" && s.ident == l.ID || s.l.ProfileURL != "" && s.l.ProfileURL == l.ProfileURL || yp.NormalName(s.l.Name) == yp.NormalName(l.Name)
		if same && (textOfValue(f.At(&s.l)) == text || f.Name == "id" && s.idOf() == text) {
			v.From = from(s.Form, f.Name)
			break
		}
	}
	return v
}

// properties are the properties of schema.org that fields are read from.
var properties = map[string]string{
	"id": "identifier, @id or the address of its page", "name": "name", "rank": "position", "profile_url": "url", "phone": "telephone",
	"phone_e164": "telephone", "street": "address.streetAddress", "city": "address.addressLocality", "state": "address.addressRegion",
	"postal_code": "address.postalCode", "service_area": "areaServed", "website": "url or sameAs", "website_url": "url or sameAs",
	"domain": "url or sameAs", "categories": "@type", "rating": "aggregateRating.ratingValue", "review_count": "aggregateRating.reviewCount",
	"price_range": "priceRange", "snippet": "description", "image_url": "image", "hours": "openingHours", "email": "email",
	"lat": "geo.latitude", "lon": "geo.longitude", "payment": "paymentAccepted", "social": "sameAs", "services": "makesOffer",
	"languages": "knowsLanguage", "founded": "foundingDate", "about": "description",
}

// from names the place of a field in a form of structured data.
func from(form, field string) string {
	names := map[string]string{structured.JSONLD: "JSON-LD", structured.Microdata: "microdata", structured.HCard: "hCard"}
	return strings.TrimSpace(names[form] + " " + properties[field])
}

// aroundValues says what gave the next link and the counts of a page.
func (t *trace) aroundValues(s *Source, p *Page, final *url.URL) (values []Value) {
	if final == nil {
		final = s.base
	}
	if next := p.NextURL; next != "" {
		v := Value{Field: "next", Text: next, From: "a link that the page itself marks as the next one"}
		if n, ok := t.around["next"]; ok && s.nextURL(final, n.text) == next {
			v.Rule, v.From, v.Taken = n.rule, "", n.text
		}
		values = append(values, v)
	}
	if n, ok := t.around["total"]; ok {
		v := Value{Field: "total", Rule: n.rule, Taken: n.text}
		if p.SiteTotal > 0 || p.zero {
			v.Text = strconv.Itoa(p.SiteTotal)
		}
		values = append(values, v)
	}
	if n, ok := t.around["shown"]; ok {
		values = append(values, Value{Field: "shown", Text: n.text, Rule: n.rule})
	}
	return values
}

// detailValues says what gave each value of a listing's own page.
func (t *trace) detailValues(s *Source, p *Page) (values []Value) {
	if p.Detail == nil {
		return nil
	}
	all := p.Detail.Texts()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := Value{Field: name, Text: all[name]}
		key := name
		if g := givers[name]; len(g) == 1 {
			key = g[0]
		}
		n, noted := t.notes[key]
		r := t.detail
		switch {
		case r == nil:
			v.From = "the page's structured data"
			for i := range t.found {
				v.From = from(t.found[i].Form, name)
				break
			}
		case noted:
			if v.Rule = n.rule; n.text != v.Text {
				v.Taken = n.text
			}
		case name == "id":
			v.From = "detail.path, from the page's address"
		case name == "hours" && len(readHours(&r.ld)) > 0:
			v.From = from(structured.JSONLD, name)
		case name == "hours" && slices.ContainsFunc(s.detail.hours, func(i int) bool { return len(r.page.hits[i]) > 0 }):
			v.From = "detail.hours"
		case len(r.under[key]) > 0:
			v.From = "detail.labels." + key
		default:
			v.From = from(structured.JSONLD, name)
		}
		values = append(values, v)
	}
	return values
}

// textOfValue writes a field of a listing, as At returns it; "" = the page does not say.
func textOfValue(at any) string {
	switch v := at.(type) {
	case *string:
		return *v
	case *int:
		if *v != 0 {
			return strconv.Itoa(*v)
		}
	case *float64:
		if *v != 0 {
			return strconv.FormatFloat(*v, 'g', -1, 64)
		}
	case *[]string:
		return strings.Join(*v, "; ")
	case *bool:
		if *v {
			return "true"
		}
	case **bool:
		if *v != nil {
			return strconv.FormatBool(**v)
		}
	}
	return ""
}
