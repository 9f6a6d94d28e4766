package demo

import (
	_ "embed" // for robots.txt
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// robots allows everything a crawl selects and disallows what no crawl needs.
//
//go:embed html/robots.txt
var robots string

// ServeHTTP answers a request for a page of the directory.
func (d *Directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if only, ok := allowed(r); !ok {
		http.Error(w, "only "+only, http.StatusMethodNotAllowed)
		return
	}
	started, uri := time.Now(), r.URL.RequestURI()
	attempt := d.stats.request(uri)
	if !d.pause(r, d.cfg.Latency) {
		return
	}
	failure := ""
	if r.URL.Path != "/robots.txt" {
		failure = d.trouble(uri, attempt)
	}
	if failure == failLayout && (!isResults(r.URL.Path) || answersJSON(r.URL.Path)) {
		failure = ""
	}
	a := answer{d: d.now.Load(), w: w, r: r, failure: failure, kind: contentType}
	if answersJSON(r.URL.Path) {
		a.kind = jsonType
	}
	a.serve()
	d.cfg.Logger.Debug().Str("component", "demo").Str("url", uri).Int("status", a.status).Str("failure", failure).
		Dur("took", time.Since(started)).Msg("request")
}

// allowed reports whether a request has a method that its path knows, and which those are: GraphQL is asked by POST.
func allowed(r *http.Request) (only string, ok bool) {
	if r.URL.Path == graphQLPath {
		return http.MethodPost, r.Method == http.MethodPost
	}
	return "GET and HEAD", r.Method == http.MethodGet || r.Method == http.MethodHead
}

// pause waits, and reports false when the client has disconnected meanwhile.
func (d *Directory) pause(r *http.Request, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// isResults reports whether a path is that of a page of results, be it there or not.
func isResults(path string) bool {
	return path == "/search" || strings.Count(path, "/") == 2 && !strings.Contains(path, "/mip/")
}

// isState reports whether a path is that of a state's index, "/state-ca": there is a city whose name begins like that.
func isState(path string) bool {
	return strings.HasPrefix(path, "/state-") && len(path) == len("/state-ca")
}

// contentType is that of every page of HTML.
const contentType = "text/html; charset=utf-8"

// answer is one answer under way.
type answer struct {
	d       *edition // the same from the first byte to the last
	w       http.ResponseWriter
	r       *http.Request
	failure string
	kind    string // its Content-Type
	status  int
}

// serve sends the page, or the failure that was drawn instead.
func (a *answer) serve() {
	switch a.failure {
	case fail429:
		a.w.Header().Set("Retry-After", "1")
		a.plain(http.StatusTooManyRequests, "text/plain; charset=utf-8", "Too many requests. Slow down.\n")
	case fail503:
		a.plain(http.StatusServiceUnavailable, "text/plain; charset=utf-8", "Service unavailable.\n")
	case failChallenge:
		a.w.Header().Set("Cf-Mitigated", "challenge")
		a.w.Header().Set("Server", "cloudflare")
		a.plain(http.StatusForbidden, contentType, string(a.d.page("challenge", nil)))
	case failTimeout:
		a.done(0)
		a.d.pause(a.r, holdFor)
		panic(http.ErrAbortHandler) // closes the connection without an answer
	default:
		a.page()
	}
}

// done counts the answer. It comes before the first byte, so that whoever has
// the answer finds it counted.
func (a *answer) done(status int) {
	a.status = status
	a.d.stats.answer(a.failure)
}

func (a *answer) plain(status int, contentType, body string) {
	a.done(status)
	h := a.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	a.w.WriteHeader(status)
	_, _ = a.w.Write([]byte(body)) // the client may have disconnected: nothing to do about it
}

// page builds the page and sends it.
func (a *answer) page() {
	if a.r.URL.Path == "/robots.txt" {
		a.plain(http.StatusOK, "text/plain; charset=utf-8", robots)
		return
	}
	status, html := a.build()
	if status == http.StatusMovedPermanently {
		a.done(status)
		http.Redirect(a.w, a.r, string(html), status)
		return
	}
	switch a.failure {
	case failCut:
		a.cut(status, html)
		return
	case failLayout:
		html = renameClasses(html)
	}
	a.send(status, html)
}

// build returns the page that was asked for, or the address that it moved to.
// A search that fits nothing says so with 200; a path that is none is not found.
func (a *answer) build() (status int, html []byte) {
	d, path, q := a.d, a.r.URL.Path, a.r.URL.Query()
	switch {
	case path == apiPath:
		return d.apiStores(q)
	case path == graphQLPath:
		return d.graphQL(a.r)
	case path == "/search":
		if p, cat, ok := d.findSearch(q); ok {
			return d.resultsPage(p, cat, pageNumber(q))
		}
		v := plainFrame("Search", "srp")
		v.What, v.Where = q.Get("search_terms"), q.Get("geo_location_terms")
		html = d.page("no_results", v)
	case path == "/", path == "/sitemap":
		html = d.sitemapPage()
	case isState(path):
		html = d.statePage(strings.TrimPrefix(path, "/state-"), q)
	case strings.Contains(path, "/mip/"):
		if b, ok := d.findDetail(path); ok {
			if b.Path != path {
				return http.StatusMovedPermanently, []byte(b.Path)
			}
			html = d.detailPage(&b)
		}
	case strings.Count(path, "/") == 1:
		html = d.cityPage(d.bySlug[path[1:]])
	default:
		city, slug, _ := strings.Cut(path[1:], "/")
		if cat, ok := d.cats[slug]; ok && d.bySlug[city] != nil {
			return d.resultsPage(d.bySlug[city], cat, pageNumber(q))
		}
	}
	if html == nil {
		return d.notFound()
	}
	return http.StatusOK, html
}

// send writes the page.
func (a *answer) send(status int, body []byte) {
	h := a.w.Header()
	h.Set("Content-Type", a.kind)
	// What a CDN adds to every page, and no sign of a block.
	h.Set("Cf-Cache-Status", "DYNAMIC")
	h.Set("Set-Cookie", "vrid=demo; Path=/; HttpOnly; SameSite=Lax")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	a.done(status)
	a.w.WriteHeader(status)
	if a.r.Method == http.MethodHead {
		return
	}
	if a.failure == failTruncate {
		body = body[:len(body)/2] // the server then closes the connection
	}
	_, _ = a.w.Write(body) // the client may have disconnected: nothing to do about it
}

// cut sends the first half of the page as servers of old did: its end is that of the
// connection, so that nobody can tell by the transfer that there is more.
func (a *answer) cut(status int, html []byte) {
	a.done(status)
	conn, buf, err := http.NewResponseController(a.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // a server that can't: the client sees an error
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(buf, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", status, http.StatusText(status), a.kind)
	_, _ = buf.Write(html[:len(html)/2]) // the client may have disconnected: nothing to do about it
	_ = buf.Flush()
}
