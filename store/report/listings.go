package report

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// ListingFilter selects listings. Empty fields select all.
type ListingFilter struct {
	SourceID   int64
	States     []string // the listing's own; of one without, the state it was searched in
	Cities     []string // names in any letter case; of a listing without a city, the searched one
	Categories []string // names or slugs in any letter case: searched, or the listing's own
	Words      string   // all of them in name, categories or city; the last may be a beginning
	Has        []string // columns that are filled: email, phone, website ...
	MinRating  float64
	SeenSince  time.Time
	Closed     Closed

	id string // of one listing
}

// Closed says whether listings are selected that their source dropped.
type Closed string

// What a filter may say of closed listings.
const (
	ClosedSince Closed = "" // none but those that closed since the mark or the delivery that changes are told from
	ClosedNo    Closed = "no"
	ClosedYes   Closed = "yes"
	ClosedOnly  Closed = "only"
)

// ListingQuery is a question for listings, column by column.
type ListingQuery struct {
	ListingFilter
	Columns       []Column
	Since         *Since       // what the column "change" tells of; nil = nothing
	Only          []ChangeWord // those changes alone; needs Since
	OnePerCompany bool         // the first listing of each company, open ones before closed ones
	Limit         int          // 0 = all

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
	WordClosed   ChangeWord = "closed"   // its source dropped it
	WordRestored ChangeWord = "restored" // and shows it again; of a difference: it was told as closed or left, and is back
	WordLeft     ChangeWord = "left"     // it stands, but is none of the choice any more: told of a difference alone
)

// ChangeWords lists them in the order in which people read them.
func ChangeWords() []ChangeWord {
	return []ChangeWord{WordNew, WordChanged, WordClosed, WordRestored, WordLeft}
}

const (
	// The search under which a listing was seen first.
	searched = ` LEFT JOIN targets x ON x.id = (SELECT min(g.target_id) FROM sightings g WHERE g.listing = l.id)`
	details  = ` LEFT JOIN details d ON d.listing = l.id`
	stateOf  = `coalesce(l.state, l.found_state)`
	cityOf   = `lower(coalesce(l.city, (SELECT name FROM cities WHERE id = x.city_id)))`
	// Names or slugs of categories, given three times.
	ofCategory = `(l.id IN (SELECT g.listing FROM categories k CROSS JOIN targets t ON t.category_id = k.id AND t.kind = 'search' CROSS JOIN sightings g ON g.target_id = t.id
			WHERE lower(k.name) IN (SELECT lower(value) FROM json_each(?)) OR k.slug IN (SELECT lower(value) FROM json_each(?)))
		OR EXISTS (SELECT 1 FROM json_each(l.categories) v WHERE lower(v.value) IN (SELECT lower(value) FROM json_each(?))))`

	// What became of listings after a mark: new ones have row ids that follow each other.
	sinceMark = ` WHERE id > ? AND at >= ? AND id <= ? AND at >= ifnull(? ->> ('$."' || source_id || '"'), '')`
	afterMark = sinceMark + ` AND kind IN ('changed', 'completed', 'dropped', 'restored')`
	newSince  = `SELECT listing, listings FROM listing_events` + sinceMark + ` AND kind = 'new' ORDER BY listing`
	touched   = `SELECT listing FROM listing_events` + afterMark
	eventsOf  = `SELECT kind, concat_ws(',', (SELECT group_concat(v.value ->> 'field') FROM json_each(what, '$.changes') v), (SELECT group_concat(v.value) FROM json_each(what, '$.completed') v))
		FROM listing_events` + afterMark + ` AND listing = ? ORDER BY id`
	lastEvent = `SELECT ifnull(max(id), 0) FROM listing_events`

	// The values of a row are read as one text: the driver takes 100 ns for each column. No text
	// that came from the web holds the separator.
	separator = "\x1f"
)

// condition is a part of a WHERE clause and its arguments.
type condition struct {
	parts []string
	args  []any
}

func (w *condition) and(part string, args ...any) {
	w.parts, w.args = append(w.parts, part), append(w.args, args...)
}

func (f *ListingFilter) conditions() (w condition, err error) {
	if f.SourceID != 0 {
		w.and(`l.source_id = ?`, f.SourceID)
	}
	if f.id != "" {
		w.and(`l.listing_id = ?`, f.id)
	}
	if len(f.States) > 0 {
		w.and(stateOf+` IN (SELECT value FROM json_each(?))`, store.JSONTexts(f.States))
	}
	if len(f.Cities) > 0 {
		w.and(cityOf+` IN (SELECT lower(value) FROM json_each(?))`, store.JSONTexts(f.Cities))
	}
	if len(f.Categories) > 0 {
		names := store.JSONTexts(f.Categories)
		w.and(ofCategory, names, names, names)
	}
	for _, name := range f.Has {
		c, err := ListingColumn(name)
		if err != nil {
			return w, err
		}
		if c.made == byEvents {
			return w, fmt.Errorf("listings can't be filtered by having %q", name)
		}
		w.and(c.sql + ` IS NOT NULL`)
	}
	if f.MinRating > 0 {
		w.and(`l.rating >= ?`, f.MinRating)
	}
	if !f.SeenSince.IsZero() {
		w.and(`l.last_seen_at >= ?`, yp.FormatTime(f.SeenSince))
	}
	if f.Words != "" {
		w.and(`l.id IN (SELECT rowid FROM listing_words WHERE listing_words MATCH ?)`, matchWords(f.Words))
	}
	return w, nil
}

// HasWords reports whether a text has words to search for.
func HasWords(text string) bool { return len(wordsIn(text)) > 0 }

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
	mark, err = k.eachListing(ctx, q, func(row []any) error {
		given = do(row)
		return given
	})
	if err != nil && given == nil {
		err = fmt.Errorf("read listings: %w", err)
	}
	return mark, err
}

func (k *Reader) eachListing(ctx context.Context, q ListingQuery, do func(row []any) error) (mark Since, err error) {
	if k.tx == nil {
		err = k.Snapshot(ctx, func(k *Reader) error {
			mark, err = k.eachListing(ctx, q, do)
			return err
		})
		return mark, err
	}
	tx := k.tx
	mark.At = k.db.Now()
	if err := tx.QueryRowContext(ctx, lastEvent).Scan(&mark.Event); err != nil {
		return mark, err
	}
	n := 0
	r := listingReader{ctx: ctx, tx: tx, query: q, take: func(_ *listingFound, row []any) error {
		n++
		return do(row)
	}}
	if q.Words != "" { // what the index of words does not have yet is told by the next delivery
		if mark.Event, r.last, err = store.WordsMarks(ctx, tx); err != nil {
			return mark, err
		}
	}
	r.upto = mark.Event
	text, args, err := r.prepare()
	if err != nil {
		return mark, err
	}
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return mark, err
	}
	defer func() { _ = rows.Close() }()
	for (q.Limit == 0 || n < q.Limit) && rows.Next() {
		if err := r.read(rows); err != nil {
			return mark, err
		}
	}
	if err := rows.Err(); err != nil {
		return mark, err
	}
	return mark, nil
}

// listingReader carries a query out.
type listingReader struct {
	ctx     context.Context
	tx      *sql.Tx
	query   ListingQuery
	take    func(f *listingFound, row []any) error // gets the rows
	columns []Column                               // those asked for, and the group
	values  []string                               // SQL of the columns
	cells   []string                               // of one row, as values

	sources, cities, categories map[string]string // names by id
	companies                   bits              // of which a row was handed out
	chosen                      *bits             // row ids that stand for their companies; nil = they come in that order

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
	id, company int64
	closed      bool
	text        string // the values, each with a separator behind it

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

// prepare returns the statement and its arguments.
func (r *listingReader) prepare() (text string, args []any, err error) {
	w, err := r.query.conditions()
	if err != nil {
		return "", nil, err
	}
	r.columns = r.query.Columns
	r.events = r.query.Since != nil && (r.query.Closed == ClosedSince || len(r.query.Only) > 0 || slices.ContainsFunc(r.columns, func(c Column) bool { return c.made == byEvents }))
	if r.events {
		if err := r.readEvents(); err != nil {
			return "", nil, err
		}
	}
	if r.events && len(r.query.Only) > 0 {
		first := int64(1<<63 - 1)
		if len(r.added) > 0 {
			first = r.added[0][0]
		}
		w.and(`(l.id >= ? OR l.id IN (`+touched+`))`, append([]any{first}, r.since...)...)
	}
	switch {
	case r.query.Closed == ClosedOnly:
		w.and(`l.dropped_at IS NOT NULL`)
	case r.query.Closed == ClosedNo || r.query.Closed == ClosedSince && !r.events:
		w.and(`l.dropped_at IS NULL`)
	}
	if r.last > 0 {
		w.and(`l.id <= ?`, r.last)
	}
	if r.query.OnePerCompany && r.query.Difference {
		if err := r.choose(); err != nil {
			return "", nil, err
		}
	}
	r.values = make([]string, len(r.columns))
	for i, c := range r.columns {
		if r.values[i] = "ifnull(" + c.sql + ", '')"; c.made == byEvents {
			r.values[i] = "''"
		}
	}
	join := ""
	if text, args = "1, '', 0", w.args; r.query.To != nil {
		if text, join, args, err = r.readTold(&w); err != nil {
			return "", nil, err
		}
	}
	text = `SELECT l.id, l.dropped_at IS NOT NULL, l.company_id, concat_ws(char(31), ` + strings.Join(append(r.values, "''"), `, `) + `), ` + text + ` FROM listings l` + join
	if all := text + strings.Join(w.parts, ""); strings.Contains(all, "d.") {
		text += details
	}
	if all := text + strings.Join(w.parts, ""); strings.Contains(all, "x.") {
		text += searched
	}
	if len(w.parts) > 0 {
		text += " WHERE " + strings.Join(w.parts, " AND ")
	}
	text += " ORDER BY "
	if r.query.OnePerCompany && r.chosen == nil {
		text += "l.dropped_at IS NOT NULL, "
	}
	return text + "l.id", args, r.readNames()
}

// choose finds the rows that stand for their companies in the order of arrival: rows in
// groups come in another one.
func (r *listingReader) choose() error {
	q := r.query
	q.Columns, q.Only, q.To, q.Difference = nil, nil, nil, false
	r.chosen = &bits{}
	first := listingReader{ctx: r.ctx, tx: r.tx, query: q, upto: r.upto, last: r.last, take: func(f *listingFound, _ []any) error {
		r.chosen.add(f.id)
		return nil
	}}
	text, args, err := first.prepare()
	if err != nil {
		return err
	}
	err = first.scan(text, args, first.read)
	r.companies = first.companies
	return err
}

// readNames reads the names that rows are given by their ids.
func (r *listingReader) readNames() error {
	for table, names := range map[string]*map[string]string{"sources": &r.sources, "cities": &r.cities, "categories": &r.categories} {
		*names = map[string]string{}
		err := r.scan(`SELECT id, name FROM `+table, nil, func(rows *sql.Rows) error {
			var id, name string
			err := rows.Scan(&id, &name)
			(*names)[id] = name
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *listingReader) scan(query string, args []any, row func(*sql.Rows) error) error {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readEvents finds out which listings are new since the mark, and to which others something
// happened.
func (r *listingReader) readEvents() (err error) {
	at := ""
	if !r.query.Since.At.IsZero() {
		at = yp.FormatTime(r.query.Since.At)
	}
	begins := any(nil)
	if text := beginsJSON(r.query.Since.At, r.query.Since.Begins); text != "" {
		begins = text
	}
	r.since = []any{r.query.Since.Event, at, r.upto, begins}
	err = r.scan(newSince, r.since, func(rows *sql.Rows) error {
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
	err = r.scan(touched, since, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		to.add(id)
		return err
	})
	if err == nil && r.of == nil {
		r.of, err = r.tx.PrepareContext(r.ctx, eventsOf)
	}
	return err
}

func (r *listingReader) isNew(id int64) bool {
	i, found := slices.BinarySearchFunc(r.added, id, func(part [2]int64, id int64) int { return cmp.Compare(part[0], id) })
	return found || i > 0 && id <= r.added[i-1][1]
}

// read reads a row, and hands over what the query wants of it.
func (r *listingReader) read(rows *sql.Rows) error {
	var f listingFound
	if err := rows.Scan(&f.id, &f.closed, &f.company, &f.text, &f.in, (*string)(&f.state), &f.event); err != nil {
		return err
	}
	if r.query.Difference {
		return r.difference(&f)
	}
	var word ChangeWord
	var fields []string
	var err error
	if r.events {
		if word, fields, err = r.became(f.id, f.closed); err != nil {
			return err
		}
		if f.closed && word != WordClosed && r.query.Closed == ClosedSince || len(r.query.Only) > 0 && !slices.Contains(r.query.Only, word) {
			return nil
		}
	}
	if r.chosen != nil && !r.chosen.has(f.id) {
		return nil
	}
	if r.query.OnePerCompany && r.chosen == nil {
		if r.companies.has(f.company) {
			return nil
		}
		r.companies.add(f.company)
	}
	if err := r.cut(&f); err != nil {
		return err
	}
	if r.query.To != nil {
		if err := r.keep(&f); err != nil {
			return err
		}
	}
	return r.hand(&f, word, fields)
}

// cut cuts the text of a row into cells.
func (r *listingReader) cut(f *listingFound) error {
	if strings.Count(f.text, separator) != len(r.values) {
		return fmt.Errorf("listing with row id %d holds the control character 0x1f, which ypcrawl never writes: remove it from the listing's texts", f.id)
	}
	r.cells = r.cells[:0]
	for text := f.text; len(r.cells) < len(r.values); {
		var cell string
		cell, text, _ = strings.Cut(text, separator)
		r.cells = append(r.cells, cell)
	}
	return nil
}

// hand hands a row over whose cells were cut.
func (r *listingReader) hand(f *listingFound, word ChangeWord, fields []string) (err error) {
	row := make([]any, len(r.columns))
	for i, c := range r.columns {
		value := r.cells[i]
		switch {
		case c.Name == "change":
			value = string(word)
		case c.Name == "changed_fields" && len(fields) > 0:
			value = store.JSON(fields)
		case c.Name == "company_id":
			row[i] = f.company
			continue
		}
		if value == "" && c.made != openOrClosed {
			continue
		}
		if row[i], err = r.value(c, value); err != nil {
			return fmt.Errorf("listing with row id %d: %s: %w", f.id, c.Name, err)
		}
	}
	return r.take(f, row)
}

func (r *listingReader) value(c Column, text string) (any, error) {
	switch c.made {
	case firstOf:
		if items := Texts(text); len(items) > 0 {
			return items[0], nil
		}
		return nil, nil
	case dayOf:
		return text[:min(len(text), len(time.DateOnly))], nil
	case openOrClosed:
		if text == "" {
			return "open", nil
		}
		return "closed", nil
	case sourceName:
		return r.sources[text], nil
	case cityName:
		return r.cities[text], nil
	case categoryName:
		return r.categories[text], nil
	}
	switch c.Kind {
	case IntegerColumn:
		return strconv.ParseInt(text, 10, 64)
	case RealColumn:
		return strconv.ParseFloat(text, 64)
	}
	return text, nil
}

// became says what became of a listing since the mark: one that was dropped and restored in
// the meantime is as it was.
func (r *listingReader) became(id int64, closed bool) (word ChangeWord, fields []string, err error) {
	isNew := r.isNew(id)
	if !isNew && !r.touched.has(id) {
		return "", nil, nil
	}
	var first store.Event // that closed it or opened it again
	if r.touched.has(id) {
		if first, fields, err = r.history(r.since, id); err != nil {
			return "", nil, err
		}
	}
	switch {
	case closed && (isNew || first == store.EventDropped):
		return WordClosed, fields, nil
	case isNew:
		return WordNew, nil, nil // nobody saw it as it was
	case first == store.EventRestored && !closed:
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
