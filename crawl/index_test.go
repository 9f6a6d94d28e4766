package crawl_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// indexPage is a page of a state's index with the cities of these slugs.
func indexPage(state string, slugs ...string) string {
	var b strings.Builder
	for _, s := range slugs {
		fmt.Fprintf(&b, `<li><a href="/%s">%s</a></li>`, s, strings.TrimSuffix(s, "-"+state))
	}
	letters := ""
	for _, l := range "abcdefghijklmnopqrstuvwxyz" {
		letters += fmt.Sprintf(`<a href="/state-%s?page=%c">%c</a>`, state, l, l)
	}
	return shell(`<div class="alphabet">` + letters + `</div><section class="column list-content"><ul>` + b.String() + `</ul></section>`)
}

// indexes serves the indexes of states: one page with cities, and letters without.
func (w *world) indexes(states ...string) {
	for _, s := range states {
		w.on("/state-"+s, ok(indexPage(s, "alpha-"+s, "beta-"+s)))
		w.on("/state-"+s+"*", ok(indexPage(s)))
	}
}

// reads makes a run read the indexes of its scope, and nothing else.
func (w *world) reads() func(*crawl.Config) {
	return func(c *crawl.Config) {
		c.Index = &crawl.Index{
			Only: true, Gazetteer: places(w.t),
			Plan: checkpoint.Plan{TierPages: [4]int{0, 3, 2, 1}, Categories: []yp.Category{{Slug: "plumbers", Name: "Plumbers"}}},
		}
	}
}

// wantIndexes plans the indexes of states as `discover` does: what is done is due again, what
// failed is tried again.
func (w *world) wantIndexes(states ...string) {
	w.t.Helper()
	w.scope.States = states
	scope := w.scope
	scope.Kinds = []yp.Kind{yp.KindIndex}
	var indexes []checkpoint.StateIndex
	for _, s := range states {
		indexes = append(indexes, checkpoint.StateIndex{State: s, Pages: len(w.src.IndexRequests(s))})
	}
	storetest.NoError(w.t, w.keeper.PlanIndexes(w.t.Context(), scope.SourceID, indexes))
	if _, err := w.keeper.Operate(w.t.Context(), checkpoint.Reset, checkpoint.Chosen{Scope: scope}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.run.BeginPass(w.t.Context(), scope, new(time.Duration)); err != nil {
		w.t.Fatal(err)
	}
}

// discover reads the indexes of states with an engine of its own.
func (w *world) discover(states []string, change ...func(*crawl.Config)) error {
	w.t.Helper()
	w.wantIndexes(states...)
	return w.crawl(w.engine(append([]func(*crawl.Config){w.reads()}, change...)...))
}

// discovered reads the indexes of states and compares how each fared.
func (w *world) discovered(states []string, want ...string) {
	w.t.Helper()
	storetest.NoError(w.t, w.discover(states))
	w.fared(want...)
}

func (w *world) fared(want ...string) {
	w.t.Helper()
	got := storetest.Table(w.t, w.db, `SELECT state || ' ' || status || ' ' || page_current || '/' || max_pages || ' ' || raw_count || ' ' || ifnull(last_error_code, '') FROM targets WHERE kind = 'index' ORDER BY state`)
	if !slices.Equal(got, want) {
		w.t.Errorf("the indexes fared\n%q, want\n%q", got, want)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	parallel(t, "every page once, its requests on record, the searches planned", func(t *testing.T) {
		w := setup(t, layout{})
		w.indexes("az")
		w.discovered([]string{"AZ"}, "AZ DONE 27/27 2 ")
		w.counts("requests on record", 27, `SELECT count(*) FROM requests WHERE type = 'state_index' AND outcome = 'success'`)
		w.counts("page fetches", 27, `SELECT count(DISTINCT correlation_id) FROM requests WHERE type = 'state_index'`)
		w.counts("targets", 2, `SELECT count(*) FROM targets WHERE kind = 'search' AND state = 'AZ'`)
		if seen := w.asked(); len(seen) != 27 || seen[0] != "/state-az" || seen[26] != "/state-az?page=z" {
			t.Errorf("asked %q", seen)
		}
	})
	parallel(t, "a site that comes to ignore the letter removes no city", func(t *testing.T) {
		w := setup(t, layout{})
		w.indexes("az")
		w.on("/state-az?page=a", ok(indexPage("az", "alpha-az")))
		w.on("/state-az?page=c", ok(indexPage("az", "gamma-az", "delta-az")))
		w.discovered([]string{"AZ"}, "AZ DONE 27/27 4 ")
		first := ok(indexPage("az", "alpha-az", "beta-az"))
		for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
			w.on(fmt.Sprintf("/state-az?page=%c", letter), first)
		}
		for range 3 { // a new read, and what is left of it
			w.discovered([]string{"AZ"}, "AZ PLANNED 3/27 2 PARSE_ERROR")
			if n := w.number("SELECT count(*) FROM source_cities WHERE removed_at IS NOT NULL OR missed > 0"); n > 0 {
				t.Errorf("%d cities count as missing", n)
			}
		}
	})
	parallel(t, "a state that the source does not have, and a letter, have no cities", func(t *testing.T) {
		w := setup(t, layout{})
		w.indexes("nv")
		w.on("/state-nv?page=q", status(http.StatusNotFound, shell("No such page")))
		w.discovered([]string{"AZ", "NV"}, "AZ PARKED 0/27 0 NO_LISTINGS", "NV DONE 27/27 2 ")
	})
}

func TestIndexFailures(t *testing.T) {
	t.Parallel()
	home := func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/", http.StatusFound) }
	for name, tt := range map[string]struct {
		page http.HandlerFunc
		code yp.ErrorCode
		asks int // for the page
	}{
		"a page that can't be read":      {ok(shell(strings.Repeat("<div>", 600))), yp.CodeParseError, 1},
		"a page of another layout":       {ok(shell(`<p>Welcome to our new look.</p>`)), yp.CodeHTMLChanged, 1},
		"the homepage is no empty index": {home, yp.CodeBlockedProxy, 1},
	} {
		parallel(t, name, func(t *testing.T) {
			w := setup(t, layout{})
			w.indexes("az", "nv")
			w.on("/", ok(shell("Home")))
			storetest.NoError(t, w.discover([]string{"AZ"})) // what there was before
			before := len(w.asked())
			w.on("/state-az?page=c", tt.page)
			storetest.NoError(t, w.discover([]string{"AZ", "NV"}, func(c *crawl.Config) { c.Fetch = unheld{c.Fetch} }))
			w.fared(fmt.Sprintf("AZ PLANNED 3/27 2 %s", tt.code), "NV DONE 27/27 2 ")
			asks := 0
			for _, uri := range w.asked()[before:] {
				if uri == "/state-az?page=c" {
					asks++
				}
			}
			storetest.Equal(t, asks, tt.asks, "requests for the page")
			if n := w.number(`SELECT count(*) FROM source_cities WHERE removed_at IS NOT NULL`) + w.number(`SELECT count(*) FROM targets WHERE retired_at IS NOT NULL`); n != 0 {
				t.Errorf("%d cities or targets are gone after a crawl of the index that failed", n)
			}
			w.counts("an index page closed the source", 0, `SELECT count(*) FROM sources WHERE paused_until IS NOT NULL OR auto_disabled = 1`)
			w.on("/state-az?page=c", ok(indexPage("az")))
			before = len(w.asked())
			w.discovered([]string{"AZ"}, "AZ DONE 27/27 2 ", "NV DONE 27/27 2 ")
			if again := w.asked()[before:]; len(again) != 24 || again[0] != "/state-az?page=c" {
				t.Errorf("the crawl of the index went on with %q", again)
			}
		})
	}
}

// unheld forgets the penalties of a host: a test has no ten minutes.
type unheld struct{ crawl.Fetcher }

func (unheld) Hold(string, time.Duration, string) {}

// TestIndexFlood: an index without end makes no targets without end.
func TestIndexFlood(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on("/state-az*", func(rw http.ResponseWriter, r *http.Request) {
		var slugs []string
		for i := range 4000 {
			slugs = append(slugs, fmt.Sprintf("town%s%d-az", r.URL.Query().Get("page"), i))
		}
		ok(indexPage("az", slugs...))(rw, r)
	})
	w.discovered([]string{"AZ"}, "AZ PLANNED 2/27 8000 HTML_CHANGED")
	w.counts("targets were planned", 0, `SELECT count(*) FROM targets WHERE kind = 'search' AND state = 'AZ'`)
}

func TestIndexRobots(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.indexes("az", "nv")
	w.robots = "User-agent: *\nDisallow: /state-az\n"
	w.discovered([]string{"AZ", "NV"}, "AZ PARKED 0/27 0 "+string(yp.CauseDisallowed.Policy().Code), "NV DONE 27/27 2 ")
	w.counts("reasons", 1, `SELECT count(*) FROM targets WHERE state = 'AZ' AND last_error LIKE '%robots.txt%'`)
	for _, uri := range w.asked() {
		if strings.HasPrefix(uri, "/state-az") {
			t.Errorf("asked for %s", uri)
		}
	}
}

// TestIndexClosed: an index has many pages, so one whose source is closed in its middle is
// handed back.
func TestIndexClosed(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.indexes("az")
	w.on("/state-az?page=d", func(rw http.ResponseWriter, _ *http.Request) {
		w.write(`UPDATE sources SET enabled = 0`)
		ok(indexPage("az"))(rw, nil)
	})
	w.isBlocked(w.discover([]string{"AZ"}), store.SourceDisabled, "operator")
	w.fared("AZ PLANNED 5/27 2 ")
}
