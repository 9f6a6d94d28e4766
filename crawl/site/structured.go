package site

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// structuredDef says that a source's listings are read from the structured
// data of its pages; cards and fields are not looked at then. It is "true", or
// a mapping:
//
//	forms  forms to read, of jsonld and microdata; left out = all
//	types  further schema.org types that are businesses
//	scale  the best rating that the site gives, where its data does not say (bestRating); left out = 5
//
// The listings' own pages are read from theirs, too, unless the block detail
// says how else. It may say where the id of such a page stands, ids: page (the
// default) or url, see compileOwnPages.
type structuredDef struct {
	On bool `yaml:"-"`
	// The forms to read: jsonld, microdata. [default: both]
	Forms []string `yaml:"forms"`
	// More schema.org types that are businesses.
	Types []string `yaml:"types"`
	// The best rating that the site gives, if its data doesn't say so. [default: 5]
	Scale float64 `yaml:"scale"`
}

// UnmarshalYAML reads true, false or the mapping.
func (d *structuredDef) UnmarshalYAML(n *yaml.Node) error {
	*d = structuredDef{}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&d.On)
	}
	type plain structuredDef
	err := n.Decode((*plain)(d))
	d.On = true
	return err
}

// parseStructured reads a results page from its structured data. Outcomes
// follow as they do for pages with cards.
func (s *Source) parseStructured(body []byte, final *url.URL, status int) (*Page, error) {
	doc, end, err := region.Parse(body)
	if err != nil {
		return nil, s.parseError(final, err)
	}
	if gone(status) {
		return s.notThere(doc, end, final, status)
	}
	scripts := region.Scripts(doc)
	p := &Page{Via: "structured"}
	s.trace.begin(s)
	at := s.linksAt(final).within(region.Base(doc))
	r := businessReader{src: s, at: at, doc: doc}
	p.LeftOut = r.read(scripts)
	r.finish(p)
	p.Whole, p.Organic = end == region.EndClosed, p.Raw
	s.readAround(p, doc, at)
	roots := s.regions.Find(doc)
	if len(p.Listings) > 0 {
		p.Outcome, p.Reason = OK, readText(p, "entry")
		w := s.workspace()
		defer s.release(w)
		p.Nothing = s.nothing(p, w, doc, roots, titleOf(doc))
	} else {
		s.decide(p, &evidence{doc: doc, roots: roots, scripts: scripts, empty: len(body) == 0})
	}
	return p, s.cut(p.Outcome, end, final)
}

// readAround reads the total and the next link: by the definition's rules,
// then the next link as most sites mark it.
func (s *Source) readAround(p *Page, doc *html.Node, at *pageLinks) {
	w := s.workspace()
	defer s.release(w)
	s.page.Find(doc, w.pageHits, nil)
	around := cardReader{src: s, at: at, hits: w.pageHits, card: doc}
	p.SiteTotal, p.zero = s.readTotal(&around)
	shown, last := readRange(s.shown.first(&around), p.SiteTotal)
	p.RangeEnd, p.Organic = last, max(p.Organic, shown)
	p.NextURL, p.NextHost, _ = s.nextURL(at, s.next.first(&around))
	if p.NextURL == "" && p.NextHost == "" && !s.OnePage() {
		p.NextURL, p.NextHost = s.genericNext(doc, at)
	}
	s.readEnd(p, w, doc, at)
}

// genericNext finds the link to the next page as most sites mark it. In this
// order: link rel=next, a rel=next, a link of class next, one labelled "Next",
// and, within a pagination, one that reads "Next", "›" or "»". It stays on the
// source's host and leads on from where the page is, or is ""; host is then the one that such a link leads to.
func (s *Source) genericNext(doc *html.Node, at *pageLinks) (next, host string) {
	var found [5][]string // by how sure it is that they lead on
	var walk func(n *html.Node, paging bool)
	walk = func(n *html.Node, paging bool) {
		for c := range n.ChildNodes() {
			if c.Type != html.ElementNode || region.Unseen(c.Data) && !(c.Data == "noscript" && region.NoscriptLinks(c)) {
				continue
			}
			in := paging || isPagination(c)
			if href := region.Attr(c, "href"); href != "" && !disabled(c) {
				if rank := nextRank(c, in); rank >= 0 && len(found[rank]) < maxTries {
					found[rank] = append(found[rank], href)
				}
			}
			walk(c, in)
		}
	}
	walk(doc, false)
	for _, ref := range slices.Concat(found[:]...) {
		next, other, _ := s.nextURL(at, ref)
		if next != "" && s.leadsOn(at.page, next) {
			return next, ""
		}
		host = cmp.Or(host, other)
	}
	return "", host
}

// nextRank returns how a link says that it is the next one, the surest way 0; -1 = it does not.
func nextRank(n *html.Node, paging bool) int {
	switch rel := strings.ToLower(region.Attr(n, "rel")); {
	case n.Data == "link" && region.HasClass(rel, "next"):
		return 0
	case n.Data != "a":
		return -1
	case region.HasClass(rel, "next"):
		return 1
	case region.HasClass(strings.ToLower(region.Attr(n, "class")), "next"):
		return 2
	case saysNext(region.Attr(n, "aria-label")):
		return 3
	case paging && saysNext(structured.Text(n)):
		return 4
	}
	return -1
}

// leadsOn reports whether the path of a next link begins as that of the page does, up to the number or the file
// type in its first part, or is that of a search: a blog and a gallery have next links, too.
func (s *Source) leadsOn(final *url.URL, next string) bool {
	u, err := url.Parse(next)
	if err != nil {
		return false
	}
	base := strings.TrimSuffix(s.base.Path, "/")
	path, below := strings.CutPrefix(u.Path, base)
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(final.Path, base), "/"), "/")
	first, _, _ = strings.Cut(first, ".")
	alike := strings.HasPrefix(path, "/"+strings.TrimRight(first, "0123456789"))
	return below && (alike || s.search != nil && s.search.matches(path))
}

// saysNext reports whether a label leads to the next page: words, or nothing but an arrow, one of those that are no
// step to the end.
func saysNext(s string) bool {
	var c control
	if c.read(yp.Clean(s)); c.label != "" {
		return nextWords()[c.label]
	}
	switch c.arrow {
	case "›", "»", ">", "→":
		return true
	}
	return false
}

// isPagination reports whether an element is what holds the links to a list's
// pages.
func isPagination(n *html.Node) bool {
	for i := range n.Attr {
		switch n.Attr[i].Key {
		case "class", "id", "aria-label":
			if namesPagination(n.Attr[i].Val) {
				return true
			}
		}
	}
	return false
}

// namesPagination reports whether a name or a label is that of a pagination.
func namesPagination(s string) bool {
	if !strings.Contains(s, "ag") && !strings.Contains(s, "AG") && !strings.Contains(s, "eiten") {
		return false // as nearly all
	}
	for name := range strings.FieldsSeq(s) {
		if namesPages(name) && !ofGallery(strings.ToLower(name)) {
			return true
		}
	}
	return false
}

func namesPages(name string) bool {
	lower := strings.ToLower(name)
	for _, word := range [...]string{
		"paginat", "paging", "page-nav", "pagenav", "page_nav", "page-numbers", "pagenum",
		"page-links", "paginac", "paginaç", "paginaz", "seitennav", "seitennummer",
	} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	_, rest, ok := strings.Cut(lower, "pager")
	return ok && (rest == "" || !letter(rest[0])) // no "pageresults"
}

// disabled reports whether a link is switched off, as it is on a last page.
func disabled(n *html.Node) bool {
	switch {
	case region.HasClass(region.Attr(n, "class"), "disabled"), region.Attr(n, "aria-disabled") == "true":
		return true
	case n.Parent != nil && region.HasClass(region.Attr(n.Parent, "class"), "disabled"):
		return true
	}
	return false
}
