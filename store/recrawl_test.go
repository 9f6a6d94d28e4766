package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// recrawlPages are the results pages of TestRecrawlJournal, of 30 listings each.
const recrawlPages = 50

// What a crawl that changes nothing may write to the journal in bytes a listing: 1.2 times what it was while own pages stood in a
// table of their own, and one page of the file for a listing's own page that is read again, which is a commit of its own.
const (
	cardsBound = 1.2 * 802
	ownBound   = 4096 + 24
)

// TestRecrawlJournal bounds what crawls that change nothing write to the journal, the first one after own pages were read, too.
func TestRecrawlJournal(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]yp.Listing{
		"cards":                 {},
		"cards with long texts": {Email: "a@x.example", Payment: []string{"cash", "visa"}, Languages: []string{"English"}, Social: []string{"https://facebook.com/acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journalCount{world: worldOn(t, storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Synchronous: "OFF"})), more: more}
			j.cards(t, 1)
			j.own(t)
			for crawl := int64(2); crawl <= 4; crawl++ {
				if got := j.cards(t, crawl); got > cardsBound {
					t.Errorf("cards of crawl %d: %.0f bytes a listing, want at most %.0f", crawl, got, cardsBound)
				}
				if crawl > 2 {
					continue
				}
				if got := j.own(t); got > ownBound {
					t.Errorf("own pages that are read again: %.0f bytes a listing, want at most %d", got, ownBound)
				}
			}
		})
	}
}

// journalCount counts what is written to the journal.
type journalCount struct {
	*world
	more        yp.Listing // what cards say beside the usual
	last, total int64      // pages in the journal
}

// cards crawls all results pages, and returns the bytes a listing.
func (j *journalCount) cards(t *testing.T, crawl int64) float64 {
	for p := range recrawlPages {
		ls := make([]yp.Listing, 30)
		for i := range ls {
			ls[i] = j.card(p*30 + i)
		}
		_, err := j.save(1, p+1, crawl, ls...)
		noErr(t, err)
		j.count(t)
	}
	return j.perListing()
}

// own reads all own pages, each in a transaction as crawls do.
func (j *journalCount) own(t *testing.T) float64 {
	for n := range recrawlPages * 30 {
		l := j.card(n)
		l.Email, l.Lat, l.Lon, l.Founded = "info@x.example", 34.05, -118.25, 1987
		l.Hours, l.Payment, l.Services = []string{"Mo-Fr 07:30-18:00"}, []string{"cash", "visa"}, []string{"Drain cleaning", "Water heaters"}
		l.About = "A family business since 1987. We repair and install what carries water, on every day of the year."
		noErr(t, j.Write(context.Background(), func(tx *store.Tx) error {
			var row int64
			if err := tx.Get(`SELECT id FROM listings WHERE source_id = 1 AND listing_id = ?`, []any{l.ID}, &row); err != nil {
				return err
			}
			_, err := store.SaveOwnPage(tx, store.PageOf{SourceID: 1}, row, &l)
			return err
		}))
		j.count(t)
	}
	return j.perListing()
}

// card is one of a directory: ids in no order, one phone prefix for all.
func (j *journalCount) card(n int) yp.Listing {
	l := j.more
	l.ID, l.Name, l.Rank = fmt.Sprint(int64(n)*2_654_435_761%999_999_937), fmt.Sprintf("Acme Plumbing & Heating %d", n), n%30+1
	l.Phone, l.PhoneE164 = fmt.Sprintf("(210) 555-%04d", n), fmt.Sprintf("+1210555%04d", n)
	l.Street, l.City, l.State, l.PostalCode = fmt.Sprintf("%d Main Street", n), "Los Angeles", "CA", "90012"
	l.Categories, l.Snippet = []string{"Plumbers", "Water Heaters & Repair"}, "Licensed and insured: free estimates on every job."
	l.ProfileURL = "http://127.0.0.1:42183/los-angeles-ca/mip/acme-plumbing-" + l.ID
	if n%5 < 2 {
		l.Domain = fmt.Sprintf("acme%dplumbing.example", n)
		l.Website, l.WebsiteURL = "https://"+l.Domain, "http://www."+l.Domain+"/?utm_source=yp"
	}
	return l
}

// count adds the pages of the commit before. How many the journal has is in the header of FILE-shm (sqlite.org/walformat.html,
// mxFrame); it is written from its beginning again now and then.
func (j *journalCount) count(t *testing.T) {
	t.Helper()
	f, err := os.Open(j.Path() + "-shm")
	noErr(t, err)
	defer func() { _ = f.Close() }()
	var pages [4]byte
	_, err = f.ReadAt(pages[:], 16)
	noErr(t, err)
	n := int64(binary.NativeEndian.Uint32(pages[:]))
	if n < j.last {
		j.last = 0
	}
	j.total, j.last = j.total+n-j.last, n
}

// perListing returns the bytes a listing since it was asked last.
func (j *journalCount) perListing() float64 {
	bytes := j.total * (4096 + 24)
	j.total = 0
	return float64(bytes) / (recrawlPages * 30)
}
