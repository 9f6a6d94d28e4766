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
		p, n, err := store.PrepareReparsed(tx, of, page)
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

// TestKeptOwnPages: the times of cards and of the own page are compared apart, and which of them wins stays as it was.
func TestKeptOwnPages(t *testing.T) {
	t.Parallel()
	const t1, t2, t3 = "2026-11-01T10:00:00.000Z", "2026-11-02T10:00:00.000Z", "2026-11-03T10:00:00.000Z"
	own := func(email, phone string) yp.Listing {
		return yp.Listing{Email: email, Phone: phone, PhoneE164: phone, About: "own"}
	}
	acme := func(phone string) yp.Listing {
		return yp.Listing{ID: "a", Name: "Acme", Phone: phone, PhoneE164: phone, Rank: 1}
	}
	// A card of t1, then the own page of t2.
	setup := func(t *testing.T, w *world, phone string) {
		card(t, w, acme(phone))
		w.detail(t, "a", own("o@x.example", "+13105550102"))
		w.must(t, `UPDATE listings SET first_seen_at = '`+t1+`', last_seen_at = '`+t1+`', own_page_at = '`+t2+`'`, `UPDATE sightings SET seen_at = '`+t1+`'`,
			`UPDATE targets SET crawls = 1 WHERE id = 1`, `DELETE FROM listing_events`)
	}
	ownAgain := func(t *testing.T, w *world, fetched string, l yp.Listing) (rows int64) {
		t.Helper()
		at, err := time.Parse(time.RFC3339Nano, fetched)
		noErr(t, err)
		noErr(t, w.Write(context.Background(), func(tx *store.Tx) (err error) {
			rows, err = store.SaveOwnPage(tx, store.PageOf{SourceID: 1, Fetched: at}, 1, &l)
			return err
		}))
		return rows
	}
	cardAgain := func(t *testing.T, w *world, l yp.Listing) (older int) {
		t.Helper()
		_, older = w.again(t, 1, 1, t1, &yp.Page{Number: 1, Listings: []yp.Listing{l}})
		return older
	}
	const listing = `SELECT phone, email, last_seen_at, own_page_at, (SELECT about FROM listing_texts) FROM listings`
	inWorld(t, "the own page takes nothing that a card had given", func(t *testing.T, w *world) {
		setup(t, w, "+13105550101")
		better := own("better@x.example", "+13105550103")
		if rows := ownAgain(t, w, t2, better); rows != 1 {
			t.Errorf("%d rows", rows)
		}
		w.is(t, listing, "+13105550101|better@x.example|"+t1+"|"+t2+"|own")
		w.is(t, `SELECT kind, reparsed, what FROM listing_events`, `changed|1|{"changes":[{"field":"email","old":"o@x.example","new":"better@x.example"}]}`)
		if rows := ownAgain(t, w, t2, better); rows != 0 {
			t.Errorf("once more it brings %d rows", rows)
		}
		w.sound(t)
	})
	inWorld(t, "what it finds more is completed", func(t *testing.T, w *world) {
		setup(t, w, "")
		more := own("o@x.example", "+13105550102")
		more.YearsInBusiness = 7
		ownAgain(t, w, t2, more)
		w.is(t, `SELECT kind, what FROM listing_events`, `completed|{"completed":["years_in_business"]}`)
	})
	inWorld(t, "a card is as new as the cards are, and wins as it did", func(t *testing.T, w *world) {
		setup(t, w, "+13105550101")
		if older := cardAgain(t, w, acme("+13105550109")); older != 0 {
			t.Errorf("%d older", older)
		}
		w.is(t, listing, "+13105550109|o@x.example|"+t1+"|"+t2+"|own")
		ownAgain(t, w, t2, own("o@x.example", "+13105550102"))
		w.is(t, listing, "+13105550109|o@x.example|"+t1+"|"+t2+"|own")
		w.detail(t, "a", own("o@x.example", "+13105550104")) // no card has said anything since the last reading
		w.is(t, `SELECT phone FROM listings`, "+13105550104")
		cardAgain(t, w, acme("+13105550110")) // it is older than two readings
		w.is(t, `SELECT phone FROM listings`, "+13105550104")
		w.sound(t)
	})
	inWorld(t, "an equal card beside an own page of the same instant moves no time", func(t *testing.T, w *world) {
		setup(t, w, "+13105550101")
		w.must(t, `UPDATE listings SET own_page_at = '`+t1+`'`)
		cardAgain(t, w, acme("+13105550101"))
		w.is(t, listing, "+13105550101|o@x.example|"+t1+"|"+t1+"|own")
		w.is(t, `SELECT count(*) FROM listing_events`, "0")
	})
	inWorld(t, "a crawl corrects the time of a clock that was ahead", func(t *testing.T, w *world) {
		setup(t, w, "+13105550101")
		const later = "2999-01-01T00:00:00.000Z"
		w.must(t, `UPDATE listings SET last_seen_at = '`+later+`'`)
		_, err := w.save(1, 1, 2, acme("+13105550101"))
		noErr(t, err)
		w.is(t, `SELECT last_seen_at < '`+later+`', cards > 0 FROM listings`, "1|1")
	})
	inWorld(t, "an own page that was never stored", func(t *testing.T, w *world) {
		card(t, w, acme("+13105550101"))
		w.must(t, `UPDATE listings SET last_seen_at = '`+t3+`'`)
		ownAgain(t, w, t2, own("o@x.example", "+13105550102"))
		w.is(t, listing, "+13105550101|o@x.example|"+t3+"|"+t2+"|own")
		w.sound(t)
	})
	inWorld(t, "an older own page moves no time", func(t *testing.T, w *world) {
		setup(t, w, "")
		ownAgain(t, w, t1, own("older@x.example", ""))
		w.is(t, `SELECT own_page_at, last_seen_at FROM listings`, t2+"|"+t1)
	})
}
