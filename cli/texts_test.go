package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"ypcrawl/cli/frame"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestTexts: how numbers, times, ends and addresses are written for people, and how lists that they write are read.
func TestTexts(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) string { return yp.Moment(noon, noon.Add(d)) }
	before := func(d time.Duration) string { return ago(noon, noon.Add(-d)) }
	next := func(n report.Next) string { return n.Text(noon) }
	todo := func(is store.SourceState, until time.Time, reason string) string {
		return (&report.SourceStatus{Name: "demo", Availability: is, Until: until, Reason: reason}).WhatToDo(noon)
	}
	cities := func(in ...string) string { return strings.Join(frame.CityList(in, yp.StatesOf("US")), "|") }
	states := func(in string) string { return strings.Join(frame.StateList([]string{in}, yp.StatesOf("US")), "|") }
	fits := func(height int) string {
		return strings.Join(fitHeight(strings.Fields("head CA NY TX all end"), 3, height), " ")
	}
	for _, x := range []struct{ got, want string }{
		{thousands(0), "0"},
		{thousands(7), "7"},
		{thousands(999), "999"},
		{thousands(1000), "1,000"},
		{thousands(-1000), "-1,000"},
		{thousands(1234567), "1,234,567"},
		{thousands(math.MinInt64), "-9,223,372,036,854,775,808"},
		{plural(0, "page"), "0 pages"},
		{plural(1, "page"), "1 page"},
		{plural(1200, "listing"), "1,200 listings"},
		{plural(1, "company"), "1 company"},
		{plural(2, "company"), "2 companies"},
		{plural(2, "day"), "2 days"},
		{bytesText(512), "0.5 KB"},
		{bytesText(1_500_000), "1.5 MB"},
		{bytesText(2_000_000_000), "2.0 GB"},

		{before(0), "now"},
		{before(-time.Hour), "now"},
		{before(999 * time.Millisecond), "now"},
		{before(59 * time.Second), "59s ago"},
		{before(3*time.Minute + 12*time.Second), "3m12s ago"},
		{before(2*time.Hour + 5*time.Minute + 9*time.Second), "2h05m ago"},
		{before(76 * time.Hour), "3d4h ago"},
		{ago(noon, time.Time{}), "never"},
		{after(-time.Second), "now"},
		{after(0), "now"},
		{after(-7 * frame.Day), "now"},
		{after(90 * time.Second), "12:01:30 UTC (in 1m30s)"},
		{after(11 * time.Hour), "23:00:00 UTC (in 11h00m)"},
		{after(12 * time.Hour), "2026-11-21 00:00 UTC (in 12h00m)"},
		{yp.Millis(0), "0 ms"},
		{yp.Millis(999), "999 ms"},
		{yp.Millis(1000), "1.0 s"},
		{yp.Millis(59_949), "59.9 s"},
		{yp.Millis(60_000), "1m00s"},
		{yp.Millis(7_200_000), "2h00m"},

		{next(report.Next{When: report.NextHeld, Held: "w"}), "being crawled by w"},
		{next(report.Next{When: report.NextNow, Why: "why"}), "can be crawled now: why"},
		{next(report.Next{When: report.NextLater, Why: "why", At: yp.Stamp{Time: noon.Add(time.Minute)}}), "next crawl at 12:01:00 UTC (in 1m00s): why"},
		{next(report.Next{When: report.NextNever, Why: "why", Remedy: "reset 7"}), "not crawled again automatically: why. To change that: `ypcrawl reset 7`"},
		{
			next(report.Next{When: report.NextLater, Why: "why", At: yp.Stamp{Time: noon.Add(time.Minute)}, Remedy: "x"}),
			"next crawl at 12:01:00 UTC (in 1m00s): why. To change that: `ypcrawl x`",
		},
		// Of a source that is open, that is held for a while, and of one whose quarantine ends with the next run; status.txtar has the others.
		{todo(store.SourceOpen, time.Time{}, ""), ""},
		{todo(store.SourceHeld, noon.Add(time.Minute), "Retry-After"), "demo is held until 12:01:00 UTC (in 1m00s): Retry-After"},
		{
			todo(store.SourceQuarantined, noon, "cf_challenge"),
			"demo is quarantined: cf_challenge; the next run tests it with one page. Wait. Reset it only if the site no longer refuses you",
		},
		{report.ReasonText("penalty"), "refused by the site"},
		{report.ReasonText("Retry-After"), "Retry-After"},
		{report.ReasonText("fetch https://a.com/x: auth_error: status 401 Unauthorized"), "HTTP 401"},
		{report.ReasonText("fetch https://a.com/x: auth_error: status 407 Proxy Authentication Required"), "HTTP 407"},
		{report.ReasonText("no names on 3 pages"), "no names on 3 pages"},
		{report.ReasonText("penalty: 3 blocks in a row"), "refused by the site 3 times in a row"},
		{report.Cause("fetch http://h/a/b: unknown: disallowed by robots.txt"), "disallowed by robots.txt"},
		{report.Cause("fetch http://h/a: http_403: status 403 Forbidden"), "refused by the site (HTTP 403)"},
		{report.Cause("fetch http://h/a: cf_challenge: status 429 Too Many Requests: challenge or block page (cloudflare)"), "refused by the site (HTTP 429): challenge or block page (cloudflare)"},
		{report.Cause("fetch http://h/a: unknown: status 406 Not Acceptable"), "refused by the site (HTTP 406)"},
		{report.Cause("fetch http://h/a: unknown: status 418 I'm a teapot (retry after 2m0s)"), "refused by the site (HTTP 418)"},
		{report.Cause("fetch http://h/a: unknown: status 402 Payment Required: crawler-price USD 0.01"), "refused by the site (HTTP 402 Payment Required): crawler-price USD 0.01"},
		{report.Cause("fetch http://h/a: unknown: status 451 Unavailable For Legal Reasons"), "refused by the site (HTTP 451 Unavailable For Legal Reasons)"},
		{report.Cause("fetch http://h/a: unknown: status 405 Method Not Allowed"), "status 405 Method Not Allowed"},
		{report.Cause("fetch http://h/a: http_5xx: status 503 Service Unavailable"), "http_5xx: status 503 Service Unavailable"},
		{report.Cause("fetch http://h/a: cf_challenge: "), "cf_challenge: "},
		{report.Cause("no listing could be read"), "no listing could be read"},
		{report.Cause("fetch http://h/a"), "fetch http://h/a"},

		{fits(6), "head CA NY TX all end"},
		{fits(5), "head CA +2 more all end"},
		{fits(4), "head +3 more all end"},
		{fits(2), "head +3 more"},

		{strings.Join(frame.CityList([]string{"Innsbruck,Wien"}, yp.StatesOf("AT")), "|"), "Innsbruck|Wien"},
		{cities("Austin,Dallas"), "Austin|Dallas"},
		{cities("Austin, TX"), "Austin TX"},
		{cities("Austin, tx, Portland, OR"), "Austin tx|Portland OR"},
		{cities("TX"), "TX"},
		{cities("Kansas City, Washington"), "Kansas City|Washington"},
		{cities(" , "), ""},
		{cities("Austin", "TX"), "Austin|TX"},
		{states("CA TX"), "CA|TX"},
		{states("CA,TX"), "CA|TX"},
		{states("new york"), "new york"},
		{states("new york, ca"), "new york|ca"},
		{states("CA Texsa"), "CA Texsa"},
		{states("ca new york"), "ca new york"}, // not to be told from a misspelt name
		{states("texas  ohio,UT"), "texas|ohio|UT"},
	} {
		if x.got != x.want {
			t.Errorf("got  %s\nwant %s", x.got, x.want)
		}
	}
}
