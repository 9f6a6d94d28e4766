package report_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
)

// colleague has what was delivered to a name.
type colleague struct {
	*townReader
	t    *testing.T
	copy map[string]map[string]string
	had  map[string]bool
}

func newColleague(t *testing.T) *colleague {
	t.Helper()
	return &colleague{townReader: town(t), t: t, copy: map[string]map[string]string{}, had: map[string]bool{}}
}

// begin begins a delivery to a name.
func (r *townReader) begin(t *testing.T, name string) *store.DeliveryBegun {
	t.Helper()
	d, err := r.db.BeginDelivery(t.Context(), name)
	storetest.NoError(t, err)
	return d
}

// deliver tells the colleague the difference, and returns the rows as "id word fields".
func (c *colleague) deliver(f report.ListingQuery, only []report.ChangeWord, complete bool, more ...string) (lines []string) {
	c.t.Helper()
	columns := slices.Concat([]string{"listing_id", "company_id", "status", "change", "changed_fields"}, report.TellableFields(), more)
	to := c.begin(c.t, "ann")
	q := report.ListingQuery{Values: f.Values, Dropped: f.Dropped, Columns: columns, Only: only, To: to, Difference: true}
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
	storetest.NoError(c.t, err)
	if complete {
		storetest.NoError(c.t, to.Complete(c.t.Context(), store.Delivery{At: mark.At, Event: mark.Event, File: "f", Rows: int64(len(rows))}))
	}
	for _, m := range rows {
		c.apply(m, complete)
	}
	return lines
}

// apply does to the copy what a row tells, and checks that it tells it right: every field that differs. (One that
// changed and changed back is told, too.) That what was told may be told again is so only after a delivery that was not
// completed.
func (c *colleague) apply(m map[string]string, complete bool) {
	c.t.Helper()
	key := m["listing_id"]
	before, word := c.copy[key], report.ChangeWord(m["change"])
	if complete && before != nil {
		for _, f := range report.TellableFields() {
			if before[f] != m[f] && !strings.Contains(m["changed_fields"], `"`+f+`"`) {
				c.t.Fatalf("%s is told as %s %s, and %s differs, too", key, word, m["changed_fields"], f)
			}
		}
	}
	if complete && (word == report.WordNew && c.had[key] || word == report.WordRestored && !c.had[key] || word == report.WordChanged && before == nil) {
		c.t.Fatalf("%s is told as %s; they had it once: %v, have it: %v", key, word, c.had[key], before != nil)
	}
	if c.copy[key] = m; word == report.WordLeft {
		delete(c.copy, key)
	}
	c.had[key] = true
}

// check compares the copy with what a plain export gives.
func (c *colleague) check(f report.ListingQuery) {
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
	for _, line := range ask(c.t, c.townReader, report.ListingQuery{Values: f.Values, Dropped: f.Dropped, Columns: fields}) {
		cells := strings.Split(line, "|")
		want = append(want, show(cells[0], func(field string) string { return cells[slices.Index(fields, field)] }))
	}
	for key, m := range c.copy {
		if f.Dropped == report.DroppedYes || (m["status"] == "dropped") == (f.Dropped == report.DroppedOnly) {
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
	storetest.NoError(c.t, c.db.Read().QueryRowContext(c.t.Context(), `SELECT count(*) FROM listings`).Scan(&n))
	id, pick := r.IntN(n)+1, func(of ...string) string { return of[r.IntN(len(of))] }
	set := func(table, key string, values ...string) { // each a field, and what it is set to
		for i := 0; i < len(values); i += 2 {
			field, to := values[i], values[i+1]
			storetest.Execute(c.t, c.db, fmt.Sprintf(`INSERT INTO listing_events (at, kind, source_id, listing, company_id, what)
				SELECT '2026-03-01T00:00:00.000Z', 'changed', 1, %d, 1, '{"changes":[{"field":"%s"}]}' FROM %s WHERE %s = %d AND %s IS NOT %s`, id, field, table, key, id, field, to),
				fmt.Sprintf(`UPDATE %s SET %s = %s WHERE %s = %d`, table, field, to, key, id))
		}
	}
	switch r.IntN(9) {
	case 0:
		storetest.Execute(c.t, c.db, `INSERT INTO companies (name, lead_source, lead_listing, first_seen_at) VALUES ('c', 1, 'l', 'x')`,
			fmt.Sprintf(`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, rating, fingerprint, first_seen_at, last_seen_at)
				VALUES (%d, 1, 'l%d', (SELECT max(id) FROM companies), 'n', '%s', %s, 0, 'x', 'x')`, n+1, n+1, pick("CA", "NV"), pick("NULL", "3.0", "4.5")))
	case 1:
		set("listings", "id", "email", pick("NULL", "'a@x.example'", "'b@x.example'"))
	case 2:
		storetest.Execute(c.t, c.db, fmt.Sprintf(`UPDATE listings SET dropped_at = iif(dropped_at IS NULL, '2026-03-01T00:00:00.000Z', NULL) WHERE id = %d`, id))
	case 3:
		set("listings", "id", "rating", pick("NULL", "2.0", "5.0"))
	case 4:
		set("listings", "id", "hours", pick("NULL", `'["Mo"]'`, `'["Tu"]'`), "state", pick("NULL", "'NV'", "'CA'"))
	case 5:
		set("listings", "id", "phone", pick("NULL", "'1'", "'2'"), "snippet", pick("NULL", "'s'"))
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
	choices := []report.ListingQuery{
		{},
		{},
		{Values: map[string]any{"has": []string{"email"}}},
		{Values: map[string]any{"min-rating": 3.0}},
		{Values: map[string]any{"states": []string{"NV"}}},
		{Dropped: report.DroppedYes},
		{Dropped: report.DroppedOnly},
		{Dropped: report.DroppedYes, Values: map[string]any{"has": []string{"phone"}}},
	}
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
			c := newColleague(t)
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
					c.deliver(choice, []report.ChangeWord{report.WordNew, report.WordChanged, report.WordDropped, report.WordRestored, report.WordLeft}, true)
					c.check(choice)
					if again := c.deliver(choice, report.ChangeWords(), true); len(again) > 0 {
						t.Fatalf("told again: %s", again)
					}
				}
			}
		})
	}
}

// The words in the cases that people ask about.
func TestDeliveryWords(t *testing.T) {
	t.Parallel()
	c := newColleague(t)
	withMail := report.ListingQuery{Values: map[string]any{"has": []string{"email"}}}
	step := func(f report.ListingQuery, want []string, statements ...string) {
		t.Helper()
		storetest.Execute(t, c.db, statements...)
		if diff := cmp.Diff(want, c.deliver(f, report.ChangeWords(), true)); diff != "" {
			t.Errorf("after %s:\n%s", statements, diff)
		}
		c.check(f)
	}
	event := func(kind, what string, id int) string {
		return fmt.Sprintf(`INSERT INTO listing_events (at, kind, source_id, listing, company_id, what) VALUES ('2026-03-01T00:00:00.000Z', '%s', 1, %d, 1, '%s')`, kind, id, what)
	}
	step(withMail, []string{"l1 new -"})
	step(withMail, []string{"l2 new -"}, `UPDATE listings SET email = 'b@two.example' WHERE id = 2`, event("completed", `{"completed":["email"]}`, 2)) // its own page was read
	step(withMail, []string{`l2 left ["email"]`}, `UPDATE listings SET email = NULL WHERE id = 2`, event("changed", `{"changes":[{"field":"email"}]}`, 2))
	step(withMail, nil)
	step(withMail, nil, `UPDATE listings SET dropped_at = 'x' WHERE id = 2`) // they have it no more
	step(withMail, []string{"l1 dropped -"}, `UPDATE listings SET dropped_at = 'x' WHERE id = 1`)
	step(withMail, nil, `UPDATE listings SET email = NULL WHERE id = 1`)
	step(withMail, []string{`l1 restored ["email"]`}, `UPDATE listings SET email = 'c@acme.example' WHERE id = 1`, `UPDATE listings SET dropped_at = NULL WHERE id = 1`,
		event("changed", `{"changes":[{"field":"email"}]}`, 1))
	step(withMail, []string{`l1 changed ["email","hours"]`}, `UPDATE listings SET email = 'd@acme.example', hours = '["Sa"]' WHERE id = 1`,
		event("changed", `{"changes":[{"field":"hours"}],"completed":["email"]}`, 1), event("completed", `{"completed":["email"]}`, 1))
	// What the history does not have is no change.
	step(withMail, nil, `UPDATE listings SET profile_url = 'p', image_url = 'i', sponsored = 1, last_seen_at = 'y' WHERE id = 1`)
	// What --only leaves out is told later, with all that came until then.
	storetest.Execute(t, c.db, event("changed", `{"changes":[{"field":"rating"}]}`, 1))
	if got := c.deliver(withMail, []report.ChangeWord{report.WordNew}, true); len(got) > 0 {
		t.Errorf("left out, and told: %q", got)
	}
	step(withMail, []string{`l1 changed ["name","rating"]`}, event("changed", `{"changes":[{"field":"name"}]}`, 1))
}

// TestDroppedNo: asked for none that were dropped, no form of export hands one over, whatever changes are
// asked for; and what a delivery to a name leaves out for that, a later one tells.
func TestDroppedNo(t *testing.T) {
	t.Parallel()
	type query = report.ListingQuery
	forms := map[string]func(q *query){
		"all":                 func(*query) {},
		"since the beginning": func(q *query) { q.Since = &report.Since{} },
		"since an event":      func(q *query) { q.Since = &report.Since{Event: 6} },
		"since a time":        func(q *query) { q.Since = &report.Since{At: time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)} },
		"since passes": func(q *query) {
			q.Since = &report.Since{Begins: map[int64]time.Time{1: time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)}}
		},
		"as a name":         func(q *query) { q.Since, q.To = &report.Since{Event: 6}, new(store.DeliveryBegun) },
		"since last-export": func(q *query) { q.To, q.Difference = new(store.DeliveryBegun), true },
	}
	for form, set := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			c := newColleague(t)
			storetest.Execute(t, c.db, `UPDATE listings SET dropped_at = NULL`)
			c.deliver(report.ListingQuery{}, nil, true)
			storetest.Execute(t, c.db, `UPDATE listings SET dropped_at = '2026-01-12T00:00:00.000Z' WHERE id IN (4, 5, 10)`)
			for _, only := range append([]report.ChangeWord{""}, report.ChangeWords()...) {
				q := query{Columns: []string{"listing_id", "status"}}
				q.Dropped = report.DroppedNo
				if set(&q); only != "" && (q.Since != nil || q.Difference) {
					q.Only = []report.ChangeWord{only}
				}
				if q.To != nil {
					q.To = c.begin(t, "ann")
				}
				for _, line := range ask(t, c.townReader, q) {
					if strings.HasSuffix(line, "|dropped") {
						t.Errorf("only %q: %s", only, line)
					}
				}
				if q.To != nil {
					storetest.NoError(t, q.To.Complete(t.Context(), store.Delivery{File: "f"}))
				}
			}
			if told := c.deliver(report.ListingQuery{}, []report.ChangeWord{report.WordDropped}, true); len(told) != 3 {
				t.Errorf("left out, and not told later: %q", told)
			}
		})
	}
}

// Of two deliveries under a name at once the one that is completed first counts, and the other is refused.
func TestDeliveriesAtOnce(t *testing.T) {
	t.Parallel()
	r := town(t)
	first, second, other := r.begin(t, "boss"), r.begin(t, "boss"), r.begin(t, "other")
	first.Tell(1, store.StateOpen)
	first.Tell(2, store.StateOpen)
	second.Tell(2, store.StateOpen)
	second.Tell(3, store.StateDropped)
	noErr(t, second.Check(t.Context()))
	noErr(t, second.Complete(t.Context(), store.Delivery{At: r.db.Now(), File: "g", Rows: 1, Event: 4}))
	var refused *store.RefusedError
	for name, err := range map[string]error{
		"checks":          first.Check(t.Context()),
		"completes":       first.Complete(t.Context(), store.Delivery{At: r.db.Now(), File: "f"}),
		"completes twice": second.Complete(t.Context(), store.Delivery{At: r.db.Now(), File: "f"}),
	} {
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	noErr(t, other.Complete(t.Context(), store.Delivery{At: r.db.Now(), File: "o"}))
	if got := storetest.Table(t, r.db, `SELECT name, listing, state, event FROM delivered`); !slices.Equal(got, []string{"boss|2|open|4", "boss|3|dropped|4"}) {
		t.Errorf("what was told: %q", got)
	}
	third := r.begin(t, "boss")
	if third.Last == nil || third.Last.File != "g" {
		t.Errorf("%+v", third.Last)
	}
	third.Tell(3, store.StateOpen)
	noErr(t, third.Complete(t.Context(), store.Delivery{At: r.db.Now(), File: "h", Event: 9}))
	if got := storetest.Table(t, r.db, `SELECT name, listing, state, event FROM delivered`); !slices.Equal(got, []string{"boss|2|open|4", "boss|3|open|9"}) {
		t.Errorf("what was told: %q", got)
	}
	if got := listed(t, report.New(r.db), "export deliveries", report.Choice{Columns: []string{"name", "file", "listings"}}); got != "boss|h|2 other|o|0" {
		t.Error(got)
	}
	fourth := r.begin(t, "boss")
	deliveries, listings, err := r.db.ForgetDelivery(t.Context(), "boss")
	if err != nil || deliveries != 2 || listings != 2 {
		t.Errorf("forgot %d deliveries of %d listings, %v", deliveries, listings, err)
	}
	if err := fourth.Check(t.Context()); !errors.As(err, &refused) {
		t.Errorf("forgotten meanwhile: %v", err)
	}
}
