package report_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// colleague has what was delivered to a name: rows by listing, or by company.
type colleague struct {
	*townReader
	t    *testing.T
	item store.Item
	copy map[string]map[string]string
	had  map[string]bool
}

// deliver tells the colleague the difference, and returns the rows as "id word fields".
func (c *colleague) deliver(f report.ListingFilter, only []report.ChangeWord, complete bool, more ...string) (lines []string) {
	c.t.Helper()
	columns := slices.Concat([]string{"listing_id", "company_id", "status", "change", "changed_fields"}, report.TellableFields(), more)
	to, err := c.db.BeginDelivery(c.t.Context(), store.Delivery{Name: "ann", File: "f"}, c.item, report.TellableFields())
	if err != nil {
		c.t.Fatal(err)
	}
	q := report.ListingQuery{ListingFilter: f, Columns: named(c.t, columns...), Only: only, OnePerCompany: c.item == store.ItemCompany, To: to, Difference: true}
	var rows []map[string]string
	mark, err := c.EachListing(c.t.Context(), q, func(row []any) error {
		m := map[string]string{}
		for i, v := range row {
			if m[columns[i]] = fmt.Sprint(v); v == nil {
				m[columns[i]] = "-"
			}
		}
		rows = append(rows, m)
		lines = append(lines, m["listing_id"]+" "+m["change"]+" "+m["changed_fields"])
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if complete {
		if err := to.Complete(c.t.Context(), store.Delivery{At: mark.At, Event: mark.Event, File: "f", Rows: int64(len(rows))}); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, m := range rows {
		c.apply(m, complete)
	}
	return lines
}

// apply does to the copy what a row tells, and checks that it tells it right. That what was told
// may be told again is so only after a delivery that was not completed.
func (c *colleague) apply(m map[string]string, complete bool) {
	c.t.Helper()
	key := m["listing_id"]
	if c.item == store.ItemCompany {
		key = m["company_id"]
	}
	before, word := c.copy[key], report.ChangeWord(m["change"])
	if complete && before != nil && !strings.Contains(m["changed_fields"], "company_id") {
		var differ []string
		for _, f := range report.TellableFields() {
			if before[f] != m[f] {
				differ = append(differ, `"`+f+`"`)
			}
		}
		slices.Sort(differ)
		want := "-"
		if len(differ) > 0 {
			want = "[" + strings.Join(differ, ",") + "]"
		}
		if m["changed_fields"] != want {
			c.t.Fatalf("%s is told as %s %s, and what differs is %s", key, word, m["changed_fields"], want)
		}
	}
	if complete && (word == report.WordNew && c.had[key] || word == report.WordRestored && !c.had[key] || word == report.WordChanged && before == nil && !strings.Contains(m["changed_fields"], "company_id")) {
		c.t.Fatalf("%s is told as %s; they had it once: %v, have it: %v", key, word, c.had[key], before != nil)
	}
	if c.copy[key] = m; word == report.WordLeft {
		delete(c.copy, key)
	}
	c.had[key] = true
}

// check compares the copy with what a plain export gives.
func (c *colleague) check(f report.ListingFilter) {
	c.t.Helper()
	fields := append([]string{"listing_id", "company_id", "status"}, report.TellableFields()...)
	show := func(key string, value func(field string) string) string {
		text := key
		for _, f := range fields[2:] {
			text += "|" + value(f)
		}
		return text
	}
	var want, got []string
	for _, line := range ask(c.t, c.townReader, report.ListingQuery{ListingFilter: f, Columns: named(c.t, fields...), OnePerCompany: c.item == store.ItemCompany}) {
		cells := strings.Split(line, "|")
		key := cells[0]
		if c.item == store.ItemCompany {
			key = cells[1]
		}
		want = append(want, show(key, func(field string) string { return cells[slices.Index(fields, field)] }))
	}
	for key, m := range c.copy {
		if f.Closed == report.ClosedYes || (m["status"] == "closed") == (f.Closed == report.ClosedOnly) {
			got = append(got, show(key, func(field string) string { return m[field] }))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Fatalf("with %+v the colleague has not what stands (-stands +has):\n%s", f, diff)
	}
}

// history does something at random to a database like that of town.
func (c *colleague) history(r *rand.Rand) {
	c.t.Helper()
	var n int
	if err := c.db.Read().QueryRowContext(c.t.Context(), `SELECT count(*) FROM listings`).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	id, pick := r.IntN(n)+1, func(of ...string) string { return of[r.IntN(len(of))] }
	switch r.IntN(9) {
	case 0:
		storetest.Execute(c.t, c.db, `INSERT INTO companies (name, lead_source, lead_listing, first_seen_at) VALUES ('c', 1, 'l', 'x')`,
			fmt.Sprintf(`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, rating, fingerprint, first_seen_at, last_seen_at)
				VALUES (%d, 1, 'l%d', (SELECT max(id) FROM companies), 'n', '%s', %s, 0, 'x', 'x')`, n+1, n+1, pick("CA", "NV"), pick("NULL", "3.0", "4.5")))
	case 1:
		storetest.Execute(c.t, c.db, fmt.Sprintf(`INSERT INTO details (listing, fetched_at, email) VALUES (%d, 'x', %[2]s) ON CONFLICT DO UPDATE SET email = %[2]s`, id, pick("NULL", "'a@x.example'", "'b@x.example'")))
	case 2:
		storetest.Execute(c.t, c.db, fmt.Sprintf(`UPDATE listings SET dropped_at = iif(dropped_at IS NULL, '2026-03-01T00:00:00.000Z', NULL) WHERE id = %d`, id))
	case 3:
		storetest.Execute(c.t, c.db, fmt.Sprintf(`UPDATE listings SET rating = %s WHERE id = %d`, pick("NULL", "2.0", "5.0"), id))
	case 4:
		storetest.Execute(c.t, c.db, fmt.Sprintf(`UPDATE listings SET hours = %s, state = %s WHERE id = %d`, pick("NULL", `'["Mo"]'`, `'["Tu"]'`), pick("NULL", "'NV'", "'CA'"), id))
	case 5:
		storetest.Execute(c.t, c.db, fmt.Sprintf(`UPDATE listings SET phone = %s, snippet = %s WHERE id = %d`, pick("NULL", "'1'", "'2'"), pick("NULL", "'s'"), id))
	case 6: // a listing goes to the company of another one; a company without listings goes
		storetest.Execute(c.t, c.db, fmt.Sprintf(`UPDATE listings SET company_id = (SELECT company_id FROM listings WHERE id = %d) WHERE id = %d`, id, r.IntN(n)+1))
	case 7: // two companies become one
		storetest.Execute(c.t, c.db, fmt.Sprintf(`UPDATE listings SET company_id = (SELECT company_id FROM listings WHERE id = %d)
			WHERE company_id = (SELECT company_id FROM listings WHERE id = %d)`, id, r.IntN(n)+1))
	case 8: // an operator takes one apart
		storetest.Execute(c.t, c.db, `INSERT INTO companies (name, lead_source, lead_listing, first_seen_at) VALUES ('c', 1, 'l', 'x')`,
			fmt.Sprintf(`UPDATE listings SET company_id = (SELECT max(id) FROM companies) WHERE id = %d`, id))
	}
	storetest.Execute(c.t, c.db, `DELETE FROM companies WHERE NOT EXISTS (SELECT 1 FROM listings l WHERE l.company_id = companies.id)`)
}

// TestDeliveriesAreExact: whatever happens, and whatever choice is taken, applying the rows that are
// told to what somebody has gives what stands; nothing is told twice, but for what a delivery that
// was not completed has told.
func TestDeliveriesAreExact(t *testing.T) {
	t.Parallel()
	choices := []report.ListingFilter{
		{},
		{},
		{Has: []string{"email"}},
		{MinRating: 3},
		{States: []string{"NV"}},
		{Closed: report.ClosedYes},
		{Closed: report.ClosedOnly},
		{Closed: report.ClosedYes, Has: []string{"phone"}},
	}
	for _, item := range []store.Item{store.ItemListing, store.ItemCompany} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%s/%d", item, seed), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
				c := &colleague{townReader: town(t), t: t, item: item, copy: map[string]map[string]string{}, had: map[string]bool{}}
				choice := choices[r.IntN(len(choices))]
				for range 40 {
					for range r.IntN(6) {
						c.history(r)
					}
					if r.IntN(5) == 0 {
						choice = choices[r.IntN(len(choices))]
					}
					switch r.IntN(5) {
					case 0: // killed before its file had its name
						whole, had := maps.Clone(c.copy), maps.Clone(c.had)
						c.deliver(choice, nil, false)
						c.copy, c.had = whole, had
					case 1: // killed after that: they have the file, and it does not count
						whole, had := maps.Clone(c.copy), maps.Clone(c.had)
						first := c.deliver(choice, nil, false)
						c.copy, c.had = whole, had
						if again := c.deliver(choice, nil, true); !slices.Equal(first, again) {
							t.Fatalf("killed, and told otherwise:\n%s\n%s", first, again)
						}
						c.check(choice)
					case 2: // a part of it
						words := report.ChangeWords()
						c.deliver(choice, words[r.IntN(len(words)):], true)
					default:
						c.deliver(choice, []report.ChangeWord{report.WordNew, report.WordChanged, report.WordClosed, report.WordRestored, report.WordLeft}, true)
						c.check(choice)
						if again := c.deliver(choice, report.ChangeWords(), true); len(again) > 0 {
							t.Fatalf("told again: %s", again)
						}
					}
				}
			})
		}
	}
}

// The words in the cases that people ask about.
func TestDeliveryWords(t *testing.T) {
	t.Parallel()
	c := &colleague{townReader: town(t), t: t, item: store.ItemListing, copy: map[string]map[string]string{}, had: map[string]bool{}}
	withMail := report.ListingFilter{Has: []string{"email"}}
	step := func(f report.ListingFilter, want []string, statements ...string) {
		t.Helper()
		storetest.Execute(t, c.db, statements...)
		if diff := cmp.Diff(want, c.deliver(f, report.ChangeWords(), true)); diff != "" {
			t.Errorf("after %s:\n%s", statements, diff)
		}
		c.check(f)
	}
	step(withMail, []string{"l1 new -"}, `UPDATE listings SET phone_e164 = '+15105550100' WHERE id = 1`)
	step(withMail, []string{"l2 new -"}, `UPDATE details SET email = 'b@two.example' WHERE listing = 2`) // its own page was read later
	step(withMail, []string{`l2 left ["email"]`}, `UPDATE details SET email = NULL WHERE listing = 2`)
	step(withMail, nil)
	step(withMail, nil, `UPDATE listings SET dropped_at = 'x' WHERE id = 2`) // they have it no more
	step(withMail, []string{"l1 closed -"}, `UPDATE listings SET dropped_at = 'x' WHERE id = 1`)
	step(withMail, nil, `UPDATE details SET email = NULL WHERE listing = 1`)
	step(withMail, []string{`l1 restored ["email"]`}, `UPDATE details SET email = 'c@acme.example' WHERE listing = 1`, `UPDATE listings SET dropped_at = NULL WHERE id = 1`)
	step(withMail, []string{`l1 changed ["email","hours"]`}, `UPDATE details SET email = 'd@acme.example', hours = '["Sa"]' WHERE listing = 1`)
	// What is no change: addresses of pages, an ad or not, when it was seen; and a phone that is written otherwise.
	step(withMail, nil, `UPDATE listings SET profile_url = 'p', image_url = 'i', sponsored = 1, last_seen_at = 'y' WHERE id = 1`)
	storetest.Execute(t, c.db, `UPDATE listings SET phone = '510.555.0100' WHERE id = 1`)
	if got := c.deliver(withMail, report.ChangeWords(), true); len(got) > 0 {
		t.Errorf("a phone that is written in another way: %q", got)
	}
}

// A company that was told never comes again as new by another listing, nor by another number.
func TestDeliveryOfCompanies(t *testing.T) {
	t.Parallel()
	c := &colleague{townReader: town(t), t: t, item: store.ItemCompany, copy: map[string]map[string]string{}, had: map[string]bool{}}
	step := func(want []string, statements ...string) {
		t.Helper()
		storetest.Execute(t, c.db, statements...)
		if diff := cmp.Diff(want, c.deliver(report.ListingFilter{}, report.ChangeWords(), true)); diff != "" {
			t.Errorf("after %s:\n%s", statements, diff)
		}
		c.check(report.ListingFilter{})
	}
	step([]string{"l1 new -", "l3 new -", "l6 new -", "l7 new -", "l8 new -", "l9 new -"})
	step([]string{`l2 changed ["categories","email","hours","name","phone","rating","review_count","website"]`}, `UPDATE listings SET dropped_at = 'x' WHERE id = 1`)
	step([]string{`l2 closed -`}, `UPDATE listings SET dropped_at = 'x' WHERE id = 2`)
	// Company 5 becomes a part of 8, which they have; 6 of one that they do not have.
	step([]string{`l9 left -`}, `UPDATE listings SET company_id = 5 WHERE company_id = 8`, `DELETE FROM companies WHERE id = 8`)
	step([]string{`l7 left -`, `l7 changed ["company_id"]`}, `UPDATE listings SET company_id = 3 WHERE id = 7`, `DELETE FROM companies WHERE id = 6`)
}

// A field that the program did not know before is no change of everything, and one that only
// another version knows does not count.
func TestDeliveryFields(t *testing.T) {
	t.Parallel()
	r := town(t)
	tell := func(fields ...string) (words []string) {
		t.Helper()
		to, err := r.db.BeginDelivery(t.Context(), store.Delivery{Name: "ann", File: "f"}, store.ItemListing, fields)
		if err != nil {
			t.Fatal(err)
		}
		q := report.ListingQuery{Columns: named(t, "listing_id", "change", "changed_fields"), Only: report.ChangeWords(), To: to, Difference: true}
		if _, err := r.EachListing(t.Context(), q, func(row []any) error {
			words = append(words, fmt.Sprint(row...))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := to.Complete(t.Context(), store.Delivery{At: r.db.Now(), File: "f"}); err != nil {
			t.Fatal(err)
		}
		return words
	}
	if got := tell("name", "slogan", "rating"); len(got) != 7 {
		t.Errorf("at first %q", got)
	}
	storetest.Execute(t, r.db, `UPDATE listings SET rating = 1, hours = '["Mo"]' WHERE id = 9`)
	if got := tell("rating", "name", "hours"); !slices.Equal(got, []string{`l9changed["rating"]`}) {
		t.Errorf("with another field: %q", got)
	}
	storetest.Execute(t, r.db, `UPDATE listings SET hours = '["Tu"]' WHERE id = 9`)
	if got := tell("name"); !slices.Equal(got, []string{`l9changed["hours"]`}) {
		t.Errorf("the new field changes: %q", got)
	}
	if got := storetest.Table(t, r.db, `SELECT fields FROM recipients`); !slices.Equal(got, []string{`["name","slogan","rating","hours"]`}) {
		t.Errorf("fields %q", got)
	}
}

// Of two deliveries under a name at once the one that was begun later goes on, and what the other
// told does not count.
func TestDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	begin := func(name string, item store.Item) (*store.DeliveryBegun, error) {
		return db.BeginDelivery(t.Context(), store.Delivery{Name: name, File: "f"}, item, []string{"name"})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one := store.AppendHash(store.AppendTold(nil, store.StateOpen, 0), "one", true)
	first, err := begin("boss", store.ItemListing)
	must(err)
	must(first.Tell(t.Context(), []int64{1, 2}, slices.Concat(one, one)))
	second, err := begin("boss", store.ItemListing)
	must(err)
	other, err := begin("other", store.ItemListing)
	must(err)
	if first.Last != nil || second.Last != nil || second.Recipient != first.Recipient || other.Recipient == first.Recipient {
		t.Errorf("%+v, %+v, %+v", first, second, other)
	}
	var refused *store.RefusedError
	for name, err := range map[string]error{
		"tells":     first.Tell(t.Context(), []int64{3}, one),
		"checks":    first.Check(t.Context()),
		"completes": first.Complete(t.Context(), store.Delivery{At: db.Now(), File: "f"}),
	} {
		if !errors.As(err, &refused) {
			t.Errorf("the first one %s: %v", name, err)
		}
	}
	must(second.Tell(t.Context(), []int64{2}, one))
	must(second.Complete(t.Context(), store.Delivery{At: db.Now(), File: "g", Rows: 1}))
	if err := second.Complete(t.Context(), store.Delivery{At: db.Now(), File: "g"}); !errors.As(err, &refused) {
		t.Errorf("completed twice: %v", err)
	}
	if got := storetest.Table(t, db, `SELECT item, `+store.ToldNow+` IS NOT NULL FROM delivered v ORDER BY item`); !slices.Equal(got, []string{"1|0", "2|1"}) {
		t.Errorf("what boss has: %q", got)
	}
	if _, err := begin("boss", store.ItemCompany); !errors.As(err, &refused) || !strings.Contains(err.Error(), "delivery boss has a row for each listing") {
		t.Errorf("rows for something else: %v", err)
	}
	// An older version did not keep what it told; that is said until a delivery that does is complete.
	storetest.Execute(t, db, `INSERT INTO deliveries (name, at, event, file, rows, filters) VALUES ('old', '2026-01-01T00:00:00.000Z', 0, 'o', 1, '{"states":"NV"}')`)
	for range 2 {
		old, err := begin("old", store.ItemListing)
		must(err)
		if !old.Forgotten || old.Last == nil || old.Last.Filters["states"] != "NV" || other.Forgotten {
			t.Errorf("%+v, %+v", old, other)
		}
	}
	rows, err := db.Deliveries(t.Context(), 1)
	if err != nil || len(rows) != 1 || rows[0].Name != "boss" || rows[0].File != "g" || rows[0].Rows != 1 || rows[0].Has != 1 || rows[0].Item != store.ItemListing {
		t.Errorf("%+v, %v", rows, err)
	}
}
