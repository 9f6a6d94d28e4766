package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// again stores a kept page of a crawl of a target that was fetched then.
func (w *world) again(t *testing.T, target, page int, crawl int64, fetched string, listings ...yp.Listing) (saved store.Saved, older int) {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, fetched)
	noErr(t, err)
	noErr(t, w.Write(context.Background(), func(tx *store.Tx) error {
		of := store.PageOf{SourceID: w.source(target), TargetID: int64(target), State: w.state(target), Crawl: crawl, Fetched: at}
		p, n, err := store.PrepareAgain(tx, of, &yp.Page{Number: page, Listings: listings})
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
	shown := func(t *testing.T, stored yp.Listing) *world {
		w := newWorld(t)
		_, err := w.save(1, 1, 1, stored)
		noErr(t, err)
		w.must(t, `UPDATE listings SET first_seen_at = '`+t2+`', last_seen_at = '`+t2+`'`, `UPDATE sightings SET seen_at = '`+t2+`'`, `UPDATE targets SET crawls = 1 WHERE id = 1`,
			`DELETE FROM listing_events`)
		return w
	}
	const listing = `SELECT ifnull(phone, ''), ifnull(snippet, ''), first_seen_at, last_seen_at, dropped_at IS NULL FROM listings`
	const events = `SELECT kind, reparsed, what ->> '$.changes[0].field', what ->> '$.completed[0]', run_id IS NULL FROM listing_events ORDER BY id`
	is := func(t *testing.T, w *world, query string, want ...string) {
		t.Helper()
		if got := rows(t, w.DB, query); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}

	t.Run("the page that was the last to show it", func(t *testing.T) {
		t.Parallel()
		w := shown(t, acme("5125550123", "wrong"))
		saved, older := w.again(t, 1, 1, 1, t1, acme("", "right"))
		if saved.Changed != 1 || saved.Rows != 1 || older != 0 {
			t.Errorf("%+v, %d older", saved, older)
		}
		is(t, w, listing, "5125550123|right|"+t2+"|"+t2+"|1")
		is(t, w, events, "changed|1|snippet||1")
		if saved, _ := w.again(t, 1, 1, 1, t1, acme("", "right")); saved.Rows != 0 {
			t.Errorf("once more it brings %d rows", saved.Rows)
		}
		is(t, w, events, "changed|1|snippet||1")
		w.sound(t)
	})
	t.Run("what it finds more is completed, and no later crawl tells it as a change", func(t *testing.T) {
		t.Parallel()
		w := shown(t, acme("", "text"))
		w.again(t, 1, 1, 1, t1, acme("5125550123", "text"))
		is(t, w, events, "completed|1||phone|1")
		_, err := w.save(1, 1, 2, acme("5125550123", "text"))
		noErr(t, err)
		is(t, w, events, "completed|1||phone|1")
		w.sound(t)
	})
	t.Run("another target has shown it since", func(t *testing.T) {
		t.Parallel()
		w := shown(t, acme("", "first"))
		_, err := w.save(3, 1, 1, acme("", "newer"))
		noErr(t, err)
		w.must(t, `DELETE FROM listing_events`)
		saved, older := w.again(t, 1, 1, 1, t1, acme("5125550123", "mended"))
		if older != 1 || saved.Changed != 0 || saved.Rows == 0 {
			t.Errorf("%+v, %d older", saved, older)
		}
		is(t, w, `SELECT phone, phone_e164, snippet FROM listings`, "5125550123|+15125550123|newer")
		is(t, w, events, "completed|1||phone|1")
		if saved, _ := w.again(t, 1, 1, 1, t1, acme("5125550123", "mended")); saved.Rows != 0 {
			t.Errorf("once more it brings %d rows", saved.Rows)
		}
		w.sound(t)
	})
	t.Run("a phone and its canonical form are taken together", func(t *testing.T) {
		t.Parallel()
		stored := acme("", "first")
		stored.Phone = "call us"
		w := shown(t, stored)
		w.must(t, `UPDATE listings SET last_seen_at = '`+t3+`'`)
		w.again(t, 1, 1, 1, t1, acme("5125550123", "mended"))
		is(t, w, `SELECT phone, phone_e164, snippet FROM listings`, "call us||first")
	})
	t.Run("a later crawl of the same target", func(t *testing.T) {
		t.Parallel()
		w := shown(t, acme("", "first"))
		_, err := w.save(1, 1, 2, acme("", "newer"))
		noErr(t, err)
		before := rows(t, w.DB, `SELECT * FROM sightings`)
		if _, older := w.again(t, 1, 1, 1, t1, acme("", "mended")); older != 1 {
			t.Errorf("%d older", older)
		}
		is(t, w, `SELECT snippet FROM listings`, "newer")
		is(t, w, `SELECT * FROM sightings`, before...)
	})
	t.Run("a later page of the same crawl", func(t *testing.T) {
		t.Parallel()
		w := shown(t, acme("", "first"))
		_, err := w.save(1, 2, 1, acme("", "second"))
		noErr(t, err)
		w.must(t, `UPDATE listings SET last_seen_at = '`+t3+`'`, `UPDATE sightings SET seen_at = '`+t3+`'`, `DELETE FROM listing_events`)
		if _, older := w.again(t, 1, 1, 1, t1, acme("", "mended")); older != 1 {
			t.Errorf("%d older", older)
		}
		is(t, w, `SELECT snippet FROM listings`, "second")
		if saved, _ := w.again(t, 1, 2, 1, t2, acme("", "second")); saved.Rows != 0 {
			t.Errorf("the later page brings %d rows", saved.Rows)
		}
		is(t, w, events)
	})
	t.Run("a listing that nobody had found", func(t *testing.T) {
		t.Parallel()
		w := shown(t, acme("", "first"))
		b := yp.Listing{ID: "b", Name: "Bee", Rank: 2}
		if saved, _ := w.again(t, 1, 1, 1, t1, acme("", "first"), b); saved.New != 1 {
			t.Errorf("%+v", saved)
		}
		is(t, w, `SELECT first_seen_at, last_seen_at FROM listings WHERE listing_id = 'b'`, t1+"|"+t1)
		is(t, w, `SELECT page, rank, seen_at, since, crawl FROM sightings WHERE rank = 2`, "1|2|"+t1+"|1|1")
		is(t, w, events, "new|1|||1")
		w.sound(t)
	})
	t.Run("dropped", func(t *testing.T) {
		t.Parallel()
		for crawls, want := range map[string]string{"1": "1", "3": "0"} { // of the target until now
			w := shown(t, acme("", "first"))
			w.must(t, `UPDATE listings SET dropped_at = '`+t3+`'`, `UPDATE targets SET crawls = `+crawls+` WHERE id = 1`)
			w.again(t, 1, 1, 1, t1, acme("", "first"))
			is(t, w, `SELECT dropped_at IS NULL FROM listings`, want)
			w.sound(t)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		t.Parallel()
		w := shown(t, acme("", "first"))
		reject := func() (saved store.Saved) {
			noErr(t, w.Write(context.Background(), func(tx *store.Tx) error {
				at, _ := time.Parse(time.RFC3339Nano, t1)
				of := store.PageOf{SourceID: 1, TargetID: 1, State: "TX", Crawl: 1, Fetched: at}
				p, _, err := store.PrepareAgain(tx, of, &yp.Page{Number: 1, Rejected: []yp.Rejection{{Listing: yp.Listing{ID: "r", Name: "R", Rank: 7}, Reasons: []string{"bad"}}}})
				if err == nil {
					saved, err = store.SaveListings(tx, of, p)
				}
				return err
			}))
			return saved
		}
		if saved := reject(); saved.Rejected != 1 || saved.Rows != 1 {
			t.Errorf("%+v", saved)
		}
		is(t, w, events, "rejected|1|||1")
		is(t, w, `SELECT last_seen_at FROM staged_listings`, t1)
		if saved := reject(); saved.Rows != 0 {
			t.Errorf("once more it brings %d rows", saved.Rows)
		}
	})
}
