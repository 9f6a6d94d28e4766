package fetch

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Where marks are looked for (docs/site-facts.md, section 7): a full page is never
// searched but for its title.
const (
	smallPage  = 32 << 10
	tinyPage   = 4 << 10
	titleReach = 4 << 10
	softBlock  = 500
)

// where a mark proves a block.
type where int

const (
	// asCode: what makes a challenge, whatever the status: in a tag, or in a script of a page that has
	// next to nothing to read. Ordinary pages may name it in a list of hosts.
	asCode where = iota
	// anywhere: words that no ordinary page has, whatever its status.
	anywhere
	// inHeading: in the title or a headline, and anywhere on an error answer; a review may quote it.
	inHeading
	// asTitle: the whole title, in lower case; part of one may well be a business's name
	// ("Just a Moment Photography").
	asTitle
	// onError: on an error answer only; an ordinary page may have a form with a Turnstile, or the
	// words.
	onError
	// onRefusal: on a refusal only; Cloudflare's pages for a broken origin (52x) or a rate limit
	// (429) have the same ids, and a page that says that the site is down may load a sensor.
	onRefusal
	// onDenial: likewise, but not on a 401, where people may have to log in beside a captcha.
	onDenial
	// alone: on a tiny page that has next to nothing to read, too.
	alone
	// inRefresh: in the address that a page leads to by itself, in lower case, after whatever time: who asks for it
	// passes the challenge.
	inRefresh
)

// marks are what only a certain vendor's blocks and challenges have.
// "/cdn-cgi/challenge-platform/", "__CF$cv$params" and a vendor's sensor script are not
// among them: ordinary pages carry those.
var marks = [...]struct {
	where  where
	vendor string
	texts  []string
}{
	{asCode, "cloudflare", []string{"_cf_chl_opt"}},
	{asCode, "datadome", []string{"captcha-delivery.com"}},
	{asCode, "perimeterx", []string{"px-captcha"}},
	{asCode, "aws-waf", []string{"awsWafCookieDomainList", "gokuProps"}},
	{asCode, "f5-shape", []string{`window["bobcmn"]`}},
	{asCode, "reblaze", []string{"window.rbzns"}},
	{asCode, "anubis", []string{"/.within.website/x/cmd/anubis/", "anubis_challenge"}},
	{asCode, "akamai", []string{"sec-if-cpt-container", "/_sec/cp_challenge/"}},
	{asCode, "akamai", []string{"/_sec/verify?provider=interstitial"}},
	{inRefresh, "akamai", []string{"bm-verify="}},
	{inRefresh, "anubis", []string{"/.within.website/x/cmd/anubis/"}},
	{inRefresh, "cloudflare", []string{"/cdn-cgi/challenge-platform/"}},
	{inRefresh, "distil", []string{"distil_r_"}},
	{inRefresh, "go-away", []string{"__goaway_"}},
	{inRefresh, "imperva", []string{"_incapsula_resource"}},
	{inRefresh, "a captcha", []string{"captcha"}}, // such as SiteGround's /.well-known/sgcaptcha/
	{anywhere, "imperva", []string{"Incapsula incident ID"}},
	{anywhere, "f5-shape", []string{"The requested URL was rejected. Please consult with your administrator"}},
	{inHeading, "cloudflare", []string{"Sorry, you have been blocked", "used Cloudflare to restrict access"}},
	{asTitle, "cloudflare", []string{"just a moment...", "just a moment…", "attention required! | cloudflare"}},
	{asTitle, "perimeterx", []string{"access to this page has been denied", "access to this page has been denied."}},
	{asTitle, "imperva", []string{"pardon our interruption", "pardon our interruption..."}},
	{asTitle, "aws-waf", []string{"human verification"}},
	{asTitle, "vercel", []string{"vercel security checkpoint"}},
	{asTitle, "anubis", []string{"making sure you're not a bot!"}},
	{asTitle, "go-away", []string{"checking you are not a bot"}},
	{onError, "cloudflare", []string{"challenges.cloudflare.com", "challenge-form", "Verify you are human", "Just a moment"}},
	{onError, "perimeterx", []string{"Press & Hold", "Press &amp; Hold"}},
	{onRefusal, "cloudflare", []string{"cf-error-details", "cf-wrapper", "you have been blocked"}},
	{onRefusal, "akamai", []string{"errors.edgesuite.net", "errors&#46;edgesuite&#46;net"}},
	{onRefusal, "akamai", []string{"sec-cp-challenge"}},
	{onDenial, "recaptcha", []string{"g-recaptcha"}},
	{onDenial, "hcaptcha", []string{"h-captcha"}},
	{onDenial, "riversecurity", []string{"$_ts"}},
	{onRefusal, "imperva", []string{"_Incapsula_Resource"}},
	{onRefusal, "kasada", []string{"KPSDK"}},
	{onRefusal, "vercel", []string{"/.well-known/vercel/security/"}},
	{alone, "imperva", []string{"_Incapsula_Resource"}},
	{alone, "kasada", []string{"window.KPSDK"}},
	{alone, "vercel", []string{"/.well-known/vercel/security/"}},
	{alone, "recaptcha", []string{"g-recaptcha", "/recaptcha/api.js"}},
	{alone, "hcaptcha", []string{"h-captcha", "hcaptcha.com/1/api.js"}},
}

// find names the vendor of the first mark of the kind that text has.
func find(kind where, text []byte) string {
	for i := range marks {
		for _, mark := range marks[i].texts {
			if marks[i].where == kind && bytes.Contains(text, []byte(mark)) && (kind != asTitle || len(text) == len(mark)) {
				return marks[i].vendor
			}
		}
	}
	return ""
}

// statusDenied is what some sites answer robots with, and nobody else uses.
const statusDenied = 999

// refused reports whether the marks of refusals are looked for in an answer with this status. No GET of a page without
// conditions is answered with 405, 412, 418 or 428 by anything but a firewall; without its mark 405 proves nothing, all the
// same.
func refused(status int) bool {
	switch status {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusPreconditionFailed, http.StatusTeapot,
		http.StatusPreconditionRequired, statusDenied:
		return true
	}
	return false
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

// challenge names the vendor whose block or challenge the answer is, or "".
// The first part of the body is enough.
func challenge(status int, h http.Header, body []byte) string {
	if v := challengeHeader(status, h); v != "" {
		return v
	}
	large := ordinary(status) && len(body) >= smallPage
	if large {
		body = body[:titleReach]
	}
	// Of an ordinary page with something to read only the title counts, unless its headings may hold a mark.
	titled := ordinary(status) && len(body) >= tinyPage && !bytes.Contains(body, []byte("blocked")) &&
		!bytes.Contains(body, []byte("restrict"))
	shown := skim(body, large || titled)
	if v := find(asTitle, shown.title); v != "" || large {
		return v
	}
	if w, ok := findRefresh(h, body); ok && ordinary(status) {
		if v := w.challenge(); v != "" {
			return v
		}
	}
	kinds := []where{asCode, anywhere, inHeading}
	login := status == http.StatusUnauthorized && (h.Get("Www-Authenticate") != "" || passwordField.Match(body))
	switch {
	case ordinary(status):
		// A text file (a robots.txt that names a vendor's path) is no challenge.
		start := bytes.TrimLeft(body, " \t\r\n")
		if len(start) == 0 || start[0] != '<' && start[0] != '{' {
			return ""
		}
	case status < 400 && status != http.StatusAccepted:
		return ""
	default:
		shown.headings = body
		if refused(status) {
			kinds = append(kinds, onRefusal, onDenial)
		}
		if status == http.StatusUnauthorized && !login {
			kinds = append(kinds, onRefusal)
		}
		if status != http.StatusTooManyRequests { // a plain limit unless proven otherwise
			kinds = append(kinds, onError)
		}
	}
	// Error pages and pages that do not exist say little, too.
	broken := status >= 500 && status != statusDenied || status == http.StatusNotFound || status == http.StatusGone
	if len(body) < tinyPage && !broken && !login && shown.isBare() {
		kinds = append(kinds, alone)
	}
	for _, kind := range kinds {
		text := body
		if kind == inHeading {
			text = shown.headings
		}
		if find(kind, text) == "" {
			continue
		}
		if v := find(kind, counting(text, kind == asCode && saysMuch(status, body))); v != "" {
			return v
		}
	}
	switch {
	case status == statusDenied:
		return "status 999"
	case status == http.StatusAccepted && len(body) < softBlock:
		return "soft block"
	}
	return ""
}

// passwordField is what a page has where people log in.
var passwordField = regexp.MustCompile(`(?i)type\s*=\s*["']?password`)

// shown is what people see of a page.
type shown struct {
	title          []byte // the first one, in lower case
	headings, text []byte
	links          bool
}

// skim reads a page, or only as far as its title. What is in comments, scripts and
// images is not shown.
func skim(page []byte, titleOnly bool) (s shown) {
	z := html.NewTokenizer(bytes.NewReader(page))
	for hidden, heading := "", ""; ; {
		switch z.Next() {
		case html.ErrorToken:
			return s
		case html.TextToken:
			if hidden != "" {
				continue
			}
			text := z.Text()
			if heading == "title" && s.title == nil {
				s.title = bytes.ToLower(bytes.TrimSpace(text))
			}
			if heading != "" {
				s.headings = append(s.headings, text...)
			}
			s.text = append(s.text, text...)
		case html.StartTagToken:
			tag, _ := z.TagName()
			switch string(tag) {
			case "script", "style", "noscript", "svg", "template":
				if hidden == "" {
					hidden = string(tag)
				}
			case "title", "h1":
				heading = string(tag)
			case "a":
				s.links = s.links || hidden == ""
			}
			s.text = append(s.text, ' ')
		case html.EndTagToken:
			tag, _ := z.TagName()
			if string(tag) == hidden {
				hidden = ""
			}
			if string(tag) == heading {
				heading = ""
				s.headings = append(s.headings, '\n')
			}
			s.text = append(s.text, ' ')
		}
		if titleOnly && s.title != nil {
			return s
		}
	}
}

// saysMuch reports whether an ordinary answer is a page with something to read.
func saysMuch(status int, body []byte) bool {
	start := bytes.TrimLeft(body, " \t\r\n")
	return ordinary(status) && len(start) > 0 && start[0] == '<' && !skim(body, false).isBare()
}

// counting returns a page without what makes no challenge: comments, styles, links to other pages, hosts that may be needed
// later (link, meta), pictures, and what is in its noscripts: a site may load there what proves a challenge
// elsewhere, or tell people without scripts of it. Of a page with something to read only tags count.
func counting(page []byte, tagsOnly bool) []byte {
	var out []byte
	z := html.NewTokenizer(bytes.NewReader(page))
	for skip := false; ; {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return append(out, z.Raw()...)
		case html.TextToken:
			if !skip && !tagsOnly {
				out = append(out, z.Raw()...)
			}
			skip = false
		case html.StartTagToken, html.SelfClosingTagToken:
			raw := z.Raw()
			tag, _ := z.TagName()
			switch skip = false; string(tag) {
			case "noscript", "style":
				skip = true
			case "link", "meta", "a", "area", "img", "base":
			default:
				out = append(out, raw...)
			}
		case html.EndTagToken:
			skip = false
			out = append(out, z.Raw()...)
		}
	}
}

// content is what a page of listings shows, however short, and an interstitial does
// not: that there is nothing, or a phone number.
var content = regexp.MustCompile(`(?i)\bno (?:results|listings|matches)\b|\bdid not match\b|\b\d{3}\)?[-. ]{1,3}\d{3}[-. ]\d{4}\b`)

// fewLetters is what interstitials say at most, such as "Please wait while we verify
// that you are no robot".
const fewLetters = 150

// isBare reports whether a page has next to nothing to read, and no link.
func (s shown) isBare() bool {
	letters := 0
	for _, c := range s.text {
		if c > ' ' {
			letters++
		}
	}
	return !s.links && letters <= fewLetters && !content.Match(s.text)
}

// headerMarks are headers that tell of a block or a challenge: a name, or its beginning before a
// star, and a value in lower case likewise. Some are set on challenges alone; others stand
// on every answer of a protected site and count on a refusal only, or on a 429 as well.
var headerMarks = [...]struct{ name, value, on, vendor string }{
	{"Cf-Mitigated", "*", "", "cloudflare"},
	{"X-Amzn-Waf-Action", "challenge", "", "aws-waf"}, // others are "allow" and "count"
	{"X-Amzn-Waf-Action", "captcha", "", "aws-waf"},
	{"X-Vercel-Mitigated", "*", "", "vercel"},
	{"X-Datadome*", "*", "refusal", "datadome"},
	{"X-Dd-*", "*", "refusal", "datadome"},
	{"X-Kpsdk-*", "*", "refusal or 429", "kasada"},
	{"Server", "datadome", "refusal or 429", "datadome"},
	{"Server", "akamaighost*", "refusal", "akamai"},
}

// challengeHeader judges by headers.
func challengeHeader(status int, h http.Header) string {
	for _, m := range headerMarks {
		if m.on != "" && !refused(status) && (m.on == "refusal" || status != http.StatusTooManyRequests) {
			continue
		}
		for name, values := range h {
			value := strings.ToLower(strings.TrimSpace(strings.Join(values, "")))
			if fits(m.name, name) && fits(m.value, value) && !slices.Contains(nothingDone, value) {
				return m.vendor
			}
		}
	}
	return ""
}

// nothingDone are values of headers that tell what was done about a request.
var nothingDone = []string{"", "-", "0", "no", "none", "false", "off", "null", "allow", "allowed", "pass", "bypass", "log"}

func fits(pattern, text string) bool {
	beginning, open := strings.CutSuffix(pattern, "*")
	return text == beginning || open && strings.HasPrefix(text, beginning)
}
