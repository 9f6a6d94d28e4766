package report_test

import (
	"errors"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// directory is a database whose first target shows listings, a page after the other.
type directory struct {
	*bundle
	claim *checkpoint.Claim
}

func newDirectory(t *testing.T, listings ...yp.Listing) *directory {
	t.Helper()
	b := setup(t, 1, "CA")
	d := &directory{b, b.claim(t, 0)}
	for _, l := range listings {
		d.save(t, l)
	}
	return d
}

// save saves listings as a page of their own.
func (d *directory) save(t *testing.T, listings ...yp.Listing) {
	t.Helper()
	d.commit(t, d.claim, yp.Page{Number: d.claim.PageCurrent + 1, NextURL: "/next", Raw: len(listings), Listings: listings})
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

// TestCompanies: those of an answer, and a percent sign in a name is no pattern.
func TestCompanies(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, place("a", "Acme 100%", phone1, acmeSite, "CA"), place("b", "Acme", phone2, acmeSite, "CA"),
		place("c", "Zed", phone3, "", "TX"), place("d", "Moe", "", "", ""))
	for want, values := range map[string]map[string]any{"1 2 3": nil, "2": {"states": []string{"TX", "NY"}}, "1": {"name": "%"}, "": {"min-listings": 2, "states": []string{"TX"}}} {
		if got := listed(t, d.Reader, "companies list", report.Choice{Values: values, Columns: []string{"id"}}); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}

// TestCompanyOfAMerge: a company has the listings and the keys of those that were merged into it, which are no more; a key that
// nobody gives any more is remembered.
func TestCompanyOfAMerge(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, place("a", "Acme", phone1, "", "CA"), place("b", "Acme", "", acmeSite, "CA"), place("c", "Acme", phone1, acmeSite, "CA"))
	d.save(t, place("c", "Acme", phone3, acmeSite, "CA"))
	d.save(t, place("c", "Acme", phone2, acmeSite, "CA"))
	c, err := d.Company(t.Context(), 1)
	noErr(t, err)
	if len(c.Part("places").Rows) != 3 {
		t.Errorf("%v", c.Part("places").Rows)
	}
	same(t, "keys", cells(c, "keys", "key kind"), []string{"tel:" + phone1 + "|acme|tel", "tel:" + phone2 + "|acme|tel", "tel:" + phone3 + "|acme|tel", "web:acme.com|web"})
	var refused *store.RefusedError
	if _, err := d.Company(t.Context(), 2); !errors.As(err, &refused) || err.Error() != "no company 2; `ypcrawl companies list` lists them" {
		t.Errorf("got %v", err)
	}
}
