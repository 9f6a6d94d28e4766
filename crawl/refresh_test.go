package crawl_test

import (
	"net/http"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// leadsBy is a page that says nothing but where it leads, by the value of a refresh.
func leadsBy(value string) string {
	return `<html><head><meta http-equiv="refresh" content="` + value + `"></head></html>`
}

// refreshed is a page of the site, of whatever outcome, that has a refresh.
func refreshed(value, page string) http.HandlerFunc {
	return ok(strings.Replace(page, "<head>", `<head><meta http-equiv="refresh" content="`+value+`">`, 1))
}

const (
	led     = "failed UNKNOWN_ERROR 200: refresh retry refresh"
	ledOnce = "failed UNKNOWN_ERROR 200: refresh"
)

// A page without cards that leads elsewhere by itself is told as that, or followed: it is no block and nothing is
// empty.
func TestRefresh(t *testing.T) {
	t.Parallel()
	cards, nothing := page("", shops(1, 3)...), shell(`<div id="no-results-main"></div>`)
	blocked := `<html><head><meta http-equiv="refresh" content="0;url=/ok"></head><body><h1>You have been blocked</h1></body></html>`
	told := func(name, says string, page http.HandlerFunc, n int) trouble {
		tt := trouble{name: name, cause: yp.CauseOther, page: page, made: times(n, "unknown 200"), attempt: led, status: waiting, says: says}
		if n == 1 {
			tt.attempt = ledOnce
		}
		return tt
	}
	good := func(name string, page http.HandlerFunc, asked int, change func(*world)) trouble {
		return trouble{name: name, page: page, change: change, made: []string{"ok 200, 3 listings"}, asked: asked, attempt: "done SUCCESS 200: refresh committed", status: yp.Done}
	}
	ready := func(uri string) func(*world) { return func(w *world) { w.on(uri, ok(cards)) } }
	inPlace := good("cards on the page", refreshed("0;url=/elsewhere", cards), 1, nil)
	inPlace.attempt = "done SUCCESS 200: committed"
	for _, tt := range []trouble{
		good("at once", ok(leadsBy("0;url="+target+"?js=0")), 2, ready(target+"?js=0")),
		good("by a header", with(ok(""), "Refresh: 0; url="+target+"?js=0"), 2, ready(target+"?js=0")),
		good("from a page of another kind", redirectTo("/welcome"), 3, func(w *world) {
			w.on("/welcome", ok(leadsBy("0;url="+target+"?seen")))
			w.on(target+"?seen", ok(cards))
		}),
		inPlace,
		told("later", "a refresh that is not followed: after 5s, to http://", refreshed("5;url=/b", "<html><head></head><p>Please wait"), 2),
		told("later, of the site's own page", "after 5s", refreshed("5;url=/b", nothing), 2),
		told("later, to itself", "after 3s, to itself", ok(leadsBy("3")), 2),
		told("at once, to itself", "at once, to itself", ok(leadsBy("0;url="+target)), 2),
		told("to another site", "at once, to https://other.example/: leads to another site", ok(leadsBy("0;url=https://other.example/")), 1),
		told("an empty page that is left at once for another site", "leads to another site", refreshed("0;url=https://other.example/", nothing), 1),
		{
			name: "nothing here, loaded anew each five minutes", cause: yp.CauseEmpty, page: refreshed("300", nothing), search: refreshed("300", nothing),
			made: times(2, "ok 200, 0 listings"), attempt: "done NO_LISTINGS 200", status: yp.Done, says: "no results",
		},
		{
			name: "an unknown layout, loaded anew each five minutes", cause: yp.CauseLayout, page: refreshed("300;url=/", shell("<p>Welcome.</p>")),
			made: []string{"parse_error 200, unread"}, attempt: "failed HTML_CHANGED 200: kept", status: waiting, source: "1 strikes, 1 pages kept", says: "neither listings",
		},
		{
			name: "a block page", cause: yp.CauseUnrecognised, page: ok(blocked), made: times(2, "parse_error 200, unread"),
			attempt: retried(1, yp.CodeBlockedProxy, "200"), status: waiting, says: "a block page",
		},
		{
			name: "404 that leads home", cause: yp.CauseMissing, page: status(404, strings.Replace(shell("No such page"), "<head>", `<head><meta http-equiv=refresh content="0;url=/">`, 1)),
			search: status(404, shell("No such page")), made: times(2, "ok 404, 0 listings"), attempt: "parked NO_LISTINGS 404", status: yp.Parked, says: "404",
		},
	} {
		t.Run(tt.name, tt.check)
	}
}

// The same of a listing's own page, and of an index.
func TestRefreshOfOtherPages(t *testing.T) {
	t.Parallel()
	parallel(t, "own page", func(t *testing.T) {
		w := shopTown(t, 2)
		w.on(shop(1), ok(leadsBy("0;url="+shop(1)+"?js=0")))
		w.on(shop(1)+"?js=0", ok(own(1)))
		w.on(shop(2), ok(leadsBy("7;url="+shop(1))))
		w.done(detailed)
		w.detailsAre("1 DONE  shop1@x.example 1", "2 PLANNED UNKNOWN_ERROR  1")
	})
	parallel(t, "index", func(t *testing.T) {
		w := setup(t, layout{})
		w.write("DELETE FROM targets")
		w.indexes("ca")
		w.on("/state-ca", ok(leadsBy("0;url=/state-ca/")))
		w.on("/state-ca/", ok(indexPage("ca", "alpha-ca")))
		storetest.NoError(t, w.discover([]string{"CA"}))
		w.counts("indexes done", 1, "SELECT count(*) FROM targets WHERE kind = 'index' AND status = 'DONE'")
	})
}
