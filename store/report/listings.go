package report

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// ListingColumns are what an export may have, the columns of v_listings and two that the history makes, those first that a file has
// unless others are named: DefaultColumns of them. A field of yp.ListingFields that is not named here comes last.
var ListingColumns = withAllFields(strings.Fields(`change name email phone website street city state postal_code category categories rating review_count hours status
	changed_fields first_seen_at last_seen_at dropped_at searched_city searched_state searched_category company_id source listing_id profile_url
	details_read_at lat lon
	country phone_e164 domain address service_area price_range snippet image_url years_in_business founded claimed sponsored payment social services languages
	neighborhoods aka about`))

// withAllFields adds the columns of fields that are missing, in the order of yp.ListingFields. What was linked as a website is in
// no view.
func withAllFields(columns []string) []string {
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		if name := f.ColumnName(); f.Table != yp.NoTable && name != "website_url" && !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	return columns
}

// DefaultColumns is how many of ListingColumns a file has unless others are named.
const DefaultColumns = 29

// Dropped says whether listings are selected that their source dropped.
type Dropped string

// What a filter may say of dropped listings.
const (
	DroppedSince Dropped = "" // none but those that were dropped since the mark or the delivery that changes are told from
	DroppedNo    Dropped = "no"
	DroppedYes   Dropped = "yes"
	DroppedOnly  Dropped = "only"
)

// ListingQuery is a question for listings: a choice of the list of listings, column by column.
type ListingQuery struct {
	Values  map[string]any // see Choice
	Scope   store.Scope    // likewise
	Dropped Dropped
	Columns []string
	Since   *Since       // what the column "change" tells of; nil = nothing
	Only    []ChangeWord // those changes alone; needs Since

	To         *store.DeliveryBegun // who gets the rows: that they have got them is kept; nil = nobody by name
	Difference bool                 // the column "change" tells the difference to what they have got; needs To, and no Since
}

// Since marks how far somebody has read the history: up to an event, or up to a time.
type Since struct {
	Event int64
	At    time.Time

	Begins map[int64]time.Time // of these sources, by id, another time in place of At, and no earlier one: see MarkOf
}

// ChangeWord is what became of a listing since then, as files tell it.
type ChangeWord string

// The words of the column "change".
const (
	WordNew      ChangeWord = "new"
	WordChanged  ChangeWord = "changed"
	WordDropped  ChangeWord = "dropped"  // its source dropped it
	WordRestored ChangeWord = "restored" // and shows it again; of a difference: it was told as dropped or left, and is back
	WordLeft     ChangeWord = "left"     // it stands, but is none of the choice any more: told of a difference alone
)

// ChangeWords lists them in the order in which people read them.
func ChangeWords() []ChangeWord {
	return []ChangeWord{WordNew, WordChanged, WordDropped, WordRestored, WordLeft}
}

const (
	// What became of listings after a mark: new ones have row ids that follow each other.
	newSince = `
	SELECT listing, listings FROM listing_events
	WHERE id > ? AND at >= ? AND id <= ? AND at >= ifnull(? ->> ('$."' || source_id || '"'), '') AND kind = 'new'
	ORDER BY listing`
	touched = `
	SELECT listing FROM listing_events
	WHERE id > ?
		AND at >= ?
		AND id <= ?
		AND at >= ifnull(? ->> ('$."' || source_id || '"'), '')
		AND kind IN ('changed', 'completed', 'dropped', 'restored')`
	// A condition of a list: those that are new, from the first one's row on, and those of touched.
	newOrTouched = `
	(id >= ? OR id IN (
		SELECT listing FROM listing_events
		WHERE id > ?
			AND at >= ?
			AND id <= ?
			AND at >= ifnull(? ->> ('$."' || source_id || '"'), '')
			AND kind IN ('changed', 'completed', 'dropped', 'restored')))`
	eventsOf = `
	SELECT kind,
		concat_ws(',', (SELECT group_concat(v.value ->> 'field') FROM json_each(what, '$.changes') v),
			(SELECT group_concat(v.value) FROM json_each(what, '$.completed') v))
	FROM listing_events
	WHERE id > ?1
		AND at >= ?2
		AND id <= ?3
		AND at >= ifnull(?4 ->> ('$."' || source_id || '"'), '')
		AND kind IN ('changed', 'completed', 'dropped', 'restored')
		AND listing = ?5
	ORDER BY id`
	lastEvent = `SELECT ifnull(max(id), 0) FROM listing_events`
)

func wordsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) })
}

// matchWords writes words as a question to the full-text index: all of them, the last one
// as a beginning. Each is quoted, so that none is taken for an operator.
func matchWords(text string) string { return `"` + strings.Join(wordsIn(text), `" "`) + `" *` }

// EachListing hands the listings of the query to do, each as the values of its columns, in
// the order of arrival, and returns the mark up to which the history was read. All is read in
// one snapshot, row by row: a million take no memory, and a crawl goes on beside it. An error
// of do ends it and is returned as it is.
func (k *Reader) EachListing(ctx context.Context, q ListingQuery, do func(row []any) error) (mark Since, err error) {
	var given error
	err = k.at(ctx, func(k *Reader) error {
		r := listingReader{k: k, ctx: ctx, query: q}
		r.take = func(row []any) error {
			given = do(row)
			return given
		}
		mark, err = r.run()
		return err
	})
	if err != nil && given == nil {
		err = fmt.Errorf("read listings: %w", err)
	}
	return mark, err
}

func (r *listingReader) run() (mark Since, err error) {
	mark.At = r.k.db.Now()
	if err := r.k.tx.QueryRowContext(r.ctx, lastEvent).Scan(&mark.Event); err != nil {
		return mark, err
	}
	if r.query.Values["search"] != nil { // what the index of words does not have yet is told by the next delivery
		if mark.Event, r.last, err = store.WordsMarks(r.ctx, r.k.tx); err != nil {
			return mark, err
		}
	}
	r.upto = mark.Event
	return mark, r.all()
}

// listingReader carries a query out.
type listingReader struct {
	k     *Reader // of one moment
	ctx   context.Context
	query ListingQuery
	take  func(row []any) error // gets the rows

	upto    int64      // the last event that counts
	last    int64      // the last row that counts; 0 = all
	events  bool       // what became of listings is asked for
	since   []any      // arguments of the mark
	added   [][2]int64 // first and last row id of what is new, in order
	touched bits       // row ids of what else happened to
	of      *sql.Stmt  // eventsOf

	told bits // row ids of those whose fields changed since they were told
}

// listingFound is a listing as the query found it.
type listingFound struct {
	id      int64
	dropped bool
	values  []any // of the columns

	in    bool        // it is one of those asked for; else it was told before, and is there for that
	state store.State // as it was told
	event int64       // what came later was not told
}

// bits is a set of row ids.
type bits []uint64

func (b *bits) add(id int64) {
	if word := int(id / 64); word >= len(*b) {
		*b = append(*b, make([]uint64, word+1-len(*b))...)
	}
	(*b)[id/64] |= 1 << (id % 64)
}

func (b bits) has(id int64) bool { return int(id/64) < len(b) && b[id/64]&(1<<(id%64)) != 0 }

// all asks, and reads every row. Its statement is made of the filters that are given and the columns that are wanted, and
// looks like
//
//	SELECT id, dropped_at IS NOT NULL, 1, '', 0, name, phone FROM v_listings WHERE 1 AND rating >= ? AND dropped_at IS NULL ORDER BY id
func (r *listingReader) all() error {
	q := &r.query
	w, err := r.k.narrow(r.ctx, Find("listings list"), Choice{Values: q.Values, Scope: q.Scope})
	if err != nil {
		return err
	}
	made := func(c string) bool { return c == "change" || c == changedFields }
	r.events = q.Since != nil && (q.Dropped == DroppedSince || len(q.Only) > 0 || slices.ContainsFunc(q.Columns, made))
	if r.events {
		if err := r.readEvents(); err != nil {
			return err
		}
	}
	if r.events && len(q.Only) > 0 {
		first := int64(1<<63 - 1)
		if len(r.added) > 0 {
			first = r.added[0][0]
		}
		w.and(newOrTouched, append([]any{first}, r.since...)...)
	}
	switch {
	case q.Dropped == DroppedOnly:
		w.and(`dropped_at IS NOT NULL`)
	case q.Dropped == DroppedNo || q.Dropped == DroppedSince && !r.events:
		w.and(`dropped_at IS NULL`)
	}
	if r.last > 0 {
		w.and(`id <= ?`, r.last)
	}
	text, join := "1, '', 0", ""
	if q.To != nil {
		if text, join, err = r.readTold(&w); err != nil {
			return err
		}
	}
	for _, c := range q.Columns {
		if text += ", "; made(c) {
			text += "NULL AS "
		}
		text += c
	}
	text = `SELECT id, dropped_at IS NOT NULL, ` + text + ` FROM v_listings` + join + ` WHERE ` +
		strings.Join(w.parts, " AND ") + ` ORDER BY id`
	return r.k.each(r.ctx, text, w.args, r.read)
}

// readEvents finds out which listings are new since the mark, and to which others something
// happened.
func (r *listingReader) readEvents() (err error) {
	at, begins := "", any(nil)
	if !r.query.Since.At.IsZero() {
		at = yp.FormatTime(r.query.Since.At)
	}
	if text := filledJSON(beginsOf(r.query.Since.At, r.query.Since.Begins)); text != "" {
		begins = text
	}
	r.since = []any{r.query.Since.Event, at, r.upto, begins}
	err = r.k.each(r.ctx, newSince, r.since, func(rows *sql.Rows) error {
		var first, count int64
		if err := rows.Scan(&first, &count); err != nil {
			return err
		}
		if n := len(r.added); n > 0 && r.added[n-1][1]+1 == first {
			r.added[n-1][1] += count
			return nil
		}
		r.added = append(r.added, [2]int64{first, first + count - 1})
		return nil
	})
	if err != nil {
		return err
	}
	return r.readTouched(r.since, &r.touched)
}

// readTouched finds out to which listings something happened since a mark, but for those that are new.
func (r *listingReader) readTouched(since []any, to *bits) (err error) {
	err = r.k.each(r.ctx, touched, since, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		to.add(id)
		return err
	})
	if err == nil && r.of == nil {
		r.of, err = r.k.tx.PrepareContext(r.ctx, eventsOf)
	}
	return err
}

func (r *listingReader) isNew(id int64) bool {
	i, found := slices.BinarySearchFunc(r.added, id, func(part [2]int64, id int64) int { return cmp.Compare(part[0], id) })
	return found || i > 0 && id <= r.added[i-1][1]
}

// read reads a row, and hands over what the query wants of it.
func (r *listingReader) read(rows *sql.Rows) error {
	f := listingFound{values: make([]any, len(r.query.Columns))}
	into := []any{&f.id, &f.dropped, &f.in, (*string)(&f.state), &f.event}
	for i := range f.values {
		into = append(into, &f.values[i])
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	if r.query.Difference {
		return r.difference(&f)
	}
	var word ChangeWord
	var fields []string
	var err error
	if r.events {
		if word, fields, err = r.became(f.id, f.dropped); err != nil {
			return err
		}
		if f.dropped && word != WordDropped && r.query.Dropped == DroppedSince || len(r.query.Only) > 0 && !slices.Contains(r.query.Only, word) {
			return nil
		}
	}
	if r.query.To != nil {
		if err := r.keep(&f); err != nil {
			return err
		}
	}
	return r.hand(&f, word, fields)
}

// hand hands a row over.
func (r *listingReader) hand(f *listingFound, word ChangeWord, fields []string) error {
	for i, c := range r.query.Columns {
		switch {
		case c == "change" && word != "":
			f.values[i] = string(word)
		case c == changedFields && len(fields) > 0:
			f.values[i] = store.JSON(fields)
		}
	}
	return r.take(f.values)
}

// became says what became of a listing since the mark: one that was dropped and restored in
// the meantime is as it was.
func (r *listingReader) became(id int64, dropped bool) (word ChangeWord, fields []string, err error) {
	isNew := r.isNew(id)
	if !isNew && !r.touched.has(id) {
		return "", nil, nil
	}
	var first store.Event // that dropped it or brought it back
	if r.touched.has(id) {
		if first, fields, err = r.history(r.since, id); err != nil {
			return "", nil, err
		}
	}
	switch {
	case dropped && (isNew || first == store.EventDropped):
		return WordDropped, fields, nil
	case isNew:
		return WordNew, nil, nil // nobody saw it as it was
	case first == store.EventRestored && !dropped:
		return WordRestored, fields, nil
	case len(fields) > 0:
		return WordChanged, fields, nil
	}
	return "", nil, nil
}

// history reads what happened to a listing since a mark: what dropped or restored it first, and the fields
// that changed.
func (r *listingReader) history(since []any, id int64) (first store.Event, fields []string, err error) {
	rows, err := r.of.QueryContext(r.ctx, append(slices.Clone(since), id)...)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var kind store.Event
		var names string
		if err := rows.Scan(&kind, &names); err != nil {
			return "", nil, err
		}
		if kind == store.EventChanged || kind == store.EventCompleted {
			fields = append(fields, strings.Split(names, ",")...)
		} else {
			first = cmp.Or(first, kind)
		}
	}
	slices.Sort(fields)
	return first, slices.Compact(fields), rows.Err()
}
