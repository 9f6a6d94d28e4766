package crawl_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/site"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// Lists without links: JSON that is asked for by page, offset or cursor.

// storesAPI is the definition of an API; PAGING and more of it come from a test.
const storesAPI = `
name: test
base_url: http://placeholder.example
delay: 0s
format: json
chrome: {json: [stores]}
total: [total]
cards: {items: stores}
fields: {id: id, name: name}
`

const emptyAPI = "empty: {json: [{json: 'stores.#', match: '^0$'}]}\n"

// api is a list of so many shops.
type api struct {
	shops  int
	most   int            // listings that it gives at once; 0 = as many as are asked for, or 10
	total  bool           // it counts them
	hidden map[int]bool   // shops that it filters out behind its paging
	broken map[int]string // by the number of the request, from 1: what it says instead
	asked  int
	at     []string // what was asked for

	first int // the offset of the first listing
	shift int // the request from which on a listing stands before the first

	epoch string                    // of the cursors that are good
	stale func(http.ResponseWriter) // how one is answered that is good no more; nil = with 400
}

// serve answers for the shops from offset on.
func (a *api) serve(w http.ResponseWriter, from, want int, more func(answer map[string]any, next int)) {
	a.asked++
	w.Header().Set("Content-Type", "application/json")
	if text, ok := a.broken[a.asked]; ok {
		_, _ = w.Write([]byte(text))
		return
	}
	if a.most > 0 {
		want = min(want, a.most)
	}
	shops := []map[string]any{}
	from -= a.first
	last := min(from+want, a.shops)
	if a.shift > 0 && a.asked >= a.shift { // listing -1 stands before all
		from, last = from-1, min(from+want, a.shops+1)-1
	}
	for i := from; i < last; i++ {
		if !a.hidden[i] {
			shops = append(shops, map[string]any{"id": 1000 + i, "name": fmt.Sprint("Shop ", i)})
		}
	}
	answer := map[string]any{"stores": shops}
	if a.total {
		answer["total"] = a.shops - len(a.hidden)
	}
	if more != nil {
		more(answer, last)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// crawlsAPI returns a world whose source is an API.
func crawlsAPI(t *testing.T, a *api, targets, yaml string) *world {
	t.Helper()
	w := setup(t, layout{})
	src, err := site.Parse("test.yaml", []byte(storesAPI+"urls: {target: '"+targets+"'}\n"+yaml+map[bool]string{false: emptyAPI}[strings.Contains(yaml, "empty:")]))
	storetest.NoError(t, err)
	w.src = src.WithBaseURL(source(t, w.URL, "").BaseURL())
	w.on("/api*", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		number := func(key string) int { n, _ := strconv.Atoi(q.Get(key)); return n }
		a.at = append(a.at, cmp.Or(q.Get("page"), q.Get("from"), q.Get("after")))
		switch {
		case strings.Contains(targets, "{page}"):
			a.serve(rw, 10*(max(number("page"), 1)-1), 10, nil)
		case strings.Contains(targets, "{cursor}"):
			a.cursors(rw, q.Get("after"))
		default:
			a.serve(rw, number("from"), cmp.Or(number("n"), 10), nil)
		}
	})
	return w
}

// cursors answers for a list whose pages name the cursor of the next one, but for the last.
func (a *api) cursors(w http.ResponseWriter, after string) {
	from, good := 0, a.epoch+"-"
	if after != "" {
		text, ok := strings.CutPrefix(after, good)
		n, err := strconv.Atoi(text)
		if from = n; !ok || err != nil {
			a.asked++
			if a.stale == nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			a.stale(w)
			return
		}
	}
	a.serve(w, from, 10, func(answer map[string]any, next int) {
		answer["next"] = nil
		if next < a.shops {
			answer["next"] = good + strconv.Itoa(next)
		}
	})
}

// TestPagesWithoutLinks: a list goes on until its total, or an empty page.
func TestPagesWithoutLinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		api    api
		asked  int
		ending yp.Ending
		yaml   string
	}{
		"a total":                      {api{shops: 25, total: true}, 3, yp.EndTotal, ""},
		"a total on a full page":       {api{shops: 30, total: true}, 3, yp.EndTotal, ""},
		"an empty page":                {api{shops: 25}, 4, yp.EndSaid, ""},
		"an empty page that is silent": {api{shops: 20, broken: map[int]string{3: `{"stores":[]}`, 4: `{"stores":[]}`}}, 3, "", "empty: {json: [nothing]}\n"},
	} {
		parallel(t, name, func(t *testing.T) {
			a := c.api
			w := crawlsAPI(t, &a, "/api?page={page}", "paging: {page: 1}\n"+c.yaml)
			w.done()
			var ending string
			storetest.NoError(t, w.db.Read().QueryRowContext(t.Context(), `SELECT ifnull(ending, '') FROM targets`).Scan(&ending))
			w.counts("listings", int64(min(a.shops, 10*c.asked)), `SELECT count(*) FROM listings`)
			if a.asked != c.asked || ending != string(c.ending) {
				t.Errorf("asked %d times (%q), ended by %q; want %d, %q", a.asked, a.at, ending, c.asked, c.ending)
			}
		})
	}
}

// TestErrorsWithStatus200: an answer that says that it is an error is asked for again, and closes nothing.
func TestErrorsWithStatus200(t *testing.T) {
	t.Parallel()
	failed := `{"errors":[{"message":"internal"}],"stores":[],"total":0}`
	a := api{shops: 25, total: true, broken: map[int]string{2: failed}}
	w := crawlsAPI(t, &a, "/api?page={page}", "paging: {page: 1}\n")
	w.done()
	w.counts("listings", 25, `SELECT count(*) FROM listings`)
	w.counts("failed requests", 1, `SELECT count(*) FROM requests WHERE error_class = 'http_5xx' AND http_status = 200`)

	a.broken = map[int]string{}
	for i := range 40 {
		a.broken[i] = failed
	}
	w.write(`UPDATE targets SET status = 'PLANNED', page_current = 0, next_page_url = NULL, not_before = NULL, wait_reason = NULL`)
	w.start()
	w.done()
	w.counts("dropped", 0, `SELECT count(*) FROM listings WHERE dropped_at IS NOT NULL`)
	w.is(1, waiting, 0, yp.CodeNetworkError)
}

// TestThrottledWithStatus200: an answer that says there were too many requests holds the host, as a 429 does.
func TestThrottledWithStatus200(t *testing.T) {
	t.Parallel()
	a := api{shops: 5, total: true, broken: map[int]string{1: `{"errors":[{"message":"Rate limit exceeded"}]}`}}
	w := crawlsAPI(t, &a, "/api?page={page}", "paging: {page: 1}\n")
	if err := w.crawl(w.engine(func(c *crawl.Config) { c.Patience = time.Second })); err == nil || !strings.Contains(err.Error(), "too many requests") {
		t.Errorf("the run ended with %v", err)
	}
	w.counts("too many", 1, `SELECT count(*) FROM requests WHERE error_class = 'http_429' AND http_status = 200`)
	w.counts("handed back", 1, `SELECT count(*) FROM targets WHERE status = 'PLANNED' AND page_current = 0`)
	w.counts("held", 1, `SELECT count(*) FROM hosts WHERE held_for LIKE '%too many requests%'`)
}

// TestOffsets: what a site gives decides where the next page begins, and nothing is left out.
func TestOffsets(t *testing.T) {
	t.Parallel()
	hidden := map[int]bool{3: true, 4: true, 17: true, 31: true}
	for name, c := range map[string]struct {
		api    api
		yaml   string
		asked  string
		ending yp.Ending
	}{
		"full pages": {api{shops: 25, total: true}, "paging: {offset: 0, step: 10}\n", "0 10 20", yp.EndTotal},
		"a cap":      {api{shops: 45, most: 20, total: true}, "paging: {offset: 0, step: 50}\n", "0 20 40", yp.EndTotal},
		"a cap without a total": {
			api{shops: 45, most: 20}, "paging: {offset: 0, step: 50}\n", "0 20 40 45", yp.EndSaid,
		},
		"filtered behind paging": {
			api{shops: 42, hidden: hidden}, "paging: {offset: 0, step: 10}\n", "0 8 18 28 38 48", yp.EndSaid,
		},
		"filtered behind a cap": { // a step would pass over what is behind the cap
			api{shops: 45, most: 8, hidden: map[int]bool{1: true, 9: true, 10: true, 20: true, 33: true}},
			"paging: {offset: 0, step: 20}\n",
			"0 7 15 23 31 39 47", yp.EndSaid,
		},
		"filtered, and the total counts what is shown": {
			api{shops: 42, hidden: hidden, total: true}, "paging: {offset: 0, step: 10}\n", "0 8 18 28 38", yp.EndTotal,
		},
		"much filtered, and the total counts what is shown": { // by offset the total is reached early
			api{shops: 60, hidden: everyThird(60), total: true}, "paging: {offset: 0, step: 10}\n", "0 7 16 25 34 43 52", yp.EndTotal,
		},
		"counted from 1": {api{shops: 25, total: true}, "paging: {offset: 1, step: 10}\n", "1 11 21", yp.EndTotal},
	} {
		parallel(t, name, func(t *testing.T) {
			a := c.api
			w := crawlsAPI(t, &a, "/api?from={offset}&n=50", c.yaml)
			if strings.Contains(c.yaml, "step: 10") {
				a.most = 10
			}
			a.first = strings.Count(c.yaml, "offset: 1")
			w.done()
			w.counts("listings", int64(a.shops-len(a.hidden)), `SELECT count(*) FROM listings`)
			w.ending(1, c.ending)
			storetest.Equal(t, strings.Join(a.at, " "), c.asked, "asked for")
		})
	}
}

// TestInsertedBehindACap: a listing that is added before a page of a site with a cap is no sign that it filters: nothing is passed over.
func TestInsertedBehindACap(t *testing.T) {
	t.Parallel()
	a := api{shops: 60, most: 20}
	w := crawlsAPI(t, &a, "/api?from={offset}", "paging: {offset: 0, step: 50}\n")
	a.shift = 2 // from the second request on one is added at the front
	w.done()
	w.counts("listings", 60, `SELECT count(*) FROM listings WHERE CAST(listing_id AS INTEGER) >= 1000`)
}

// TestCursors: a list ends where the site says so, and the cursor of a page that was resumed may be good no more.
func TestCursors(t *testing.T) {
	t.Parallel()
	const yaml = "paging: {cursor: {json: next}}\n"
	parallel(t, "to the total", func(t *testing.T) {
		a := api{shops: 25, total: true}
		w := crawlsAPI(t, &a, "/api?after={cursor}", yaml)
		w.done()
		w.counts("listings", 25, `SELECT count(*) FROM listings`)
		w.ending(1, yp.EndTotal)
		if a.asked != 3 || a.at[0] != "" {
			t.Errorf("asked %q", a.at)
		}
	})
	parallel(t, "no cursor is no word of the end", func(t *testing.T) {
		a := api{shops: 25}
		w := crawlsAPI(t, &a, "/api?after={cursor}", yaml)
		w.done()
		w.ending(1, yp.EndNoWord)
	})
	parallel(t, "a sign of the last page", func(t *testing.T) {
		a := api{shops: 25}
		w := crawlsAPI(t, &a, "/api?after={cursor}", yaml+"last: {json: [{json: stores.4.id, match: '^1024$'}]}\n")
		w.done()
		w.ending(1, yp.EndSaid)
	})
	for name, stale := range map[string]func(http.ResponseWriter){
		"refused":  nil,
		"an error": func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"errors":[{"message":"invalid cursor"}]}`)) },
		"nothing":  func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"stores":[]}`)) },
		"the first page": func(w http.ResponseWriter) {
			(&api{shops: 25}).cursors(w, "")
		},
	} {
		parallel(t, "a resumed cursor that brings "+name, func(t *testing.T) {
			a := api{shops: 25, total: true, stale: stale}
			w := crawlsAPI(t, &a, "/api?after={cursor}", yaml)
			_ = w.crawl(w.engine(func(c *crawl.Config) { c.Budget.Requests = 2 }))
			w.counts("pages before", 2, `SELECT page_current FROM targets WHERE id = 1`)
			a.epoch = "new"
			w.start()
			w.done()
			w.counts("listings", 25, `SELECT count(*) FROM listings`)
			w.counts("crawls", 2, `SELECT crawls FROM targets WHERE id = 1`)
			w.is(1, yp.Done, 3, "")
			w.ending(1, yp.EndTotal)
		})
	}
}

// TestEmptyPagesWithCursors: an empty page that names another cursor is no end, as long as they are few.
func TestEmptyPagesWithCursors(t *testing.T) {
	t.Parallel()
	const yaml = "paging: {cursor: {json: next}}\n"
	parallel(t, "listings behind them", func(t *testing.T) {
		a := api{shops: 57, hidden: map[int]bool{}}
		for i := range 30 { // three pages
			a.hidden[10+i] = true
		}
		w := crawlsAPI(t, &a, "/api?after={cursor}", yaml)
		w.done()
		w.counts("listings", 27, `SELECT count(*) FROM listings`)
		w.is(1, yp.Done, 3, "")
	})
	parallel(t, "for ever", func(t *testing.T) {
		a := api{shops: 1000, hidden: map[int]bool{}}
		for i := range 990 {
			a.hidden[10+i] = true
		}
		w := crawlsAPI(t, &a, "/api?after={cursor}", yaml)
		w.done()
		w.ending(1, yp.EndSaid)
		if w.counts("listings", 10, `SELECT count(*) FROM listings`); a.asked != 5 {
			t.Errorf("asked %d times", a.asked)
		}
	})
}

// TestPartialAnswers: GraphQL's answers in part are stored, and close nothing.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	a := api{shops: 15, total: true}
	w := crawlsAPI(t, &a, "/api?page={page}", "paging: {page: 1}\n")
	w.done()
	w.counts("listings", 15, `SELECT count(*) FROM listings`)
	a.broken = map[int]string{a.asked + 1: `{"errors":[{"message":"one shard is down"}],"total":1,"stores":[{"id":1000,"name":"Shop 0"}]}`}
	w.write(`UPDATE targets SET status = 'PLANNED', page_current = 0, next_page_url = NULL, not_before = NULL, wait_reason = NULL`)
	w.start()
	w.done()
	w.counts("missed", 0, `SELECT count(*) FROM sightings WHERE missed > 0`)
	w.ending(1, yp.EndTooFew)
}

// TestPartialAnswerIsNoEnd: an answer in part is shorter than others because something is missing of it, so the list goes on.
func TestPartialAnswerIsNoEnd(t *testing.T) {
	t.Parallel()
	a := api{shops: 55, broken: map[int]string{5: `{"errors":[{"message":"one shard is down"}],"stores":[{"id":1040,"name":"Shop 40"}]}`}}
	w := crawlsAPI(t, &a, "/api?page={page}", "paging: {page: 1}\n")
	w.done()
	w.counts("listings", 46, `SELECT count(*) FROM listings`)
	w.ending(1, yp.EndUnreadable)
}

// TestFilteredPages: of pages that have not one length the shortest so far is no last one.
func TestFilteredPages(t *testing.T) {
	t.Parallel()
	a := api{shops: 60, hidden: map[int]bool{11: true, 21: true, 22: true, 31: true, 32: true, 33: true, 40: true, 41: true, 42: true, 43: true}}
	w := crawlsAPI(t, &a, "/api?page={page}", "paging: {page: 1}\n")
	w.done()
	w.counts("listings", 50, `SELECT count(*) FROM listings`)
	w.ending(1, yp.EndSaid)
}

// TestTotalThatFalls: a total that is much smaller than that of the page before ends no list.
func TestTotalThatFalls(t *testing.T) {
	t.Parallel()
	for name, targets := range map[string][2]string{
		"pages": {"/api?page={page}", "paging: {page: 1}\n"}, "offsets": {"/api?from={offset}", "paging: {offset: 0, step: 10}\n"},
	} {
		parallel(t, name, func(t *testing.T) {
			var second []string
			for i := range 10 {
				second = append(second, fmt.Sprintf(`{"id":%d,"name":"Shop %d"}`, 1010+i, 10+i))
			}
			a := api{shops: 45, total: true, broken: map[int]string{2: `{"total":12,"stores":[` + strings.Join(second, ",") + `]}`}}
			w := crawlsAPI(t, &a, targets[0], targets[1])
			w.done()
			w.counts("listings", 45, `SELECT count(*) FROM listings`)
			w.ending(1, yp.EndTotal)
		})
	}
}

// everyThird is each third of so many shops.
func everyThird(n int) map[int]bool {
	hidden := map[int]bool{}
	for i := 1; i < n; i += 3 {
		hidden[i] = true
	}
	return hidden
}

// TestFilteredAndResumed: what a page repeats of the one before, because it was asked for right behind that, is no order that changed,
// in a crawl that was resumed either.
func TestFilteredAndResumed(t *testing.T) {
	t.Parallel()
	a := api{shops: 50, most: 10, hidden: map[int]bool{0: true, 1: true, 2: true, 3: true}, total: true}
	w := crawlsAPI(t, &a, "/api?from={offset}&n=50", "paging: {offset: 0, step: 10}\n")
	_ = w.crawl(w.engine(func(c *crawl.Config) { c.Budget.Requests = 3 }))
	w.counts("pages before", 3, `SELECT page_current FROM targets WHERE id = 1`)
	w.start()
	w.done()
	w.counts("listings", 46, `SELECT count(*) FROM listings`)
	w.ending(1, yp.EndTotal)
}
