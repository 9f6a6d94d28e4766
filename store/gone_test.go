package store_test

import (
	"slices"
	"strings"
	"testing"

	"ypcrawl/store"
	"ypcrawl/yp"
)

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
	err := w.Write(t.Context(), func(tx *store.Tx) error { _, err := store.EndCrawl(tx, at.of(w)); return err })
	noErr(t, err)
}

func (w *world) gone(t *testing.T) string {
	t.Helper()
	return strings.Join(rows(t, w.DB, `SELECT listing_id FROM listings WHERE gone_at IS NOT NULL ORDER BY listing_id`), " ")
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
			{1, 1, true, "a b", ""},
			{3, 1, true, "b", ""},
			{1, 2, true, "a", ""},
			{1, 3, true, "a", ""},
			{3, 2, true, "c", ""},
			{3, 3, true, "c", "b"},
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
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
	if got := since(t, w, promotions, func() { w.crawl(t, 1, 3, true, "a") }); !slices.Equal(got, []string{"dropped|b|"}) {
		t.Errorf("log %q", got)
	}
	if got := since(t, w, promotions, func() { w.crawl(t, 1, 4, true, "a") }); len(got) > 0 {
		t.Errorf("dropped again: %q", got)
	}
	got := since(t, w, promotions, func() {
		if s := w.place(t, pageAt{TargetID: 1, Page: 1, Crawl: 5}, named("a", "b")...); s.Restored != 1 || s.Unchanged != 2 {
			t.Errorf("%+v", s)
		}
	})
	if !slices.Equal(got, []string{"restored|b|"}) {
		t.Errorf("log %q", got)
	}
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
	if got := w.gone(t); got != "" {
		t.Errorf("gone are %q, want none", got)
	}
	w.crawl(t, 1, 5, true, "a")
	w.crawl(t, 1, 6, true, "a")
	if got := w.gone(t); got != "b c" {
		t.Fatalf("gone are %q, want b c", got)
	}
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
	if len(got) > 0 {
		t.Errorf("log %q, want none: a target shows it", got)
	}
	w.crawl(t, 3, 5, true)
	if got := w.crawl(t, 3, 6, true); got != "b" {
		t.Errorf("gone are %q, want b: nobody shows it any more", got)
	}
}

// TestMetAsAnAdOnly: a target that has shown a listing as an ad alone says nothing of how
// its cards were marked up: what it shows later is completed, and no page is repeated.
func TestMetAsAnAdOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crawl(t, 1, 1, true, "a")
	w.place(t, pageAt{TargetID: 3, Page: 1, Crawl: 1, Others: []string{"a"}})
	if s := w.place(t, pageAt{TargetID: 3, Page: 2, Crawl: 1}, named("a")...); s.Repeated {
		t.Error("a listing that was an ad on the page before makes a page a repeated one")
	}
	w.place(t, pageAt{TargetID: 5, Page: 1, Crawl: 1, Others: []string{"a"}})
	more := named("a")
	more[0].Snippet = "Since 1950"
	if got := since(t, w, `SELECT field, old, new FROM listing_changes ORDER BY id`, func() { w.place(t, pageAt{TargetID: 5, Page: 1, Crawl: 2}, more...) }); len(got) > 0 {
		t.Errorf("changes %q, want none", got)
	}
}

func TestRetiredTargetKeepsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.crawl(t, 1, 1, true, "a", "b")
	w.crawl(t, 3, 1, true, "b")
	w.must(t, `UPDATE targets SET retired_at = '2026-01-01T00:00:00.000Z' WHERE id = 3`)
	w.crawl(t, 1, 2, true, "a")
	if got := w.crawl(t, 1, 3, true, "a"); got != "b" {
		t.Errorf("gone are %q, want b", got)
	}
}
