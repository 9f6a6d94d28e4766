package store_test

import (
	"slices"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const promotions = `SELECT action, listing_id, ifnull(what, '') FROM promotion_log ORDER BY id`

// since gives what a step adds to a query's rows.
func since(t *testing.T, w *world, query string, step func()) []string {
	t.Helper()
	before := len(rows(t, w.DB, query))
	step()
	return rows(t, w.DB, query)[before:]
}

// pageAt says what page of which target's crawl is saved.
type pageAt struct {
	TargetID int64
	Page     int
	Crawl    int64
	Others   []string
	Rejected []yp.Rejection
}

func (at pageAt) of(w *world) store.PageOf {
	target := int(at.TargetID)
	return store.PageOf{SourceID: w.source(target), TargetID: at.TargetID, State: w.state(target), Crawl: at.Crawl}
}

// place saves a page and the ids beside it that are not kept.
func (w *world) place(t *testing.T, at pageAt, ls ...yp.Listing) store.Saved {
	t.Helper()
	var saved store.Saved
	noErr(t, w.Write(t.Context(), func(tx *store.Tx) (err error) {
		saved, err = store.SaveListings(tx, at.of(w), store.Prepare(&yp.Page{Number: at.Page, Listings: ls, Others: at.Others, Rejected: at.Rejected}))
		return err
	}))
	w.sound(t)
	return saved
}

func TestPromotionLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := yp.Listing{ID: "a", Name: "Acme", Phone: "(512) 555-0100", PhoneE164: "+15125550100", Categories: []string{"Plumbers"}, Rating: 4}
	b := yp.Listing{ID: "b", Name: "Bee"}
	other := func(change func(*yp.Listing)) func() []yp.Listing {
		return func() []yp.Listing {
			x := a
			change(&x)
			return []yp.Listing{x}
		}
	}
	both := func() []yp.Listing { return []yp.Listing{a, b} }
	for _, step := range []struct {
		what  string
		do    func() []yp.Listing
		crawl int64
		want  []string
	}{
		{"new", both, 1, []string{"promoted_create|a|", "promoted_create|b|"}},
		{"the same again", both, 1, nil},
		{"the same in the next crawl", both, 2, nil},
		{"another rank, ad and image", other(func(x *yp.Listing) { x.Rank, x.Sponsored, x.ImageURL = 7, true, "https://cdn.example/2.png" }), 2, nil},
		{"another way to write the phone", other(func(x *yp.Listing) { x.Phone = "512-555-0100" }), 2, nil},
		{
			"another name and rating", other(func(x *yp.Listing) { x.Name, x.Rating = "Acme Plumbing", 4.5 }), 3,
			[]string{`promoted_update|a|{"fields":["name","rating"]}`},
		},
		{"less than is known", func() []yp.Listing { return []yp.Listing{{ID: "a", Name: "Acme Plumbing"}} }, 3, nil},
		{"one that joins a company", func() []yp.Listing {
			return []yp.Listing{{ID: "c", Name: "Acme Plumbing", Phone: "1", PhoneE164: "+15125550100"}}
		}, 3, []string{`promoted_create|c|{"key":"tel:+15125550100|acme plumbing"}`}},
	} {
		same(t, step.what, since(t, w, promotions, func() { mustSave(t, w, 1, 1, step.crawl, step.do()...) }), step.want)
	}
	w.is(t, `SELECT field, old, new FROM listing_changes`, "name|Acme|Acme Plumbing", "rating|4|4.5")
}

// TestRatingKept: a rating is kept with its decimals, and another one is a change like any other. So is an address in one line.
func TestRatingKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for crawl, rating := range []float64{4.5, 4.7, 4.73, 4.73} {
		mustSave(t, w, 1, 1, int64(crawl+1), yp.Listing{ID: "a", Name: "Acme", Rating: rating, Address: "Hauptstr. 5, 80331 München"})
	}
	w.is(t, `SELECT rating, address FROM listings`, "4.73|Hauptstr. 5, 80331 München")
	w.is(t, `SELECT field, old, new FROM listing_changes ORDER BY new`, "rating|4.5|4.7", "rating|4.7|4.73")
}

// TestCompleted: what other markup shows more is no change; what the same target did not
// show before is one.
func TestCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	poor, rich := yp.Listing{ID: "a", Name: "A"}, yp.Listing{ID: "a", Name: "A", Rating: 3, Website: "https://a.example", WebsiteURL: "http://a.example"}
	changes := `SELECT field, old, new FROM listing_changes ORDER BY id`
	mustSave(t, w, 1, 1, 1, poor)
	t.Run("another target shows more", func(t *testing.T) {
		var saved store.Saved
		got := since(t, w, changes, func() { saved = mustSave(t, w, 3, 1, 1, rich) })
		if saved.Changed != 0 || saved.Unchanged != 1 {
			t.Errorf("counted as %+v: what only became known is no changed listing", saved)
		}
		same(t, "changes", got, nil)
		same(t, "log", rows(t, w.DB, promotions+" LIMIT 1 OFFSET 1"), []string{`promoted_update|a|{"completed":["website","rating"]}`})
	})
	t.Run("a later page of the same crawl shows more", func(t *testing.T) {
		mustSave(t, w, 1, 1, 1, yp.Listing{ID: "b", Name: "B"})
		got := since(t, w, changes, func() {
			mustSave(t, w, 1, 2, 1, yp.Listing{ID: "b", Name: "B", PriceRange: "$"})
		})
		same(t, "changes", got, nil)
	})
	t.Run("the same target shows more in its next crawl", func(t *testing.T) {
		rich.Hours = []string{"Mo-Fr 09:00-17:00"}
		got := since(t, w, changes, func() { mustSave(t, w, 3, 1, 2, rich) })
		same(t, "changes", got, []string{`hours||["Mo-Fr 09:00-17:00"]`})
	})
}

func TestStaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := yp.Rejection{Listing: yp.Listing{ID: "x1", Name: "X", Rank: 4}, Reasons: []string{"id: not a number"}}
	at := pageAt{TargetID: 1, Page: 1, Crawl: 1, Rejected: []yp.Rejection{bad}}
	staged := `SELECT listing_id, reasons, listing ->> '$.name', json_type(listing, '$.rank') FROM staged_listings`
	t.Run("kept as it was seen, with its reasons", func(t *testing.T) {
		got := since(t, w, promotions, func() {
			if s := w.place(t, at, named("a")...); s.Rejected != 1 || s.New != 1 {
				t.Errorf("%+v", s)
			}
		})
		slices.Sort(got)
		same(t, "log", got, []string{"promoted_create|a|", `rejected|x1|{"reasons":["id: not a number"]}`})
		w.is(t, staged, `x1|["id: not a number"]|X|`)
	})
	t.Run("again says nothing new", func(t *testing.T) {
		at.Rejected[0].Listing.Rank = 9
		same(t, "log", since(t, w, promotions, func() { w.place(t, at, named("a")...) }), nil)
	})
	t.Run("in good order at last", func(t *testing.T) {
		mustSave(t, w, 1, 1, 2, named("x1")...)
		w.is(t, staged)
	})
	t.Run("one that is known is not spoilt by what breaks a rule", func(t *testing.T) {
		at.Crawl, at.Rejected[0].Listing.Name = 3, "???"
		w.place(t, at)
		w.is(t, `SELECT name, crawl FROM listings l JOIN sightings s ON s.listing = l.id WHERE listing_id = 'x1'`, "Name x1|3")
	})
}

// TestStagedOnce: what one target shows against the rules, and another one otherwise or in
// good order, is told of once and not with every crawl.
func TestStagedOnce(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(at *pageAt) []yp.Listing{
		"another text": func(at *pageAt) []yp.Listing {
			at.Rejected = []yp.Rejection{{Listing: yp.Listing{ID: "x", Name: "X", Snippet: "Plumbing"}, Reasons: []string{"id"}}}
			return nil
		},
		"in good order": func(*pageAt) []yp.Listing { return named("x") },
	} {
		inWorld(t, name, func(t *testing.T, w *world) {
			for n := int64(1); n <= 3; n++ {
				w.place(t, pageAt{TargetID: 1, Page: 1, Crawl: n, Rejected: []yp.Rejection{{Listing: yp.Listing{ID: "x", Name: "X"}, Reasons: []string{"id"}}}})
				at := pageAt{TargetID: 3, Page: 1, Crawl: n}
				ls := other(&at)
				w.place(t, at, ls...)
			}
			w.is(t, `SELECT count(*) FROM promotion_log WHERE action = 'rejected'`, "1")
		})
	}
}

// TestNewOfAPage: a page leaves one event for all its new listings, whatever stands
// between them and however they come by their companies; the log has a row for each.
func TestNewOfAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := pageAt{TargetID: 1, Page: 1, Crawl: 1}
	w.place(t, at, listing("a", "Acme", tel1, ""), listing("b", "Bolt", "", web1))
	at.Page = 2
	w.place(t, at,
		listing("c", "Cobb", "", ""), listing("a", "Acme Two", tel1, ""), listing("d", "Acme", tel1, ""),
		listing("e", "Bolt", tel2, web1), listing("f", "Acme", tel1, web1), listing("g", "Gray", tel3, "")) // f joins two companies
	w.is(t, `SELECT kind, listing, listings FROM listing_events WHERE kind = 'new' ORDER BY id`, "new|1|2", "new|3|5")
	w.is(t, `SELECT listing_id, company_id, what FROM promotion_log WHERE action = 'promoted_create' ORDER BY id`,
		"a|1|", "b|1|", "c|3|", `d|1|{"key":"tel:`+tel1+`|acme"}`, `e|1|{"key":"web:acme.com"}`, `f|1|{"key":"web:acme.com"}`, "g|4|")
}

// crawl saves a target's page of these ids as its crawl of that number, and ends it as
// complete or not. It returns which listings are gone then.
func (w *world) crawl(t *testing.T, target int64, number int64, complete bool, ids ...string) string {
	t.Helper()
	at := pageAt{TargetID: target, Page: 1, Crawl: number}
	w.place(t, at, named(ids...)...)
	if complete {
		w.end(t, at)
	}
	return w.gone(t)
}

func (w *world) end(t *testing.T, at pageAt) {
	t.Helper()
	noErr(t, w.Write(t.Context(), func(tx *store.Tx) error { _, err := store.EndCrawl(tx, at.of(w)); return err }))
}

func (w *world) gone(t *testing.T) string {
	t.Helper()
	return strings.Join(rows(t, w.DB, `SELECT listing_id FROM listings WHERE dropped_at IS NOT NULL ORDER BY listing_id`), " ")
}

func gone(t *testing.T, got, want string) {
	t.Helper()
	storetest.Equal(t, got, want, "gone are")
}

func TestGone(t *testing.T) {
	t.Parallel()
	type step struct {
		target, number int64
		complete       bool
		ids            string
		gone           string
	}
	for name, steps := range map[string][]step{
		"missing in two complete crawls running": {
			{1, 1, true, "a b", ""}, {1, 2, true, "a", ""}, {1, 3, true, "a", "b"},
		},
		"a crawl cut short proves nothing": {
			{1, 1, true, "a b", ""}, {1, 2, false, "a", ""}, {1, 3, false, "a", ""}, {1, 4, true, "a", ""}, {1, 5, false, "a", ""}, {1, 6, true, "a", "b"},
		},
		"seen between": {
			{1, 1, true, "a b", ""}, {1, 2, true, "a", ""}, {1, 3, true, "a b", ""}, {1, 4, true, "a", ""}, {1, 5, true, "a", "b"},
		},
		"seen between by a crawl that was cut short": {
			{1, 1, true, "a b", ""}, {1, 2, true, "a", ""}, {1, 3, false, "b", ""}, {1, 4, true, "a", ""}, {1, 5, true, "a", "b"},
		},
		"another target that met it keeps it until it has missed it twice as well": {
			{1, 1, true, "a b", ""}, {3, 1, true, "b", ""}, {1, 2, true, "a", ""}, {1, 3, true, "a", ""}, {3, 2, true, "c", ""}, {3, 3, true, "c", "b"},
		},
		"a target of another source has no say": {
			{1, 1, true, "a b", ""}, {2, 1, true, "b", ""}, {1, 2, true, "a", ""}, {1, 3, true, "a", "b"},
		},
		"back again": {
			{1, 1, true, "a b", ""}, {1, 2, true, "a", ""}, {1, 3, true, "a", "b"}, {3, 1, false, "b", ""},
		},
		"nothing is left, and the site says so": {
			{1, 1, true, "a b", ""}, {1, 2, true, "", ""}, {1, 3, true, "", "a b"},
		},
	} {
		inWorld(t, name, func(t *testing.T, w *world) {
			for i, s := range steps {
				if got := w.crawl(t, s.target, s.number, s.complete, strings.Fields(s.ids)...); got != s.gone {
					t.Fatalf("after step %d gone are %q, want %q", i+1, got, s.gone)
				}
			}
		})
	}
}

func TestGoneAndBackAreLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crawl(t, 1, 1, true, "a", "b")
	w.crawl(t, 1, 2, true, "a")
	same(t, "log", since(t, w, promotions, func() { w.crawl(t, 1, 3, true, "a") }), []string{"dropped|b|"})
	same(t, "dropped again", since(t, w, promotions, func() { w.crawl(t, 1, 4, true, "a") }), nil)
	got := since(t, w, promotions, func() {
		if s := mustSave(t, w, 1, 1, 5, named("a", "b")...); s.Restored != 1 || s.Unchanged != 2 {
			t.Errorf("%+v", s)
		}
	})
	same(t, "log", got, []string{"restored|b|"})
}

// TestShownButNotKept: an ad, and what a filter or a rule keeps out, is not gone.
func TestShownButNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crawl(t, 1, 1, true, "a", "b", "c")
	for n := int64(2); n <= 4; n++ {
		at := pageAt{
			TargetID: 1, Page: 1, Crawl: n, Others: []string{"b", "never met"},
			Rejected: []yp.Rejection{{Listing: yp.Listing{ID: "c", Name: "?"}, Reasons: []string{"name"}}},
		}
		w.place(t, at, named("a")...)
		w.end(t, at)
	}
	gone(t, w.gone(t), "")
	w.crawl(t, 1, 5, true, "a")
	w.crawl(t, 1, 6, true, "a")
	gone(t, w.gone(t), "b c")
	if s := w.place(t, pageAt{TargetID: 1, Page: 1, Crawl: 7, Others: []string{"b"}}); s.Restored != 1 || w.gone(t) != "c" {
		t.Errorf("an ad does not bring it back: %+v, gone %q", s, w.gone(t))
	}
}

// TestShownElsewhereButNotKept: a target that shows a listing as an ad, or to a filter,
// keeps it alive, even if it never kept it.
func TestShownElsewhereButNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crawl(t, 1, 1, true, "a", "b")
	got := since(t, w, promotions, func() {
		for n := int64(1); n <= 4; n++ {
			at := pageAt{TargetID: 3, Page: 1, Crawl: n, Others: []string{"b"}}
			w.place(t, at)
			w.end(t, at)
			w.crawl(t, 1, n+1, true, "a")
		}
	})
	same(t, "log", got, nil)
	w.crawl(t, 3, 5, true)
	gone(t, w.crawl(t, 3, 6, true), "b")
}

// TestMetAsAnAdOnly: a target that has shown a listing as an ad alone does not apply to how
// its cards were marked up: what it shows later is completed.
func TestMetAsAnAdOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crawl(t, 1, 1, true, "a")
	w.place(t, pageAt{TargetID: 3, Page: 1, Crawl: 1, Others: []string{"a"}})
	mustSave(t, w, 3, 2, 1, named("a")...)
	w.place(t, pageAt{TargetID: 5, Page: 1, Crawl: 1, Others: []string{"a"}})
	more := named("a")
	more[0].Snippet = "Since 1950"
	same(t, "changes", since(t, w, `SELECT field, old, new FROM listing_changes ORDER BY id`, func() { mustSave(t, w, 5, 1, 2, more...) }), nil)
}

// TestTargetOfACityThatLeft: one whose city the last two reads of the index lack keeps nothing
// open; one whose city only the last read lacks does.
func TestTargetOfACityThatLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crawl(t, 1, 1, true, "a", "b")
	w.crawl(t, 3, 1, true, "b")
	w.must(t, `INSERT INTO source_cities (source_id, city_id, slug, name, found_on, matched, first_seen_at, last_seen_at, crawl, missed, removed_at)
		SELECT source_id, city_id, 'x', 'X', '/', 'slug', '', '', 1, 1, '' FROM targets WHERE id = 3`)
	w.must(t, `UPDATE targets SET retired_at = '2026-01-01T00:00:00.000Z' WHERE id = 3`)
	w.crawl(t, 1, 2, true, "a")
	gone(t, w.crawl(t, 1, 3, true, "a"), "")
	w.must(t, `UPDATE source_cities SET missed = 2`)
	gone(t, w.crawl(t, 1, 4, true, "a"), "b")
}

func listing(id, name, phone, website string) yp.Listing {
	l := yp.Listing{ID: id, Name: name, Phone: phone, PhoneE164: phone, State: "CA"}
	if w, ok := yp.CanonicalWebsite(website); ok {
		l.Website, l.WebsiteURL, l.Domain = w.URL, w.URL, w.Domain
	}
	return l
}

const (
	tel1, tel2, tel3 = "+13105550101", "+13105550102", "+13105550103"
	web1, web2       = "https://acme.com", "https://zed.org"
)
