package fetch

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const chrome = `<div id="main-header">The Real Yellow Pages</div><div class="search-results organic"><h2 class="n">`

func TestChallenge(t *testing.T) {
	filler := strings.Repeat("<p>Plumber in Reno</p>", 2000) // over smallPage
	some := strings.Repeat("<p>Plumber in Reno</p>", 300)    // over tinyPage
	justAMoment := `<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script>` + some
	hardBlock := `<html><head><title>Attention Required! | Cloudflare</title></head><body><div id="cf-wrapper"><div id="cf-error-details"><h1>Sorry, you have been blocked</h1>`
	cf52x := `<html><head><title>acme.com | 522: Connection timed out</title></head><body><div id="cf-wrapper"><div id="cf-error-details">`
	none := http.Header{}
	nothing := `<html><head><title>No results | The Real Yellow Pages</title></head><div class="no-results-main">No results found for plumbers in Nowhere, IL</div>`
	one := `<html><title>Plumbers | The Real Yellow Pages</title><div class="result"><a class="business-name" href="/x/mip/a-1">Ace</a> (217) 555-0100</div>`
	imperva, kasada := `<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>`, `<script>window.KPSDK={}</script>`
	captcha := `<script src="https://www.google.com/recaptcha/api.js"></script>`
	for _, tt := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   string // vendor
	}{
		{"Cloudflare header, 403", 403, http.Header{"Cf-Mitigated": {"challenge"}}, "x", "cloudflare"},
		{"Cloudflare page, 403", 403, none, justAMoment, "cloudflare"},
		{"Cloudflare page, 200", 200, none, justAMoment, "cloudflare"},
		{"Cloudflare page, 404", 404, none, justAMoment, "cloudflare"},
		{"Cloudflare title on a big 200", 200, none, "<title>Just a moment...</title>" + filler, "cloudflare"},
		{"Cloudflare hard block, 403", 403, none, hardBlock, "cloudflare"},
		{"Cloudflare hard block, 200", 200, none, hardBlock, "cloudflare"},
		{"Turnstile, 403", 403, none, `<script src="https://challenges.cloudflare.com/turnstile/v0/api.js">`, "cloudflare"},
		{"challenge form, 503", 503, none, `<form id="challenge-form">`, "cloudflare"},
		{"DataDome header, 403", 403, http.Header{"X-Datadome": {"protected"}}, "x", "datadome"},
		{"DataDome page, 200", 200, none, `<html><script src="https://ct.captcha-delivery.com/c.js"></script>`, "datadome"},
		{"PerimeterX, 200", 200, none, some + `<div id="px-captcha"></div>`, "perimeterx"},
		{"PerimeterX words, 403", 403, none, "<h1>Press & Hold to confirm you are a human", "perimeterx"},
		{"PerimeterX title", 200, none, "<title>Access to this page has been denied.</title>" + filler, "perimeterx"},
		{"Akamai, 403", 403, http.Header{"Server": {"AkamaiGHost"}}, "Access Denied", "akamai"},
		{"Akamai reference, 403", 403, none, "Access Denied https://errors.edgesuite.net/18.aa", "akamai"},
		{"Imperva script alone, 200", 200, none, `<html><script src="/_Incapsula_Resource?SWJIYLWA=1"></script></html>`, "imperva"},
		{"Imperva incident, 200", 200, none, "<html>" + some + "Request unsuccessful. Incapsula incident ID: 1-2", "imperva"},
		{"Imperva, 403", 403, none, some + `<iframe src="/_Incapsula_Resource?CWUDNSAI=1">`, "imperva"},
		{"Imperva title", 200, none, "<title>Pardon Our Interruption</title>" + filler, "imperva"},
		{"Kasada, 429", 429, http.Header{"X-Kpsdk-Ct": {"0A"}}, "x", "kasada"},
		{"Kasada script, 200", 200, none, `<html><script>window.KPSDK={};</script><script src="/149e/ips.js"></script>`, "kasada"},
		{"Akamai interstitial, 200", 200, none, `<html><head><meta http-equiv="refresh" content="5; URL='/a?bm-verify=AAQ'" /></head><body><noscript>Please enable JavaScript</noscript></body></html>`, "akamai"},
		{"Akamai interstitial's script, 200", 200, none, `<html><script>x.open("POST", "/_sec/verify?provider=interstitial", false);</script></html>`, "akamai"},
		{"go-away, 200", 200, none, `<html><head><title>Checking you are not a bot</title></head>` + some, "go-away"},
		{"go-away's refresh, 200", 200, none, `<html><head><meta content="0; url=/.well-known/x?__goaway_challenge=meta-refresh&amp;__goaway_id=1" http-equiv="refresh" /></head><h1>` + some, "go-away"},
		{"SiteGround, 200", 200, none, `<html><head><link rel="icon" href="data:;"><meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F"></meta></head></html>`, "a captcha"},
		{"Anubis by a header, 200", 200, http.Header{"Refresh": {"1; url=/.within.website/x/cmd/anubis/api/pass-challenge?id=1"}}, "<html><p>" + some, "anubis"},
		{"Distil, 200", 200, none, `<meta http-equiv="refresh" content="10; url=/distil_r_captcha.html?Ref=/a" />`, "distil"},
		{"a refresh to an ordinary page", 200, none, `<meta http-equiv="refresh" content="0; url=/welcome">`, ""},
		{"a refresh to a captcha in a comment", 200, none, one + `<!-- <meta http-equiv="refresh" content="0; url=/captcha"> -->`, ""},
		{"AWS WAF challenge, 202", 202, http.Header{"X-Amzn-Waf-Action": {"challenge"}}, strings.Repeat("x", 2000), "aws-waf"},
		{"AWS WAF captcha, 405", 405, http.Header{"X-Amzn-Waf-Action": {"captcha"}}, "x", "aws-waf"},
		{"AWS WAF script, 202", 202, none, strings.Repeat("x", 2000) + "window.gokuProps = {}", "aws-waf"},
		{"soft block, 202 just under", 202, none, strings.Repeat("x", 499), "soft block"},
		{"Cloudflare header, 200", 200, http.Header{"Cf-Mitigated": {"Challenge"}}, "x", "cloudflare"},
		{"Cloudflare restriction, 404", 404, none, "<title>Access denied | www.example.com used Cloudflare to restrict access</title>" + some, "cloudflare"},
		{"Cloudflare hard block in words, 404", 404, none, "<h1>Sorry, you have been blocked</h1>" + some, "cloudflare"},
		{"DataDome server in lower case, 429", 429, http.Header{"Server": {"datadome"}}, "x", "datadome"},
		{"Akamai reference, escaped", 403, none, "<H1>Access Denied</H1>Reference&#32;&#35;18&#46;1 https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18", "akamai"},
		{"Kasada page, 429", 429, none, `<html><body><script>window.KPSDK={};</script><script src="/149e/ips.js"></script></body></html>`, "kasada"},
		{"Shape, 200", 200, none, `<html><script>window["bobcmn"]="1011"</script><script src="/TSPD/08?type=7"></script><noscript>Please enable JavaScript to view the page content.</noscript>`, "f5-shape"},
		{"Shape refusal, 200", 200, none, "<html><title>Request Rejected</title>The requested URL was rejected. Please consult with your administrator. Your support ID is: 1", "f5-shape"},
		{"Vercel header, 429", 429, http.Header{"X-Vercel-Mitigated": {"challenge"}}, "x", "vercel"},
		{"Vercel title", 200, none, "<title>Vercel Security Checkpoint</title>" + filler, "vercel"},
		{"Reblaze, 200", 200, none, `<html><head><script>window.rbzns={"hosts":"x"};</script></head></html>`, "reblaze"},
		{"Anubis, 200", 200, none, `<html><title>Making sure you&#39;re not a bot!</title><script src="/.within.website/x/cmd/anubis/static/js/main.mjs">`, "anubis"},
		{"reCAPTCHA and nothing else, 200", 200, none, `<html><title>Are you there?</title><form><div class="g-recaptcha" data-sitekey="k"></div><button>Go on</button></form></html>`, "recaptcha"},
		{"hCaptcha and nothing else, 200", 200, none, `<html><body><p>One more step</p><div class="h-captcha"></div><script src="https://js.hcaptcha.com/1/api.js"></script></body></html>`, "hcaptcha"},
		{"status 999", 999, none, some, "status 999"},
		{"AWS WAF action in capitals", 403, http.Header{"X-Amzn-Waf-Action": {"CAPTCHA"}}, "x", "aws-waf"},
		{"title in capitals and behind a comment", 200, none, "<!-- <title>Plumbers</title> --><svg><title>Logo</title></svg><Title>Just a moment...</Title>" + filler, "cloudflare"},

		{"headline with a tag in it", 200, none, `<html><h1 class="x"><span>Sorry, you have been blocked</span></h1>` + some, "cloudflare"},
		{"words of a block, 503", 503, none, "<p>Sorry, you have been blocked</p>" + some, "cloudflare"},

		{"Akamai's challenge, 428", 428, none, `{"sec-cp-challenge": "true","provider":"crypto","chlg_duration":30}`, "akamai"},
		{"Akamai's challenge in a page, 428", 428, none, some + `<div id="sec-if-cpt-container"></div><script src="/_sec/cp_challenge/ak-challenge-4-3.htm"></script>`, "akamai"},
		{"Akamai, 428", 428, http.Header{"Server": {"AkamaiGHost"}}, "x", "akamai"},
		{"DataDome, 412", 412, http.Header{"X-Datadome": {"protected"}}, "x", "datadome"},
		{"Kasada's script, 428", 428, none, some + kasada, "kasada"},
		{"hCaptcha, 412", 412, none, some + `<div class="h-captcha"></div>`, "hcaptcha"},
		{"Riversecurity, 412", 412, none, `<html><script>$_ts=window['$_ts'];if(!$_ts)$_ts={};</script><script src="/x.js"></script>`, "riversecurity"},
		{"Cloudflare hard block, 401", 401, none, hardBlock, "cloudflare"},
		{"Imperva, 401", 401, none, some + `<iframe src="/_Incapsula_Resource?CWUDNSAI=1">`, "imperva"},
		{"Akamai reference, 401", 401, none, "Access Denied https://errors.edgesuite.net/18.aa", "akamai"},
		{"PerimeterX, 401", 401, none, some + `<div id="px-captcha"></div>`, "perimeterx"},
		{"Vercel denies, 403", 403, http.Header{"X-Vercel-Mitigated": {"deny"}}, "x", "vercel"},

		{"plain 401", 401, none, some, ""},
		{"401 with a login beside a captcha", 401, none, `<form><input name="u"><input type="password"><div class="g-recaptcha"></div>`, ""},
		{"401 with a login on a protected site", 401, none, some + `<form><input TYPE=password></form>` + imperva, ""},
		{"401 that asks for a password on a protected site", 401, http.Header{"Www-Authenticate": {"Basic"}}, "<html>" + imperva + kasada, ""},
		{"401 with a captcha, in words", 401, none, some + `<div class="g-recaptcha"></div>`, ""},
		{"plain 412", 412, none, some, ""},
		{"plain 428", 428, none, `{"error": "precondition required"}`, ""},
		{"Cloudflare header without a value", 200, http.Header{"Cf-Mitigated": {""}}, chrome, ""},
		{"Cloudflare header of blanks", 200, http.Header{"Cf-Mitigated": {" ", "\t"}}, chrome, ""},
		{"Cloudflare header that says no", 200, http.Header{"Cf-Mitigated": {"none"}}, chrome, ""},
		{"Vercel header without a value", 200, http.Header{"X-Vercel-Mitigated": {""}}, chrome, ""},
		{"Vercel header that logs", 200, http.Header{"X-Vercel-Mitigated": {"log"}}, chrome, ""},
		{"empty headers, 403", 403, http.Header{"Cf-Mitigated": {""}, "X-Vercel-Mitigated": {""}, "X-Datadome": {""}, "X-Kpsdk-Ct": {""}}, some, ""},
		{"a host that may be needed", 200, none, `<html><head><link rel="preconnect" href="https://geo.captcha-delivery.com">` + one, ""},
		{"the same looked up beforehand", 200, none, one + `<link rel=dns-prefetch href=//ct.captcha-delivery.com><link rel="preload" as="script" href="https://ct.captcha-delivery.com/c.js"/>`, ""},
		{"hosts that are allowed", 200, none, `<meta http-equiv="Content-Security-Policy" content="frame-src https://geo.captcha-delivery.com">` + one, ""},
		{"a style of a challenge", 200, none, `<html><style>#px-captcha{display:block} .px-captcha-x > a{top:0}</style>` + one, ""},
		{"a style of a challenge, and nothing to read", 200, none, `<html><style>#px-captcha{display:block}</style>`, ""},
		{"a comment of a challenge", 200, none, `<html><!-- <div id="px-captcha"></div> -->` + one, ""},
		{"a script that would know a challenge", 200, none, one + `<script>if(document.getElementById("px-captcha")){report("captcha-delivery.com", window._cf_chl_opt)}</script>`, ""},
		{"hosts in a script of a page with listings", 200, none, one + `<script type="application/json">{"hosts":["geo.captcha-delivery.com"]}</script>`, ""},
		{"a link to a seller of challenges", 200, none, one + `<a href="https://captcha-delivery.com/">DataDome</a> <img src="https://captcha-delivery.com/x.png">`, ""},
		{"hosts that may be needed, 404", 404, none, `<link rel="preconnect" href="https://challenges.cloudflare.com">` + chrome, ""},
		{"hosts that may be needed, 503", 503, none, `<link rel="preconnect" href="https://challenges.cloudflare.com">Down for maintenance`, ""},
		{"DataDome's script with a style and some words", 200, none, `<html><style>#cmsg{animation: A 1.5s;}</style><p id="cmsg">Please enable JS and disable any ad blocker</p><script>var dd={'host':'geo.captcha-delivery.com'}</script>`, "datadome"},
		{"DataDome's frame on a page with words", 200, none, some + `<iframe src="https://geo.captcha-delivery.com/captcha/?x=1"></iframe>`, "datadome"},
		{"DataDome's answer to a script", 200, none, `{"url":"https://geo.captcha-delivery.com/captcha/?initialCid=1"}`, "datadome"},

		{"a mark in noscript", 200, none, chrome + `<noscript><div id="px-captcha">x</div></noscript>`, ""},
		{"words in noscript, 403", 403, none, some + "<NOSCRIPT>Verify you are human</noscript>", ""},
		{"a mark in noscript, another outside", 403, none, `<noscript>Just a moment</noscript><div class="g-recaptcha"></div>`, "recaptcha"},
		{"a script that writes noscript", 200, none, `<script>document.write("<noscript>"); window.rbzns={}</script>`, "reblaze"},

		{"nothing found, Imperva's script", 200, none, nothing + imperva, ""},
		{"nothing found, reCAPTCHA", 200, none, nothing + captcha, ""},
		{"nothing found, reCAPTCHA, 404", 404, none, "<html><p>Not here</p>" + captcha, ""},
		{"one card, Imperva's script", 200, none, one + imperva, ""},
		{"one card without a link", 200, none, "<html><b>Ace</b> (217) 555-0100" + kasada, ""},
		{"broken, reCAPTCHA, 500", 500, none, "<html><p>Server error</p>" + captcha, ""},
		{"broken, Imperva's script, 503", 503, none, "<html><p>Down</p>" + imperva, ""},
		{"a review quotes a block", 200, none, one + "<p>Sorry, you have been blocked, says their site</p>", ""},
		{"a review quotes a block, 404", 404, none, chrome + "<p>Sorry, you have been blocked, says their site</p>", ""},
		{"AWS WAF lets it pass", 200, http.Header{"X-Amzn-Waf-Action": {"allow"}}, chrome, ""},
		{"plain 405", 405, none, some, ""},
		{"the title of a comment", 200, none, "<!-- <title>Just a moment...</title> --><title>Plumbers in Reno</title>" + filler, ""},
		{"a small page with a sensor", 200, none, "<html><title>Plumbers in Reno, NV | The Real Yellow Pages</title>" + chrome + strings.Repeat("Ace Plumbing, 12 Main St. ", 8) + `<script src="/_Incapsula_Resource?SWJIYLWA=1"></script><script>window.KPSDK={}</script>`, ""},
		{"a small page with a contact form", 404, none, "<html>" + chrome + strings.Repeat("No such page, write to us. ", 8) + `<div class="g-recaptcha"></div>`, ""},
		{"a broken page with a contact form", 500, none, some + `<div class="g-recaptcha"></div>`, ""},
		{"202 of 500 bytes", 202, none, strings.Repeat("x", 500), ""},
		{"plain 403", 403, none, some, ""},
		{"plain 429", 429, none, some, ""},
		{"plain 429 with a vendor's script in it", 429, none, some + `<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>`, ""},
		{"Cloudflare rate limit, 429", 429, none, "<title>Error 1015</title><div id=\"cf-wrapper\"><div id=\"cf-error-details\">", ""},
		{"Cloudflare origin down, 522", 522, none, cf52x, ""},
		{"Akamai error, 503", 503, http.Header{"Server": {"AkamaiGHost"}}, "Service Unavailable", ""},
		{"DataDome protects, 200", 200, http.Header{"X-Datadome": {"protected"}, "Set-Cookie": {"datadome=abc"}}, chrome, ""},
		{"Cloudflare serves, 200", 200, http.Header{"Server": {"cloudflare"}, "Cf-Ray": {"1"}, "Set-Cookie": {"__cf_bm=x", "cf_clearance=y"}}, chrome, ""},
		{"Cloudflare's quiet script", 200, none, chrome + `<script>window.__CF$cv$params={r:1}</script><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js">`, ""},
		{"Cloudflare's quiet script, 403", 403, none, some + `window.__CF$cv$params={r:1}; /cdn-cgi/challenge-platform/scripts/jsd/main.js`, ""},
		{"a form with a Turnstile, 404", 404, none, chrome + `<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>`, ""},
		{"Imperva's script in a page", 200, none, "<html>" + chrome + some + `<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>`, ""},
		{"names of businesses", 200, none, chrome + "Captcha Cafe, Cloudflare Plumbing, Blocked Drains, Banned Books, Press &amp; Hold Laundry, Just a Moment Photography, Access Denied Locksmiths", ""},
		{"a business in the title", 200, none, "<title>Just a Moment Photography in Reno, NV | The Real Yellow Pages</title>" + filler, ""},
		{"markers deep in a big page", 200, none, filler + "_cf_chl_opt px-captcha captcha-delivery.com", ""},
		{"title deep in a big page", 200, none, filler + "<title>Just a moment...</title>", ""},
		{"a robots.txt that names a path", 200, none, "User-agent: *\nDisallow: /_Incapsula_Resource\n", ""},
		{"a redirect", 301, none, "_cf_chl_opt", ""},
		{"nothing", 200, none, "", ""},
	} {
		storetest.Equal(t, challenge(tt.status, tt.header, []byte(tt.body)), tt.want, "vendor", tt.name)
	}
}

// Through the client: headers and body as sent, compressed too.
func TestChallengeIsABlock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, header, value, body string
		status                    int
	}{
		{"429 with cf-mitigated", "cf-mitigated", "challenge", "x", 429},
		{"403 page", "X", "y", "<title>Just a moment...</title>", 403},
		{"200 page", "X", "y", "<title>Just a moment...</title>", 200},
		{"202 challenge", "x-amzn-waf-action", "challenge", "", 202},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, noRobots(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(tt.header, tt.value)
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(tt.status)
				_, _ = w.Write(compress(t, "gzip", []byte(tt.body)))
			})
			e := s.failure(t, "/")
			if e.Class != yp.ClassChallenge || e.Code() != yp.CodeBlockedProxy || !errors.Is(e, ErrChallenge) || e.Retryable() || e.Status != tt.status {
				t.Errorf("error %v", e)
			}
			storetest.Equal(t, e.RetryAfter, 0, "hold of a challenge, which is no rate limit")
		})
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(200, "Server", "cloudflare", "<title>Just a moment...</title>")
	f.Add(403, "X-Datadome", "1", "<title")
	f.Add(503, "Cf-Mitigated", "challenge", "<TITLE>x")
	f.Fuzz(func(t *testing.T, status int, name, value, body string) {
		h := http.Header{name: {value}}
		got := challenge(status, h, []byte(body))
		if got != "" && status >= 300 && status < 400 && challengeHeader(status, h) == "" && find(asTitle, skim([]byte(body), false).title) == "" {
			t.Errorf("a redirect is %q", got)
		}
		storetest.Equal(t, challenge(status, h, []byte(body)), got, "the same again")
		// Large pages are judged by their start alone.
		if page := body + strings.Repeat(" ", smallPage); ordinary(status) &&
			challenge(status, h, []byte(page)) != challenge(status, h, []byte(page+"_cf_chl_opt px-captcha <title>Just a moment...</title>")) {
			t.Error("the end of a large page counts")
		}
	})
}
