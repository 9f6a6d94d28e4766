package yp

import (
	"net/url"
	"slices"
	"strings"
)

// Bounds on the links of a business: their number, and the bytes of one.
const (
	maxSocial = 20
	maxLink   = 2000
)

// networks are the registered domains of the networks on which businesses have pages.
var networks = strings.Fields(`facebook.com fb.com fb.me instagram.com twitter.com x.com linkedin.com youtube.com youtu.be tiktok.com
pinterest.com threads.net nextdoor.com snapchat.com tumblr.com vimeo.com bsky.app mastodon.social`)

// networkPages begin the paths that belong to a network itself: its own pages, and the buttons that
// share a page. Directories put facebook.com/platform where a business has no page.
var networkPages = append(strings.Fields(`platform sharer sharer.php share share.php sharearticle intent plugins dialog tr home login
login.php signup search hashtag explore about help legal policies privacy tos terms developers widgets embed`), "")

// AppendSocial appends a link if it leads to a page on a social network and is not there yet.
func AppendSocial(list []string, href string) []string {
	href = strings.TrimSpace(href)
	if len(list) >= maxSocial || len(href) > maxLink || !AbsoluteURL(href) {
		return list
	}
	w, ok := CanonicalWebsite(href)
	if !ok || !slices.Contains(networks, w.Domain) {
		return list
	}
	u, err := url.Parse(w.URL)
	if err != nil {
		return list
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if slices.Contains(networkPages, strings.ToLower(first)) {
		return list
	}
	for _, have := range list {
		if same, _ := CanonicalWebsite(have); same.URL == w.URL {
			return list
		}
	}
	if strings.HasPrefix(href, "//") {
		href = "https:" + href
	}
	return append(list, strings.Clone(Clean(href)))
}

// AbsoluteURL reports whether a link names a host: "http://…", "https://…" or "//…". A bare
// "acme.com" is a relative link to a file of that name.
func AbsoluteURL(href string) bool {
	if strings.HasPrefix(href, "//") {
		return true
	}
	scheme, rest, ok := strings.Cut(href, ":")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) && strings.HasPrefix(rest, "//")
}
