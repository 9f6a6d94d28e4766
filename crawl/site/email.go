package site

import (
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// email returns the mail address in a value from a page, see yp.FindEmail. The
// directory's own addresses are nobody's.
func (s *Source) email(value string) string {
	email, ok := yp.FindEmail(value)
	if !ok || s.ownHost(email[strings.LastIndexByte(email, '@')+1:]) {
		return ""
	}
	return email
}

// maxEmails bounds how many values are tried for a mail address.
const maxEmails = 20

// emailValues appends everything below n that may hold a mail address: links,
// the attributes of hidden ones, then the text.
func emailValues(n *html.Node, found []string) []string {
	found = emailLinks(n, false, found)
	if text := string(region.AppendText(nil, n, maxText)); len(found) < maxEmails && strings.IndexByte(text, '@') >= 0 {
		found = append(found, text)
	}
	return found
}

// emailLinks appends the links at or below n, and attributes of hidden ones, that may hold a mail address. Of a whole
// page only those count that plainly do, outside of the parts that frame it.
func emailLinks(n *html.Node, page bool, found []string) []string {
	for i := range n.Attr {
		if len(found) >= maxEmails {
			return found
		}
		switch v := n.Attr[i].Val; n.Attr[i].Key {
		case "data-cfemail":
			found = append(found, v)
		case "href":
			if strings.Contains(v, yp.HiddenEmailPath+"#") || !page && strings.Contains(v, "@") || len(v) > 7 && strings.EqualFold(v[:7], "mailto:") {
				found = append(found, v)
			}
		}
	}
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && !(page && (region.Unseen(c.Data) || frames(c.Data))) {
			found = emailLinks(c, page, found)
		}
	}
	return found
}

// frames reports whether an element holds what is about the directory, or about
// others.
func frames(name string) bool {
	return name == "header" || name == "nav" || name == "footer" || name == "aside"
}

// links calls f with the href of each link at or below n, until it returns
// false.
func links(n *html.Node, f func(string) bool) bool {
	if n.Data == "a" && n.Type == html.ElementNode {
		if href := region.Attr(n, "href"); href != "" && !f(href) {
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
