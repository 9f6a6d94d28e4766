package store_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// few values, so that keys collide; and odd ones, so that their way through JSON
// and SQL is tried.
var (
	someNames  = []string{"Acme Plumbing", "ACME Plumbing, LLC", "Bob & Sons", "Bob and Sons", `Qu"o'te\s`, "Café Ünï ✓ 日本", "a\u2028b", "<i>&amp;"}
	somePhones = []string{"", "+13105550101", "+13105550102", "+13105550103"}
	someSites  = []string{"", "https://acme.com", "https://bob.com/x%22y", "https://acme.com/menu", "https://facebook.com/acme", "https://zed.org"}
	someStreet = []string{"", "12 Main Street", "12 Main St", `9 "Q" \ Ave`}
	someStates = []string{"", "CA", "TX"}
)

// drawMaster draws all that is to be known of a listing.
func drawMaster(rt *rapid.T, id string) yp.Listing {
	l := yp.Listing{
		ID: id, Name: rapid.SampledFrom(someNames).Draw(rt, "name"), PhoneE164: rapid.SampledFrom(somePhones).Draw(rt, "phone"),
		Website: rapid.SampledFrom(someSites).Draw(rt, "site"), Street: rapid.SampledFrom(someStreet).Draw(rt, "street"),
		State: rapid.SampledFrom(someStates).Draw(rt, "state"),
	}
	if w, ok := yp.CanonicalWebsite(l.Website); ok {
		l.Website, l.Domain, l.WebsiteURL = w.URL, w.Domain, l.Website
	}
	if l.Street != "" {
		l.PostalCode = rapid.SampledFrom([]string{"", "90210", "90210-1234", "78701"}).Draw(rt, "zip")
	}
	l.Phone = l.PhoneE164
	return l
}

// drawPart leaves out some of what is known: what one page says. Fields that belong together are there or not.
func drawPart(rt *rapid.T, l yp.Listing) yp.Listing {
	drop := rapid.IntRange(0, 7).Draw(rt, "drop")
	if drop&1 != 0 {
		l.Phone, l.PhoneE164 = "", ""
	}
	if drop&2 != 0 {
		l.Website, l.WebsiteURL, l.Domain = "", "", ""
	}
	if drop&4 != 0 {
		l.Street, l.PostalCode, l.State = "", "", ""
	}
	return l
}

type page struct {
	target   int
	listings []yp.Listing
}

// drawPages splits sightings into pages of a random order, some of them twice.
func drawPages(rt *rapid.T, w *world, bySource [3][]yp.Listing) []page {
	var pages []page
	for source := 1; source <= 2; source++ {
		left := rapid.Permutation(bySource[source]).Draw(rt, "order")
		for len(left) > 0 {
			n := min(rapid.IntRange(1, 6).Draw(rt, "size"), len(left))
			p := page{target: source + 2*rapid.IntRange(0, w.targets/2-1).Draw(rt, "target")}
			for _, l := range left[:n] {
				if !slices.ContainsFunc(p.listings, func(o yp.Listing) bool { return o.ID == l.ID }) {
					p.listings = append(p.listings, l)
				} else {
					pages = append(pages, page{p.target, []yp.Listing{l}})
				}
			}
			left = left[n:]
			pages = append(pages, p)
			if rapid.Bool().Draw(rt, "again") {
				pages = append(pages, p)
			}
		}
	}
	return rapid.Permutation(pages).Draw(rt, "pages")
}

// TestCompaniesProperty: in whatever order, split and repetition listings come,
// companies end as the connected components of the listings' keys, and every row
// of a company is what its listings make it.
func TestCompaniesProperty(t *testing.T) {
	t.Parallel()
	worlds(t, companiesProperty)
}

func companiesProperty(t *testing.T, w *world) {
	rapid.Check(t, func(rt *rapid.T) {
		w.empty(t)
		known := map[string]*yp.Listing{}
		var sightings [3][]yp.Listing
		for i := range rapid.IntRange(1, 12).Draw(rt, "listings") {
			source := 1 + i%2
			l := drawMaster(rt, fmt.Sprintf(`id%d"\ %d`, i/2, i%3))
			known[fmt.Sprintf("%d/%s", source, l.ID)] = &l
			sightings[source] = append(sightings[source], l)
			for range rapid.IntRange(0, 2).Draw(rt, "parts") {
				sightings[source] = append(sightings[source], drawPart(rt, l))
			}
		}
		companies := 0
		for n, p := range drawPages(rt, w, sightings) {
			saved, err := w.save(p.target, n+1, 0, p.listings...)
			noErr(rt, err)
			if companies += saved.Companies; saved.Kept() != len(p.listings) {
				rt.Fatalf("page of %d listings: %+v", len(p.listings), saved)
			}
		}
		want := oracle(known)
		storetest.Diff(rt, w.partition(rt), want, "companies")
		storetest.Equal(rt, companies, len(want), "companies that the pages told of")
		for key, l := range known {
			storetest.Equal(rt, storedListing(rt, w, key), fmt.Sprintf("%s|%s|%s|%s|%s|%s", l.Name, l.PhoneE164, l.Website, l.Street, l.PostalCode, l.State), "all that was said of listing", key)
		}
		w.sound(rt)
	})
}

func storedListing(t tester, w *world, key string) string {
	t.Helper()
	got := rows(t, w.DB, `SELECT name, phone_e164, website, street, postal_code, state FROM listings WHERE source_id || '/' || listing_id = ?`, key)
	return strings.Join(got, "\n")
}

// TestCompaniesChange: listings that say something else later keep every rule, and
// their companies every key that they ever gave.
func TestCompaniesChange(t *testing.T) {
	t.Parallel()
	worlds(t, companiesChange)
}

func companiesChange(t *testing.T, w *world) {
	rapid.Check(t, func(rt *rapid.T) {
		w.empty(t)
		given := map[string]string{} // key: row id of a listing that gave it
		for n := range rapid.IntRange(1, 10).Draw(rt, "pages") {
			target := rapid.IntRange(1, w.targets).Draw(rt, "target")
			var p []yp.Listing
			for i := range 6 {
				if rapid.Bool().Draw(rt, "on the page") {
					p = append(p, drawPart(rt, drawMaster(rt, fmt.Sprint(i))))
				}
			}
			_, err := w.save(target, n+1, 0, p...)
			noErr(rt, err)
			w.sound(rt)
			w.remembers(rt, given)
		}
	})
}

// remembers adds the keys that listings give now to given, and fails the test unless
// the company of each listing has every key that it ever gave.
func (w *world) remembers(t tester, given map[string]string) {
	t.Helper()
	companies := map[string]int64{}
	for _, r := range rows(t, w.DB, `SELECT id, company_id, name, phone_e164, street, postal_code, website FROM listings`) {
		f := strings.Split(r, "|")
		for _, k := range yp.CompanyKeys(&yp.Listing{Name: f[2], PhoneE164: f[3], Street: f[4], PostalCode: f[5], Website: f[6]}, yp.DefaultCountry) {
			given[k] = f[0]
		}
		companies[f[0]], _ = strconv.ParseInt(f[1], 10, 64)
	}
	keys := map[int64][]string{}
	for k, row := range given {
		c := companies[row]
		if keys[c] == nil {
			var err error
			keys[c], err = store.KeysOf(context.Background(), w.DB, c)
			noErr(t, err)
		}
		if !slices.Contains(keys[c], k) {
			t.Fatalf("company %d of listing %s has the keys %q, it has lost %q", c, row, keys[c], k)
		}
	}
}
