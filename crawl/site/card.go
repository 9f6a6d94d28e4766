package site

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// Bounds on what a card may say, in bytes or in number.
const (
	maxID         = 64
	maxName       = 300
	maxLine       = 200 // street, city, phone, service area, category
	maxSnippet    = 1000
	maxURL        = 2000
	maxCategories = 30
	maxHours      = 21
)

// cardReader reads cards, one at a time.
type cardReader struct {
	src   *Source
	final *url.URL
	card  *html.Node
	hits  hits
	buf   []byte
}

func (c *cardReader) begin(s *Source, final *url.URL) {
	c.src, c.final = s, final
}

// read reads one card. Its listing has no id or no name when the card is bad.
func (c *cardReader) read(at card) yp.Listing {
	c.card = at.n
	c.hits.reset()
	c.src.cards.run(at.n, c.hits, nil)
	f := &c.src.fields
	l := yp.Listing{ID: identifier(f.id.first(c)), Name: keep(f.name.first(c), maxName)}
	if l.ID == "" || l.Name == "" {
		return l
	}
	l.Sponsored = at.sponsored || c.marked()
	l.Rank, _ = firstInt(f.rank.first(c))
	l.ProfileURL = c.profile(f.profile.first(c))
	c.phone(&l)
	c.place(&l)
	c.website(&l, f.website.first(c))
	l.Categories = clones(f.categories.all(c, maxCategories))
	l.Rating = rating(f.rating.first(c))
	l.ReviewCount, _ = firstInt(f.reviews.first(c))
	l.YearsInBusiness, _ = firstInt(f.years.first(c))
	l.PriceRange = priceRange(f.price.first(c))
	l.Snippet = keep(c.src.snippet(f.snippet.first(c)), maxSnippet)
	l.ImageURL = c.image()
	l.Claimed = c.src.claimed(f.claimed.first(c))
	return l
}

// marked reports whether the card carries the mark of an ad.
func (c *cardReader) marked() bool {
	for _, i := range c.src.marks {
		if len(c.hits[i]) > 0 {
			return true
		}
	}
	return false
}

func (c *cardReader) profile(href string) string {
	if href == "" || len(href) > maxURL {
		return ""
	}
	u, ok := yp.CanonicalURL(c.final, href)
	if !ok {
		return ""
	}
	return u
}

func (c *cardReader) phone(l *yp.Listing) {
	setPhone(l, c.src.fields.phone.first(c))
}

// setPhone keeps a phone number if there are digits enough to be one.
func setPhone(l *yp.Listing, s string) {
	digits := 0
	for i := range len(s) {
		if digit(s[i]) {
			digits++
		}
	}
	if digits < 7 {
		return
	}
	l.Phone = keep(s, maxLine)
	l.PhoneE164, _ = yp.CanonicalPhone(l.Phone)
}

// website keeps a link to the business's own site: absolute, and not the
// directory's.
func (c *cardReader) website(l *yp.Listing, href string) {
	if len(href) > maxURL || !absolute(href) {
		return
	}
	href = strings.Clone(href) // the canonical form may share its memory
	w, ok := yp.CanonicalWebsite(href)
	if !ok || c.src.ownHost(w.Host) {
		return
	}
	l.WebsiteURL, l.Website, l.Domain = href, w.URL, w.Domain
}

// absolute reports whether a link names a host. A bare "acme.com" is a
// relative link to a file of that name.
func absolute(href string) bool {
	if strings.HasPrefix(href, "//") {
		return true
	}
	scheme, rest, ok := strings.Cut(href, ":")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) && strings.HasPrefix(rest, "//")
}

// image returns the first image that is none of the site's stand-ins.
func (c *cardReader) image() string {
	for i := range c.src.fields.image {
		f := c.src.fields.image[i : i+1]
		src := field(f).first(c)
		if src == "" || len(src) > maxURL || c.src.standIn(src) {
			continue
		}
		u, err := c.final.Parse(src)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			continue
		}
		return u.String()
	}
	return ""
}

func (s *Source) standIn(src string) bool {
	for _, part := range s.def.NoImage {
		if strings.Contains(src, part) {
			return true
		}
	}
	return strings.HasPrefix(src, "data:")
}

func (s *Source) snippet(text string) string {
	for _, p := range s.def.SnippetPrefix {
		if rest, ok := strings.CutPrefix(text, p); ok {
			return strings.TrimSpace(rest)
		}
	}
	return text
}

// claimed tells whether the business claims its listing; nil when the page
// does not say.
func (s *Source) claimed(text string) *bool {
	if text == "" || text != s.def.ClaimedIs && text != s.def.UnclaimedIs {
		return nil
	}
	yes := text == s.def.ClaimedIs
	return &yes
}

// identifier returns an id, or "" when it is none: ids are short words.
func identifier(s string) string {
	if len(s) > maxID {
		return ""
	}
	for i := range len(s) {
		if c := s[i]; !letter(c) && !digit(c) && strings.IndexByte("-_.:", c) < 0 {
			return ""
		}
	}
	return strings.Clone(s)
}

// keep returns a copy of s, at most n bytes long: listings must not hold on to
// the whole page.
func keep(s string, n int) string { return strings.Clone(clip(s, n)) }

func clones(list []string) []string {
	for i, s := range list {
		list[i] = keep(s, maxLine)
	}
	return list
}
