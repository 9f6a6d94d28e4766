package report_test

import (
	"errors"
	"slices"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

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

func (d *directory) company(t *testing.T, id int64) *report.Record {
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
		values map[string]any
		want   string
	}{
		"all":     {nil, "1 2 3"},
		"state":   {map[string]any{"states": []string{"TX", "NY"}}, "2"},
		"name":    {map[string]any{"name": "aCME"}, "1"},
		"percent": {map[string]any{"name": "%"}, "1"},
		"several": {map[string]any{"min-listings": 2}, "1"},
		"none":    {map[string]any{"min-listings": 2, "states": []string{"TX"}}, ""},
	} {
		if got := listed(t, d.Reader, "companies list", report.Choice{Values: tc.values, Columns: []string{"id"}}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if c := d.company(t, 1); c.Int("listings") != 2 || c.Int("alive") != 1 || c.Get("website") != acmeSite || c.Get("first_seen_at") == nil {
		t.Errorf("%+v", c)
	}
}

func TestCompanyKeys(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, place("a", "Acme", phone1, acmeSite, "CA"), place("b", "Acme", phone2, acmeSite, "CA"))
	d.save(t, place("b", "Acme", phone3, acmeSite, "CA"))
	c := d.company(t, 1)
	want := []string{"tel:" + phone1 + "|acme|tel", "tel:" + phone2 + "|acme|tel", "tel:" + phone3 + "|acme|tel", "web:acme.com|web"}
	if got := cells(c, "keys", "key kind"); !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s: a key that nobody gives any more is remembered", got, want)
	}
}

func TestCompanyOfAMerge(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, place("a", "Acme", phone1, "", "CA"), place("b", "Acme", "", acmeSite, "CA"), place("c", "Acme", phone1, acmeSite, "CA"))
	if c := d.company(t, 1); len(c.Part("places").Rows) != 3 {
		t.Errorf("%v", c.Part("places").Rows)
	}
	var refused *store.RefusedError
	if _, err := d.Company(t.Context(), 2); !errors.As(err, &refused) || err.Error() != "there is no company 2: `ypcrawl companies list` lists them all" {
		t.Errorf("got %v", err)
	}
}
