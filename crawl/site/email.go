package site

import (
	"encoding/hex"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// emailPath is where the CDN Cloudflare leads links to mail addresses that it
// hides from machines; the address stands behind it, in hex.
const emailPath = "/cdn-cgi/l/email-protection"

// maxHiddenEmail bounds a hidden address, in bytes of hex.
const maxHiddenEmail = 1024

// cloudflareEmail decodes a mail address that Cloudflare has hidden: bytes in
// hex, each XORed with the first. It returns what stands there, which may be
// anything; ok is false when the form is another.
func cloudflareEmail(s string) (text string, ok bool) {
	if len(s) < 4 || len(s) > maxHiddenEmail {
		return "", false
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return "", false
	}
	for i := range b[1:] {
		b[i+1] ^= b[0]
	}
	return string(b[1:]), true
}

// email returns the mail address in a value from a page: a link with "mailto:",
// a link or an attribute that hides the address, or a text with the address in
// it. The directory's own addresses are nobody's.
func (s *Source) email(value string) string {
	if len(value) > maxText {
		return ""
	}
	if _, hidden, ok := strings.Cut(value, emailPath+"#"); ok {
		value = hidden
	}
	if plain, ok := cloudflareEmail(value); ok {
		value = "mailto:" + plain // it is a link's address: parameters may follow
	}
	email, ok := yp.CanonicalEmail(value)
	if !ok {
		email, ok = yp.CanonicalEmail(addressIn(value))
	}
	if !ok || s.ownHost(email[strings.LastIndexByte(email, '@')+1:]) {
		return ""
	}
	return email
}

// addressIn returns the word of a text that has an "@", without the marks
// around it.
func addressIn(text string) string {
	for w := range strings.FieldsSeq(text) {
		if strings.IndexByte(w, '@') > 0 {
			if i := strings.LastIndexByte(w[:strings.IndexByte(w, '@')], ':'); i >= 0 {
				w = w[i+1:] // "E-mail:info@acme.com"
			}
			return strings.Trim(w, "()[]{}<>\"'.,;:!")
		}
	}
	return ""
}

// maxEmails bounds how many values are tried for a mail address.
const maxEmails = 20

// emailValues appends everything below n that may hold a mail address: links,
// the attributes of hidden ones, then the text.
func emailValues(n *html.Node, found []string) []string {
	found = emailLinks(n, found)
	if text := string(appendText(nil, n, maxText)); len(found) < maxEmails && strings.IndexByte(text, '@') >= 0 {
		found = append(found, text)
	}
	return found
}

func emailLinks(n *html.Node, found []string) []string {
	for i := range n.Attr {
		if len(found) >= maxEmails {
			return found
		}
		switch v := n.Attr[i].Val; n.Attr[i].Key {
		case "data-cfemail":
			found = append(found, v)
		case "href":
			if strings.Contains(v, emailPath+"#") || strings.Contains(v, "@") || len(v) > 7 && strings.EqualFold(v[:7], "mailto:") {
				found = append(found, v)
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			found = emailLinks(c, found)
		}
	}
	return found
}
