package report

import (
	"slices"
	"strings"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// TellableFields are the fields whose changes are told: those that count as changes.
func TellableFields() (names []string) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Is(yp.Counted) {
			names = append(names, f.Name)
		}
	}
	return names
}

// toldSince is the last event that all listings which were told under a name were told with.
const toldSince = `SELECT ifnull(min(event), ?) FROM delivered WHERE name = ?`

// readTold returns what a query selects beside its values, and the table for that. The row
// itself reports whether the conditions hold, where rows come in that were told before.
func (r *listingReader) readTold(w *condition) (selected, join string, err error) {
	var first int64
	name := r.query.To.Name
	if err := r.k.tx.QueryRowContext(r.ctx, toldSince, r.upto, name).Scan(&first); err != nil {
		return "", "", err
	}
	if err := r.readTouched(r.after(first), &r.told); err != nil {
		return "", "", err
	}
	const as = `, ifnull(told_state, ''), ifnull(told_event, 0)`
	join = ` LEFT JOIN (SELECT listing AS told, state AS told_state, event AS told_event FROM delivered WHERE name = ?) ON told = v_listings.id`
	if !r.query.Difference {
		w.args = append([]any{name}, w.args...)
		return `1` + as, join, nil
	}
	in := "ifnull(" + strings.Join(w.parts, " AND ") + ", 0)"
	w.args = slices.Concat(w.args, []any{name}, w.args)
	w.parts = []string{"(" + in + " OR told IS NOT NULL)"}
	return in + as, join, nil
}

// after are the arguments of the mark behind an event.
func (r *listingReader) after(event int64) []any { return []any{event, "", r.upto, nil} }

// changed returns the fields that changed since a listing was told.
func (r *listingReader) changed(f *listingFound) (fields []string, err error) {
	if f.state != store.StateUnknown && r.told.has(f.id) {
		_, fields, err = r.history(r.after(f.event), f.id)
	}
	return fields, err
}

// difference says what a row is to somebody who has got what they have got, and passes it on if it is wanted.
func (r *listingReader) difference(f *listingFound) error {
	if f.dropped && r.query.Dropped == DroppedNo {
		return nil // a later delivery without this filter tells it
	}
	word, state := r.word(f.state, f.in, !f.dropped)
	if word == "" && !f.in {
		return nil
	}
	fields, err := r.changed(f)
	if err != nil {
		return err
	}
	if word == "" && len(fields) > 0 {
		word = WordChanged
	}
	if len(r.query.Only) > 0 && !slices.Contains(r.query.Only, word) {
		return nil
	}
	if word != "" {
		r.query.To.Tell(f.id, state)
	}
	return r.hand(f, word, fields)
}

// word says what became of a listing since a delivery that told it as was, and how the new delivery tells it.
// in: it is selected; stands: its source shows it.
func (r *listingReader) word(was store.State, in, stands bool) (ChangeWord, store.State) {
	droppedOnes := r.query.Dropped == DroppedOnly || r.query.Dropped == DroppedYes
	switch {
	case in && stands && was == store.StateUnknown:
		return WordNew, store.StateOpen
	case in && stands && was == store.StateOpen:
		return "", store.StateOpen
	case in && stands:
		return WordRestored, store.StateOpen
	case in && was == store.StateDropped:
		return "", store.StateDropped
	case in:
		return WordDropped, store.StateDropped
	case was == store.StateOpen && stands && r.query.Dropped == DroppedOnly:
		return "", was // they know that it is open: it is none of the choice in their eyes
	case was == store.StateOpen && !stands && !droppedOnes: // else it would be in
		return WordDropped, store.StateDropped
	case was == store.StateOpen:
		return WordLeft, store.StateLeft
	case was == store.StateDropped && r.query.Dropped == DroppedOnly && stands:
		return WordRestored, store.StateOpen
	case was == store.StateDropped && droppedOnes:
		return WordLeft, store.StateLeft
	}
	return "", was
}

// keep notes that a row was delivered as it is.
func (r *listingReader) keep(f *listingFound) error {
	state := store.StateOpen
	if f.dropped {
		state = store.StateDropped
	}
	fields, err := r.changed(f)
	if err == nil && (state != f.state || len(fields) > 0) {
		r.query.To.Tell(f.id, state)
	}
	return err
}
