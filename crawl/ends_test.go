package crawl_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// When a crawl of a list is complete: it may close what it missed when a word of the site proves
// that it has read all, and nothing forbids it. Where the end can't be known the target is DONE
// without a confirmed end, with its pages kept, and closes nothing.

// leaf is a results page.
type leaf struct {
	cards, ads []biz
	count      string // "Showing 1-30 of 93"
	bar        string // what follows the cards
	bad        int    // cards without id and name
	above      string // what precedes the cards
}

func (l leaf) html() string {
	s := l.above
	if l.count != "" {
		s += `<div class="showing-count">` + l.count + `</div>`
	}
	s += `<div class="center-ads">`
	for _, b := range l.ads {
		s += b.html()
	}
	s += `</div><div class="search-results organic">`
	for _, b := range l.cards {
		s += b.html()
	}
	s += strings.Repeat(biz{}.html(), l.bad)
	return shell(s + `</div>` + l.bar)
}

// barOf makes what follows the cards of page at of last of a list.
type barOf func(path string, at, last int) string

// nextBar is the pagination of the Yellow Pages, which the last page has, too.
func nextBar(path string, at, last int) string {
	s := `<div class="pagination"><ul>`
	if at > 1 {
		s += `<li><a class="prev" href="` + pageURL(path, at-1) + `">Previous</a></li>`
	}
	if at < last {
		s += `<li><a class="next ajax-page" href="` + pageURL(path, at+1) + `">Next</a></li>`
	}
	return s + `</ul></div>`
}

// nextAlone is the same without a pagination on the last page.
func nextAlone(path string, at, last int) string {
	if at == last {
		return ""
	}
	return nextBar(path, at, last)
}

// endless leads on from the last page, too.
func endless(path string, at, last int) string { return nextBar(path, at, last+1) }

// without is no pagination at all.
func without(string, int, int) string { return "" }

// numberBar is the numbers of the pages, in blocks of ten; a script leads to the other blocks.
func numberBar(path string, at, last int) string {
	first := (at-1)/10*10 + 1
	s := `<div class="pagination"><ul>`
	if first > 1 {
		s += `<li><a href="javascript:block(` + fmt.Sprint(first-1) + `)">«</a></li>`
	}
	for n := first; n <= min(first+9, last); n++ {
		if n == at {
			s += fmt.Sprintf(`<li class="active"><span>%d</span></li>`, n)
		} else {
			s += fmt.Sprintf(`<li><a href="%s">%d</a></li>`, pageURL(path, n), n)
		}
	}
	if first+9 < last {
		s += `<li><a href="javascript:block(` + fmt.Sprint(first+10) + `)">»</a></li>`
	}
	return s + `</ul></div>`
}

// likeThis makes a pagination that is the same on every page but the last, which has none.
func likeThis(s string) barOf {
	return func(path string, at, last int) string {
		if at == last {
			return ""
		}
		return strings.NewReplacer("NEXT", pageURL(path, at+1), "NUMBER", fmt.Sprint(at+1)).Replace(s)
	}
}

// leaves cuts a list into pages of a size.
func leaves(path string, size int, cards []biz, bar barOf) (all []leaf) {
	for part := range slices.Chunk(cards, size) {
		all = append(all, leaf{cards: part})
	}
	for i := range all {
		all[i].bar = bar(path, i+1, len(all))
	}
	return all
}

// counted says on each page of a list which part of it is shown.
func counted(total int, all []leaf) []leaf {
	from := 1
	for i := range all {
		to := from + len(all[i].cards) - 1
		all[i].count = fmt.Sprintf("Showing %d-%d of %d", from, to, total)
		from = to + 1
	}
	return all
}

// ofTotal says the same without the part.
func ofTotal(total int, all []leaf) []leaf {
	for i := range all {
		all[i].count = fmt.Sprintf("of %d", total)
	}
	return all
}

// shows lets a list have these pages and no others.
func (w *world) shows(path string, all ...leaf) {
	w.forget(path)
	w.on(path+"*", func(rw http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if n = max(n, 1); n > len(all) {
			status(http.StatusNotFound, shell("No such page"))(rw, r)
			return
		}
		ok(all[n-1].html())(rw, r)
	})
}

// forget takes all pages of a list away.
func (w *world) forget(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri := range w.routes {
		if p, _, _ := strings.Cut(uri, "?"); strings.TrimSuffix(p, "*") == path {
			delete(w.routes, uri)
		}
	}
}

// verdict is what coverage says of a target.
func (w *world) verdict(id int64) string {
	w.t.Helper()
	return strings.Join(w.table(`SELECT iif(unread IS NULL, 'complete', unread) || ', ' || page_current || iif(page_current = 1, ' page', ' pages') || iif(last_error_code IS NULL, '', ' ' || last_error_code)
		FROM targets_and_coverage WHERE id = ?`, id), "")
}

// verdicts compares what is said of all targets, in the order of their cities.
func (w *world) verdicts(want ...string) {
	w.t.Helper()
	var got []string
	unread := 0
	for i := range want {
		got = append(got, w.verdict(int64(i+1)))
		if word, _, _ := strings.Cut(got[i], ","); word == want[i] {
			got[i] = word // however many pages that is
		}
		if !strings.HasPrefix(got[i], "complete") {
			unread++
		}
	}
	w.same("verdicts", got, want)
	c, err := report.New(w.db).CoverageTotals(w.t.Context(), w.scope)
	storetest.NoError(w.t, err)
	storetest.Equal(w.t, c.Unread.Targets, int64(unread), "coverage counts of targets not read to their ends")
}

// askedTwiceAtMost fails the test where a page was asked for more often.
func (w *world) askedTwiceAtMost() {
	w.t.Helper()
	times := map[string]int{}
	for _, uri := range w.asked() {
		if times[uri]++; times[uri] == 3 {
			w.t.Errorf("%s was asked for more than twice", uri)
		}
	}
}

// pass crawls what is due. Whoever runs it lets a source that an alarm has paused go on.
func (w *world) pass() {
	w.t.Helper()
	for range 3 {
		w.write(`UPDATE sources SET enabled = 1`)
		w.start()
		if _, err := w.run.BeginPass(w.t.Context(), w.scope, nil); err != nil {
			w.t.Fatal(err)
		}
		_ = w.crawl(w.engine()) // an alarm may end it: what became of the targets is what counts
		storetest.NoError(w.t, w.run.Finish(w.t.Context(), checkpoint.OutcomeDone, 0))
		if w.number(`SELECT count(*) FROM targets WHERE status IN ('PLANNED', 'FAILED')`) == 0 {
			break
		}
		time.Sleep(3 * time.Hour)
	}
}

// nextWeek lets time pass until all is due again.
func nextWeek() { time.Sleep(8 * 24 * time.Hour) }

// ending is a site, and what a crawl of it has to say of its lists.
type ending struct {
	name   string
	layout layout
	site   func(w *world)
	want   []string // of the targets
}

const (
	big   = target // city 0
	small = "/city-1-ca/plumbers"
)

// repeating is a card of which some pages have another again.
func repeating(all []leaf, page int, again ...biz) []leaf {
	copy(all[page-1].cards, again)
	return all
}

// TestEnds: what proves that a list was read to its end, and what forbids to say so.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range slices.Concat(totalEndings(), pageEndings(), linkEndings(), keyEndings()) {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, tt.layout)
			tt.site(w)
			w.pass()
			w.verdicts(tt.want...)
			w.askedTwiceAtMost()
		})
	}
}

// totalEndings are about what the site counts.
func totalEndings() []ending {
	at := func(path string, size, n int, bar barOf) []leaf { return leaves(path, size, shops(1, n), bar) }
	return []ending{
		{"1,108 listings, and page 36 has lost its next link", layout{}, func(w *world) {
			all := counted(1108, at(big, 30, 1108, nextBar))
			all[35].bar = ""
			for i := range all {
				all[i].count = strings.Replace(all[i].count, "of 1108", "of 1,108", 1)
			}
			w.shows(big, all...)
		}, []string{"unconfirmed, 36 pages"}},
		{"all of 1,108", layout{}, func(w *world) { w.shows(big, counted(1108, at(big, 30, 1108, nextAlone))...) }, []string{"complete, 37 pages"}},
		{"three pages of 93 listings", layout{pages: 3}, func(w *world) { w.shows(big, counted(93, at(big, 30, 93, nextBar))...) }, []string{"max_pages, 3 pages"}},
		{"four pages of 93 listings", layout{pages: 4}, func(w *world) { w.shows(big, counted(93, at(big, 30, 93, nextBar))...) }, []string{"complete, 4 pages"}},
		{"a total that counts the ads along, and a pagination that ends", layout{}, func(w *world) {
			all := ofTotal(53, at(big, 30, 50, nextBar))
			for i := range all {
				all[i].ads = shops(901, 3)
			}
			w.shows(big, all...)
		}, []string{"complete, 2 pages"}},
		{"a total that counts the ads along, and no pagination at the end", layout{}, func(w *world) {
			all := ofTotal(53, at(big, 30, 50, nextAlone))
			for i := range all {
				all[i].ads = shops(901, 3)
			}
			w.shows(big, all...)
		}, []string{"unconfirmed, 2 pages"}},
		{"a total that is reached on one page, without a pagination", layout{}, func(w *world) { w.shows(big, ofTotal(30, at(big, 30, 30, without))...) }, []string{"complete, 1 page"}},
		{"a total of which a third is missing in another order each time", layout{}, func(w *world) {
			all := ofTotal(60, at(big, 20, 60, nextBar))
			w.shows(big, repeating(repeating(all, 2, shops(1, 10)...), 3, shops(5, 12)...)...)
		}, []string{"unconfirmed, 3 pages"}},
		{"a range that ends at the total, one listing twice", layout{}, func(w *world) {
			w.shows(big, repeating(counted(63, at(big, 30, 63, nextAlone)), 3, shops(5, 1)...)...)
		}, []string{"complete, 3 pages"}},
		{"a total without a range, one listing twice, no pagination at the end", layout{}, func(w *world) {
			w.shows(big, repeating(ofTotal(63, at(big, 30, 63, nextAlone)), 3, shops(5, 1)...)...)
		}, []string{"unconfirmed, 3 pages"}},
		{"a card that can't be read", layout{}, func(w *world) {
			all := ofTotal(33, at(big, 30, 33, nextBar))
			all[0].cards, all[0].bad = all[0].cards[:29], 1
			w.shows(big, all...)
		}, []string{"unconfirmed, 2 pages"}},
		{"a tenth of the listings again on a later page", layout{}, func(w *world) {
			w.shows(big, repeating(at(big, 20, 50, nextBar), 2, shops(1, 5)...)...)
		}, []string{"unconfirmed, 3 pages"}},
		{"two that are promoted on every page", layout{}, func(w *world) {
			all := at(big, 20, 50, nextBar)
			for i := 1; i < len(all); i++ {
				all[i].cards = append(shops(1, 2), all[i].cards...)
			}
			w.shows(big, all...)
		}, []string{"complete, 3 pages"}},
	}
}

// pageEndings are about how full pages are, and what a source has shown for other targets.
func pageEndings() []ending {
	at := func(path string, size, n int, bar barOf) []leaf { return leaves(path, size, shops(1, n), bar) }
	const first = "complete, 4 pages" // of the first target, that others follow
	unknown := func(path string, _, _ int) string { return `<div class="leaf"><a class="fwd"><img alt=""></a></div>` }
	return []ending{
		{"one full page", layout{}, func(w *world) { w.shows(big, at(big, 30, 30, without)...) }, []string{"unconfirmed, 1 page"}},
		{"one full page beside a long list", layout{cities: 2}, func(w *world) {
			w.shows(big, ofTotal(110, leaves(big, 30, shops(5001, 110), nextBar))...)
			w.shows(small, at(small, 30, 30, without)...)
		}, []string{first, "unconfirmed, 1 page"}},
		{"a small town beside a long list", layout{cities: 2}, func(w *world) {
			w.shows(big, ofTotal(110, leaves(big, 30, shops(5001, 110), nextBar))...)
			w.shows(small, at(small, 30, 4, without)...)
		}, []string{first, "complete, 1 page"}},
		{"a small town alone", layout{}, func(w *world) { w.shows(big, at(big, 30, 4, without)...) }, []string{"unconfirmed, 1 page"}},
		{"a small town before a long list", layout{cities: 2}, func(w *world) {
			w.shows(big, at(big, 30, 4, without)...)
			w.shows(small, ofTotal(110, leaves(small, 30, shops(5001, 110), nextBar))...)
		}, []string{"unconfirmed, 1 page", "complete, 4 pages"}},
		{"a small town beside two pages with next links", layout{cities: 2}, func(w *world) {
			w.shows(big, ofTotal(80, leaves(big, 30, shops(5001, 80), nextBar))...)
			w.shows(small, at(small, 30, 4, without)...)
		}, []string{"complete, 3 pages", "unconfirmed, 1 page"}},
		{"33 cards on page 1 and 30 on the others", layout{cities: 2}, func(w *world) {
			w.shows(big, ofTotal(123, slices.Concat(
				[]leaf{{cards: shops(5001, 33), bar: nextBar(big, 1, 4)}},
				[]leaf{{cards: shops(5034, 30), bar: nextBar(big, 2, 4)}, {cards: shops(5064, 30), bar: nextBar(big, 3, 4)}, {cards: shops(5094, 30), bar: nextBar(big, 4, 4)}}))...)
			w.shows(small, leaf{cards: shops(1, 33), bar: nextBar(small, 1, 2)}, leaf{cards: shops(34, 30)})
		}, []string{first, "unconfirmed, 2 pages"}},
		{"an exact multiple, the last page with its pagination", layout{}, func(w *world) { w.shows(big, at(big, 30, 60, nextBar)...) }, []string{"unconfirmed, 2 pages"}},
		{"an exact multiple beside a longer list", layout{cities: 2}, func(w *world) {
			w.shows(big, ofTotal(110, leaves(big, 30, shops(5001, 110), nextBar))...)
			w.shows(small, at(small, 30, 60, nextBar)...)
		}, []string{first, "complete, 2 pages"}},
		{"a list that is not a multiple", layout{}, func(w *world) { w.shows(big, at(big, 30, 70, nextBar)...) }, []string{"complete, 3 pages"}},
		{"ten pages of everything", layout{cities: 2}, func(w *world) {
			w.shows(big, at(big, 3, 30, nextBar)...)
			w.shows(small, leaves(small, 3, shops(101, 30), nextBar)...)
		}, []string{"unconfirmed, 10 pages", "unconfirmed, 10 pages"}},
		{"ten pages of everything, with a total", layout{}, func(w *world) { w.shows(big, ofTotal(400, at(big, 3, 30, nextBar))...) }, []string{"unconfirmed, 10 pages"}},
		{"pages of 30 after pages of 50, the next link unknown", layout{cities: 2}, func(w *world) {
			w.shows(big, leaves(big, 30, shops(5001, 30), unknown)...)
			w.shows(small, leaves(small, 30, shops(1, 30), unknown)...)
		}, []string{"unconfirmed, 1 page", "unconfirmed, 1 page"}},
	}
}

// linkEndings are about what leads on, and what is behind the last page.
func linkEndings() []ending {
	at := func(path string, size, n int, bar barOf) []leaf { return leaves(path, size, shops(1, n), bar) }
	after := func(total int, page ...leaf) func(w *world) {
		return func(w *world) {
			all := at(big, 30, 90, endless)
			if total > 0 {
				all = ofTotal(total, all)
			}
			w.shows(big, append(all, page...)...)
		}
	}
	again := func(first int) leaf { return leaf{cards: shops(first, 30), bar: nextBar(big, 4, 5)} }
	all := []ending{
		{"the last page again", layout{}, after(0, again(61)), []string{"unconfirmed, 3 pages"}},
		{"the last page again, the total reached", layout{}, after(90, again(61)), []string{"complete, 3 pages"}},
		{"page 1 again", layout{}, after(0, again(1)), []string{"unconfirmed, 3 pages"}},
		{"page 1 again, the total reached", layout{}, after(90, again(1)), []string{"complete, 3 pages"}},
		{"404 behind a full page", layout{}, after(0), []string{"unconfirmed, 3 pages"}},
		{"404 behind a full page, the total reached", layout{}, after(90), []string{"complete, 3 pages"}},
		{"an empty page behind the last", layout{}, func(w *world) {
			after(0)(w)
			w.on(pageURL(big, 4), ok(noResults()))
		}, []string{"complete, 3 pages"}},
		{"numbers without a next link", layout{}, func(w *world) { w.shows(big, at(big, 10, 75, numberBar)...) }, []string{"complete, 8 pages"}},
		{"twelve numbers in blocks of ten", layout{}, func(w *world) { w.shows(big, at(big, 3, 35, numberBar)...) }, []string{"unconfirmed, 10 pages"}},
		{"twelve numbers in blocks of ten, with a total", layout{}, func(w *world) { w.shows(big, ofTotal(35, at(big, 3, 35, numberBar))...) }, []string{"unconfirmed, 10 pages"}},
	}
	for _, l := range []struct{ name, bar, want string }{
		{"a line break and a tab", `<div class="pagination"><a class="next" href="` + "\n\tNE\tXT\n" + `">Next</a></div>`, ""},
		{"a next link in noscript", `<noscript><div class="pagination"><a class="next" href="NEXT">Next</a></div></noscript>`, ""},
		{"a stray percent sign", `<div class="pagination"><a class="next" href="NEXT&amp;sale=100%">Next</a></div>`, ""},
		{"a blank", `<div class="pagination"><a class="next" href="NEXT&amp;near=old town">Next</a></div>`, ""},
		{"a script", `<div class="pagination"><a class="next" href="javascript:go(NUMBER)">Next</a></div>`, "unconfirmed, 1 page"},
		{"a form with POST", `<form class="pagination" method="post" action="/more"><input name="page" value="NUMBER"><button>Load more</button></form>`, "unconfirmed, 1 page"},
		{"a button", `<div class="feed"><button data-page="NUMBER">Show more</button></div>`, "unconfirmed, 1 page"},
		{"an address of 9,000 bytes", `<div class="pagination"><a class="next" href="NEXT&amp;seen=` + strings.Repeat("0123456789", 900) + `">Next</a></div>`, "unconfirmed, 1 page"},
		{"an address with a user", `<div class="pagination"><a class="next" href="//user@directory.testNEXT">Next</a></div>`, "unconfirmed, 1 page"},
		{"a class that no rule has", `<div class="leaf"><a class="fwd" href="javascript:go(NUMBER)"></a></div>`, "unconfirmed, 1 page"},
	} {
		want := l.want
		if want == "" { // it is followed, and the total is reached
			want = "complete, 3 pages"
		}
		all = append(all, ending{"a link on: " + l.name, layout{}, func(w *world) { w.shows(big, linked(l.bar, l.want == "")...) }, []string{want}})
	}
	return all
}

// keyEndings are about what a definition says of the ends of lists.
func keyEndings() []ending {
	if !withEndKeys {
		return nil
	}
	one, last := layout{yaml: "next: none\n"}, layout{yaml: "last: {selectors: [.list-end], texts: [page 3 of 3]}\n"}
	page := func(total int, bar barOf) func(w *world) {
		return func(w *world) {
			all := leaves(big, 30, shops(1, 30), bar)
			if total > 0 {
				all = ofTotal(total, all)
			}
			w.shows(big, all...)
		}
	}
	marked := func(mark string) func(w *world) {
		return func(w *world) {
			all := leaves(big, 30, shops(1, 90), nextAlone)
			all[2].bar = mark
			w.shows(big, all...)
		}
	}
	return []ending{
		{"next: none", one, page(0, without), []string{"complete, 1 page"}},
		{"next: none, and a total that says otherwise", one, page(93, without), []string{"unconfirmed, 1 page"}},
		{"next: none, and a pagination that says otherwise", one, page(0, endless), []string{"unconfirmed"}},
		{"the mark of a last page", last, marked(`<p class="list-end"></p>`), []string{"complete, 3 pages"}},
		{"the words of a last page", last, marked(`<p>Page 3 of 3</p>`), []string{"complete, 3 pages"}},
		{"neither", last, marked(`<p>Page 3 of 4</p>`), []string{"unconfirmed, 3 pages"}},
	}
}

// linked is a list of three pages, with such a link on but on the last page.
func linked(bar string, total bool) []leaf {
	all := leaves(big, 30, shops(1, 80), likeThis(strings.Replace(bar, "NE\tXT", big+"?pa\tge=NUMBER", 1)))
	if total {
		all = ofTotal(80, all)
	}
	return all
}
