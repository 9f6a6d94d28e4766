package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

func mustSave(t *testing.T, w *world, target, page int, crawl int64, ls ...yp.Listing) store.Saved {
	t.Helper()
	return w.place(t, pageAt{TargetID: int64(target), Page: page, Crawl: crawl}, ls...)
}

func named(ids ...string) []yp.Listing {
	ls := make([]yp.Listing, len(ids))
	for i, id := range ids {
		ls[i] = yp.Listing{ID: id, Name: "Name " + id, Rank: i + 1}
	}
	return ls
}

func TestSaveCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := named("a", "b", "c")
	for crawl, step := range []struct {
		what   string
		change func()
		want   store.Saved
	}{
		{"first", func() {}, store.Saved{New: 3, Companies: 3, Rows: 6}},
		{"again", func() {}, store.Saved{Unchanged: 3, Rows: 3}},
		{"another rank is no change", func() { p[0].Rank = 9 }, store.Saved{Unchanged: 3, Rows: 3}},
		{"another snippet", func() { p[1].Snippet = "new" }, store.Saved{Changed: 1, Unchanged: 2, Rows: 4}},
		{"two become one company, a new one joins", func() {
			p[0].Website, p[1].Website = "https://acme.com", "https://acme.com"
			p = append(p, yp.Listing{ID: "d", Name: "D", Website: "https://acme.com"})
		}, store.Saved{New: 1, Changed: 2, Unchanged: 1, Companies: -1, Rows: 7}},
	} {
		step.change()
		storetest.Equal(t, w.place(t, pageAt{TargetID: 1, Page: 1, Crawl: int64(crawl + 1)}, p...), step.want, step.what)
	}
	w.is(t, `SELECT rank FROM sightings s JOIN listings l ON l.id = s.listing WHERE listing_id = 'a'`, "9")
	t.Run("the same id at another source is another listing", func(t *testing.T) {
		if got := mustSave(t, w, 2, 1, 0, named("a")...); got.New != 1 {
			t.Errorf("%+v, want a new one", got)
		}
	})
	t.Run("an empty page", func(t *testing.T) {
		if got := mustSave(t, w, 1, 2, 0); got != (store.Saved{}) {
			t.Errorf("%+v, want nothing", got)
		}
	})
}

func TestSaveDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := named("a", "", "b", "a", "\xff")
	p[2].Name = ""
	p[3].Name = "the second a"
	p = append(p, named("c")...)
	before := slices.Clone(p)
	got := mustSave(t, w, 1, 1, 0, p...)
	if got.New != 2 || got.Dropped != 4 || got.Kept() != 2 {
		t.Errorf("%+v, want 2 new and 4 dropped", got)
	}
	w.is(t, `SELECT listing_id, name FROM listings ORDER BY 1`, "a|Name a", "c|Name c")
	for i := range p {
		storetest.Equal(t, p[i].ID, before[i].ID, "the caller's page was changed")
	}
	for _, id := range []string{"", "a\x00b"} { // twice: one that is not found again must not be there twice
		for range 2 {
			if got := mustSave(t, w, 1, 1, 0, named(id)...); got.Dropped != 1 {
				t.Errorf("a page of the unusable listing %q: %+v, want it dropped", id, got)
			}
		}
	}
}

func TestSaveOddValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes := true
	for i, rating := range []float64{-1, 0, 0.4, 0.5, 5, 5.5, math.NaN(), math.Inf(1)} {
		l := yp.Listing{
			ID: fmt.Sprint(i), Name: "N", Rating: rating, ReviewCount: -i, YearsInBusiness: i, Rank: -i * 100000, Claimed: &yes,
			Categories: []string{`"quoted"`, "a,b", "✓"}, Hours: []string{"Mo 9-5"},
		}
		mustSave(t, w, 1, 1, 0, l)
	}
	want := []string{"", "", "", "0.5", "5", "", "", ""}
	same(t, "ratings", rows(t, w.DB, `SELECT rating FROM listings ORDER BY listing_id`), want)
	w.is(t, `SELECT DISTINCT categories ->> 0, categories ->> 1, categories ->> 2, hours ->> 0, claimed FROM listings`, `"quoted"|a,b|✓|Mo 9-5|1`)
	t.Run("keys and ids through JSON", func(t *testing.T) {
		odd := []string{`"`, `\`, `'`, "\n", "\t\x01", "✓ 日本", "\u2028", "<&>", `\u0041`, "null", "[1]", "0", "💥"}
		for _, s := range odd {
			l := yp.Listing{ID: "odd" + s, Name: "Same " + s + " name", PhoneE164: "+1310555" + s, Website: ""}
			saved := mustSave(t, w, 1, 1, 0, l)
			storetest.Equal(t, saved.New, 1, "new of", s)
			l.ID += " twin"
			if saved = mustSave(t, w, 1, 2, 0, l); saved.New != 1 || saved.Companies != 0 {
				t.Errorf("its twin %q: %+v, want it new and of the same company", s, saved)
			}
			if saved = mustSave(t, w, 1, 3, 0, l); saved.Unchanged != 1 {
				t.Errorf("%q again: %+v, want it unchanged", s, saved)
			}
		}
	})
}

func TestSaveCoalesces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	no := false
	full := yp.Listing{
		ID: "a", Name: "Acme", ProfileURL: "https://x/a", Phone: "(310) 555-0101", PhoneE164: "+13105550101", Street: "1 Main St",
		City: "LA", State: "CA", PostalCode: "90210", ServiceArea: "LA area", WebsiteURL: "http://www.acme.com", Website: "https://acme.com",
		Domain: "acme.com", Categories: []string{"Plumbers"}, Rating: 4.5, ReviewCount: 7, YearsInBusiness: 3, PriceRange: "$$",
		Snippet: "s", ImageURL: "https://x/i", Hours: []string{"Mo 9-5"}, Claimed: &no,
	}
	const all = `SELECT name, profile_url, phone, phone_e164, street, city, state, postal_code, service_area, website_url, website, domain,
		categories, rating, review_count, years_in_business, price_range, snippet, image_url, hours, claimed, sponsored FROM listings`
	mustSave(t, w, 1, 1, 0, full)
	before := rows(t, w.DB, all)
	t.Run("absent keeps the old", func(t *testing.T) {
		mustSave(t, w, 1, 1, 0, yp.Listing{ID: "a", Name: "Acme"})
		same(t, "rows", rows(t, w.DB, all), before)
	})
	t.Run("new wins", func(t *testing.T) {
		yes := true
		mustSave(t, w, 1, 1, 0, yp.Listing{
			ID: "a", Name: "Acme 2", ProfileURL: "2", Phone: "2", PhoneE164: "+12", Street: "2 Main St", City: "SF", State: "NV", PostalCode: "90002",
			ServiceArea: "2", WebsiteURL: "2", Website: "https://b.com", Domain: "b.com", Categories: []string{"2"}, Rating: 2, ReviewCount: 2,
			YearsInBusiness: 2, PriceRange: "$", Snippet: "2", ImageURL: "2", Hours: []string{"2"}, Claimed: &yes, Sponsored: true,
		})
		want := `Acme 2|2|2|+12|2 Main St|SF|NV|90002|2|2|https://b.com|b.com|["2"]|2|2|2|$|2|2|["2"]|1|0`
		w.is(t, all, want)
		w.is(t, `SELECT name, website, domain, state FROM companies`, "Acme 2|https://b.com|b.com|NV")
	})
	t.Run("sponsored only while every sighting was an ad", func(t *testing.T) {
		ad := yp.Listing{ID: "ad", Name: "Ad", Sponsored: true}
		for i, want := range []string{"1", "0", "0"} {
			ad.Sponsored = i != 1
			mustSave(t, w, 1, 1, 0, ad)
			w.is(t, `SELECT sponsored FROM listings WHERE listing_id = 'ad'`, want)
		}
	})
	t.Run("a shared host is no website of the company", func(t *testing.T) {
		mustSave(t, w, 1, 1, 0, yp.Listing{ID: "fb", Name: "Fb", Website: "https://facebook.com/fb", Domain: "facebook.com"})
		w.is(t, `SELECT website, domain FROM companies WHERE name = 'Fb'`, "|")
	})
	t.Run("a website met later makes no second company", func(t *testing.T) {
		mustSave(t, w, 1, 1, 0, yp.Listing{ID: "w", Name: "W", PhoneE164: "+13105550999"})
		if got := mustSave(t, w, 1, 1, 0, yp.Listing{ID: "w", Name: "W", Website: "https://w.com", Domain: "w.com"}); got.Companies != 0 {
			t.Errorf("%+v, want no new company", got)
		}
	})
}

func TestSeenTimes(t *testing.T) {
	t.Parallel()
	x := newTried(t)
	seen := func(want string) {
		t.Helper()
		x.is(t, `SELECT concat_ws(' ', substr(first_seen_at, 12, 5), substr(last_seen_at, 12, 5), substr((SELECT first_seen_at FROM companies), 12, 5),
			substr((SELECT seen_at FROM sightings), 12, 5)) FROM listings`, want)
	}
	mustSave(t, x.world, 1, 1, 0, named("a")...)
	x.at = x.at.Add(time.Hour)
	mustSave(t, x.world, 1, 1, 0, named("a")...)
	seen("12:00 13:00 12:00 13:00")
	x.at = x.at.Add(time.Hour)
	l := named("a")[0]
	l.Phone = "1"
	mustSave(t, x.world, 1, 1, 0, l)
	seen("12:00 14:00 12:00 14:00")
}

// TestSaveIsWhole: a page that can't be saved leaves nothing of itself.
func TestSaveIsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mustSave(t, w, 1, 1, 0, named("a")...)
	before := rows(t, w.DB, `SELECT * FROM listings`)
	own := errors.New("own")
	err := w.Write(t.Context(), func(tx *store.Tx) error {
		_, err := store.SaveListings(tx, store.PageOf{SourceID: 1, TargetID: 1, State: "CA"}, store.Prepare(&yp.Page{Number: 1, Listings: named("b", "c")}))
		return errors.Join(err, own)
	})
	if !errors.Is(err, own) || !slices.Equal(before, rows(t, w.DB, `SELECT * FROM listings`)) {
		t.Errorf("%v: listings %v, want %v", err, rows(t, w.DB, `SELECT * FROM listings`), before)
	}
	w.sound(t)
	if _, err := w.save(99, 1, 0, named("b")...); err == nil {
		t.Error("a target that is not there was taken")
	}
	if _, err := w.save(1, 0, 0, named("b")...); err == nil {
		t.Error("page 0 was taken")
	}
	w.sound(t)
	storetest.Equal(t, intOf(t, w.DB, `SELECT count(*) FROM listings`), 1, "listings")
}

// TestListingColumns holds schema.sql to the table of fields: one column for each in its table, in
// their order, beside those that are the database's own.
func TestListingColumns(t *testing.T) {
	t.Parallel()
	own := []string{
		"id", "source_id", "company_id", "found_state", "fingerprint", "first_seen_at", "last_seen_at", "dropped_at",
		"cards", "cards_before", "own_page_at", "listing", "country",
	}
	w := newWorld(t)
	for table, name := range map[yp.Table]string{yp.InListings: "listings", yp.InTexts: "listing_texts"} {
		var want []string
		for i := range yp.ListingFields {
			if f := &yp.ListingFields[i]; f.Table == table {
				want = append(want, f.ColumnName())
			}
		}
		got := slices.DeleteFunc(rows(t, w.DB, `SELECT name FROM pragma_table_info(?) ORDER BY cid`, name), func(c string) bool {
			return slices.Contains(own, c)
		})
		storetest.Diff(t, got, want, "columns of", name, "in schema.sql, against yp.ListingFields")
	}
}
