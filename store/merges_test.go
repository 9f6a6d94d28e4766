package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// hand is a world with what an operator does to its companies.
type hand struct{ *world }

func (h hand) merge(keep int64, gone ...int64) (merges []int64, err error) {
	err = h.Write(context.Background(), func(tx *store.Tx) (err error) {
		merges, _, err = store.MergeCompanies(tx, keep, gone)
		return err
	})
	return merges, err
}

func (h hand) split(company int64, rows ...int64) (d *store.Divided, err error) {
	err = h.Write(context.Background(), func(tx *store.Tx) (err error) {
		d, err = store.SplitCompany(tx, company, rows)
		return err
	})
	return d, err
}

func (h hand) undo(merge int64) (d *store.Divided, err error) {
	err = h.Write(context.Background(), func(tx *store.Tx) (err error) {
		d, err = store.UndoMerge(tx, merge)
		return err
	})
	return d, err
}

// see saves a page of target 1; companies that are apart may share keys.
func (h hand) see(t *testing.T, page int, listings ...yp.Listing) {
	t.Helper()
	if saved, err := h.save(1, page, 0, listings...); err != nil || saved.Kept() != len(listings) {
		t.Fatalf("%+v, %v", saved, err)
	}
	h.soundApart(t)
}

// companies tells the company of each listing by its id: "a=1 b=1".
func (h hand) companies(t tester) string {
	t.Helper()
	return strings.Join(rows(t, h.DB, `SELECT listing_id || '=' || company_id FROM listings ORDER BY listing_id`), " ")
}

// state is all that a merge and its undoing may touch, but the logs.
func (h hand) state(t tester) []string {
	t.Helper()
	return slices.Concat(
		rows(t, h.DB, `SELECT * FROM companies ORDER BY id`), h.keys(t),
		rows(t, h.DB, `SELECT id, company_id FROM listings ORDER BY id`), rows(t, h.DB, `SELECT * FROM company_totals WHERE companies > 0 ORDER BY state`))
}

// keys lists the keys of every company.
func (h hand) keys(t tester) (out []string) {
	t.Helper()
	for _, c := range rows(t, h.DB, `SELECT id FROM companies ORDER BY id`) {
		id, err := strconv.ParseInt(c, 10, 64)
		noErr(t, err)
		keys, err := store.KeysOf(context.Background(), h.DB, id)
		if err != nil {
			t.Fatalf("keys of company %d: %v", id, err)
		}
		for _, k := range keys {
			out = append(out, c+" "+k)
		}
	}
	return out
}

// soundApart is sound where an operator took companies apart: they may share keys.
func (h hand) soundApart(t tester) {
	t.Helper()
	h.sound(apartTester{t})
	for what, query := range map[string]string{
		"a company that is apart from itself": `SELECT * FROM company_apart WHERE a >= b`,
		"a company that is gone and there":    `SELECT m.id FROM company_merges m JOIN companies c ON c.id = m.absorbed WHERE m.undone_at IS NULL`,
	} {
		if got := rows(t, h.DB, query); len(got) > 0 {
			t.Errorf("%s: %v", what, got)
		}
	}
}

type apartTester struct{ tester }

func (a apartTester) Errorf(format string, args ...any) {
	if !strings.Contains(format, "share the key") {
		a.tester.Errorf(format, args...)
	}
}

// refused fails the test unless err says why companies were left as they are.
func refused(t *testing.T, err error, why string) {
	t.Helper()
	var r *store.RefusedError
	if !errors.As(err, &r) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want a refusal with %q", err, why)
	}
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

// newHand has the companies of the listings given, each on a page of its own.
func newHand(t *testing.T, listings ...yp.Listing) hand {
	t.Helper()
	h := hand{newWorld(t)}
	for i, l := range listings {
		h.see(t, i+1, l)
	}
	return h
}

func TestAutomaticMerge(t *testing.T) {
	t.Parallel()
	h := newHand(t, listing("a", "Acme", tel1, ""), listing("b", "Acme", "", web1), listing("c", "Acme", tel1, web1))
	want := []string{"1|2|tel|tel:" + tel1 + "|acme|2|Acme|[2]|[\"web:acme.com\"]|"}
	if got := rows(t, h.DB, `SELECT kept, absorbed, by, key, company ->> 'id', company ->> 'name', listings, keys, undone_at FROM company_merges`); !slices.Equal(got, want) {
		// The web key comes first and finds 2, then the phone joins it with 1.
		t.Errorf("got %v, want %v", got, want)
	}
	if got := h.companies(t); got != "a=1 b=1 c=1" {
		t.Error(got)
	}
	h.sound(t)
	h.see(t, 4, listing("c", "Acme", tel1, web1))
	if n := intOf(t, h.DB, `SELECT count(*) FROM company_merges`); n != 1 {
		t.Errorf("%d merges after a page again, want 1", n)
	}
}

// TestMergeWithinPage: keys and listings of the same page are in the log too.
func TestMergeWithinPage(t *testing.T) {
	t.Parallel()
	h := hand{newWorld(t)}
	h.see(t, 1, listing("a", "Acme", tel1, ""), listing("b", "Acme", "", web1), listing("c", "Acme", tel1, web1))
	same(t, "rows", rows(t, h.DB, `SELECT kept, absorbed, listings, keys FROM company_merges`), []string{`1|2|[2]|["web:acme.com"]`})
	d, err := h.undo(1)
	if err != nil || d.Other != 2 {
		t.Fatal(d, err)
	}
	if got := h.companies(t); got != "a=1 b=2 c=1" {
		t.Error(got)
	}
	h.soundApart(t)
}

func TestMergeByHand(t *testing.T) {
	t.Parallel()
	h := newHand(t, listing("a", "Zed", tel1, web2), listing("b", "Acme", tel2, web1), listing("c", "Moe", tel3, ""))
	merges, err := h.merge(2, 1, 3)
	if err != nil || !slices.Equal(merges, []int64{1, 2}) {
		t.Fatal(merges, err)
	}
	if got := h.companies(t); got != "a=2 b=2 c=2" {
		t.Error(got)
	}
	same(t, "rows", rows(t, h.DB, `SELECT id, name, website FROM companies`), []string{"2|Zed|" + web1})
	same(t, "rows", rows(t, h.DB, `SELECT kept, absorbed, by, key FROM company_merges`), []string{"2|1|hand|", "2|3|hand|"})
	h.sound(t)
	if h.see(t, 4, listing("d", "Moe", tel3, "")); h.companies(t) != "a=2 b=2 c=2 d=2" {
		t.Errorf("the keys of what is gone find %s", h.companies(t))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	h := newHand(t, listing("a", "Zed", tel1, ""), listing("b", "Acme", tel2, ""), listing("c", "Moe", tel3, ""))
	if _, err := h.merge(1, 2); err != nil {
		t.Fatal(err)
	}
	before := h.state(t)
	_, err := h.merge(1)
	refused(t, err, "name the companies")
	_, err = h.merge(1, 1)
	refused(t, err, "into itself")
	_, err = h.merge(1, 3, 3)
	refused(t, err, "named twice")
	_, err = h.merge(1, 3, 99)
	refused(t, err, "no company 99")
	_, err = h.merge(2, 3)
	refused(t, err, "merge 1 made it a part of company 1")
	_, err = h.split(99, 1)
	refused(t, err, "no company 99")
	_, err = h.split(1)
	refused(t, err, "name the listings")
	_, err = h.split(1, 3)
	refused(t, err, "listing 3 does not belong to company 1")
	_, err = h.split(1, 1, 2, 1)
	refused(t, err, "company 1 must keep a listing")
	_, err = h.undo(7)
	refused(t, err, "no merge 7")
	if !slices.Equal(before, h.state(t)) {
		t.Error("what was refused changed something")
	}
	if _, err := h.undo(1); err != nil {
		t.Fatal(err)
	}
	_, err = h.undo(1)
	refused(t, err, "already")
	h.soundApart(t)
}

func TestSplit(t *testing.T) {
	t.Parallel()
	h := newHand(t, listing("a", "Acme", tel1, web1), listing("b", "Acme", tel2, web1), listing("c", "Zed", tel3, web1))
	d, err := h.split(1, 1)
	if err != nil || d.Other != 2 || !slices.Equal(d.Keys, []string{"tel:" + tel1 + "|acme"}) {
		t.Fatalf("%+v, %v", d, err)
	}
	if got := h.companies(t); got != "a=2 b=1 c=1" {
		t.Error(got)
	}
	same(t, "rows", rows(t, h.DB, `SELECT id, name, website, lead_listing FROM companies ORDER BY id`), []string{"1|Acme|" + web1 + "|b", "2|Acme|" + web1 + "|a"})
	h.soundApart(t)
	t.Run("StaysWithItsOwn", func(t *testing.T) {
		changed := listing("a", "Acme", tel1, web1)
		changed.Street, changed.PostalCode = "12 Main St", "90210"
		if h.see(t, 9, changed); h.companies(t) != "a=2 b=1 c=1" {
			t.Error(h.companies(t))
		}
	})
	t.Run("NewGoesByItsStrongestKey", func(t *testing.T) {
		h.see(t, 10, listing("d", "Acme", tel1, web1), listing("e", "Acme", tel1, ""))
		if got := h.companies(t); got != "a=2 b=1 c=1 d=1 e=2" {
			t.Error(got)
		}
	})
	t.Run("AlsoThroughAnother", func(t *testing.T) { // a company that joins one is apart from the other
		h.see(t, 11, listing("f", "Moe", "+13105550199", ""))
		h.see(t, 12, listing("f", "Moe", "+13105550199", web2), listing("b", "Acme", tel2, web2))
		h.see(t, 13, listing("g", "Acme", tel1, web2))
		if got := h.companies(t); got != "a=2 b=1 c=1 d=1 e=2 f=1 g=1" {
			t.Error(got)
		}
	})
	h.soundApart(t)
	t.Run("MergeByHandLifts", func(t *testing.T) {
		if _, err := h.merge(1, 2); err != nil {
			t.Fatal(err)
		}
		if n := intOf(t, h.DB, `SELECT count(*) FROM company_apart`); n != 0 {
			t.Errorf("%d are apart", n)
		}
		h.sound(t)
	})
}

// TestApartMovesToTheSurvivor: who is merged away leaves what it is apart from.
func TestApartMovesToTheSurvivor(t *testing.T) {
	t.Parallel()
	h := newHand(t, listing("z", "Zed", tel3, ""), listing("a", "Acme", tel1, web1), listing("b", "Acme", tel2, web1))
	if _, err := h.split(2, 3); err != nil { // b is company 3, apart from 2
		t.Fatal(err)
	}
	h.see(t, 4, listing("a", "Zed", tel3, "")) // 2 becomes a part of 1
	if got := h.companies(t); got != "a=1 b=3 z=1" {
		t.Fatal(got)
	}
	same(t, "rows", rows(t, h.DB, `SELECT a, b FROM company_apart`), []string{"1|3"})
	h.see(t, 5, listing("z", "Zed", tel3, web1))
	h.see(t, 6, listing("b", "Zed", tel3, web1))
	if got := h.companies(t); got != "a=1 b=3 z=1" {
		t.Error(got)
	}
	h.soundApart(t)
}

func TestUndo(t *testing.T) {
	t.Parallel()
	h := newHand(t, listing("a", "Acme", tel1, ""), listing("b", "Zed", tel2, web2), listing("x", "Acme", tel3, web1))
	before := h.state(t)
	if _, err := h.merge(1, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := h.merge(3, 1); err != nil { // the survivor is merged away itself
		t.Fatal(err)
	}
	h.see(t, 10, listing("later", "Zed", tel2, ""), listing("bridge", "Zed", tel2, web1), listing("other", "Acme", tel1, ""))
	h.see(t, 11, listing("b", "Zed", tel2, "https://new.org"))
	d, err := h.undo(1)
	noErr(t, err)
	want := store.Divided{Company: 3, Other: 2, Merge: 1, Listings: []int64{2, 4}, Keys: []string{"tel:" + tel2 + "|zed", "web:new.org", "web:zed.org"}}
	d.Edit = nil // it has tests of its own
	if fmt.Sprint(*d) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", *d, want)
	}
	if got := h.companies(t); got != "a=3 b=2 bridge=3 later=2 other=3 x=3" {
		t.Error(got)
	}
	if _, err := h.undo(2); err != nil {
		t.Fatal(err)
	}
	if got := h.companies(t); got != "a=1 b=2 bridge=3 later=2 other=1 x=3" {
		t.Error(got)
	}
	same(t, "apart", rows(t, h.DB, `SELECT a, b FROM company_apart ORDER BY a, b`), []string{"1|2", "1|3", "2|3"})
	h.soundApart(t)
	t.Run("NothingLeft", func(t *testing.T) {
		h := newHand(t, listing("a", "Acme", tel1, ""), listing("b", "Zed", tel2, web2))
		if _, err := h.merge(1, 2); err != nil {
			t.Fatal(err)
		}
		if _, err := h.split(1, 2); err != nil {
			t.Fatal(err)
		}
		_, err := h.undo(1)
		refused(t, err, "no listing of company 2")
	})
	t.Run("NothingElse", func(t *testing.T) {
		h := newHand(t, listing("a", "Acme", tel1, ""), listing("b", "Zed", tel2, web2))
		if _, err := h.merge(1, 2); err != nil {
			t.Fatal(err)
		}
		if _, err := h.split(1, 1); err != nil {
			t.Fatal(err)
		}
		_, err := h.undo(1)
		refused(t, err, "without them it is empty")
	})
	if before[0] != h.state(t)[0] {
		t.Errorf("company 1 was %s and is %s", before[0], h.state(t)[0])
	}
}

// TestMergesProperty: every company that is gone stands in the log, and a merge by
// hand that is undone leaves everything as it was.
func TestMergesProperty(t *testing.T) {
	t.Parallel()
	worlds(t, mergesProperty)
}

func mergesProperty(t *testing.T, w *world) {
	h := hand{w}
	rapid.Check(t, func(rt *rapid.T) {
		h.empty(t)
		const numbered = `SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'companies'), 0)`
		from := intOf(t, h.DB, numbered)
		h.saveRandom(rt, 6, "")
		made := intOf(t, h.DB, numbered) - from
		if there, gone := intOf(t, h.DB, `SELECT count(*) FROM companies`), intOf(t, h.DB, `SELECT count(*) FROM company_merges`); made != there+gone {
			rt.Errorf("%d companies were made, %d are there, %d stand in the log as gone", made, there, gone)
		}
		ids := h.ids(rt)
		if len(ids) < 2 {
			return
		}
		before := h.state(rt)
		pair := rapid.Permutation(ids).Draw(rt, "merge")[:rapid.IntRange(2, min(3, len(ids))).Draw(rt, "of")]
		merges, err := h.merge(pair[0], pair[1:]...)
		noErr(rt, err)
		h.sound(rt)
		for _, m := range rapid.Permutation(merges).Draw(rt, "undo") {
			if _, err := h.undo(m); err != nil {
				rt.Fatal(err)
			}
		}
		if after := h.state(rt); !slices.Equal(before, after) {
			rt.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		h.soundApart(rt)
	})
}

// TestApartProperty: listings that an operator took apart, by a split or by undoing a
// merge, never come together again by any later pages.
func TestApartProperty(t *testing.T) {
	t.Parallel()
	worlds(t, apartProperty)
}

func apartProperty(t *testing.T, w *world) {
	h := hand{w}
	rapid.Check(t, func(rt *rapid.T) {
		h.empty(t)
		apart := map[[2]string]bool{}
		for round := range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			h.saveRandom(rt, 3, fmt.Sprint("round ", round))
			h.takeApart(rt, apart)
			h.soundApart(rt)
			h.together(rt, apart)
		}
		h.saveRandom(rt, 5, "last")
		h.soundApart(rt)
		h.together(rt, apart)
	})
}

// saveRandom saves pages of listings that may say something else each time.
func (h hand) saveRandom(rt *rapid.T, pages int, label string) {
	for n := range rapid.IntRange(1, pages).Draw(rt, "pages "+label) {
		var p []yp.Listing
		for i := range 6 {
			if rapid.Bool().Draw(rt, "on the page") {
				p = append(p, drawPart(rt, drawMaster(rt, fmt.Sprint(i))))
			}
		}
		if _, err := h.save(rapid.IntRange(1, h.targets).Draw(rt, "target"), n+1, 0, p...); err != nil {
			rt.Fatal(err)
		}
	}
}

func (h hand) ids(t tester) (ids []int64) {
	for _, r := range rows(t, h.DB, `SELECT id FROM companies ORDER BY id`) {
		var id int64
		_, _ = fmt.Sscan(r, &id)
		ids = append(ids, id)
	}
	return ids
}

// members maps each company to its listings.
func (h hand) members(t tester) map[string][]string {
	of := map[string][]string{}
	for _, r := range rows(t, h.DB, `SELECT company_id, id FROM listings ORDER BY id`) {
		company, row, _ := strings.Cut(r, "|")
		of[company] = append(of[company], row)
	}
	return of
}

// takeApart splits a company or undoes a merge, and notes which listings that parts.
func (h hand) takeApart(rt *rapid.T, apart map[[2]string]bool) {
	before := h.members(rt)
	var err error
	if merges := rows(rt, h.DB, `SELECT id FROM company_merges WHERE undone_at IS NULL`); len(merges) > 0 && rapid.Bool().Draw(rt, "undo") {
		var id int64
		_, _ = fmt.Sscan(rapid.SampledFrom(merges).Draw(rt, "merge"), &id)
		_, err = h.undo(id)
	} else if len(before) > 0 {
		company := rapid.SampledFrom(slices.Sorted(maps.Keys(before))).Draw(rt, "company") + " "
		var id int64
		_, _ = fmt.Sscan(company, &id)
		var some []int64
		for _, row := range before[strings.TrimSpace(company)] {
			if rapid.Bool().Draw(rt, "leaves") {
				var n int64
				_, _ = fmt.Sscan(row, &n)
				some = append(some, n)
			}
		}
		_, err = h.split(id, some...)
	}
	var r *store.RefusedError
	if err != nil && !errors.As(err, &r) {
		rt.Fatal(err)
	}
	now := h.companyOf(rt)
	for _, all := range before {
		for i, a := range all {
			for _, b := range all[i+1:] {
				if now[a] != now[b] {
					apart[[2]string{a, b}] = true
				}
			}
		}
	}
}

func (h hand) companyOf(t tester) map[string]string {
	now := map[string]string{}
	for company, all := range h.members(t) {
		for _, row := range all {
			now[row] = company
		}
	}
	return now
}

// together fails the test when listings that were taken apart are one company.
func (h hand) together(rt *rapid.T, apart map[[2]string]bool) {
	now := h.companyOf(rt)
	for pair := range apart {
		if now[pair[0]] == now[pair[1]] {
			rt.Errorf("listings %s and %s were taken apart and are both of company %s", pair[0], pair[1], now[pair[0]])
		}
	}
}
