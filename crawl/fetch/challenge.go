package fetch

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
)

// Where body markers are looked for (docs/site-facts.md, section 7): a full page is
// never searched but for its title.
const (
	smallPage  = 32 << 10
	tinyPage   = 4 << 10
	titleReach = 4 << 10
	softBlock  = 500
)

// marker is a string that only a certain vendor's block or challenge has.
type marker struct{ vendor, text string }

// proofs stand in no ordinary page, whatever its status and vendor.
// "/cdn-cgi/challenge-platform/", "__CF$cv$params" and a vendor's sensor
// script are not among them: ordinary pages carry those.
var proofs = [...]marker{
	{"cloudflare", "_cf_chl_opt"},
	{"datadome", "captcha-delivery.com"},
	{"perimeterx", "px-captcha"},
	{"imperva", "Incapsula incident ID"},
	{"aws-waf", "awsWafCookieDomainList"},
	{"aws-waf", "gokuProps"},
	{"f5-shape", `window["bobcmn"]`},
	{"f5-shape", "The requested URL was rejected. Please consult with your administrator"},
	{"reblaze", "window.rbzns"},
	{"anubis", "/.within.website/x/cmd/anubis/"},
	{"anubis", "anubis_challenge"},
}

// headings are proofs in a title or a headline, and on an error answer: a review may
// quote them.
var headings = [...]marker{
	{"cloudflare", "Sorry, you have been blocked"},
	{"cloudflare", "used Cloudflare to restrict access"},
}

// tinyProofs are scripts and boxes that an ordinary page may have too, but then with
// something to read around them.
var tinyProofs = [...]marker{
	{"imperva", "_Incapsula_Resource"},
	{"kasada", "window.KPSDK"},
	{"vercel", "/.well-known/vercel/security/"},
	{"recaptcha", "g-recaptcha"},
	{"recaptcha", "/recaptcha/api.js"},
	{"hcaptcha", "h-captcha"},
	{"hcaptcha", "hcaptcha.com/1/api.js"},
}

// errorMarkers prove something on an error answer only: an ordinary page may
// have a form with a Turnstile, or the words.
var errorMarkers = [...]marker{
	{"cloudflare", "challenges.cloudflare.com"},
	{"cloudflare", "challenge-form"},
	{"cloudflare", "Verify you are human"},
	{"cloudflare", "Just a moment"},
	{"perimeterx", "Press & Hold"},
	{"perimeterx", "Press &amp; Hold"},
}

// hardBlocks prove something on a refusal only: Cloudflare's pages for a broken
// origin (52x) or a rate limit (429) have the same ids, and a page that says that the
// site is down may load a sensor.
var hardBlocks = [...]marker{
	{"cloudflare", "cf-error-details"},
	{"cloudflare", "cf-wrapper"},
	{"cloudflare", "you have been blocked"},
	{"akamai", "errors.edgesuite.net"},
	{"akamai", "errors&#46;edgesuite&#46;net"},
	{"recaptcha", "g-recaptcha"},
	{"hcaptcha", "h-captcha"},
	{"imperva", "_Incapsula_Resource"},
	{"kasada", "KPSDK"},
	{"vercel", "/.well-known/vercel/security/"},
}

// titles are whole titles of block pages; part of one may well be a business's
// name ("Just a Moment Photography").
var titles = [...]marker{
	{"cloudflare", "just a moment..."},
	{"cloudflare", "just a moment…"},
	{"cloudflare", "attention required! | cloudflare"},
	{"perimeterx", "access to this page has been denied"},
	{"perimeterx", "access to this page has been denied."},
	{"imperva", "pardon our interruption"},
	{"imperva", "pardon our interruption..."},
	{"aws-waf", "human verification"},
	{"vercel", "vercel security checkpoint"},
	{"anubis", "making sure you're not a bot!"},
	{"anubis", "making sure you&#39;re not a bot!"},
}

// statusDenied is what some sites answer robots with, and nobody else uses.
const statusDenied = 999

// refused reports whether a status says that the answer is withheld. No GET of a page
// is answered with 405 or 418 by anything but a firewall; without its mark it proves
// nothing, all the same.
func refused(status int) bool {
	switch status {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusTeapot, statusDenied:
		return true
	}
	return false
}

// challenge names the vendor whose block or challenge the answer is, or "".
// The first part of the body is enough.
func challenge(status int, h http.Header, body []byte) string {
	if v := challengeHeader(status, h); v != "" {
		return v
	}
	if v := challengeTitle(status, body); v != "" {
		return v
	}
	if ordinary(status) {
		return challengeInPage(status, body)
	}
	if status < 400 && status != http.StatusAccepted {
		return ""
	}
	if v := find(body, proofs[:]); v != "" {
		return v
	}
	if v := find(body, headings[:]); v != "" {
		return v
	}
	if refused(status) {
		if v := find(body, hardBlocks[:]); v != "" {
			return v
		}
	}
	if status != http.StatusTooManyRequests { // a plain limit unless proven otherwise
		if v := find(body, errorMarkers[:]); v != "" {
			return v
		}
	}
	if v := bareProof(status, body); v != "" {
		return v
	}
	if status == statusDenied {
		return "status 999"
	}
	if status == http.StatusAccepted && len(body) < softBlock {
		return "soft block"
	}
	return ""
}

// carriesPage reports whether the body of an answer with this status is what
// was asked for, or the site's own word that there is none. A part of a page is
// neither: no range is ever asked for.
func carriesPage(status int) bool {
	if status == http.StatusPartialContent {
		return false
	}
	return (status >= 200 && status < 300) || status == http.StatusNotFound || status == http.StatusGone
}

// ordinary leaves out 202: nothing but an anti-bot service sends pages so.
func ordinary(status int) bool { return carriesPage(status) && status != http.StatusAccepted }

// challengeInPage searches a small page. A text file (a robots.txt that names
// a vendor's path) is no challenge.
func challengeInPage(status int, body []byte) string {
	start := bytes.TrimLeft(body, " \t\r\n")
	if len(body) >= smallPage || len(start) == 0 || (start[0] != '<' && start[0] != '{') {
		return ""
	}
	if v := find(body, proofs[:]); v != "" {
		return v
	}
	if v := inHeading(body); v != "" {
		return v
	}
	return bareProof(status, body)
}

// inHeading searches the titles and headlines of a page.
func inHeading(html []byte) string {
	for {
		i := bytes.IndexByte(html, '<')
		if i < 0 {
			return ""
		}
		html = html[i:]
		isHeading := opens(html, "title") || opens(html, "h1")
		html = pass(html)
		if !isHeading {
			continue
		}
		text := html[:min(len(html), 300)]
		for _, end := range [...]string{"</h1", "</H1", "</title", "</TITLE"} {
			text, _, _ = bytes.Cut(text, []byte(end))
		}
		if v := find(text, headings[:]); v != "" {
			return v
		}
	}
}

// bareProof searches a tiny page that has next to nothing for people to read: what it
// loads is all there is of it. An error page and a page that does not exist say little,
// too.
func bareProof(status int, body []byte) string {
	if len(body) >= tinyPage || status >= 500 && status != statusDenied || status == http.StatusNotFound || status == http.StatusGone {
		return ""
	}
	v := find(body, tinyProofs[:])
	if v != "" && !bare(body) {
		return ""
	}
	return v
}

// content is what a page of listings shows, however short, and an interstitial does
// not: that there is nothing, or a phone number.
var content = regexp.MustCompile(`(?i)\bno (?:results|listings|matches)\b|\bdid not match\b|\b\d{3}\)?[-. ]{1,3}\d{3}[-. ]\d{4}\b`)

// bare reports whether a page has next to nothing to read, and no link.
func bare(html []byte) bool {
	var text []byte
	letters := 0
	for len(html) > 0 {
		if html[0] == '<' {
			if opens(html, "a") {
				return false
			}
			html, text = pass(html), append(text, ' ')
			continue
		}
		if html[0] > ' ' {
			letters++
		}
		html, text = html[1:], append(text, html[0])
	}
	return letters <= fewLetters && !content.Match(text)
}

// fewLetters is what interstitials say at most, such as "Please wait while we verify
// that you are no robot".
const fewLetters = 150

// silent are the elements whose content nobody reads, and no title stands in.
var silent = [...]string{"script", "style", "noscript", "svg", "template"}

// pass returns what follows the tag or the comment that html begins with; with a start
// tag of one of silent all of the element is passed over.
func pass(html []byte) []byte {
	if bytes.HasPrefix(html, []byte("<!--")) {
		_, rest, _ := bytes.Cut(html, []byte("-->"))
		return rest
	}
	_, rest, _ := bytes.Cut(html, []byte(">"))
	for _, name := range silent {
		if !opens(html, name) {
			continue
		}
		for {
			i := bytes.Index(rest, []byte("</"))
			if i < 0 {
				return nil
			}
			if rest = rest[i+1:]; opens(rest, name) {
				_, rest, _ = bytes.Cut(rest, []byte(">"))
				return rest
			}
		}
	}
	return rest
}

// opens reports whether html begins with the start tag of an element; or with its end
// tag, when html begins with the slash of that.
func opens(html []byte, name string) bool {
	n := 1 + len(name)
	return len(html) > n && strings.EqualFold(string(html[1:n]), name) && strings.IndexByte(" \t\r\n\f/>", html[n]) >= 0
}

// challengeHeader judges by headers. Some are set on challenges alone; others
// stand on every answer of a protected site and count on a refusal only.
func challengeHeader(status int, h http.Header) string {
	switch {
	case h.Get("Cf-Mitigated") != "":
		return "cloudflare"
	case wafActs(h.Get("X-Amzn-Waf-Action")):
		return "aws-waf"
	case h.Get("X-Vercel-Mitigated") != "":
		return "vercel"
	}
	withheld := refused(status)
	if !withheld && status != http.StatusTooManyRequests {
		return ""
	}
	for name := range h {
		switch {
		case withheld && (strings.HasPrefix(name, "X-Datadome") || strings.HasPrefix(name, "X-Dd-")):
			return "datadome"
		case strings.HasPrefix(name, "X-Kpsdk-"):
			return "kasada"
		}
	}
	switch server := strings.ToLower(h.Get("Server")); {
	case server == "datadome":
		return "datadome"
	case withheld && strings.HasPrefix(server, "akamaighost"):
		return "akamai"
	}
	return ""
}

// wafActs reports whether the action of AWS WAF withholds the page: it may be "allow" or
// "count", too.
func wafActs(action string) bool {
	action = strings.ToLower(strings.TrimSpace(action))
	return action == "challenge" || action == "captcha"
}

func challengeTitle(status int, body []byte) string {
	if ordinary(status) && len(body) >= smallPage {
		body = body[:titleReach]
	}
	title := strings.ToLower(pageTitle(body))
	for _, t := range titles {
		if title == t.text {
			return t.vendor
		}
	}
	return ""
}

// pageTitle returns the first title of a page, not one in a comment, a script or an
// image; longer ones than any in titles are of no interest.
func pageTitle(html []byte) string {
	for {
		i := bytes.IndexByte(html, '<')
		if i < 0 {
			return ""
		}
		if html = html[i:]; !opens(html, "title") {
			html = pass(html)
			continue
		}
		html = pass(html)
		end := bytes.IndexByte(html, '<')
		if end < 0 || end > 200 {
			return ""
		}
		return string(bytes.TrimSpace(html[:end]))
	}
}

func find(body []byte, markers []marker) string {
	for _, m := range markers {
		if bytes.Contains(body, []byte(m.text)) {
			return m.vendor
		}
	}
	return ""
}
