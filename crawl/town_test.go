package crawl_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// town is a directory of hand-written pages that notes what it is asked for.
type town struct {
	*httptest.Server

	mu     sync.Mutex
	routes map[string]http.HandlerFunc // by path and query, else by path and "*"
	usual  map[string]http.HandlerFunc // by path and query, where there is no route
	seen   []string                    // path and query, robots.txt left out
	robots string
	rules  http.HandlerFunc // answers for robots.txt; nil = with robots
}

func newTown(t testing.TB) *town {
	t.Helper()
	d := &town{routes: map[string]http.HandlerFunc{}}
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(func() {
		d.CloseClientConnections()
		d.Close()
	})
	return d
}

func (d *town) serve(w http.ResponseWriter, r *http.Request) {
	h := d.find(r)
	if h == nil {
		status(http.StatusNotFound, shell("No such page"))(w, r)
		return
	}
	h(w, r)
}

func (d *town) find(r *http.Request) http.HandlerFunc {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		if d.rules != nil {
			return d.rules
		}
		return status(http.StatusOK, d.robots)
	}
	uri := r.URL.RequestURI()
	d.seen = append(d.seen, uri)
	if h := d.routes[uri]; h != nil {
		return h
	}
	if h := d.routes[r.URL.Path+"*"]; h != nil {
		return h
	}
	return d.usual[uri]
}

func (d *town) on(uri string, h http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.routes[uri] = h
}

func (d *town) route(uri string) http.HandlerFunc {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.routes[uri]
}

// asked returns the requests so far.
func (d *town) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen)
}

// status answers with a status and a page.
func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if code == http.StatusOK && !strings.HasPrefix(body, "<") {
			w.Header().Set("Content-Type", "text/plain")
		} else {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

func ok(body string) http.HandlerFunc { return status(http.StatusOK, body) }

// after does something before it answers.
func after(do func(), h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		do()
		h(w, r)
	}
}

// meeting makes requests wait until n of them have come.
func meeting(t testing.TB, n int64) func() {
	var came atomic.Int64
	all := make(chan struct{})
	return func() {
		if came.Add(1) == n {
			close(all)
		}
		signalled(t, "the other request", all)
	}
}

// inTurn answers the n-th request with the n-th handler, the last one for ever.
func inTurn(hs ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		hs[min(i, len(hs)-1)](w, r)
	}
}

// shell is a page of the site with some content, and enough of it to be none of
// the tiny pages that blocks are.
func shell(main string) string {
	return `<!DOCTYPE html><html lang="en-US"><head><meta charset="utf-8"><title>Plumbers | The Real Yellow Pages</title></head>
<body><header id="main-header"><a class="logo" href="/">The Real Yellow Pages</a></header>
<div id="main-content">` + main + `</div>
<footer id="main-footer"><p>All names on this page are made up.</p><!--` + strings.Repeat("-x", 300) + `--></footer></body></html>`
}

// biz is a card to be.
type biz struct {
	id, name string
	cats     []string
	bare     bool // no phone, no address
}

func (b biz) html() string {
	s := `<div class="result"`
	if b.id != "" {
		s += ` data-ypid="` + b.id + `"`
	}
	s += `><div class="v-card"><h2 class="n">`
	if b.name != "" {
		s += `<a class="business-name" href="/x/mip/shop` + b.id + `"><span>` + b.name + `</span></a>`
	}
	s += `</h2><div class="categories">`
	for _, c := range b.cats {
		s += `<a href="/x/c">` + c + `</a>`
	}
	s += `</div>`
	if !b.bare {
		s += `<div class="phones phone primary">(217) 555-0100</div><div class="adr"><div class="street-address">` + b.id +
			` Main St</div><div class="locality">Springfield, IL 62701</div></div>`
	}
	return s + `</div></div>`
}

// page is a results page: cards, then a next link when there is one.
func page(next string, cards ...biz) string { return pageWithAds(next, nil, cards...) }

func pageWithAds(next string, ads []biz, cards ...biz) string {
	s := `<div class="center-ads">`
	for _, b := range ads {
		s += b.html()
	}
	s += `</div><div class="search-results organic">`
	for _, b := range cards {
		s += b.html()
	}
	s += `</div>`
	if next != "" {
		s += `<div class="pagination"><ul><li><a class="next ajax-page" href="` + next + `">Next</a></li></ul></div>`
	}
	return shell(s)
}

// lastPage is page number of a target of so many, with a pagination that leads back alone.
func lastPage(number int, cards ...biz) string {
	s := `<div class="pagination"><ul>`
	for n := 1; n < number; n++ {
		s += fmt.Sprintf(`<li><a href="%s?page=%d">%d</a></li>`, target, n, n)
	}
	return strings.Replace(page("", cards...), `<div class="center-ads">`, fmt.Sprintf(`%s<li><span>%d</span></li></ul></div><div class="center-ads">`, s, number), 1)
}

// shops are n cards with ids from first on.
func shops(first, n int) []biz {
	out := make([]biz, n)
	for i := range out {
		id := fmt.Sprint(first + i)
		out[i] = biz{id: id, name: "Shop " + id}
	}
	return out
}

func noResults() string {
	return shell(`<div class="no-results-main"><h1>No results found for <em>Plumbers</em></h1></div>`)
}
