package site

import (
	"slices"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// dropSharedKeys takes the own page from businesses of one form that differ in
// name and yet name the same page: it is that of a redirector, or of the list.
func (r *businessReader) dropSharedKeys(start int) {
	names, shared := map[string]string{}, map[string]bool{}
	for i := start; i < len(r.found); i++ {
		s := &r.found[i]
		name := yp.NormalName(s.l.Name)
		if s.key == "" || s.bare || name == "" {
			continue
		}
		if have, ok := names[s.key]; ok && have != name {
			shared[s.key] = true
		}
		names[s.key] = name
	}
	if len(shared) == 0 {
		return
	}
	for i := start; i < len(r.found); i++ {
		if s := &r.found[i]; shared[s.key] {
			s.key, s.l.ProfileURL = "", ""
		}
	}
}

// finish makes one listing of all that was said of each business.
func (r *businessReader) finish(p *Page) {
	m := merger{index: map[string]int{}}
	for i := range r.found {
		if !r.found[i].bare {
			m.add(&r.found[i])
		}
	}
	typed := len(m.list) > 0
	for i := range r.found {
		s := &r.found[i]
		if !s.bare {
			continue
		}
		if at, ok := m.find(s); ok {
			m.join(at, s)
		} else if !typed && !r.sibling(s) {
			m.add(s)
		}
	}
	if !typed {
		r.nameBare(m.list)
	}
	m.listings(p)
}

// merger gathers sightings of the same business.
type merger struct {
	list  []sighting
	index map[string]int // of the names under which a business is known
}

func (m *merger) add(s *sighting) {
	if at, ok := m.find(s); ok {
		m.join(at, s)
		return
	}
	m.list = append(m.list, *s)
	m.know(len(m.list)-1, s)
}

// weak returns what tells a business from others when it has no page of its
// own: its keys as a company, without the website, which branches share.
func (s *sighting) weak() []string {
	l := s.l
	l.Website = ""
	return yp.CompanyKeys(&l)
}

// find returns the business that a sighting is of: by its own page, by its id,
// by name and phone or address. Two that have pages of their own are two,
// however alike.
func (m *merger) find(s *sighting) (int, bool) {
	if at, ok := m.index["page:"+s.key]; ok && s.key != "" {
		return at, true
	}
	if at, ok := m.index["id:"+s.ident]; ok && s.ident != "" && m.may(at, s) && sameName(&m.list[at].l, &s.l) {
		return at, true
	}
	for _, k := range s.weak() {
		if at, ok := m.index[k]; ok && m.may(at, s) {
			return at, true
		}
	}
	return 0, false
}

// may reports whether nothing says that a sighting is of another business.
func (m *merger) may(at int, s *sighting) bool {
	have := &m.list[at]
	return (have.key == "" || s.key == "") && (have.ident == "" || s.ident == "" || have.ident == s.ident)
}

func sameName(a, b *yp.Listing) bool {
	return a.Name == "" || b.Name == "" || yp.NormalName(a.Name) == yp.NormalName(b.Name)
}

// know makes a business known by what a sighting says of it. The first to be
// known by something stays so.
func (m *merger) know(at int, s *sighting) {
	names := s.weak()
	if s.key != "" {
		names = append(names, "page:"+s.key)
	}
	if s.ident != "" {
		names = append(names, "id:"+s.ident)
	}
	for _, k := range names {
		if _, ok := m.index[k]; !ok {
			m.index[k] = at
		}
	}
}

// join adds what a sighting says to a business.
func (m *merger) join(at int, s *sighting) {
	have := &m.list[at]
	if have.key == "" {
		have.key, have.l.ProfileURL = s.key, s.l.ProfileURL
	}
	have.ident = orText(have.ident, s.ident)
	fillListing(&have.l, &s.l)
	m.know(at, s)
}

// fillListing gives a listing what it lacks and another has. An address is
// taken whole or not at all; so are a phone and a website with their other forms.
func fillListing(l, from *yp.Listing) {
	if l.Phone == "" || l.PhoneE164 == "" && from.PhoneE164 != "" {
		l.Phone, l.PhoneE164 = from.Phone, from.PhoneE164
	}
	if l.Street == "" && l.PostalCode == "" && (l.City == "" || from.Street != "") && from.City+from.Street+from.PostalCode != "" {
		l.Street, l.City, l.State, l.PostalCode = from.Street, from.City, from.State, from.PostalCode
	}
	if l.WebsiteURL == "" {
		l.WebsiteURL, l.Website, l.Domain = from.WebsiteURL, from.Website, from.Domain
	}
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; !slices.Contains(wholes, f.Name) {
			f.Fill(l, from)
		}
	}
}

// wholes are the fields that are not filled by themselves: the id and the own page are the
// merger's.
var wholes = []string{
	"id", "profile_url", "phone", "phone_e164", "street", "city", "state", "postal_code", "website_url", "website", "domain", "sponsored",
}

// listings puts the businesses on the page. An id that two of them have is
// none: they go by their paths then.
func (m *merger) listings(p *Page) {
	p.Raw = len(m.list)
	uses := make(map[string]int, len(m.list))
	for i := range m.list {
		uses[m.list[i].idOf()]++
	}
	seen := make(map[string]bool, len(m.list))
	for i := range m.list {
		s := &m.list[i]
		id := s.idOf()
		if uses[id] > 1 && s.key != "" {
			id = pathID(s.key)
		}
		if id == "" || s.l.Name == "" {
			p.Bad++
			continue
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		s.l.ID = id
		p.Listings = append(p.Listings, s.l)
	}
}

// nameBare names businesses of which a list gives the addresses alone, by the
// links to them: those of headings, and those whose text the address spells.
func (r *businessReader) nameBare(list []sighting) {
	unnamed := map[string]*sighting{}
	for i := range list {
		if list[i].l.Name == "" && list[i].key != "" {
			unnamed[list[i].key] = &list[i]
		}
	}
	if len(unnamed) > 0 {
		r.nameFromLinks(r.doc, unnamed, false)
	}
}

func (r *businessReader) nameFromLinks(n *html.Node, unnamed map[string]*sighting, heading bool) {
	for c := n.FirstChild; c != nil && len(unnamed) > 0; c = c.NextSibling {
		if c.Type != html.ElementNode || skipped(c.Data) {
			continue
		}
		in := heading || len(c.Data) == 2 && c.Data[0] == 'h' && digit(c.Data[1])
		if c.Data == "a" {
			key, _ := r.ownKey(attrOf(c, "href"))
			text := nodeText(c)
			if s := unnamed[key]; s != nil && text != "" && (in || spells(key, text)) {
				s.l.Name = keep(text, maxName)
				delete(unnamed, key)
			}
		}
		r.nameFromLinks(c, unnamed, in)
	}
}
