package crawl_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// strangers are pages that are none of the site's: asked for once more, then a block.
func strangers() (all []trouble) {
	for _, tt := range []struct {
		name string
		page http.HandlerFunc
		says string
	}{
		{"a stranger's page", ok("<html><body>" + strings.Repeat("<p>Domain for sale.</p>", 50) + "</body></html>"), "chrome"},
		{"a login page", ok(loginPage()), "chrome"},
		{"an empty body", ok(""), "empty body"},
		{"JSON", ok(`{"error": "no"}`), "chrome"},
	} {
		all = append(all, trouble{
			name: tt.name, cause: yp.CauseUnrecognised, page: tt.page, made: times(2, "parse_error 200, unread"),
			attempt: retried(1, yp.CodeBlockedProxy, "200"), status: waiting, says: tt.says,
		})
	}
	return append(all, trouble{
		name: "404 in words of a block", cause: yp.CauseUnrecognised, page: status(404, "<html><h1>You have been blocked</h1></html>"),
		made: times(2, "parse_error 404, unread"), attempt: retried(1, yp.CodeBlockedProxy, "404"), status: waiting, says: "a block page",
	})
}

// missing are pages that are not there, and no word of the site says so: neither empty nor a block.
func missing() (all []trouble) {
	elsewhere := func(code int, body string) func(*world) {
		return func(w *world) { w.on("/not-found", status(code, body)) }
	}
	for _, tt := range []struct {
		name, code string
		page       http.HandlerFunc
		change     func(*world)
		says       string
	}{
		{"404 without the site's chrome", "404", status(404, "<html>"+strings.Repeat("<p>nginx</p>", 99)+"</html>"), nil, "status 404, and the page is not the site's"},
		{"404 with Retry-After, which is a page", "404", with(status(404, "no"), "Retry-After: 60"), nil, "status 404"},
		{"410 with Retry-After", "410", with(status(410, "no"), "Retry-After: 60"), nil, "status 410"},
		{"404 without a word", "404", status(404, ""), nil, "status 404"},
		{"410 without the site's chrome", "410", status(410, "Gone"), nil, "status 410"},
		{"404 of nobody's that says that there is nothing", "404", status(404, "<html><p>No results found</p></html>"), nil, "status 404"},
		{"404 of nobody's with listings", "404", status(404, "<html><body>"+biz{id: "1", name: "Shop 1"}.html()+"</body></html>"), nil, "status 404"},
		{"a redirect to a page that is not there", "404", redirectTo("/not-found"), elsewhere(404, shell("Not found")), "another kind"},
	} {
		t := trouble{
			name: tt.name, cause: yp.CauseOther, page: tt.page, change: tt.change, made: times(2, "unknown "+tt.code),
			attempt: retried(1, yp.CodeUnknown, tt.code), status: waiting, says: tt.says,
		}
		if tt.change != nil {
			t.asked = 4
		}
		all = append(all, t)
	}
	return all
}

// empties are pages on which the site itself says that there is nothing (docs/site-facts.md,
// section 8; in which ways, the test of outcomes of package site says): the search is asked too, and believed.
func empties() (all []trouble) {
	for _, tt := range []struct{ name, page, says string }{
		{"by its id", shell(`<div id="no-results-main"></div>`), "no results"},
		{"by its title", strings.Replace(shell("<p>Sorry.</p>"), "Plumbers | The", "No results found | The", 1), "title"},
		{"by other words", shell(`<p>Your search did not match any business.</p>`), "did not match"},
		{"by a total of zero", shell(`<div class="showing-count">Showing 0 of 0</div>`), "total is 0"},
	} {
		all = append(all, trouble{
			name: "nothing here, " + tt.name, cause: yp.CauseEmpty, page: ok(tt.page), search: ok(tt.page),
			made: times(2, "ok 200, 0 listings"), attempt: "done NO_LISTINGS 200", status: yp.Done, says: tt.says,
		})
	}
	gone := status(http.StatusGone, shell("Gone"))
	notFound := status(http.StatusNotFound, shell("No such page"))
	suggestions := status(http.StatusNotFound, page("", shops(1, 3)...))
	return append(all,
		trouble{
			name: "404 at both addresses", cause: yp.CauseMissing, page: notFound, search: notFound,
			made: times(2, "ok 404, 0 listings"), attempt: "parked NO_LISTINGS 404", status: yp.Parked, says: "404",
		},
		trouble{
			name: "404 with listings, which are suggestions", cause: yp.CauseMissing, page: suggestions, search: suggestions,
			made: times(2, "ok 404, 0 listings"), attempt: "parked NO_LISTINGS 404", status: yp.Parked, says: "404",
		},
		trouble{
			name: "410 at both addresses", cause: yp.CauseMissing, page: gone, search: gone,
			made: times(2, "ok 410, 0 listings"), attempt: "parked NO_LISTINGS 410", status: yp.Parked, says: "410",
		})
}

// layouts are pages of the site that nobody can read: kept as samples, never called
// empty.
func layouts() (all []trouble) {
	for _, tt := range []struct{ name, page, says string }{
		{"cards of another name", layoutChanged(), "links to listings"},
		{"chrome without cards", shell("<p>Welcome.</p>"), "neither listings nor a sign that there are none"},
		{"JSON-LD without cards", shell(`<script type="application/ld+json">[{"@type": "LocalBusiness", "name": "Shop"}]</script>`), "JSON-LD"},
		{"a phone without cards", shell("<p>(217) 555-0100</p>"), "phone"},
		{"a next link without cards", page(target + "?page=2"), "next link"},
		{"cards that are all bad", page("", biz{id: "1"}, biz{name: "No id"}), "2 cards without"},
	} {
		all = append(all, trouble{
			name: tt.name, cause: yp.CauseLayout, page: ok(tt.page), made: []string{"parse_error 200, unread"},
			attempt: "failed HTML_CHANGED 200: kept", status: waiting, source: "1 strikes, 1 pages kept", says: tt.says,
		})
	}
	return all
}

// odd are pages whose bytes are wrong, and what has no other place.
func odd() (all []trouble) {
	for _, code := range []string{"400", "405", "409", "411", "413", "414", "415", "416", "417", "421", "422", "423", "424", "425", "426", "431", "499"} {
		n, _ := strconv.Atoi(code)
		all = append(all, trouble{
			name: code + " is a request that the site does not take", cause: yp.CauseOther, page: status(n, noResults()), search: ok(noResults()),
			made: times(2, "unknown "+code), attempt: retried(1, yp.CodeUnknown, code), status: waiting, says: target + ": unknown: status " + code,
		})
	}
	refuse := func(w *world) {
		w.write("CREATE TRIGGER none BEFORE INSERT ON listings BEGIN SELECT raise(ABORT, 'none of these'); END")
	}
	cafe := page("", biz{id: "1", name: "Caf\u00e9 Ol\u00e9"})
	failing := func(name string, cause yp.Cause, page http.HandlerFunc, made []string, attempt, says string) trouble {
		return trouble{name: name, cause: cause, page: page, made: made, attempt: attempt, status: waiting, says: says}
	}
	const unread, broken = "parse_error 200, unread", "failed PARSE_ERROR 200"
	return append(all, []trouble{
		failing("a body that is not gzip", yp.CauseBroken, garbled, times(2, unread), broken+": retry", "decode"),
		failing("a nesting bomb", yp.CauseBroken, ok(shell(strings.Repeat("<div>", 5000))), times(1, unread), broken, "512"),
		failing("a page of 50 MB", yp.CauseBroken, huge, times(1, unread), broken, "over the limit"),
		failing("a redirect in a circle", yp.CauseOther, redirectTo(target), times(2, "unknown 302"), retried(1, yp.CodeUnknown, "302"), "redirects"),
		{
			name: "robots.txt forbids it", cause: yp.CauseDisallowed, change: func(w *world) { w.robots = "User-agent: *\nDisallow: /city-0-ca/\n" },
			attempt: "parked " + string(yp.CauseDisallowed.Policy().Code), status: yp.Parked, says: "robots.txt",
		},
		{
			name: "a page that the database refuses", cause: yp.CauseInternalError, page: ok(cafe), change: refuse, made: []string{"ok 200, 1 listings"},
			attempt: "failed UNKNOWN_ERROR 200", status: waiting, says: "none of these",
		},
		// What a page says of itself is not believed where its bytes say otherwise.
		named("latin-1 that says it is UTF-8", latin1(cafe)), named("UTF-16", inUTF16(cafe)),
		// What is wrong with the framing.
		failing("a body cut among chunks that nobody announced", yp.CauseBroken, raw("200 OK", "Connection: close", "20\r\n"+cafe[:32]+"\r\n20\r\n"+cafe[32:40]), times(2, unread), broken+": retry", "its chunks are cut short"),
		failing("a NUL in the header", yp.CauseBroken, raw("200 OK", "X: a\x00b", cafe), []string{"unknown no answer", "parse_error no answer, unread", "parse_error no answer, unread"},
			"failed PARSE_ERROR: again retry", "the server's header is malformed: a NUL"),
		failing("lengths that differ", yp.CauseBroken, raw("200 OK", "Content-Length: 1, 2", cafe), []string{"unknown no answer", "parse_error no answer, unread", "parse_error no answer, unread"},
			"failed PARSE_ERROR: again retry", "the server's header is malformed: Content-Length"),
		oddlyNamed("unknown no answer", "a header line without a colon", raw("200 OK", "Content-Disposition = inline", cafe)),
		oddlyNamed("unknown no answer", "a length twice in a line", raw("200 OK", fmt.Sprintf("Content-Length: %d, %[1]d", len(cafe)), cafe)),
		oddlyNamed("unknown 200", "chunks with bare line feeds", raw("200 OK", "Transfer-Encoding: chunked", fmt.Sprintf("%x\n%s\n0\n\n", len(cafe), cafe))),
		named("chunks that nobody announced", raw("200 OK", "Connection: close", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(cafe), cafe))),
	}...)
}

// raw answers with a header of this one line, and closes the connection.
func raw(status, field, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\n"+field+"\r\n\r\n"+body)
			_ = conn.Close()
		}
	}
}

// oddlyNamed is named, by an answer that net/http refuses: the first of them is on record as such.
func oddlyNamed(first, name string, page http.HandlerFunc) trouble {
	tt := named(name, page)
	tt.made, tt.attempt = []string{first, tt.made[0]}, "done SUCCESS 200: again committed"
	return tt
}

// named is a good page of the one listing Café Olé.
func named(name string, page http.HandlerFunc) trouble {
	return trouble{name: name, page: page, made: []string{"ok 200, 1 listings"}, attempt: "done SUCCESS 200: committed", status: yp.Done, change: func(w *world) {
		w.t.Cleanup(func() { w.same("names", w.table("SELECT name FROM listings"), []string{"Caf\u00e9 Ol\u00e9"}) })
	}}
}
