package site

import (
	"net/url"
	"strings"

	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// pageLinks is where a page is, and what its references are resolved against.
type pageLinks struct {
	page *url.URL       // its own address; the source's base when that is not known
	self weburl.Address // the same, as the URL Standard writes it
	base weburl.Base    // the same, or what the page's <base href> makes of it
}

// linksAt returns the links of a page.
func (s *Source) linksAt(page *url.URL) *pageLinks {
	l := &pageLinks{page: page, base: weburl.NewBase(page, s.charset)}
	l.self = l.base.Address()
	return l
}

// within takes the page's <base href>, if it has one.
func (l *pageLinks) within(href string, ok bool) *pageLinks {
	if ok {
		l.base = l.base.Within(href)
	}
	return l
}

// path returns the path of a reference, as urlPath does that of an address.
func (l *pageLinks) path(ref string) string {
	if len(ref) > maxURL {
		return ""
	}
	a, _ := l.base.Resolve(ref)
	return urlPath(a.Text)
}

// site returns a link that names a host as it is written, unless a browser reads it in another way
// ("https:\\\\acme.example"), and its canonical form.
func (l *pageLinks) site(ref string) (linked string, w yp.Website, ok bool) {
	linked = weburl.Tidy(ref)
	if yp.AbsoluteURL(linked) && yp.Clean(linked) == linked {
		linked = strings.Clone(linked) // the canonical form may share its memory
		if w, ok = yp.CanonicalWebsite(linked); ok {
			return linked, w, true
		}
	}
	a, reason := l.base.Resolve(ref)
	if own := l.base.Address(); reason != "" || a.Host() == own.Host() { // a relative link is none to a site
		return "", yp.Website{}, false
	}
	linked = strings.Clone(a.Text)
	w, ok = yp.CanonicalWebsite(linked)
	return linked, w, ok
}

// resolve returns the address of a link, and whether it is on the source's host and port. reason
// says for people why nobody may be sent there; own may be true all the same, for an address that names a user.
func (s *Source) resolve(at *pageLinks, ref string) (a weburl.Address, own bool, reason string) {
	a, reason = at.base.Resolve(ref)
	switch {
	case reason != "":
		return a, false, reason
	case !s.owns(&a):
		return a, false, "another host: " + a.Host()
	case a.User:
		return a, true, "a user name in the address"
	}
	return a, true, ""
}

// owns reports whether an address is on the source's host and port.
func (s *Source) owns(a *weburl.Address) bool {
	return bare(a.Hostname()) == s.host && ownPort(a.Port()) == s.port
}

// samePageReason is why nobody follows a link to its own page.
const samePageReason = "the page itself"

// nextURL returns where a next link leads, or the reason why nobody follows it; host is the one
// that it leads to when that is not the source's.
func (s *Source) nextURL(at *pageLinks, ref string) (next, host, reason string) {
	a, own, reason := s.resolve(at, ref)
	if a.Text != "" && !own {
		host = strings.Clone(a.Host())
	}
	if reason != "" {
		return "", host, reason
	}
	next, _, _ = strings.Cut(a.Text, "#")
	if next == at.self.Text || strings.HasPrefix(weburl.Tidy(ref), "#") { // with a base it would lead elsewhere, but is meant for a script
		return "", "", samePageReason
	}
	return strings.Clone(next), "", ""
}
