package report

import (
	"bytes"
	"database/sql"
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// TellableFields are the fields whose changes an export with --as reports: those of cards that
// count as changes, and the e-mail address of a listing's own page.
func TellableFields() (names []string) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Counted) {
			names = append(names, f.Name)
		}
	}
	return append(names, "email")
}

// tellable is the SQL of a field's value as fingerprints have it; "" = the program does not know
// the field. A phone that is written in another way is the same.
func tellable(field string) string {
	if field == "phone" {
		return "coalesce(l.phone_e164, l.phone, d.phone_e164, d.phone)"
	}
	c, err := ListingColumn(field)
	if err != nil {
		return ""
	}
	return c.sql
}

// keptAtOnce is how many items are kept in one transaction: a crawl beside it waits for some
// hundredths of a second at most.
const keptAtOnce = 1000

// toldReader compares listings with what earlier deliveries to a name (export --as) have of them.
type toldReader struct {
	places []int // of the tellable fields, in a row's cells; -1 = not known to this program
	print  store.Told

	items []int64 // to be kept
	kept  []byte

	// Companies of earlier deliveries, by the listing that stood for them and now belongs to another company.
	strayed map[int64][]strayed
	// What earlier deliveries have of companies that were merged into another one, by that one.
	absorbed map[int64]store.Told
}

type strayed struct {
	company int64
	told    store.Told
	exists  bool
}

// readTold returns what a query selects beside its values, the tables for that, and all arguments.
// The row itself reports whether the conditions hold, where rows come in that were told before.
func (r *listingReader) readTold(w *condition) (selected, join string, args []any, err error) {
	q, t := r.query, &r.told
	for _, field := range q.To.Fields {
		text := tellable(field)
		place := slices.IndexFunc(r.columns, func(c Column) bool { return c.sql == text && text != "" })
		if place < 0 && text != "" {
			place = len(r.values)
			r.values = append(r.values, "ifnull("+text+", '')")
		}
		t.places = append(t.places, place)
	}
	item := "l.id"
	if q.OnePerCompany {
		item = "l.company_id"
	}
	join = ` LEFT JOIN delivered v ON v.recipient = ? AND v.item = ` + item
	if !q.Difference {
		return `1, ` + store.ToldNow, join, append([]any{q.To.Recipient}, w.args...), nil
	}
	in := "1"
	if len(w.parts) > 0 {
		in = "ifnull(" + strings.Join(w.parts, " AND ") + ", 0)"
	}
	conditions := w.args
	either := in + ` OR v.item IS NOT NULL`
	args = slices.Concat(conditions, []any{q.To.Recipient}, conditions)
	if q.OnePerCompany {
		if err := r.readStrayed(); err != nil {
			return "", "", nil, err
		}
		ids := make([]int64, 0, len(t.strayed))
		for id := range t.strayed {
			ids = append(ids, id)
		}
		either += ` OR l.id IN (SELECT value FROM json_each(?))`
		args = append(args, store.JSONInts(ids))
	}
	w.parts = []string{"(" + either + ")"}
	return in + `, ` + store.ToldNow, join, args, nil
}

const strayedCompanies = `
	SELECT v.item, l.id, l.company_id, v.told, EXISTS (SELECT 1 FROM companies c WHERE c.id = v.item)
	FROM (SELECT v.item, ` + store.ToldNow + ` AS told FROM delivered v WHERE v.recipient = ?) v
	CROSS JOIN listings l ON l.id = CAST(CAST(substr(v.told, 2, 12) AS TEXT) AS INTEGER) WHERE l.company_id <> v.item`

// readStrayed finds the companies of earlier deliveries of which no listing is selected any more,
// and whose listing belongs to another company now: no row of the query reports them.
func (r *listingReader) readStrayed() error {
	t := &r.told
	t.strayed, t.absorbed = map[int64][]strayed{}, map[int64]store.Told{}
	return r.scan(strayedCompanies, []any{r.query.To.Recipient}, func(rows *sql.Rows) error {
		var s strayed
		var listing, now int64
		if err := rows.Scan(&s.company, &listing, &now, (*[]byte)(&s.told), &s.exists); err != nil {
			return err
		}
		if r.companies.has(s.company) || s.told.State() == store.StateLeft {
			return nil
		}
		t.strayed[listing] = append(t.strayed[listing], s)
		if _, several := t.absorbed[now]; !s.exists && !several && s.told.State() == store.StateOpen {
			t.absorbed[now] = s.told
		}
		return nil
	})
}

// difference says what a row is to somebody who has got what they have got.
func (r *listingReader) difference(f *listingFound) error {
	if err := r.cut(f); err != nil {
		return err
	}
	if !r.query.OnePerCompany {
		return r.tell(f, !f.closed, false)
	}
	for _, s := range r.told.strayed[f.id] {
		as := *f
		as.company, as.in, as.told = s.company, false, s.told
		if err := r.tell(&as, !f.closed, false); err != nil {
			return err
		}
	}
	if f.in = r.chosen.has(f.id); f.in {
		merged := false
		if f.told == nil {
			f.told, merged = r.told.absorbed[f.company]
		}
		return r.tell(f, !f.closed, merged)
	}
	if f.told == nil || r.companies.has(f.company) || f.told.Listing() != f.id {
		return nil
	}
	stands := !f.closed
	if !stands && r.query.Closed != ClosedOnly { // another listing of the company may stand
		const query = `SELECT EXISTS (SELECT 1 FROM listings WHERE company_id = ? AND dropped_at IS NULL)`
		if err := r.tx.QueryRowContext(r.ctx, query, f.company).Scan(&stands); err != nil {
			return err
		}
	}
	return r.tell(f, stands, false)
}

// tell passes a row on if it is wanted, and notes that it was delivered. merged: it was delivered
// as another company, which is a part of this one now.
func (r *listingReader) tell(f *listingFound, stands, merged bool) error {
	word, state := r.word(f.told.State(), f.in, stands)
	if word == "" && !f.in {
		return nil
	}
	to := r.query.To
	r.fingerprint(f, state)
	var fields []string
	if f.told != nil {
		for _, i := range f.told.Differences(r.told.print, to.Item) {
			fields = append(fields, to.Fields[i])
		}
		slices.Sort(fields)
	}
	if merged {
		fields = append(fields, "company_id")
	}
	if word == "" && len(fields) > 0 {
		word = WordChanged
	}
	wanted := len(r.query.Only) == 0 || slices.Contains(r.query.Only, word)
	if (wanted || word == "") && (merged || !bytes.Equal(f.told, r.told.print)) {
		if err := r.add(f); err != nil {
			return err
		}
	}
	if !wanted {
		return nil
	}
	return r.hand(f, word, fields)
}

// word says what became of an item since a delivery in which it had the state was, and the state
// that the new delivery gives it. in: it is selected; stands: a source shows it.
func (r *listingReader) word(was store.State, in, stands bool) (ChangeWord, store.State) {
	closedOnes := r.query.Closed == ClosedOnly || r.query.Closed == ClosedYes
	switch {
	case in && stands && was == store.StateUnknown:
		return WordNew, store.StateOpen
	case in && stands && was == store.StateOpen:
		return "", store.StateOpen
	case in && stands:
		return WordRestored, store.StateOpen
	case in && was == store.StateClosed:
		return "", store.StateClosed
	case in:
		return WordClosed, store.StateClosed
	case was == store.StateOpen && stands && r.query.Closed == ClosedOnly:
		return "", was // they know that it is open: it is none of the choice in their eyes
	case was == store.StateOpen && !stands && !closedOnes: // else it would be in
		return WordClosed, store.StateClosed
	case was == store.StateOpen:
		return WordLeft, store.StateLeft
	case was == store.StateClosed && r.query.Closed == ClosedOnly && stands:
		return WordRestored, store.StateOpen
	case was == store.StateClosed && closedOnes:
		return WordLeft, store.StateLeft
	}
	return "", was
}

// fingerprint makes the fingerprint of a row whose cells were cut.
func (r *listingReader) fingerprint(f *listingFound, state store.State) {
	listing := int64(0)
	if r.query.OnePerCompany {
		listing = f.id
	}
	r.told.print = store.AppendTold(r.told.print[:0], state, listing)
	for _, place := range r.told.places {
		text := ""
		if place >= 0 {
			text = r.cells[place]
		}
		r.told.print = store.AppendHash(r.told.print, text, place >= 0)
	}
}

// keep notes that a row was delivered as it is.
func (r *listingReader) keep(f *listingFound) error {
	state := store.StateOpen
	if f.closed {
		state = store.StateClosed
	}
	if r.fingerprint(f, state); bytes.Equal(f.told, r.told.print) {
		return nil
	}
	return r.add(f)
}

func (r *listingReader) add(f *listingFound) error {
	item := f.id
	if r.query.OnePerCompany {
		item = f.company
	}
	r.told.items, r.told.kept = append(r.told.items, item), append(r.told.kept, r.told.print...)
	if len(r.told.items) < keptAtOnce {
		return nil
	}
	return r.flush()
}

// flush keeps what is gathered.
func (r *listingReader) flush() error {
	t := &r.told
	if len(t.items) == 0 {
		return nil
	}
	err := r.query.To.Tell(r.ctx, t.items, t.kept)
	t.items, t.kept = t.items[:0], t.kept[:0]
	return err
}
