package checkpoint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// orders are all orders, up to five steps, of what may happen to a listing: r a rich card, p a poor one, - a page without it, o its
// own page, x the own page when it says otherwise. The first is a card.
func orders() (all []string) {
	all = []string{"r", "p"}
	for range 4 {
		var longer []string
		for _, o := range all {
			for _, next := range "rp-ox" {
				longer = append(longer, o+string(next))
			}
		}
		all = longer
	}
	return all
}

// said is what happens to a listing with a number.
func said(what byte, n int) yp.Listing {
	id := fmt.Sprint("l", n)
	l := yp.Listing{ID: id, Name: "N" + id, ProfileURL: "http://127.0.0.1:1/mip/" + id}
	if what == 'p' {
		return l
	}
	web := fmt.Sprintf("%c%d.com", what, n)
	l.Phone, l.PhoneE164 = fmt.Sprintf("(310) 55%d-%04d", what%10, n), fmt.Sprintf("+131055%d%04d", what%10, n)
	l.WebsiteURL, l.Website, l.Domain, l.Hours = "http://"+web, "https://"+web, web, []string{fmt.Sprintf("Mo 0%d:00-10:00", what%10)}
	if what != 'r' {
		l.Email, l.About, l.Lat, l.Payment = "mail@"+web, "about "+web, float64(what%10), []string{web}
	}
	return l
}

// step brings the next page of a claim, its last, with its log.
func (g *logged) step(t *testing.T, c *checkpoint.Claim, own bool, listings ...yp.Listing) {
	t.Helper()
	g.log(wal.TargetStart, c, nil, "", yp.InProgress)
	p := yp.Page{Number: 1, Last: true, Raw: len(listings), Accepted: len(listings), Own: own, Listings: listings}
	if !own {
		p.Ending = yp.EndNoWord
	}
	logged := p
	g.log(wal.PageComplete, c, &logged, "", yp.InProgress)
	g.save(t, c, p)
	g.log(wal.TargetComplete, c, nil, "", yp.Done)
}

// due lets the search, or the own pages of some listings alone, be taken.
func (g *logged) due(t *testing.T, kind yp.Kind, ids []string) store.Scope {
	t.Helper()
	execute(t, g.DB(), fmt.Sprintf(`UPDATE targets SET paused = kind <> '%s' OR listing IS NOT NULL AND listing IN (SELECT id FROM listings WHERE listing_id NOT IN (SELECT value FROM json_each('%s')))`,
		kind, store.JSONTexts(ids)), `UPDATE targets SET wait_reason = 'recrawl', not_before = '2020-01-01T00:00:00.000Z' WHERE status = 'DONE' AND paused = 0`)
	s := g.scope
	s.Kinds = []yp.Kind{kind}
	g.wake(t, s)
	return s
}

// TestReplayOfPrecedence: after every order of cards and own pages a database that is built from the logs says of each listing what
// the crawled one says.
func TestReplayOfPrecedence(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	b.want(t, "CA")
	g, all := &logged{bundle: b, clock: clock}, orders()
	for step := range 5 {
		var cards []yp.Listing
		var own []string
		for n, o := range all {
			if strings.IndexByte("rp", o[step]) >= 0 {
				cards = append(cards, said(o[step], n))
			} else if o[step] != '-' {
				own = append(own, fmt.Sprint("l", n))
			}
		}
		c, err := b.Claim(t.Context(), b.worker(0), g.due(t, yp.KindSearch, nil), 5)
		noErr(t, err)
		g.step(t, c, false, cards...)
		of := g.due(t, yp.KindDetail, own)
		for range own {
			c, err := b.Claim(t.Context(), b.worker(0), of, 5)
			noErr(t, err)
			var n int
			_, err = fmt.Sscanf(c.ListingID, "l%d", &n)
			noErr(t, err)
			g.step(t, c, true, said(all[n][step], n))
		}
	}
	rebuilt := checkpoint.New(storetest.Open(t))
	_, err := rebuilt.Replay(t.Context(), seq(byCommit(t, g.events, nil)), g.replayConfig(func(err error) { t.Errorf("damaged: %v", err) }))
	noErr(t, err)
	for _, q := range append(slices.Clone(storyRows), `SELECT * FROM v_listings ORDER BY listing_id`, `SELECT * FROM details ORDER BY listing`) {
		same(t, q, table(t, rebuilt.DB(), q), table(t, g.DB(), q))
	}
}
