package site

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// maxSocial bounds the social links of a business.
const maxSocial = 20

// socialNetwork reports whether a registered domain is that of a network on
// which businesses have pages.
func socialNetwork(domain string) bool {
	switch domain {
	case "facebook.com", "fb.com", "fb.me", "instagram.com", "twitter.com", "x.com", "linkedin.com", "youtube.com", "youtu.be", "tiktok.com",
		"pinterest.com", "threads.net", "nextdoor.com", "snapchat.com", "tumblr.com", "vimeo.com", "bsky.app", "mastodon.social":
		return true
	}
	return false
}

// socialOwn reports whether the first part of a path belongs to the network
// itself: its own pages, and the buttons that share this page. Directories put
// facebook.com/platform where a business has no page.
func socialOwn(first string) bool {
	switch strings.ToLower(first) {
	case "", "platform", "sharer", "sharer.php", "share", "share.php", "sharearticle", "intent", "plugins", "dialog", "tr", "home", "login",
		"login.php", "signup", "search", "hashtag", "explore", "about", "help", "legal", "policies", "privacy", "tos", "terms", "developers", "widgets", "embed":
		return true
	}
	return false
}

// social appends a link if it leads to a page on a social network, and is not
// there yet.
func (s *Source) social(list []string, href string) []string {
	href = strings.TrimSpace(href)
	if len(list) >= maxSocial || len(href) > maxURL || !absolute(href) {
		return list
	}
	w, ok := yp.CanonicalWebsite(href)
	if !ok || !socialNetwork(w.Domain) {
		return list
	}
	u, err := url.Parse(w.URL)
	if err != nil {
		return list
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if socialOwn(first) {
		return list
	}
	for _, have := range list {
		if same, _ := yp.CanonicalWebsite(have); same.URL == w.URL {
			return list
		}
	}
	if strings.HasPrefix(href, "//") {
		href = "https:" + href
	}
	return append(list, strings.Clone(yp.Clean(href)))
}

// links calls f with the href of each link at or below n, until it returns
// false.
func links(n *html.Node, f func(string) bool) bool {
	if n.Data == "a" && n.Type == html.ElementNode {
		if href := attrOf(n, "href"); href != "" && !f(href) {
			return false
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && !links(c, f) {
			return false
		}
	}
	return true
}
