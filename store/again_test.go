package store_test

import (
	"context"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// again stores what a page of a crawl of a target says that was fetched then and kept.
func (w *world) again(t *testing.T, target int, crawl int64, fetched string, page *yp.Page) (saved store.Saved, older int) {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, fetched)
	noErr(t, err)
	noErr(t, w.Write(context.Background(), func(tx *store.Tx) error {
		of := store.PageOf{SourceID: w.source(target), TargetID: int64(target), State: w.state(target), Crawl: crawl, Fetched: at}
		p, n, err := store.PrepareAgain(tx, of, page)
		if err != nil {
			return err
		}
		older = n
		saved, err = store.SaveListings(tx, of, p)
		return err
	}))
	return saved, older
}

// TestKeptPages: a kept page that is read again changes what it was the last to say, and of
// what was seen later only fills what nobody has given.
func TestKeptPages(t *testing.T) {
	t.Parallel()
	const t1, t2, t3 = "2026-11-01T10:00:00.000Z", "2026-11-01T10:00:01.000Z", "2026-11-02T10:00:00.000Z"
	acme := func(phone, snippet string) yp.Listing {
		l := yp.Listing{ID: "a", Name: "Acme", Snippet: snippet, Rank: 1}
		if phone != "" {
			l.Phone, l.PhoneE164 = phone, "+1"+phone
		}
		return l
	}
	// Target 1 has shown it in its crawl 1, committed at t2, a little after it was fetched.
	shown := func(t *testing.T, w *world, stored yp.Listing) {
		card(t, w, stored)
		w.must(t, `UPDATE listings SET first_seen_at = '`+t2+`', last_seen_at = '`+t2+`'`, `UPDATE sightings SET seen_at = '`+t2+`'`, `UPDATE targets SET crawls = 1 WHERE id = 1`,
			`DELETE FROM listing_events`)
	}
	// one is a page of one listing.
	one := func(number int, l yp.Listing) *yp.Page { return &yp.Page{Number: number, Listings: []yp.Listing{l}} }
	nothing := func(t *testing.T, w *world, page *yp.Page, fetched string) {
		t.Helper()
		if saved, _ := w.again(t, 1, 1, fetched, page); saved.Rows != 0 {
			t.Errorf("once more it brings %d rows", saved.Rows)
		}
	}
	const listing = `SELECT ifnull(phone, ''), ifnull(snippet, ''), first_seen_at, last_seen_at, dropped_at IS NULL FROM listings`
	const events = `SELECT kind, reparsed, what ->> '$.changes[0].field', what ->> '$.completed[0]', run_id IS NULL FROM listing_events ORDER BY id`
	inWorld(t, "the page that was the last to show it", func(t *testing.T, w *world) {
		shown(t, w, acme("5125550123", "wrong"))
		saved, older := w.again(t, 1, 1, t1, one(1, acme("", "right")))
		if saved.Changed != 1 || saved.Rows != 1 || older != 0 {
			t.Errorf("%+v, %d older", saved, older)
		}
		w.is(t, listing, "5125550123|right|"+t2+"|"+t2+"|1")
		w.is(t, events, "changed|1|snippet||1")
		nothing(t, w, one(1, acme("", "right")), t1)
		w.is(t, events, "changed|1|snippet||1")
		w.sound(t)
	})
	inWorld(t, "what it finds more is completed, and no later crawl tells it as a change", func(t *testing.T, w *world) {
		shown(t, w, acme("", "text"))
		w.again(t, 1, 1, t1, one(1, acme("5125550123", "text")))
		w.is(t, events, "completed|1||phone|1")
		_, err := w.save(1, 1, 2, acme("5125550123", "text"))
		noErr(t, err)
		w.is(t, events, "completed|1||phone|1")
		w.sound(t)
	})
	inWorld(t, "another target has shown it since", func(t *testing.T, w *world) {
		shown(t, w, acme("", "first"))
		_, err := w.save(3, 1, 1, acme("", "newer"))
		noErr(t, err)
		w.must(t, `DELETE FROM listing_events`)
		saved, older := w.again(t, 1, 1, t1, one(1, acme("5125550123", "mended")))
		if older != 1 || saved.Changed != 0 || saved.Rows == 0 {
			t.Errorf("%+v, %d older", saved, older)
		}
		w.is(t, `SELECT phone, phone_e164, snippet FROM listings`, "5125550123|+15125550123|newer")
		w.is(t, events, "completed|1||phone|1")
		nothing(t, w, one(1, acme("5125550123", "mended")), t1)
		w.sound(t)
	})
	inWorld(t, "a phone and its canonical form are taken together", func(t *testing.T, w *world) {
		stored := acme("", "first")
		stored.Phone = "call us"
		shown(t, w, stored)
		w.must(t, `UPDATE listings SET last_seen_at = '`+t3+`'`)
		w.again(t, 1, 1, t1, one(1, acme("5125550123", "mended")))
		w.is(t, `SELECT phone, phone_e164, snippet FROM listings`, "call us||first")
	})
	inWorld(t, "a later crawl of the same target", func(t *testing.T, w *world) {
		shown(t, w, acme("", "first"))
		_, err := w.save(1, 1, 2, acme("", "newer"))
		noErr(t, err)
		before := rows(t, w.DB, `SELECT * FROM sightings`)
		if _, older := w.again(t, 1, 1, t1, one(1, acme("", "mended"))); older != 1 {
			t.Errorf("%d older", older)
		}
		w.is(t, `SELECT snippet FROM listings`, "newer")
		w.is(t, `SELECT * FROM sightings`, before...)
	})
	inWorld(t, "a later page of the same crawl", func(t *testing.T, w *world) {
		shown(t, w, acme("", "first"))
		_, err := w.save(1, 2, 1, acme("", "second"))
		noErr(t, err)
		w.must(t, `UPDATE listings SET last_seen_at = '`+t3+`'`, `UPDATE sightings SET seen_at = '`+t3+`'`, `DELETE FROM listing_events`)
		if _, older := w.again(t, 1, 1, t1, one(1, acme("", "mended"))); older != 1 {
			t.Errorf("%d older", older)
		}
		w.is(t, `SELECT snippet FROM listings`, "second")
		nothing(t, w, one(2, acme("", "second")), t2)
		w.is(t, events)
	})
	inWorld(t, "a listing that nobody had found", func(t *testing.T, w *world) {
		shown(t, w, acme("", "first"))
		b := yp.Listing{ID: "b", Name: "Bee", Rank: 2}
		if saved, _ := w.again(t, 1, 1, t1, &yp.Page{Number: 1, Listings: []yp.Listing{acme("", "first"), b}}); saved.New != 1 {
			t.Errorf("%+v", saved)
		}
		w.is(t, `SELECT first_seen_at, last_seen_at FROM listings WHERE listing_id = 'b'`, t1+"|"+t1)
		w.is(t, `SELECT page, rank, seen_at, since, crawl FROM sightings WHERE rank = 2`, "1|2|"+t1+"|1|1")
		w.is(t, events, "new|1|||1")
		w.sound(t)
	})
	t.Run("dropped", func(t *testing.T) {
		for crawls, want := range map[string]string{"1": "1", "3": "0"} { // of the target until now
			w := newWorld(t)
			shown(t, w, acme("", "first"))
			w.must(t, `UPDATE listings SET dropped_at = '`+t3+`'`, `UPDATE targets SET crawls = `+crawls+` WHERE id = 1`)
			w.again(t, 1, 1, t1, one(1, acme("", "first")))
			w.is(t, `SELECT dropped_at IS NULL FROM listings`, want)
			w.sound(t)
		}
	})
	inWorld(t, "rejected", func(t *testing.T, w *world) {
		shown(t, w, acme("", "first"))
		bad := []yp.Rejection{{Listing: yp.Listing{ID: "r", Name: "R", Rank: 7}, Reasons: []string{"bad"}}}
		if saved, _ := w.again(t, 1, 1, t1, &yp.Page{Number: 1, Rejected: bad}); saved.Rejected != 1 || saved.Rows != 1 {
			t.Errorf("%+v", saved)
		}
		w.is(t, events, "rejected|1|||1")
		w.is(t, `SELECT last_seen_at FROM staged_listings`, t1)
		nothing(t, w, &yp.Page{Number: 1, Rejected: bad}, t1)
	})
}
