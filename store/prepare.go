package store

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"ypcrawl/yp"
)

// Prepared is a page's listings with all that is known of them without the
// database. It is made before the transaction, so that the one writer, for which all
// wait, is not kept busy with it.
type Prepared struct {
	page     *yp.Page
	listings []yp.Listing // those that can be stored
	dropped  int
	ids      string     // a JSON array
	prints   []int64    // fingerprint of each listing
	others   []string   // ids of those that the page shows and that are not stored
	keys     [][]string // strong keys of each, of a source in the USA
	gives    []given    // groups of each
	args     []any      // of insertListings for all of them, but for what the page and the database say
}

// given are the groups of fields that a card writes, and those of them that then count as its own: since the own page
// was read last, and when it was. See listings.cards.
type given struct{ writes, cards, before yp.Groups }

// Prepare prepares a page of cards. It must not be changed afterwards.
func Prepare(page *yp.Page) *Prepared {
	if page.Own {
		return &Prepared{page: page}
	}
	// Dropped are listings without a name or an id, those whose id would not be found again (JSON
	// takes ids to the database), and all but the first of those with the same id: one of them
	// must not cost the page its others. A parser gives none such; a log that is replayed might.
	p, seen := &Prepared{page: page, listings: page.Listings}, make(map[string]bool, len(page.Listings))
	drop := func(l yp.Listing) bool {
		if l.ID == "" || l.Name == "" || seen[l.ID] || !utf8.ValidString(l.ID) || strings.IndexByte(l.ID, 0) >= 0 {
			return true
		}
		seen[l.ID] = true
		return false
	}
	if slices.ContainsFunc(p.listings, drop) {
		clear(seen)
		p.listings = slices.DeleteFunc(slices.Clone(p.listings), drop)
	}
	p.others = slices.Clone(page.Others)
	for i := range page.Rejected {
		p.others = append(p.others, page.Rejected[i].Listing.ID)
	}
	n := len(p.listings)
	p.dropped = len(page.Listings) - n
	ids, said := make([]byte, 0, 16*n+2), make([]byte, 0, 1024)
	p.prints, p.keys, p.gives, p.args = make([]int64, n), make([][]string, n), make([]given, n), make([]any, n*insertListings.columns)
	for i := range p.listings {
		l := &p.listings[i]
		p.prints[i], said = fingerprint(l, said[:0])
		p.keys[i] = yp.CompanyKeys(l, yp.DefaultCountry)
		ids = yp.AppendJSON(append(ids, "[,"[min(i, 1)]), l.ID)
		args, gives := p.argsOf(i), l.Gives()
		p.gives[i] = given{writes: gives, cards: gives}
		args[printArg], args[cardsArg] = p.prints[i], int64(gives) // the others of the page are filled in later
		for n, f := range columnsOf {
			args[len(ofPage)+n] = f.Value(l)
		}
	}
	if p.ids = "[]"; n > 0 {
		p.ids = string(append(ids, ']'))
	}
	return p
}

// argsOf are the arguments of insertListings for one of the listings.
func (p *Prepared) argsOf(i int) []any {
	return p.args[i*insertListings.columns : (i+1)*insertListings.columns]
}

// fingerprint hashes what a page says of a listing, less its rank: two pages
// that say the same give the same number. The canonical forms are part of it, so
// that better rules for them reach what was stored under the old ones.
// It uses the memory of buf, and returns it for the next one.
func fingerprint(l *yp.Listing, buf []byte) (int64, []byte) {
	h := fnv.New64a()
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Table != yp.NoTable {
			buf = f.AppendKey(buf, l)
		}
	}
	_, _ = h.Write(buf)
	return int64(h.Sum64() & math.MaxInt64), buf // #nosec: the top bit is dropped on purpose
}
