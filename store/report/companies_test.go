package report_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// noLog is a log of edits that nobody reads.
type noLog struct{}

func (noLog) Append(*wal.Event) error { return nil }
func (noLog) Sync() error             { return nil }

// directory is a database with one source and one target that listings are saved under.
type directory struct {
	*checkpoint.Keeper
	*report.Reader
	pages int
}

func newDirectory(t *testing.T, listings ...yp.Listing) *directory {
	t.Helper()
	db := storetest.Open(t)
	d := &directory{Keeper: checkpoint.New(db), Reader: report.New(db)}
	d.change(t, `INSERT INTO sources (id, name, base_url, created_at, updated_at) VALUES (1, 'one', 'http://one', 'x', 'x')`)
	d.change(t, `INSERT INTO categories VALUES (1, 'plumbers', 'Plumbers')`)
	d.change(t, `INSERT INTO cities VALUES (1, 'city', 'City', 'CA', 1000, 0, 0, 1)`)
	d.change(t, `INSERT INTO targets (id, source_id, city_id, category_id, state, population, priority, max_pages, created_at)
		VALUES (1, 1, 1, 1, 'CA', 1000, 1, 0, 'x')`)
	for _, l := range listings {
		d.save(t, l)
	}
	return d
}

func (d *directory) change(t *testing.T, query string) {
	t.Helper()
	err := d.DB().Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(query)
		return err
	})
	noErr(t, err)
}

// save saves listings as a page of their own.
func (d *directory) save(t *testing.T, listings ...yp.Listing) {
	t.Helper()
	d.pages++
	err := d.DB().Write(t.Context(), func(tx *store.Tx) error {
		_, err := store.SaveListings(tx, store.PageOf{SourceID: 1, TargetID: 1, State: "CA"}, store.Prepare(&yp.Page{Number: d.pages, Listings: listings}))
		return err
	})
	noErr(t, err)
}

func (d *directory) company(t *testing.T, id int64) *report.CompanyDetail {
	t.Helper()
	c, err := d.Company(t.Context(), id)
	noErr(t, err)
	return c
}

func place(id, name, phone, website, state string) yp.Listing {
	l := yp.Listing{ID: id, Name: name, PhoneE164: phone, Phone: phone, State: state}
	if w, ok := yp.CanonicalWebsite(website); ok {
		l.Website, l.WebsiteURL, l.Domain = w.URL, w.URL, w.Domain
	}
	return l
}

const (
	phone1, phone2, phone3 = "+13105550101", "+13105550102", "+13105550103"
	acmeSite               = "https://acme.com"
)

func TestCompanies(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, place("a", "Acme 100%", phone1, acmeSite, "CA"), place("b", "Acme", phone2, acmeSite, "CA"),
		place("c", "Zed", phone3, "", "TX"), place("d", "Moe", "", "", ""))
	d.change(t, `UPDATE listings SET dropped_at = last_seen_at WHERE listing_id = 'b'`)
	for name, tc := range map[string]struct {
		filter report.CompanyFilter
		limit  int
		want   []int64
	}{
		"All":     {want: []int64{1, 2, 3}},
		"Limit":   {limit: 2, want: []int64{1, 2}},
		"State":   {filter: report.CompanyFilter{States: []string{"TX", "NY"}}, want: []int64{2}},
		"Name":    {filter: report.CompanyFilter{Name: "aCME"}, want: []int64{1}},
		"Percent": {filter: report.CompanyFilter{Name: "%"}, want: []int64{1}},
		"Several": {filter: report.CompanyFilter{MinListings: 2}, want: []int64{1}},
		"None":    {filter: report.CompanyFilter{MinListings: 2, States: []string{"TX"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := d.Companies(t.Context(), tc.filter, tc.limit)
			noErr(t, err)
			var got []int64
			for _, c := range all {
				got = append(got, c.ID)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if c := d.company(t, 1).CompanyRow; c.Listings != 2 || c.Alive != 1 || c.Website != acmeSite || c.FirstSeen.IsZero() {
		t.Errorf("%+v", c)
	}
}

func TestCompanyKeys(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, place("a", "Acme", phone1, acmeSite, "CA"), place("b", "Acme", phone2, acmeSite, "CA"))
	d.save(t, place("b", "Acme", phone3, acmeSite, "CA"))
	d.change(t, `INSERT INTO details (listing, fetched_at, phone_e164) SELECT id, 'x', '`+phone2+`' FROM listings WHERE listing_id = 'a'`)
	c := d.company(t, 1)
	want := "[{web:acme.com web [1 2]} {tel:" + phone1 + "|acme tel [1]} {tel:" + phone2 + "|acme tel [1]} {tel:" + phone3 + "|acme tel [2]}]"
	if got := fmt.Sprint(c.Keys); got != want {
		t.Errorf("got  %s\nwant %s: the page of a listing gives keys too", got, want)
	}
	d.change(t, `DELETE FROM details`)
	if got := d.company(t, 1).Keys; got[len(got)-1].Key != "tel:"+phone2+"|acme" || len(got[len(got)-1].Listings) != 0 {
		t.Errorf("%v: a key that nobody gives any more is remembered", got)
	}
}

// TestCompanyConfidence: by the keys that listings give now, and what was done by hand.
func TestCompanyConfidence(t *testing.T) {
	t.Parallel()
	web, tel := yp.LinkStrength(yp.KeyWeb), yp.LinkStrength(yp.KeyTel)
	d := newDirectory(t, place("a", "Acme", phone1, acmeSite, "CA"))
	expect := func(what string, id int64, want float64) {
		t.Helper()
		if got := d.company(t, id).Confidence; got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("one listing", 1, 1)
	d.save(t, place("b", "Acme", phone2, acmeSite, "CA"))
	expect("a website", 1, web)
	d.save(t, place("c", "Zed", phone3, "", "CA"), place("d", "Zed", phone3, "", "CA"))
	expect("phone and name", 3-1, tel)
	merges, err := d.MergeCompanies(t.Context(), noLog{}, 2, []int64{1})
	noErr(t, err)
	expect("by hand, of parts that hang together by less", 2, web)
	d.save(t, place("e", "Moe", "+13105550109", "", "CA"))
	if _, err := d.MergeCompanies(t.Context(), noLog{}, 3, []int64{2}); err != nil { // what was kept is a part itself now
		t.Fatal(err)
	}
	d.save(t, place("f", "Zed", phone3, "", "CA"))
	expect("twice by hand, and one that came since", 3, web)
	if _, err := d.UndoMerge(t.Context(), noLog{}, merges[0]); err != nil {
		t.Fatal(err)
	}
	expect("what is left", 3, tel)
	expect("what is back", 1, web)
	d.save(t, place("b", "Acme", phone2, "https://other.org", "CA"))
	if got := d.company(t, 1); got.Confidence != 0.5 || !slices.Equal(got.Apart, []int64{3}) {
		t.Errorf("remembered: %v, apart from %v", got.Confidence, got.Apart)
	}
}

func TestCompanyOfAMerge(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, place("a", "Acme", phone1, "", "CA"), place("b", "Acme", "", acmeSite, "CA"), place("c", "Acme", phone1, acmeSite, "CA"))
	c := d.company(t, 1)
	if len(c.Merges) != 1 || c.Merges[0].By != "tel" || c.Merges[0].Absorbed != 2 || c.Merges[0].AbsorbedName != "Acme" || c.Merges[0].Listings != 1 {
		t.Errorf("%+v", c.Merges)
	}
	all, err := d.Merges(t.Context(), time.Hour, 0)
	if err != nil || !slices.Equal(all, c.Merges) {
		t.Errorf("%+v, %v, want %+v", all, err, c.Merges)
	}
	if none, err := d.Merges(t.Context(), time.Nanosecond, 0); err != nil || len(none) != 0 {
		t.Errorf("%+v, %v: older than that", none, err)
	}
	for id, why := range map[int64]string{
		2: "there is no company 2 any more: merge 1 made it a part of company 1",
		9: "there is no company 9: `ypcrawl companies list` lists them all",
	} {
		var refused *store.RefusedError
		if _, err := d.Company(t.Context(), id); !errors.As(err, &refused) || err.Error() != why {
			t.Errorf("got %v, want %s", err, why)
		}
	}
}

// TestByHandBesideACrawl: an operator of another process merges and splits while
// pages come; neither disturbs the other, and what is apart stays so.
func TestByHandBesideACrawl(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	var first []yp.Listing
	for i := range 30 {
		first = append(first, place(fmt.Sprint(i), fmt.Sprint("Acme ", i%7), fmt.Sprintf("+1310555%04d", i%11), "", "CA"))
	}
	d.save(t, first...)
	operator, err := store.Open(t.Context(), store.Config{Path: d.DB().Path(), MustExist: true})
	noErr(t, err)
	defer func() { _ = operator.Close() }()
	crawled := make(chan error, 1)
	go func() { crawled <- crawlOn(context.WithoutCancel(t.Context()), d.DB(), first) }()
	done := 0
	for k, i := checkpoint.New(operator), int64(1); i < 30; i++ {
		var refused *store.RefusedError
		merges, err := k.MergeCompanies(t.Context(), noLog{}, i, []int64{i + 1})
		if err == nil {
			done++
			_, err = k.UndoMerge(t.Context(), noLog{}, merges[0])
		}
		if err != nil && !errors.As(err, &refused) {
			t.Error(err)
		}
	}
	if err := <-crawled; err != nil || done == 0 {
		t.Errorf("%d merges were done; the crawl: %v", done, err)
	}
	for what, query := range map[string]string{
		"companies without listings": `SELECT count(*) FROM companies WHERE id NOT IN (SELECT company_id FROM listings)`,
		"broken references":          `SELECT count(*) FROM pragma_foreign_key_check`,
		"leads of another":           `SELECT count(*) FROM companies c LEFT JOIN listings l ON l.source_id = lead_source AND l.listing_id = lead_listing WHERE l.company_id IS NOT c.id`,
	} {
		var n int
		if err := d.DB().Read().QueryRowContext(t.Context(), query).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d %s (%v)", n, what, err)
		}
	}
}

// crawlOn saves the listings again and again, with a website that more and more of
// them share.
func crawlOn(ctx context.Context, db *store.DB, listings []yp.Listing) error {
	for page := range 40 {
		some := slices.Clone(listings)
		for i := range some {
			if (i+page)%5 == 0 {
				some[i] = place(some[i].ID, some[i].Name, some[i].PhoneE164, fmt.Sprintf("https://acme%d.com", i%3), "CA")
			}
		}
		err := db.Write(ctx, func(tx *store.Tx) error {
			_, err := store.SaveListings(tx, store.PageOf{SourceID: 1, TargetID: 1, State: "CA"}, store.Prepare(&yp.Page{Number: page + 1, Listings: some}))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
