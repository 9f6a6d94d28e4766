package site

import (
	"cmp"
	"strings"

	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// fillFromJSONLD gives listings what their cards lack and the page's JSON-LD
// has; hours for some dates must hold on the source's day. The two are matched by the path of the profile URL.
func (s *Source) fillFromJSONLD(list []yp.Listing, scripts []string, at *pageLinks) {
	reader := structured.Reader{Country: s.country, Day: s.day, State: s.readState, PostalCode: s.readPostalCode}
	all := reader.Scripts(scripts)
	byPath := make(map[string]*structured.Business, len(all))
	for i := range all {
		switch path := at.path(all[i].URL); {
		case path == "":
		case byPath[path] == nil:
			byPath[path] = &all[i]
		default:
			byPath[path].Merge(&all[i])
		}
	}
	m := business{src: s, at: at}
	for i := range list {
		if b := byPath[urlPath(list[i].ProfileURL)]; b != nil {
			m.fillCard(&list[i], b)
		}
	}
}

// urlPath returns the path of an address, without the slash at its end; "" when there is
// none to match by.
func urlPath(u string) string {
	_, u, _ = strings.Cut(u, "://")
	u, _, _ = strings.Cut(u, "?")
	u, _, _ = strings.Cut(u, "#")
	slash := strings.IndexByte(u, '/')
	if slash < 0 {
		return ""
	}
	return strings.TrimRight(u[slash:], "/")
}

// pick returns what the JSON-LD of a detail page says of its business, see ofPage; nil when it says
// nothing.
func (r *detailReader) pick(all []structured.Business) (b *structured.Business) {
	leads := func(b structured.Business) int { return r.leadsHere(b.URL) }
	ours, _ := ofPage(all, leads, func(b structured.Business) string { return b.Name }, r.Name)
	for i := range ours {
		if i == 0 {
			b = &ours[0]
		} else if leads(ours[i]) == linkHere {
			b.Merge(&ours[i])
		}
	}
	return b
}

// ofPage returns which businesses on a listing's own page are the listing, and whether one links to the page. Such
// a page may describe others too, such as its neighbours or the site itself: ours are those whose page it is; else
// those that name no other page and bear its title; else the only one, unless it plainly bears another name.
func ofPage[B any](all []B, leads func(B) int, name func(B) string, title string) (ours []B, linked bool) {
	var here, free, named []B
	for _, b := range all {
		switch leads(b) {
		case linkHere:
			here = append(here, b)
		case linkOut:
			free = append(free, b)
		}
	}
	if len(here) > 0 {
		title = cmp.Or(name(here[0]), title)
	}
	for _, b := range free {
		if title != "" && yp.NormalName(name(b)) == yp.NormalName(title) {
			named = append(named, b)
		}
	}
	switch {
	case len(here)+len(named) > 0:
		return append(here, named...), len(here) > 0
	case len(free) == 1 && alike(name(free[0]), title):
		return free, false
	}
	return nil, false
}

// Where the address of a business leads.
const (
	linkOut       = iota // to another site, or none at all
	linkHere             // to this page
	linkElsewhere        // to another page of this site
)

// leadsHere says where the url of a business leads.
func (r *detailReader) leadsHere(ref string) int {
	if len(ref) > maxURL {
		return linkOut
	}
	a, reason := r.at.base.Resolve(ref)
	if reason != "" || !r.src.ownHost(a.Hostname()) {
		return linkOut
	}
	if id := r.src.detail.pathID(a.Path()); id != "" && id == r.ID {
		return linkHere
	}
	if !yp.AbsoluteURL(ref) && !strings.HasPrefix(ref, "/") {
		return linkOut // "acme.com" is meant as a host here
	}
	return linkElsewhere
}

// alike reports whether two names may be of one business: one is unknown, or
// begins with the other ("Joe's Plumbing", "Joe's Plumbing & Heating").
func alike(a, b string) bool {
	a, b = yp.Slug(a), yp.Slug(b)
	return a == "" || b == "" || strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
