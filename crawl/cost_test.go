package crawl_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
)

// costs are the bounds of what a page may take of the processors, by the processor time of
// bareLoop over the same pages (docs/benchmarks.md). They stand a little above what is measured.
var costs = []struct {
	name           string
	targets, pages int
	disorder       bool // a list whose items have no end tags: such a page is parsed whole
	bound          float64
}{
	{"five pages a target", 30, 5, false, 1.45},
	{"one page a target", 150, 1, false, 1.65},
	{"pages in disorder", 15, 5, true, 3.90},
}

// TestPageCost fails when a page takes more processor time than it should, by the median of five turns. It runs
// alone only, as a step of CI: beside other tests it would measure them, too.
func TestPageCost(t *testing.T) {
	if flag.Lookup("test.run").Value.String() != "^TestPageCost$" {
		t.Skip("measures: run it alone, with -run '^TestPageCost$'")
	}
	for _, c := range costs {
		d, urls := costSite(t, c.targets, c.pages, c.disorder)
		var ratios []float64
		for range 5 {
			ratios = append(ratios, crawlSite(t, d, c.targets, len(urls)).Seconds()/bareLoop(t, urls).Seconds())
		}
		slices.Sort(ratios)
		t.Logf("%s: %.2f × the bare loop's processor time (%.2f to %.2f), bound %.2f", c.name, ratios[2], ratios[0], ratios[4], c.bound)
		if ratios[2] > c.bound {
			t.Errorf("%s: a page takes too much processor time", c.name)
		}
	}
}

// costSite serves targets of so many pages each from memory, zipped before: the server's part is small, and
// the same for both.
func costSite(tb testing.TB, targets, pages int, disorder bool) (d *town, urls []string) {
	tb.Helper()
	d, random := newTown(tb), rand.New(rand.NewPCG(1, 2))
	for n := range targets * pages {
		uri, next := city(n/pages), ""
		if page := n%pages + 1; page < pages {
			next = fmt.Sprintf("%s?page=%d", uri, page+1)
		}
		if n%pages > 0 {
			uri = fmt.Sprintf("%s?page=%d", uri, n%pages+1)
		}
		text := costPage(random, n*30, next, disorder)
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		if elements := strings.Count(text, "<") - strings.Count(text, "</"); n == 0 && (len(text)/10_000 != 25 || b.Len()/2000 != 17 || elements/200 != 15) {
			tb.Fatalf("a page of %d bytes, %d zipped, %d elements: want about 250 kB, 34 kB, 3,000", len(text), b.Len(), elements)
		}
		d.on(uri, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(b.Bytes())
		})
		urls = append(urls, d.URL+uri)
	}
	return d, urls
}

// words are made up, so that a page packs as well as one of a real site.
func words(random *rand.Rand, n int) string {
	all := strings.Fields("alder birch cedar daisy elder ferguson grant harvest iris juniper kestrel linden maple north orchard prairie quarry river summit timber union valley willow york zenith")
	some := make([]string, n)
	for i := range some {
		some[i] = all[random.IntN(len(all))]
	}
	return strings.Join(some, " ")
}

const costCard = `<div class="result" id="lid-%[1]d" data-ypid="%[1]d" data-analytics='{"act":1,"ypid":"%[1]d","listing_type":"free","rank":%[2]d,"content_provider":"mdm","features":"directions,phone"}'>
<div class="srp-listing clickable-area mdm"><div class="v-card"><div class="media-thumbnail"><a class="media-thumbnail-wrapper" href="/shop/mip/shop-%[1]d" rel="nofollow" data-impressed="1"><img class="photo" src="/images/default-thumbnails/generic.png" width="114" height="84" alt="" loading="lazy"></a></div>
<div class="info"><div class="info-section info-primary"><h2 class="n">%[2]d. <a class="business-name" href="/shop/mip/shop-%[1]d" data-analytics='{"target":"name","click_id":20,"ypid":"%[1]d"}'><span>%[3]s</span></a></h2>
<div class="ratings"><a class="rating" href="/shop/mip/shop-%[1]d#yp-rating"><div class="result-rating four half"></div><span class="count">(%[4]d)</span></a></div>
<div class="categories"><a href="/springfield-il/plumbers">Plumbers</a><a href="/springfield-il/water-heaters">Water Heaters &amp; Tanks</a></div>
<div class="links"><a class="track-visit-website" href="https://www.shop%[1]d.example/" rel="nofollow noopener" target="_blank">Website</a><a class="track-map-it" href="/listings/%[1]d/directions">Directions</a></div>
<div class="badges"><div class="years-in-business"><div class="count">%[4]d Years</div><span>in Business</span></div></div></div>
<div class="info-section info-secondary"><div class="phones phone primary">(217) 555-%04[5]d</div><div class="adr"><div class="street-address">%[4]d %[6]s St</div><div class="locality">Springfield, IL 62%03[4]d</div></div><div class="price-range">$$</div></div>
<div class="snippet"><p class="body"><span class="avatar"></span>From Business: %[7]s.</p></div></div>
<div class="cta-bar"><button type="button" class="button btn-call" aria-label="Call"><svg class="icon" width="16" height="16" viewBox="0 0 24 24"><path d="M9 16.17 4.83 12l-1.42 1.41L9 19 21 7l-1.41-1.41z"></path></svg><span class="label">Call</span></button>%[8]s</div></div></div></div>
`

// costPage is a page of 30 cards with 13 fields, five ads, menus, hidden boxes and scripts. It does not say
// how many listings there are.
func costPage(random *rand.Rand, first int, next string, disorder bool) string {
	var b strings.Builder
	script := func(n int) {
		b.WriteString("<script>")
		for range n {
			fmt.Fprintf(&b, "window.dataLayer.push({event:'%s',key:'%016x%016x%016x%016x%016x%016x%016x',on:function(){return document.querySelector('.%s')}});\n",
				words(random, 1), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64(), words(random, 1))
		}
		b.WriteString("</script>")
	}
	links := func(n int) {
		b.WriteString("<ul>")
		for range n {
			fmt.Fprintf(&b, `<li class="item"><a href="/springfield-il/%s" class="link" data-track="menu"><span>%s</span></a></li>`, words(random, 1), words(random, 2))
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString(`<!DOCTYPE html><html lang="en-US"><head><meta charset="utf-8"><title>Plumbers in Springfield | The Real Yellow Pages</title><style>` +
		strings.Repeat(".result{margin:0 1px}.v-card>a{color:#333}\n", 130) + "</style>")
	script(150)
	b.WriteString(`</head><body><header id="main-header"><a class="logo" href="/">The Real Yellow Pages</a>`)
	links(180)
	b.WriteString(`</header><div id="main-content"><div class="search-results organic">`)
	for i := range 30 {
		buttons := strings.Repeat(`<button type="button" class="button btn-save" data-analytics='{"click_id":1487,"act":2,"target":"save_to_mybook"}'><span class="label">Save</span></button>`, 13)
		fmt.Fprintf(&b, costCard, first+i+1, i+1, words(random, 3), 10+random.IntN(90), random.IntN(10_000), words(random, 1), words(random, 12), buttons)
	}
	b.WriteString(`</div>`)
	if next != "" {
		b.WriteString(`<div class="pagination"><ul><li><a class="next ajax-page" href="` + next + `">Next</a></li></ul></div>`)
	}
	b.WriteString(`</div><aside id="main-aside">`)
	for i := range 5 {
		fmt.Fprintf(&b, `<article class="srp-listing" data-ypid="9%d"><span class="ad-pill">Ad</span><a class="business-name" href="/ad/mip/ad-9%d">%s</a></article>`, i, i, words(random, 2))
	}
	b.WriteString(`</aside><footer id="main-footer">`)
	if disorder {
		b.WriteString("<ul><li>Terms<li>Privacy</ul>")
	}
	links(80)
	b.WriteString(`</footer><div hidden>`)
	links(80)
	b.WriteString(`</div>`)
	script(250)
	return b.String() + "</body></html>"
}

// crawlSite crawls the site whole into a new file, and returns what that took of the processors.
func crawlSite(tb testing.TB, d *town, targets, pages int) time.Duration {
	tb.Helper()
	w := newWorld(tb, d, layout{cities: targets, path: filepath.Join(tb.TempDir(), "crawl.db")})
	e := w.engine(func(c *crawl.Config) { c.Workers = 5 })
	runtime.GC()
	began := cpuTime()
	storetest.NoError(tb, w.crawl(e))
	took := cpuTime() - began
	if got := w.number("SELECT count(*) FROM listings WHERE rating > 0 AND phone <> '' AND snippet <> '' AND sponsored = 0"); e.Stats().Pages != int64(pages) || got != int64(30*pages) {
		tb.Fatalf("%d pages, %d listings; want %d, %d", e.Stats().Pages, got, pages, 30*pages)
	}
	return took
}

const (
	bareSchema = "CREATE TABLE listings (ypid TEXT PRIMARY KEY, name TEXT, phone TEXT, street TEXT, locality TEXT, website TEXT," +
		" categories TEXT, rating TEXT, reviews TEXT, years TEXT, price TEXT, snippet TEXT, profile TEXT) STRICT"
	bareUpsert = "INSERT INTO listings VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (ypid) DO UPDATE SET name = excluded.name," +
		" phone = excluded.phone, street = excluded.street, locality = excluded.locality, website = excluded.website, categories = excluded.categories," +
		" rating = excluded.rating, reviews = excluded.reviews, years = excluded.years, price = excluded.price, snippet = excluded.snippet, profile = excluded.profile"
)

// bareTexts and bareAttrs tell where in a row the text or an attribute of an element stands, by its class.
var (
	bareTexts = map[string]int{"business-name": 1, "phones phone primary": 2, "street-address": 3, "locality": 4, "categories": 6, "count": 8, "years-in-business": 9, "price-range": 10, "body": 11}
	bareAttrs = map[string]int{"business-name": 12, "track-visit-website": 5}
)

// bareLoop is what a page can't do without: net/http, the tokenizer, an upsert a listing and a commit a page. It
// returns what that took of the processors.
func bareLoop(tb testing.TB, urls []string) time.Duration {
	tb.Helper()
	check := func(err error) {
		storetest.NoError(tb, err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(tb.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(tb.Context(), bareSchema)
	check(err)
	upsert, err := db.PrepareContext(tb.Context(), bareUpsert)
	check(err)
	defer upsert.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	runtime.GC()
	began := cpuTime()
	rows := 0
	for _, u := range urls {
		req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, u, nil)
		check(err)
		resp, err := client.Do(req)
		check(err)
		tx, err := db.BeginTx(tb.Context(), nil)
		check(err)
		st := tx.StmtContext(tb.Context(), upsert)
		for _, row := range bareCards(html.NewTokenizer(resp.Body)) {
			_, err := st.ExecContext(tb.Context(), row...)
			check(err)
			rows++
		}
		check(st.Close()) //nolint:sqlclosecheck // one a page, in a loop
		check(tx.Commit())
		check(resp.Body.Close())
	}
	took := cpuTime() - began
	if rows != 30*len(urls) {
		tb.Fatalf("the bare loop read %d rows, want %d", rows, 30*len(urls))
	}
	return took
}

// bareCards reads the cards of a page in one pass over its tokens.
func bareCards(z *html.Tokenizer) (rows [][]any) {
	var row []any
	for into := 0; ; {
		switch z.Next() {
		case html.ErrorToken:
			return rows
		case html.TextToken:
			if text := bytes.TrimSpace(z.Text()); into > 0 && len(text) > 0 && row != nil {
				row[into], into = string(text), 0
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			_, more := z.TagName()
			var attrs [2]string // class, and href or data-ypid
			for more {
				var key, val []byte
				switch key, val, more = z.TagAttr(); string(key) {
				case "class":
					attrs[0] = string(val)
				case "href", "data-ypid":
					attrs[1] = string(val)
				}
			}
			switch class := attrs[0]; {
			case class == "result":
				row = make([]any, 13)
				row[0] = attrs[1]
				rows = append(rows, row)
			case strings.HasPrefix(class, "result-rating ") && row != nil:
				row[7] = class
			case row != nil && attrs[0] != "":
				if n := bareTexts[class]; n > 0 && row[n] == nil {
					into = n
				}
				if n := bareAttrs[class]; n > 0 && row[n] == nil {
					row[n] = attrs[1]
				}
			}
		}
	}
}
