package site

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// businessReader turns what the structured data of a page says into listings.
type businessReader struct {
	src   *Source
	at    *pageLinks
	doc   *html.Node
	found []sighting // in the order of the forms, then of the page

	ownPage bool // it is a listing's own page, not one of results

	head *pageHead // nil = not looked for yet
}

// A sighting is what one form says of one business.
type sighting struct {
	*structured.Business
	l     yp.Listing
	ident string // the id that the page gives it, a word
	odd   string // the id that it gives it, any text: for want of all others
	key   string // its own path on the directory, see ownKey; "" = none
}

// read gathers what all forms that the definition takes say, and returns how many businesses beyond the
// first 1,000 are left out.
func (r *businessReader) read(scripts []string) (leftOut int) {
	d := r.src.def
	reader := structured.Reader{
		Forms: d.Structured.Forms, Types: d.Structured.Types, Areas: d.ServiceArea,
		Country: r.src.country, Best: d.Structured.Scale, Day: r.src.day,
		State: r.src.readState, PostalCode: r.src.readPostalCode,
	}
	leftOut = r.take(&reader, scripts)
	if len(r.found) == 0 && !r.ownPage { // the list may be in noscript
		reader.Noscript = true
		leftOut = r.take(&reader, nil)
	}
	return leftOut
}

func (r *businessReader) take(reader *structured.Reader, scripts []string) (leftOut int) {
	found, leftOut := reader.Read(r.doc, scripts)
	for i := range found {
		s := sighting{Business: &found[i], ident: found[i].ID()}
		if s.ident == "" {
			s.odd = found[i].AnyID()
		}
		if home := r.addresses(&s); home && s.key == "" && (s.ident == "" || r.titled(s.Name)) {
			continue // the directory itself, or the page as a whole
		}
		m := business{src: r.src, at: r.at, own: r.ownPage}
		m.facts(&s.l, s.Business)
		m.texts(&s.l, s.Business)
		r.found = append(r.found, s)
	}
	return leftOut
}

// addresses sorts the web addresses of a business into its own page on the
// directory and its own site. home says that one of them is the directory's
// homepage or this very page.
func (r *businessReader) addresses(s *sighting) (home bool) {
	var shared string
	c := cardReader{src: r.src, at: r.at}
	for _, ref := range s.Refs() {
		if ref = webAddress(ref); ref == "" || len(ref) > maxURL {
			continue
		}
		a, reason := r.at.base.Resolve(ref)
		if reason != "" {
			continue
		}
		if !r.src.ownHost(a.Hostname()) {
			if _, w, ok := r.at.site(ref); !ok || s.l.WebsiteURL != "" {
				continue
			} else if w.Shared { // of those on shared hosts the first, for want of a better
				shared = cmp.Or(shared, ref)
			} else {
				c.website(&s.l, ref)
			}
			continue
		}
		if key, profile := r.ownKey(ref); key != "" && s.key == "" {
			s.key, s.l.ProfileURL = key, profile
		} else if key == "" && (!strings.Contains(a.Text, "#") || strings.HasSuffix(a.Text, "#")) {
			home = true
		}
	}
	if s.l.WebsiteURL == "" && shared != "" {
		c.website(&s.l, shared)
	}
	return home
}

// webAddress tidies an address: people write "www.acme.com" and "acme.com"
// where a link to a page of that name would have to be.
func webAddress(s string) string {
	s = weburl.Tidy(s)
	if s == "" || strings.IndexByte("/#?.", s[0]) >= 0 || strings.Contains(s, ":") {
		return s
	}
	if _, ok := yp.CanonicalWebsite(s); ok {
		return "http://" + s
	}
	return s
}

// queryIDs are the parameters in which sites whose pages share a path name the
// business.
var queryIDs = strings.Fields("id bid lid listing listing_id listingid business business_id biz company profile")

// ownKey returns what tells a business's own page from others of the
// directory: its path, with the parameter that names the business if there is
// one; and its canonical URL. Both are "" for other hosts, the homepage and
// this very page.
func (r *businessReader) ownKey(ref string) (key, profile string) {
	if ref = webAddress(ref); len(ref) > maxURL || strings.HasPrefix(ref, "#") {
		return "", ""
	}
	a, reason := r.at.base.Resolve(ref)
	if reason != "" || a.User || bare(a.Hostname()) != r.src.host {
		return "", ""
	}
	key = strings.TrimRight(a.EscapedPath(), "/")
	query := queryID(a.URL())
	base := strings.TrimRight(r.src.base.EscapedPath(), "/")
	if query == "" && (key == base || key == "" || !r.ownPage && r.thisList(key)) {
		return "", ""
	}
	if profile, ok := yp.CanonicalURL(nil, a.Text); ok && !strings.HasPrefix(ref, "?") {
		return strings.Clone(key + query), strings.Clone(profile)
	}
	return "", ""
}

// queryID returns the parameter that names a business, as "?id=12", or "".
func queryID(u *url.URL) string {
	if u.RawQuery == "" || len(u.RawQuery) > maxURL {
		return ""
	}
	q := u.Query()
	for _, name := range queryIDs {
		if id := yp.PlainID(q.Get(name)); id != "" {
			return "?" + name + "=" + id
		}
	}
	return ""
}

// idOf returns the id of a business that was given none: the digits that end
// its own URL, else the path itself, and without a URL any text that the page gives it as an id.
func (s *sighting) idOf() string {
	return cmp.Or(s.ident, trailingID(s.key, s.l.PostalCode), yp.PathID(s.key), s.odd)
}

// trailingID returns the digits that end a path or name the business in a
// query. Fewer than four behind a name tell it from its namesakes, and a ZIP
// code says where it is: neither is an id.
func trailingID(key, zip string) string {
	if _, id, ok := strings.Cut(key, "?"); ok {
		_, id, _ = strings.Cut(id, "=")
		return id
	}
	for _, end := range [...]string{".html", ".htm", ".php", ".aspx"} {
		key = strings.TrimSuffix(key, end)
	}
	i := len(key)
	for i > 0 && digit(key[i-1]) {
		i--
	}
	id := key[i:]
	if id == "" || len(id) > yp.MaxID || i == 0 {
		return ""
	}
	if key[i-1] == '/' {
		return id
	}
	if len(id) < 4 || len(id) == 5 && strings.HasPrefix(zip, id) || strings.IndexByte("-_=.", key[i-1]) < 0 {
		return ""
	}
	return id
}

// finish makes one listing of all that was said of each business.
func (r *businessReader) finish(p *Page) {
	m := merger{index: map[string]int{}}
	for i := range r.found {
		m.add(&r.found[i])
	}
	m.listings(p)
}

// merger gathers sightings of the same business.
type merger struct {
	list  []sighting
	index map[string]int // of the keys by which a business is known
}

// add joins a sighting with the business that it is of. One that is of none is a business of its own.
// The first business to be known by a key stays so.
func (m *merger) add(s *sighting) {
	l := s.l
	l.Website = "" // which branches share
	keys := yp.CompanyKeys(&l, yp.DefaultCountry)
	if s.ident != "" {
		keys = slices.Insert(keys, 0, idKey+s.ident)
	}
	if s.key != "" {
		keys = slices.Insert(keys, 0, pageKey+s.key)
	}
	at := slices.IndexFunc(keys, func(k string) bool { return m.is(k, s) })
	if at >= 0 {
		at = m.index[keys[at]]
		have := &m.list[at]
		if have.key == "" {
			have.key, have.l.ProfileURL = s.key, s.l.ProfileURL
		}
		have.ident, have.odd = cmp.Or(have.ident, s.ident), cmp.Or(have.odd, s.odd)
		fillListing(&have.l, &s.l)
	} else {
		at = len(m.list)
		m.list = append(m.list, *s)
	}
	for _, k := range keys {
		if _, known := m.index[k]; !known {
			m.index[k] = at
		}
	}
}

// Keys of a business beside those of its company begin so.
const (
	pageKey = "page:"
	idKey   = "id:"
)

// is reports whether a sighting is of the business that is known by one of its keys: its own page, its id, or name
// and phone or address. Two that have pages or ids of their own are two, however alike.
func (m *merger) is(key string, s *sighting) bool {
	at, ok := m.index[key]
	if !ok {
		return false
	}
	have := &m.list[at]
	otherName := have.l.Name != "" && s.l.Name != "" && yp.NormalName(have.l.Name) != yp.NormalName(s.l.Name)
	switch {
	case strings.HasPrefix(key, pageKey): // two of one form are two: the page is that of a redirector, or of the list
		return !otherName || have.Form != s.Form
	case strings.HasPrefix(key, idKey) && otherName:
		return false
	}
	if have.key+s.key+have.ident+s.ident == "" && have.odd != "" && s.odd != "" {
		return have.odd == s.odd
	}
	return (have.key == "" || s.key == "") && (have.ident == "" || s.ident == "" || have.ident == s.ident)
}

// listings puts the businesses on the page. An id that two of them have is
// none: they go by their paths then.
func (m *merger) listings(p *Page) {
	p.Raw, p.Cards = len(m.list), len(m.list)
	uses := make(map[string]int, len(m.list))
	for i := range m.list {
		uses[m.list[i].idOf()]++
	}
	seen := make(map[string]bool, len(m.list))
	for i := range m.list {
		s := &m.list[i]
		id := s.idOf()
		if uses[id] > 1 && s.key != "" {
			id = yp.PathID(s.key)
		}
		s.l.ID = id
		about := func() string { return cmp.Or(s.l.Name, id) }
		if id == "" || s.l.Name == "" {
			p.unread(lacks(&s.l), 1, about)
			continue
		}
		if seen[id] { // of several that can't be told apart the first counts
			p.unread(Alike, 1, about)
			continue
		}
		seen[id] = true
		p.Listings = append(p.Listings, s.l)
	}
}
