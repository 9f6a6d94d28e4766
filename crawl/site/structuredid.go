package site

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"

	"ypcrawl/yp"
)

// maxPathID is the longest path, in bytes, that is an id as it is.
const maxPathID = 200

// explicitID returns the id that a page gives a business: identifier, or an
// attribute of its element.
func explicitID(g *graph, it *item) string {
	for _, s := range g.texts(it, "identifier") {
		if id := identifier(s); id != "" {
			return id
		}
	}
	return it.data
}

// addresses sorts the web addresses of a business into its own page on the
// directory and its own site. home tells that one of them is the directory's
// homepage or this very page.
func (r *businessReader) addresses(g *graph, it *item, at listEntry, s *sighting) (home bool) {
	candidates := append(g.texts(it, "url"), at.url)
	candidates = append(candidates, g.texts(it, "mainEntityOfPage")...)
	if absolute(it.id) || strings.HasPrefix(it.id, "/") { // others are names within the page
		candidates = append(candidates, it.id)
	}
	candidates = append(append(candidates, g.texts(it, "sameAs")...), g.texts(it, linkProp)...)
	var shared string
	for _, ref := range candidates {
		if ref = webAddress(part(ref)); ref == "" || len(ref) > maxURL {
			continue
		}
		u, err := r.final.Parse(ref)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		if !r.src.ownHost(u.Hostname()) {
			shared = r.website(&s.l, ref, shared)
			continue
		}
		if key, profile := r.ownKey(ref); key != "" && s.key == "" {
			s.key, s.l.ProfileURL = key, profile
		} else if key == "" && u.Fragment == "" {
			home = true
		}
	}
	if s.l.WebsiteURL == "" && shared != "" {
		r.keepWebsite(&s.l, shared)
	}
	return home
}

// webAddress tidies an address: people write "www.acme.com" and "acme.com"
// where a link to a page of that name would have to be.
func webAddress(s string) string {
	if s == "" || strings.IndexByte("/#?.", s[0]) >= 0 || strings.Contains(s, ":") {
		return s
	}
	if _, ok := yp.CanonicalWebsite(s); ok {
		return "http://" + s
	}
	return s
}

// website keeps the first address off the directory that is the business's
// alone. Of those on shared hosts it returns the first, for want of a better.
func (r *businessReader) website(l *yp.Listing, ref, shared string) string {
	if l.WebsiteURL != "" || !absolute(ref) {
		return shared
	}
	if w, ok := yp.CanonicalWebsite(ref); !ok || w.Shared {
		if ok && shared == "" {
			return ref
		}
		return shared
	}
	r.keepWebsite(l, ref)
	return shared
}

func (r *businessReader) keepWebsite(l *yp.Listing, ref string) {
	c := cardReader{src: r.src, final: r.final}
	c.website(l, ref)
}

// queryIDs are the parameters in which sites whose pages share a path name the
// business.
var queryIDs = [...]string{"id", "bid", "lid", "listing", "listing_id", "listingid", "business", "business_id", "biz", "company", "profile"}

// ownKey returns what tells a business's own page from others of the
// directory: its path, with the parameter that names the business if there is
// one; and its canonical URL. Both are "" for other hosts, the homepage and
// this very page.
func (r *businessReader) ownKey(ref string) (key, profile string) {
	ref = webAddress(strings.TrimSpace(ref))
	if ref == "" || len(ref) > maxURL || strings.HasPrefix(ref, "#") {
		return "", ""
	}
	u, err := r.final.Parse(ref)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || bareHost(u) != r.src.host || u.User != nil {
		return "", ""
	}
	key = strings.TrimRight(u.EscapedPath(), "/")
	query := queryID(u)
	base := strings.TrimRight(r.src.base.EscapedPath(), "/")
	if query == "" && (key == base || key == "" || !r.ownPage && key == strings.TrimRight(r.final.EscapedPath(), "/")) {
		return "", ""
	}
	if profile, ok := yp.CanonicalURL(r.final, ref); ok {
		return strings.Clone(yp.Clean(key + query)), strings.Clone(profile)
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
		if id := identifier(q.Get(name)); id != "" {
			return "?" + name + "=" + id
		}
	}
	return ""
}

// idOf returns the id of a business that was given none: the digits that end
// its own URL, else the path itself.
func (s *sighting) idOf() string {
	if s.ident != "" {
		return s.ident
	}
	if id := trailingID(s.key, s.l.PostalCode); id != "" {
		return id
	}
	return pathID(s.key)
}

// trailingID returns the digits that end a path or name the business in a
// query. Fewer than four behind a name tell it from its namesakes, and a ZIP
// code tells where it is: neither is an id.
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
	if id == "" || len(id) > maxID || i == 0 {
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

// pathID returns a path as an id. One that is too long is cut, and its hash
// tells it from others that start alike.
func pathID(key string) string {
	if len(key) <= maxPathID {
		return key
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	return fmt.Sprintf("%s~%016x", clip(key, maxPathID-17), h.Sum64())
}

// sibling reports whether a path is that of another results page: of the
// target's kind, and but for one part the same as this page's.
func (r *businessReader) sibling(s *sighting) bool {
	path, _, _ := strings.Cut(s.key, "?")
	below := strings.TrimSuffix(r.src.base.EscapedPath(), "/")
	path, here := strings.TrimPrefix(path, below), strings.TrimPrefix(r.final.EscapedPath(), below)
	if !r.src.target.matches(path) || !r.src.target.matches(here) {
		return false
	}
	parts, ours, same := strings.Split(strings.Trim(path, "/"), "/"), strings.Split(strings.Trim(here, "/"), "/"), 0
	for i, kind := range r.src.target.kind {
		if kind == "" && parts[i] == ours[i] {
			same++
		}
	}
	return same > 0
}

// spells reports whether the last part of a path holds a text as its slug.
func spells(key, text string) bool {
	slug := yp.Slug(text)
	return slug != "" && strings.Contains(key[strings.LastIndexByte(key, '/')+1:], slug)
}
