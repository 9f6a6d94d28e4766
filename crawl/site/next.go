package site

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// readNext reads the next link. One in the pagination may lead anywhere on the host; any
// other one only to a later page of the same list, and only where the page does not say
// that it is the last: "next" may be an article, a photo or another list.
func (s *Source) readNext(p *Page, found hits, doc *html.Node, final *url.URL) {
	page := cardReader{src: s, final: final, hits: found, card: doc}
	for i := range s.next {
		r := &s.next[i]
		nodes := []*html.Node{doc}
		if r.sel >= 0 {
			nodes = found[r.sel]
		}
		for _, n := range nodes[:min(len(nodes), maxTries)] {
			ref := r.take(&page, n)
			if ref == "" || disabled(n) {
				continue
			}
			next, paging := s.nextURL(final, ref), inPagination(n)
			if next != "" && (paging || !p.atEnd && s.later(final, next)) {
				p.NextURL, p.NextHost = next, ""
				return
			}
			if p.NextHost == "" && (paging || !p.atEnd) {
				p.NextHost = s.otherHost(final, ref)
			}
		}
	}
}

func inPagination(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && isPagination(n) {
			return true
		}
	}
	return false
}

// later reports whether next is a later page of the list at final, or of its search.
func (s *Source) later(final *url.URL, next string) bool {
	u, err := url.Parse(next)
	if err != nil {
		return false
	}
	from, at := s.listPage(final)
	list, to := s.listPage(u)
	same := strings.EqualFold(list, from) || s.search != nil && s.search.matches(s.belowBase(u))
	if final == s.base { // the page's own address is not known
		same = same || s.target.matches(s.belowBase(u))
	}
	return same && to > at
}

// listPage returns the path of a list, without the page if that stands in it, and the
// number of the page.
func (s *Source) listPage(u *url.URL) (list string, page int) {
	list = strings.Trim(s.belowBase(u), "/")
	t := s.target
	if s.search != nil && s.search.matches(list) {
		t = s.search
	}
	segments := strings.Split(list, "/")
	if i := t.pageSegment; i >= 0 && i < len(segments) {
		page, _ = yp.FirstInt(segments[i])
		segments[i] = ""
		list = strings.Join(segments, "/")
	}
	if t.pageParam != "" {
		page, _ = yp.FirstInt(u.Query().Get(t.pageParam))
	}
	return list, max(page, 1)
}

func (s *Source) belowBase(u *url.URL) string {
	return strings.TrimPrefix(u.Path, strings.TrimSuffix(s.base.Path, "/"))
}
