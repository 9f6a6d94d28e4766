package store_test

import (
	"fmt"
	"testing"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// fullPage is a page of 30 full listings, of which the first so many say something else
// with every version.
func fullPage(page, changed, version int) []yp.Listing {
	ls := make([]yp.Listing, 30)
	for i := range ls {
		n := page*30 + i
		ls[i] = yp.Listing{
			ID: fmt.Sprint(n), Name: fmt.Sprintf("Acme Plumbing & Heating %d", n), Rank: i + 1, ProfileURL: fmt.Sprintf("https://www.example.com/los-angeles-ca/mip/acme-%d", n),
			Phone: "(310) 555-0123", PhoneE164: fmt.Sprintf("+1310%07d", n%10_000_000), Street: fmt.Sprintf("%d Main Street", n), City: "Los Angeles", State: "CA", PostalCode: "90001",
			WebsiteURL: fmt.Sprintf("http://www.acme%d.com", n), Website: fmt.Sprintf("https://acme%d.com", n), Domain: fmt.Sprintf("acme%d.com", n),
			Categories: []string{"Plumbers", "Water Heaters"}, Rating: 4.5, ReviewCount: 12, YearsInBusiness: 20, Snippet: "We mend what leaks, day and night.",
		}
		if i < changed {
			ls[i].ReviewCount, ls[i].Rating = 12+version, float64(1+version%9)/2
		}
	}
	return ls
}

// BenchmarkPage is what a page of 30 listings costs in its transaction, fsync
// included: promotion, staging and history are the differences between the cases.
func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		name    string
		changed int
		fresh   bool
		others  int
		bad     int
	}{{"new", 0, true, 0, 0}, {"known and equal", 0, false, 0, 0}, {"3 of 30 changed", 3, false, 0, 0}, {"all changed", 30, false, 0, 0}, {"5 ads beside", 0, false, 5, 0}, {"1 rejected", 0, false, 0, 1}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b)
			at, p := store.PageOf{SourceID: 1, TargetID: 1, State: "CA", Crawl: 1}, yp.Page{Number: 1}
			for i := range c.others {
				p.Others = append(p.Others, fmt.Sprint(i))
			}
			save := func(page, version int) {
				if c.bad > 0 {
					p.Rejected = []yp.Rejection{{Listing: yp.Listing{ID: fmt.Sprint("x", version%2), Name: "?"}, Reasons: []string{"name: no letter"}}}
				}
				p.Listings = fullPage(page, c.changed, version)
				err := w.Write(b.Context(), func(tx *store.Tx) error {
					_, err := store.SaveListings(tx, at, store.Prepare(&p))
					return err
				})
				noErr(b, err)
			}
			save(0, 0)
			n := 0
			for b.Loop() {
				n++
				if c.fresh {
					save(n, 0)
				} else {
					at.Crawl++
					save(0, n)
				}
			}
		})
	}
}

// BenchmarkEndCrawl ends complete crawls of a target with 1,000 sightings, of which one
// more is missing every time.
func BenchmarkEndCrawl(b *testing.B) {
	w := newWorld(b)
	at := store.PageOf{SourceID: 1, TargetID: 1, State: "CA", Crawl: 1}
	for page := range 34 {
		err := w.Write(b.Context(), func(tx *store.Tx) error {
			_, err := store.SaveListings(tx, at, store.Prepare(&yp.Page{Number: 1, Listings: fullPage(page, 0, 0)}))
			return err
		})
		noErr(b, err)
	}
	for b.Loop() {
		at.Crawl++
		err := w.Write(b.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec(`UPDATE sightings SET crawl = ?, missed = 0 WHERE listing > 1`, at.Crawl); err != nil {
				return err
			}
			_, err := store.EndCrawl(tx, at)
			return err
		})
		noErr(b, err)
	}
}
