package site

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// Bounds on what a card may say, in bytes or in number.
const (
	maxLine    = 200 // street, city, phone, service area, category
	maxSnippet = 1000
	maxURL     = 2000
)

// cardReader reads cards, one at a time.
type cardReader struct {
	src  *Source
	at   *pageLinks
	card *html.Node
	self [1]*html.Node // card
	hits region.Hits
	buf  []byte
	json attrJSON // read last

	item   jsondoc.Value // that is read in the place of a card, or all of the page's JSON
	values []string      // see rule.values
	work   int           // nodes looked at to take the cards of this page apart

	parts bool // the tree is that of the regions alone
	shut  bool // what a card lacks may be in a noscript, and the page must be parsed whole
}

// read reads one card. Its listing has no id or no name when the card is bad.
//
// What is in noscript in a card is another form of what the card shows, and stays out; but for the address of its
// page, and for a card that lacks an id or a name without it.
func (c *cardReader) read(at card, l *yp.Listing) {
	c.find(at.n)
	c.identify(l)
	if (l.ID == "" || l.Name == "") && c.findOpen(at.n) {
		c.identify(l)
	}
	if l.ID == "" || l.Name == "" {
		return
	}
	c.readRest(at, l)
	if l.ProfileURL == "" && c.src.fields.profile != nil && c.findOpen(at.n) {
		l.ProfileURL = c.profile(c.src.fields.profile.first(c))
		c.find(at.n)
	}
}

func (c *cardReader) identify(l *yp.Listing) {
	f := &c.src.fields
	*l = yp.Listing{ID: f.id.identifier(c), Name: keep(f.name.first(c), yp.MaxName)}
}

// readRest reads all but the id and the name.
func (c *cardReader) readRest(at card, l *yp.Listing) {
	f := &c.src.fields
	l.Sponsored = at.sponsored || c.marked()
	c.place(l)
	for i := range f.others {
		o := &f.others[i]
		o.set(c, l, o.rules)
	}
}

// find finds the elements of all fields in a card.
func (c *cardReader) find(card *html.Node) {
	c.card = card
	c.hits.Reset()
	c.src.cards.Find(card, c.hits, nil)
}

// findOpen finds the elements of all fields in a card again, those in its noscripts among them. It reports whether
// there are such. They are opened in trees of whole pages alone.
func (c *cardReader) findOpen(card *html.Node) bool {
	if !region.HoldsNoscript(card) {
		return false
	}
	if c.parts {
		c.shut = true
		return false
	}
	c.hits.Reset()
	c.src.cardsOpen.Find(card, c.hits, nil)
	return true
}

// holds reports whether the card read last holds what one of the selectors finds.
func (c *cardReader) holds(sels []int) bool {
	return slices.ContainsFunc(sels, func(i int) bool { return len(c.hits[i]) > 0 })
}

// marked reports whether the card read last bears the mark of an ad, itself or on an element in it.
func (c *cardReader) marked() bool {
	if c.card == nil {
		return slices.ContainsFunc(c.src.ads, func(r rule) bool { return r.holds(c) })
	}
	return c.holds(c.src.marks) || slices.ContainsFunc(c.src.marksOf, func(sel region.Selector) bool { return sel.Match(c.card) })
}

// setter puts what a field's rules yield into a listing.
type setter func(c *cardReader, l *yp.Listing, rules field)

// setters are those of the fields that take more than what setterOf does.
var setters = map[string]setter{
	"profile_url":  func(c *cardReader, l *yp.Listing, f field) { l.ProfileURL = c.profile(f.first(c)) },
	"phone":        func(c *cardReader, l *yp.Listing, f field) { setPhone(l, f.first(c), c.src.country) },
	"website":      func(c *cardReader, l *yp.Listing, f field) { c.website(l, f.first(c)) },
	"price_range":  func(c *cardReader, l *yp.Listing, f field) { l.PriceRange = yp.PriceRange(f.first(c)) },
	"snippet":      func(c *cardReader, l *yp.Listing, f field) { l.Snippet = keep(c.src.snippet(f.first(c)), maxSnippet) },
	"image_url":    func(c *cardReader, l *yp.Listing, f field) { l.ImageURL = c.image(f) },
	"rating":       func(c *cardReader, l *yp.Listing, f field) { l.Rating = c.rating(f) },
	"review_count": func(c *cardReader, l *yp.Listing, f field) { l.ReviewCount, _, _ = yp.Count(f.first(c)) },
	"claimed":      func(c *cardReader, l *yp.Listing, f field) { l.Claimed = c.src.claimed(f.first(c)) },
}

// setterOf returns what reads a field: its own, or that of all fields of its type.
func setterOf(to *yp.ListingField) setter {
	if own, ok := setters[to.Name]; ok {
		return own
	}
	return func(c *cardReader, l *yp.Listing, f field) {
		switch v := to.At(l).(type) {
		case *string:
			*v = keep(f.first(c), maxLine)
		case *int:
			*v, _ = yp.FirstInt(f.first(c))
		case *[]string:
			*v = clones(f.all(c, yp.MaxCategories))
		}
	}
}

// profile returns the address of a business's page on the directory, without query and fragment. What
// leads back to this page is none.
func (c *cardReader) profile(href string) string {
	if end := strings.IndexAny(href, "?#"); end >= 0 {
		href = href[:end]
	}
	if len(href) > maxURL {
		return ""
	}
	a, _ := c.at.base.Resolve(href)
	if len(a.Text) == len(href) { // it may be the same memory
		a.Text = strings.Clone(a.Text)
	}
	u, _ := yp.CanonicalURL(nil, a.Text)
	return u
}

// setPhone keeps a phone number of a country, see yp.ShownPhone.
func setPhone(l *yp.Listing, text, country string) {
	shown, e164 := yp.ShownPhone(text, country)
	l.Phone, l.PhoneE164 = keep(shown, maxLine), strings.Clone(e164)
}

// website keeps a link to the business's own site, which names a host that is not the
// directory's.
func (c *cardReader) website(l *yp.Listing, ref string) {
	if len(ref) > maxURL {
		return
	}
	linked, w, ok := c.at.site(ref)
	if !ok || c.src.ownHost(w.Host) {
		return
	}
	l.WebsiteURL, l.Website, l.Domain = linked, w.URL, w.Domain
}

// rating returns the rating, by the scale of the rule that yields it.
func (c *cardReader) rating(f field) float64 {
	for i := range f {
		if text := f[i : i+1].first(c); text != "" {
			return yp.RatingOf(text, f[i].scale)
		}
	}
	return 0
}

// image returns the first image that is none of the site's stand-ins.
func (c *cardReader) image(f field) string {
	for i := range f {
		src := f[i : i+1].first(c)
		if src == "" || len(src) > maxURL || c.src.standIn(src) {
			continue
		}
		if a, reason := c.at.base.Resolve(src); reason == "" {
			return strings.Clone(a.Text)
		}
	}
	return ""
}

func (s *Source) standIn(src string) bool {
	return strings.HasPrefix(src, "data:") ||
		slices.ContainsFunc(s.def.NoImage, func(part string) bool { return strings.Contains(src, part) })
}

func (s *Source) snippet(text string) string {
	for _, p := range s.def.SnippetPrefix {
		if rest, ok := strings.CutPrefix(text, p); ok {
			return strings.TrimSpace(rest)
		}
	}
	return text
}

// claimed reports whether the business claims its listing; nil when the page
// does not say.
func (s *Source) claimed(text string) *bool {
	if text == "" || text != s.def.ClaimedIs && text != s.def.UnclaimedIs {
		return nil
	}
	yes := text == s.def.ClaimedIs
	return &yes
}

// keep returns a copy of s, at most n bytes long: listings must not hold on to
// the whole page.
func keep(s string, n int) string { return strings.Clone(yp.Clip(s, n)) }

func clones(list []string) []string {
	for i, s := range list {
		list[i] = keep(s, maxLine)
	}
	return list
}

// place reads where the business is. Sites write it as street and locality, as
// separate parts, or in one line; "Serving the Austin Area" is a service area
// and no address. A line that can't be split surely, not by its line breaks either, is
// kept as it is, and so is one whose street has no number.
func (c *cardReader) place(l *yp.Listing) {
	f := &c.src.fields
	street := c.part(f.street)
	city, state, zip := yp.SplitLocality(c.part(f.locality), c.src.country)
	if city == "" {
		city = yp.TrimPlace(c.part(f.city))
	}
	if state == "" {
		state = c.src.readState(c.part(f.state))
	}
	if zip == "" {
		zip = c.src.readPostalCode(c.part(f.postal))
	}
	if street == "" && city == "" && zip == "" {
		line := f.address.first(c)
		if c.src.serviceArea(line) {
			l.ServiceArea = keep(line, maxLine)
			return
		}
		stated, split := state, false
		street, city, state, zip, split = c.src.splitLine(line, stated)
		if !split && yp.IsAddress(line) {
			if st, ci, sta, code, ok := c.src.splitLine(c.addressByLines(), stated); ok {
				street, city, state, zip = st, ci, sta, code
			} else {
				l.Address = keep(line, maxLine)
			}
		}
	}
	if c.src.serviceArea(street) {
		l.ServiceArea = keep(street, maxLine)
		street = ""
	}
	l.Street, l.City = keep(yp.TrimPlace(street), maxLine), keep(city, maxLine)
	l.State, l.PostalCode = keep(state, maxLine), keep(zip, maxLine)
}

// addressByLines is the address with commas for its line breaks, where the first rule that finds one reads all of an element; "" =
// it has none.
func (c *cardReader) addressByLines() string {
	for i := range c.src.fields.address {
		r := &c.src.fields.address[i]
		if f := c.src.fields.address[i : i+1]; f.first(c) == "" {
			continue
		}
		if r.data || r.attr != "" || r.own || r.match != nil || r.steps != nil {
			return ""
		}
		for _, n := range r.nodes(c) {
			var lines []string
			for line := range strings.Lines(string(region.AppendLines(nil, n, maxText))) {
				if line = yp.TrimPlace(yp.Clean(line)); line != "" {
					lines = append(lines, line)
				}
			}
			if len(lines) > 1 {
				return strings.Join(lines, ", ")
			}
		}
		return ""
	}
	return ""
}

// part returns the first text of a part of the address. Where the card has an address,
// what is elsewhere in it is no part: a city may be named in a snippet.
func (c *cardReader) part(f field) string {
	for i := range f {
		if f[i].data {
			if s := f[i : i+1].first(c); s != "" {
				return s
			}
			continue
		}
		for _, n := range f[i].nodes(c) {
			if s := f[i].take(c, n); s != "" && (f[i].sel < 0 || c.inAddress(n)) {
				return s
			}
		}
	}
	return ""
}

// inAddress reports whether n is in an address of the card, or the card has none with text.
func (c *cardReader) inAddress(n *html.Node) bool {
	some := false
	for _, r := range c.src.fields.address {
		if r.sel < 0 {
			continue
		}
		for _, box := range c.hits[r.sel] {
			if n == box || within(n, box) {
				return true
			}
			some = some || hasText(box)
		}
	}
	return !some
}

func hasText(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" || c.Type == html.ElementNode && hasText(c) {
			return true
		}
	}
	return false
}

// splitLine splits an address in one line, see yp.SplitLine; state is what the page says beside it. ok is false
// where a part of it is missing.
func (s *Source) splitLine(line, stated string) (street, city, state, zip string, ok bool) {
	street, city, state, zip, ok = yp.SplitLine(line, s.country)
	if !ok {
		return "", "", stated, "", false
	}
	if street != "" && !numbered(street) {
		return "", city, state, zip, false
	}
	return street, city, state, zip, true
}

func (s *Source) serviceArea(text string) bool {
	for _, p := range s.def.ServiceArea {
		if len(text) >= len(p) && strings.EqualFold(text[:len(p)], p) {
			return true
		}
	}
	return false
}

// numbered reports whether a text that nobody marks as a street may be one: it holds a
// house number. "Downtown" does not; "One Main Plaza" and "Pier Thirty-Nine" do.
func numbered(s string) bool {
	return strings.ContainsAny(s, "0123456789") || numberWord.MatchString(s)
}

// numberWord is a number in words: any at the start of a text, "thirty-nine" anywhere.
var numberWord = regexp.MustCompile(`(?i)^(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|` +
	`(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)(?:[ ,-]|$)|` +
	`\b(?:twen|thir|for|fif|six|seven|eigh|nine)ty-(?:one|two|three|four|five|six|seven|eight|nine)\b`)
