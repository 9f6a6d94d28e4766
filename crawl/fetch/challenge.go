package fetch

import (
	"bytes"
	"net/http"
	"strings"
)

// Where body markers are looked for (site-facts, section 7): a full page is
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
}

// tinyProofs are scripts that an ordinary page may load too, but then with
// content around them.
var tinyProofs = [...]marker{
	{"imperva", "_Incapsula_Resource"},
	{"kasada", "window.KPSDK"},
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
	{"imperva", "_Incapsula_Resource"},
	{"kasada", "KPSDK"},
}

// hardBlocks prove something on a 403 only: Cloudflare's pages for a broken
// origin (52x) or a rate limit (429) have the same ids.
var hardBlocks = [...]marker{
	{"cloudflare", "cf-error-details"},
	{"cloudflare", "cf-wrapper"},
	{"cloudflare", "you have been blocked"},
	{"akamai", "errors.edgesuite.net"},
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
		return challengeInPage(body)
	}
	if status < 400 && status != http.StatusAccepted {
		return ""
	}
	if v := find(body, proofs[:]); v != "" {
		return v
	}
	if status == http.StatusForbidden {
		if v := find(body, hardBlocks[:]); v != "" {
			return v
		}
	}
	if status != http.StatusTooManyRequests { // a plain limit unless proven otherwise
		if v := find(body, errorMarkers[:]); v != "" {
			return v
		}
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
func challengeInPage(body []byte) string {
	start := bytes.TrimLeft(body, " \t\r\n")
	if len(body) >= smallPage || len(start) == 0 || (start[0] != '<' && start[0] != '{') {
		return ""
	}
	if v := find(body, proofs[:]); v != "" {
		return v
	}
	if len(body) < tinyPage {
		return find(body, tinyProofs[:])
	}
	return ""
}

// challengeHeader judges by headers. Some are set on challenges alone; others
// stand on every answer of a protected site and count on a refusal only.
func challengeHeader(status int, h http.Header) string {
	if strings.EqualFold(h.Get("Cf-Mitigated"), "challenge") {
		return "cloudflare"
	}
	if h.Get("X-Amzn-Waf-Action") != "" {
		return "aws-waf"
	}
	refused := status == http.StatusForbidden
	if !refused && status != http.StatusTooManyRequests {
		return ""
	}
	for name := range h {
		switch {
		case refused && (strings.HasPrefix(name, "X-Datadome") || strings.HasPrefix(name, "X-Dd-")):
			return "datadome"
		case strings.HasPrefix(name, "X-Kpsdk-"):
			return "kasada"
		}
	}
	if refused && strings.HasPrefix(h.Get("Server"), "AkamaiGHost") {
		return "akamai"
	}
	return ""
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

// pageTitle cuts the first title element out of html; longer ones than any in
// titles are of no interest.
func pageTitle(html []byte) string {
	_, rest, ok := bytes.Cut(html, []byte("<title"))
	if !ok {
		if _, rest, ok = bytes.Cut(html, []byte("<TITLE")); !ok {
			return ""
		}
	}
	if i := bytes.IndexByte(rest, '>'); i >= 0 {
		rest = rest[i+1:]
	}
	end := bytes.IndexByte(rest, '<')
	if end < 0 || end > 200 {
		return ""
	}
	return string(bytes.TrimSpace(rest[:end]))
}

func find(body []byte, markers []marker) string {
	for _, m := range markers {
		if bytes.Contains(body, []byte(m.text)) {
			return m.vendor
		}
	}
	return ""
}
