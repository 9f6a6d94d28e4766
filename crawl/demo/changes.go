package demo

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

	"ypcrawl/yp"
)

// Changes is what the last of several complete crawls of a selection tells a
// database that holds what the ones before it saw. Ids are sorted as text; no
// list is nil.
type Changes struct {
	New      []string `json:"new"`      // never seen before
	Changed  []string `json:"changed"`  // a field says something else than before; what a page does not show is kept
	Dropped  []string `json:"dropped"`  // dropped: every target that saw them was read to its end
	Restored []string `json:"restored"` // dropped after an earlier crawl, and seen again
	// Unconfirmed have vanished, but a target that saw them was cut by the page
	// limit, so they may be behind it.
	Unconfirmed []string `json:"unconfirmed"`
	// Retired have vanished with a city: the page of a target that saw them is there no more.
	// A walk through the indexes retires such a target, so that they are gone if another one
	// saw them and was read to its end; without a walk (Planned) they never are. They and the
	// unconfirmed are told again by every crawl until they are seen or gone.
	Retired []string `json:"retired"`
	// Ads stay, although no card shows them: the crawl leaves ads out, and they are shown as
	// those. Only listings that were seen before; told again by every crawl.
	Ads []string `json:"ads"`
}

// Changes computes what a complete crawl of the present epoch tells a database
// that crawled the epochs of since, in their order and each completely, before.
// From nothing to a value is a change only where a target that saw the listing
// sees it again and shows the value; elsewhere the listing is completed.
// A listing counts as dropped from the first crawl that misses it for certain.
// Errors wrap ErrEpoch.
func (d *Directory) Changes(sel Selection, since ...int) (Changes, error) {
	l := ledger{sel: sel, known: make(map[key]*record)}
	for _, epoch := range since {
		if err := checkEpoch(epoch); err != nil {
			return Changes{}, fmt.Errorf("changes since epoch %d: %w", epoch, err)
		}
		l.crawl(d.editionOf(epoch))
	}
	return l.crawl(d.now.Load()), nil
}

// spot names a target in every epoch.
type spot struct{ place, cat int }

// record is what the database knows of a listing.
type record struct {
	says    says
	at      map[spot]views // wherever it ever was seen, in the markup of the last time there; 0 = only as an ad that is left out
	dropped bool
}

// ledger is the database.
type ledger struct {
	sel   Selection
	known map[key]*record
}

// crawl reads an edition and returns what that tells.
func (l *ledger) crawl(e *edition) Changes {
	c := Changes{
		New: []string{}, Changed: []string{}, Dropped: []string{}, Restored: []string{},
		Unconfirmed: []string{}, Retired: []string{}, Ads: []string{},
	}
	seen, ads, complete := e.read(l.sel)
	for k, r := range l.known {
		switch {
		case seen[k] != nil:
		case ads[k] != nil:
			c.Ads = append(c.Ads, k.text())
			if r.dropped {
				c.Restored, r.dropped = append(c.Restored, k.text()), false
			}
		case !r.dropped:
			l.missed(&c, k, r, complete)
		}
		for at := range ads[k] { // of one that is new now, a crawl may have seen the ads first: that tells it nothing
			r.at[at] |= 0
		}
	}
	for k, at := range seen {
		b := e.business(k)
		l.seen(&c, k, &b, at)
	}
	for _, ids := range [][]string{c.New, c.Changed, c.Dropped, c.Restored, c.Unconfirmed, c.Retired, c.Ads} {
		slices.Sort(ids)
	}
	return c
}

// read crawls the selection: who was seen where, whose ads were left out where, and
// which targets were read, true when to their ends.
func (d *edition) read(sel Selection) (seen, ads map[key]map[spot]views, complete map[spot]bool) {
	seen, ads, complete = make(map[key]map[spot]views), make(map[key]map[spot]views), make(map[spot]bool)
	for _, t := range d.selected(sel) {
		at := spot{t.place.index, t.cat}
		if d.byIndex[t.place.index] == nil {
			continue // its page is not there: that says nothing of who was on it
		}
		complete[at] = t.pages() == t.read
		saw := func(in map[key]map[spot]views, v views, keys []key) {
			for _, k := range keys {
				if in[k] == nil {
					in[k] = make(map[spot]views)
				}
				in[k][at] |= v
			}
		}
		into := ads
		if sel.IncludeSponsored {
			into = seen
		}
		for n := 1; n <= t.read; n++ {
			saw(seen, viewOrganic, d.onPage(&t, n))
			saw(into, viewAd, d.ads(&t, n))
		}
	}
	return seen, ads, complete
}

// missed sorts a listing that was not seen.
func (l *ledger) missed(c *Changes, k key, r *record, complete map[spot]bool) {
	cut, left, read := false, false, false // left by a city; read to its end
	for at := range r.at {
		whole, known := complete[at]
		cut, left, read = cut || known && !whole, left || !known, read || whole
	}
	id := k.text()
	switch {
	case cut:
		c.Unconfirmed = append(c.Unconfirmed, id)
	case left && (l.sel.Planned || !read):
		c.Retired = append(c.Retired, id)
	default:
		c.Dropped = append(c.Dropped, id)
		r.dropped = true
	}
}

// seen takes in a listing that was seen.
func (l *ledger) seen(c *Changes, k key, b *business, at map[spot]views) {
	texts, id := b.says(union(at)), k.text()
	r, known := l.known[k]
	if !known {
		c.New = append(c.New, id)
		l.known[k] = &record{says: texts, at: at}
		return
	}
	if r.dropped {
		c.Restored, r.dropped = append(c.Restored, id), false
	}
	var again says // what targets show that saw it before
	for spot, v := range at {
		if r.at[spot] != 0 {
			for f, text := range b.says(v) {
				again[f] = cmp.Or(again[f], text)
			}
		}
		r.at[spot] = v
	}
	changed := false
	for f, text := range texts {
		if text != "" {
			changed = changed || r.says[f] != text && (r.says[f] != "" || again[f] != "")
			r.says[f] = text
		}
	}
	if changed {
		c.Changed = append(c.Changed, id)
	}
}

// says returns what b's cards of the given kinds say.
func (b *business) says(shown views) (texts says) {
	l := b.listing(&url.URL{}, shown)
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Counted) {
			texts[i] = f.Text(&l)
		}
	}
	return texts
}

// says holds what a listing says in the fields whose changes count, as texts, in the order
// of yp.ListingFields. The other fields are volatile, or follow from these.
type says [len(yp.ListingFields)]string
