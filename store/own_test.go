package store_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// detail saves what the page of a listing of source 1 says.
func (w *world) detail(t testing.TB, listing string, d yp.Listing) {
	t.Helper()
	var row int64
	noErr(t, w.Read().QueryRowContext(t.Context(), `SELECT id FROM listings WHERE source_id = 1 AND listing_id = ?`, listing).Scan(&row))
	noErr(t, w.Write(context.WithoutCancel(t.Context()), func(tx *store.Tx) error {
		_, err := store.SaveOwnPage(tx, store.PageOf{SourceID: 1}, row, &d)
		return err
	}))
}

const completedRow = `SELECT phone, phone_e164, website_url, website, domain, hours, years_in_business FROM listings WHERE listing_id = 'a'`

func TestDetailCompletesListing(t *testing.T) {
	t.Parallel()
	full := yp.Listing{
		ID: "a", Phone: "(310) 555-0100", PhoneE164: "+13105550100", WebsiteURL: "http://acme.com/?utm_source=x", Website: "https://acme.com", Domain: "acme.com",
		Hours: []string{"Mo 09:00-10:00"}, YearsInBusiness: 7,
	}
	inWorld(t, "what its cards lack", func(t *testing.T, w *world) {
		card(t, w, yp.Listing{ID: "a", Name: "Acme"})
		w.detail(t, "a", full)
		w.is(t, completedRow, `(310) 555-0100|+13105550100|http://acme.com/?utm_source=x|https://acme.com|acme.com|["Mo 09:00-10:00"]|7`)
		w.is(t, `SELECT website, phone_e164 FROM companies`, "https://acme.com|+13105550100")
		card(t, w, yp.Listing{ID: "a", Name: "Acme"}) // the same card again
		card(t, w, yp.Listing{ID: "a", Name: "Acme", City: "Springfield"})
		w.is(t, completedRow, `(310) 555-0100|+13105550100|http://acme.com/?utm_source=x|https://acme.com|acme.com|["Mo 09:00-10:00"]|7`)
		w.is(t, `SELECT field FROM listing_changes WHERE field NOT IN ('city')`) // what was completed is no change
		w.sound(t)
	})
	inWorld(t, "and nothing that they say", func(t *testing.T, w *world) {
		card(t, w, yp.Listing{ID: "a", Name: "Acme", Phone: "1", WebsiteURL: "http://other.com", Website: "https://other.com", Domain: "other.com", Hours: []string{"Su"}, YearsInBusiness: 3})
		w.detail(t, "a", full)
		w.is(t, completedRow, `1||http://other.com|https://other.com|other.com|["Su"]|3`)
		w.sound(t)
	})
	inWorld(t, "a card that says it later wins", func(t *testing.T, w *world) {
		card(t, w, yp.Listing{ID: "a", Name: "Acme"})
		w.detail(t, "a", full)
		card(t, w, yp.Listing{ID: "a", Name: "Acme", WebsiteURL: "http://new.com", Website: "https://new.com", Domain: "new.com"})
		w.is(t, `SELECT website FROM listings`, "https://new.com")
		w.is(t, `SELECT website FROM companies`, "https://new.com")
		w.sound(t)
	})
	inWorld(t, "by its new keys it finds its company", func(t *testing.T, w *world) {
		card(t, w, yp.Listing{ID: "b", Name: "Acme Plumbing", Website: "https://acme.com", Domain: "acme.com"}, yp.Listing{ID: "a", Name: "Acme"})
		w.is(t, `SELECT count(*) FROM companies`, "2")
		w.detail(t, "a", full)
		w.is(t, `SELECT count(DISTINCT company_id), count(*) FROM listings`, "1|2")
		w.is(t, `SELECT count(*), min(lead_listing), min(phone_e164) FROM companies`, "1|a|+13105550100")
		w.sound(t)
	})
	inWorld(t, "what a later page does not give keeps the old value, and a place off the globe is none", func(t *testing.T, w *world) {
		card(t, w, yp.Listing{ID: "a", Name: "Acme"})
		w.detail(t, "a", yp.Listing{ID: "a", Email: "a@x.example", Hours: []string{"Mo 9:00-10:00"}, Lat: 1.5, Lon: -2.5, Payment: []string{"cash"}, Founded: 1990})
		w.detail(t, "a", yp.Listing{ID: "a", Email: "b@x.example", Lat: 91, Lon: 3})
		w.detail(t, "a", yp.Listing{ID: "a", Email: "b@x.example", Hours: []string{"Mo 9:00-10:00"}})
		w.is(t, `SELECT field, old, new FROM listing_changes`, `email|a@x.example|b@x.example`)
		w.is(t, `SELECT email, hours, lat, lon, payment, founded FROM details`, `b@x.example|["Mo 9:00-10:00"]|1.5|-2.5|["cash"]|1990`)
	})
}

func card(t testing.TB, w *world, listings ...yp.Listing) {
	t.Helper()
	_, err := w.save(1, 1, 1, listings...)
	noErr(t, err)
}

// TestDetailsProperty: whatever the order of cards and details, companies stay sound.
func TestDetailsProperty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.empty(t)
		pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, what) }
		for range rapid.IntRange(2, 8).Draw(rt, "steps") {
			id := pick("id", "a", "b", "c")
			site, phone := pick("site", "", "acme.com", "other.com", "facebook.com"), pick("phone", "", "+13105550100", "+13105550101")
			web := ""
			if site != "" {
				web = "https://" + site
			}
			if len(rows(rt, w.DB, `SELECT 1 FROM listings WHERE listing_id = ?`, id)) == 0 || rapid.Bool().Draw(rt, "card") {
				card(t, w, yp.Listing{ID: id, Name: pick("name", "Acme", "Bolt"), WebsiteURL: web, Website: web, Domain: site, Phone: phone, PhoneE164: phone})
			} else {
				w.detail(t, id, yp.Listing{ID: id, WebsiteURL: web, Website: web, Domain: site, Phone: phone, PhoneE164: phone})
			}
			w.sound(rt)
		}
	})
}

// TestDetailHistory: the history has what a listing's own page makes known, and what it says otherwise later.
func TestDetailHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	card(t, w, yp.Listing{ID: "a", Name: "Acme", Phone: "1"})
	last := 1 // new
	read := func(d yp.Listing, want string) {
		t.Helper()
		w.detail(t, "a", d)
		same(t, "events", rows(t, w.DB, `SELECT group_concat(concat_ws(' ', kind, what)) FROM listing_events WHERE id > ?`, last), []string{want})
		last = intOf(t, w.DB, `SELECT max(id) FROM listing_events`)
	}
	first := yp.Listing{ID: "a", Email: "a@acme.com", Phone: "2", Website: "https://acme.com", WebsiteURL: "https://acme.com", Domain: "acme.com", Hours: []string{"Mo"}}
	read(first, `completed {"completed":["website","hours","email"]}`)
	read(first, `changed {"changes":[{"field":"phone","old":"1","new":"2"}]}`) // no card has said it since
	read(first, "")
	first.Email, first.YearsInBusiness = "b@acme.com", 7
	read(first, `changed {"changes":[{"field":"years_in_business","old":null,"new":"7"},{"field":"email","old":"a@acme.com","new":"b@acme.com"}]}`)
	first.Hours = []string{"Tu"}
	read(first, `changed {"changes":[{"field":"hours","old":"[\"Mo\"]","new":"[\"Tu\"]"}]}`)
}
