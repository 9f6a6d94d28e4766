package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/yp"
)

// PageOf says where the listings of a page were seen.
type PageOf struct {
	SourceID int64
	TargetID int64
	State    string // searched, of the target
	Country  string // of the source; "" = its row says it
	Crawl    int64  // number of the target's current crawl
	RunID    int64  // 0 = rebuilt from logs, or read again
	// Fetched is set of a kept page that is read again: when it was fetched. What is newer stays.
	// See PrepareReparsed.
	Fetched time.Time
}

func (at PageOf) reparsed() bool { return !at.Fetched.IsZero() }

// seen is when the page was.
func (at PageOf) seen(tx *Tx) string {
	if at.reparsed() {
		return yp.FormatTime(at.Fetched)
	}
	return tx.Now
}

// latest is the last time that anything can have been seen: what is later was written under a clock that was ahead, and a page of a
// crawl corrects it. One that is read again corrects nothing.
func (at PageOf) latest(tx *Tx) string {
	if at.reparsed() {
		return "9999"
	}
	return tx.Now
}

// Saved counts what a page brought.
type Saved struct {
	New       int // listings never seen before
	Changed   int // seen before, and their source says otherwise now: those whose changes listing_events has
	Unchanged int // seen before and the same, also where this page only made more known of them
	Dropped   int // without a name or an id, or a second time on the page
	Rejected  int // staged, not promoted
	Restored  int // were dropped, and are shown again
	Companies int // companies added, less companies merged away

	Rows      int64 // of listings and sightings that say otherwise now; those that were only seen again don't count
	Completed int   // of Unchanged: fields became known
}

// Kept is the number of listings stored.
func (s Saved) Kept() int { return s.New + s.Changed + s.Unchanged }

// SaveListings stores one page's listings with their companies: new ones are
// added, changed ones updated (a group of fields of which the page says nothing keeps what
// is known), equal ones only marked as seen. What became of each is in listing_events,
// with what its source says otherwise. The same page again
// changes nothing and logs nothing.
func SaveListings(tx *Tx, at PageOf, p *Prepared) (Saved, error) {
	s := saver{tx: tx, at: at, page: p, rows: make([]int64, len(p.listings)), saved: &Saved{Dropped: p.dropped}}
	if err := s.at.inCountry(tx); err != nil {
		return *s.saved, err
	}
	steps := []func() error{s.reject, s.seeOthers}
	if len(p.listings) > 0 {
		steps = []func() error{s.sort, s.compare, s.write, s.touch, s.sight, s.reject, s.seeOthers}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return *s.saved, fmt.Errorf("save listings: %w", err)
		}
	}
	return *s.saved, s.log.flush(tx, at)
}

const countryOf = `SELECT country FROM sources WHERE id = ?`

// inCountry completes it with the country of the source.
func (at *PageOf) inCountry(tx *Tx) error {
	if at.Country != "" {
		return nil
	}
	if err := tx.Get(countryOf, []any{at.SourceID}, &at.Country); err != nil {
		return fmt.Errorf("find the country of source %d: %w", at.SourceID, err)
	}
	return nil
}

// saver carries one page through its steps.
type saver struct {
	tx      *Tx
	at      PageOf
	page    *Prepared
	stored  map[string]known
	rows    []int64    // row id of each listing of the page
	dirty   []int      // indexes of the listings to write
	keys    [][]string // strong keys of each of those
	waiting []placed   // those of them that have their company and are not yet written
	same    []int64    // row ids of the equal ones
	back    []int64    // row ids of those that were dropped
	diffs   map[int]diff
	emails  int // new listings that have an e-mail address
	log     eventBatch
	saved   *Saved
}

// placed is a listing with its company.
type placed struct {
	i       int // of the page
	company *company
	by      string // the key that led to the company, of a new listing
	known   *known // nil = new
	covered bool   // the company's row will say already what the listing brings
}

// sort says what must be written from what is stored already.
func (s *saver) sort() (err error) {
	s.stored = map[string]known{}
	err = Each(s.tx, selectKnown, []any{s.page.ids, s.at.SourceID}, func(rows *sql.Rows) error {
		var id string
		var k known
		err := rows.Scan(append([]any{&id, &k.fingerprint, &k.dropped}, k.into()...)...)
		s.stored[id] = k
		return err
	})
	if err != nil {
		return err
	}
	for i := range s.page.listings {
		l := &s.page.listings[i]
		k, ok := s.stored[l.ID]
		if ok && k.dropped {
			s.back = append(s.back, k.id)
		}
		gives := &s.page.gives[i]
		same, touched := ok && k.fingerprint == s.page.prints[i], false
		if same && gives.cards&^k.cards != 0 { // the own page was read since, and may have said otherwise
			if touched, err = s.stillSays(i, k.id); err != nil {
				return err
			}
			same = touched
		}
		if same {
			s.rows[i] = k.id
			s.saved.Unchanged++
			if !touched {
				s.same = append(s.same, k.id)
			}
			continue
		}
		s.dirty = append(s.dirty, i)
		if ok {
			s.saved.Changed++
			s.keys = append(s.keys, yp.CompanyKeys(k.with(l, gives.writes), s.at.Country))
		} else {
			s.saved.New++
			s.keys = append(s.keys, s.keysOf(i))
		}
	}
	return nil
}

// keysOf are the strong keys of a listing of the page.
func (s *saver) keysOf(i int) []string {
	if s.at.Country == yp.DefaultCountry {
		return s.page.keys[i]
	}
	return yp.CompanyKeys(&s.page.listings[i], s.at.Country)
}

// stillSays sets the bits of an equal card whose listing says still what the card says. It writes no index, which the upsert
// does: all cards come so when their own pages were read. It is generated, and looks like
//
//	UPDATE listings SET cards = cards | ?2, last_seen_at = max(min(last_seen_at, ?4), ?3)
//	WHERE id = ?1 AND name IS ?6 AND (?2 & 2 = 0 OR street IS ?7) AND sponsored <= ?8 AND ...
//	AND (?2 & 4030464 = 0 OR EXISTS (SELECT 1 FROM listing_texts m WHERE m.listing = listings.id AND (?2 & 131072 = 0 OR m.about IS ?38) AND ...))
var stillSays = func() string {
	where, texts := []string{"id = ?1"}, []string{"m.listing = listings.id"}
	for i, f := range columnsOf {
		switch column, at := f.ColumnName(), 5+i; {
		case column == keyColumn:
		case f.Absent == yp.Overrules:
			where = append(where, fmt.Sprintf("%s <= ?%d", column, at))
		case f.Group == yp.GroupNone:
			where = append(where, fmt.Sprintf("%s IS ?%d", column, at))
		default:
			where = append(where, fmt.Sprintf("(?2 & %d = 0 OR %s IS ?%d)", f.Group.Bit(), column, at))
		}
	}
	for i, f := range textsOf {
		texts = append(texts, fmt.Sprintf("(?2 & %d = 0 OR m.%s IS ?%d)", f.Group.Bit(), f.ColumnName(), 5+len(columnsOf)+i))
	}
	where = append(where, fmt.Sprintf("(?2 & %d = 0 OR EXISTS (SELECT 1 FROM listing_texts m WHERE %s))", inTexts, strings.Join(texts, " AND ")))
	return `
	UPDATE listings SET cards = cards | ?2, last_seen_at = max(min(last_seen_at, ?4), ?3) WHERE ` + strings.Join(where, " AND ")
}()

// stillSays reports whether the listing says what the equal card of it says, and if so, marks it as seen, and the card's
// groups as said again.
func (s *saver) stillSays(i int, row int64) (bool, error) {
	args := append([]any{row, int64(s.page.gives[i].cards), s.at.seen(s.tx), s.at.latest(s.tx)}, s.page.argsOf(i)[len(ofPage):]...)
	for _, f := range textsOf {
		args = append(args, f.Value(&s.page.listings[i]))
	}
	n, err := s.tx.Changed(stillSays, args...)
	return n > 0, err
}

// write finds the company of every listing that is to be written, and writes them.
func (s *saver) write() error {
	if len(s.dirty) == 0 {
		return nil
	}
	var all []string
	for _, keys := range s.keys {
		all = append(all, keys...)
	}
	r, err := newResolver(s.tx, s.at, all)
	if err != nil {
		return err
	}
	r.saveWaiting = func() error { return s.saveWaiting(r) }
	for n, i := range s.dirty {
		l := &s.page.listings[i]
		p := placed{i: i}
		var own *company
		if k, ok := s.stored[l.ID]; ok {
			p.known, own = &k, r.know(k.company)
		}
		if p.company, err = r.resolve(l, s.keys[n], own); err != nil {
			return err
		}
		p.by, p.covered = r.by, p.company.id == 0 ||
			p.known != nil && p.known.says(l, s.page.gives[i].writes) && p.company.root().id == p.known.company.id
		s.waiting = append(s.waiting, p)
	}
	if err := r.saveWaiting(); err != nil {
		return err
	}
	if s.saved.New > 0 {
		if err := s.tx.Run(addListings, s.at.SourceID, s.at.State, s.saved.New, s.emails); err != nil {
			return err
		}
	}
	s.saved.Companies = r.created - r.removed
	return r.flush()
}

const addListings = `
	INSERT INTO listing_totals (source_id, state, listings, emails) VALUES (?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET listings = listings + excluded.listings, emails = emails + excluded.emails`

// saveWaiting writes the listings that have their company, and the companies that they made.
func (s *saver) saveWaiting(r *resolver) error {
	if err := r.saveCompanies(); err != nil {
		return err
	}
	if err := s.insert(); err != nil {
		return err
	}
	for _, p := range s.waiting {
		if p.known != nil {
			if err := s.update(p); err != nil {
				return err
			}
		}
	}
	for _, p := range s.waiting {
		if p.covered {
			continue
		}
		l, left := &s.page.listings[p.i], ""
		if p.known != nil {
			l = p.known.with(l, s.page.gives[p.i].writes)
			left = p.known.left(l)
		}
		if err := r.refresh(p.company, l, left); err != nil {
			return err
		}
	}
	s.waiting = s.waiting[:0]
	return nil
}

// insert adds the new listings.
func (s *saver) insert() error {
	all := s.saved.New == len(s.page.listings) && len(s.waiting) == s.saved.New
	var args []any
	for _, p := range s.waiting {
		if p.known != nil {
			continue
		}
		if one := s.argsOf(p); !all {
			args = append(args, one...)
		}
	}
	if all { // their arguments are in a row already
		args = s.page.args
	}
	if len(args) == 0 {
		return nil
	}
	row, err := insertListings.run(s.tx, args)
	if err != nil {
		return err
	}
	s.saved.Rows += int64(len(args) / insertListings.columns)
	for _, p := range s.waiting {
		if p.known != nil {
			continue
		}
		l := &s.page.listings[p.i]
		if l.Email != "" {
			s.emails++
		}
		if _, err := saveTexts(s.tx, row, l, s.page.gives[p.i].writes); err != nil {
			return err
		}
		s.rows[p.i] = row
		s.log.create(row, p.by)
		row++
	}
	return nil
}

// ofPage are the columns of a new listing that its source does not say: what the page and
// the database do. The others follow in the order of yp.ListingFields.
var ofPage = [...]string{"source_id", "company_id", "found_state", "first_seen_at", "last_seen_at", "fingerprint", "cards", "country"}

// Places in ofPage.
const (
	printArg   = 5
	cardsArg   = 6
	countryArg = 7
)

var insertListings = func() *insert {
	columns := slices.Clone(ofPage[:])
	for _, f := range columnsOf {
		columns = append(columns, f.ColumnName())
	}
	return newInsert(`INSERT INTO listings (`+strings.Join(columns, ", ")+`)`, len(columns))
}()

// columnsOf are the fields that the table listings has, textsOf those of listing_texts.
var columnsOf, textsOf = fieldsIn(yp.InListings), fieldsIn(yp.InTexts)

func fieldsIn(table yp.Table) (fields []*yp.ListingField) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Table == table {
			fields = append(fields, f)
		}
	}
	return fields
}

// argsOf are the arguments of insertListings for a listing that has its company.
func (s *saver) argsOf(p placed) []any {
	args := s.page.argsOf(p.i)
	seen := s.at.seen(s.tx)
	args[0], args[1], args[2], args[3], args[4] = s.at.SourceID, p.company.root().id, s.at.State, seen, seen
	args[countryArg] = s.at.Country
	return args
}

// A card may show less of a listing than is known of it: a group of which it says nothing stays,
// and a row that says the same already is not written. Behind a new listing's arguments come the groups that count as the
// card's own from now on (see given), and PageOf.latest. It is generated, and looks like
//
//	INSERT INTO listings (source_id, company_id, ..., cards, listing_id, name, street, ...) VALUES (?, ?, ...)
//	ON CONFLICT (source_id, listing_id) DO UPDATE SET company_id = excluded.company_id, name = excluded.name,
//		street = iif(excluded.cards & 2, excluded.street, street), ..., cards = cards | ?60, cards_before = cards_before | ?61,
//		fingerprint = excluded.fingerprint, last_seen_at = max(min(last_seen_at, ?62), excluded.last_seen_at)
//	WHERE (company_id, name, street, ...) IS NOT (excluded.company_id, excluded.name, iif(...), ...)
var upsertListing = func() string {
	set, now, then := []string{"company_id = excluded.company_id"}, []string{"company_id"}, []string{"excluded.company_id"}
	add := func(column, value string) {
		set, now, then = append(set, column+" = "+value), append(now, column), append(then, value)
	}
	for _, f := range columnsOf {
		switch column := f.ColumnName(); {
		case column == keyColumn:
		case f.Absent == yp.Refused:
			add(column, "excluded."+column)
		case f.Absent == yp.Overrules:
			add(column, "min("+column+", excluded."+column+")")
		default:
			add(column, fmt.Sprintf("iif(excluded.cards & %d, excluded.%s, %s)", f.Group.Bit(), column, column))
		}
	}
	add("cards", fmt.Sprintf("cards | ?%d", insertListings.columns+1))
	add("cards_before", fmt.Sprintf("cards_before | ?%d", insertListings.columns+2))
	return insertListings.texts[len(insertSizes)-1] + `
	ON CONFLICT (source_id, ` + keyColumn + `) DO UPDATE SET ` + strings.Join(set, ", ") + `,
		fingerprint = excluded.fingerprint, last_seen_at = ` +
		fmt.Sprintf("max(min(last_seen_at, ?%d), excluded.last_seen_at)", insertListings.columns+3) + `
	WHERE (` + strings.Join(now, ", ") + `) IS NOT (` + strings.Join(then, ", ") + `)`
}()

// upsertTexts writes the long fields of a listing that are given; each is a group of its own. It is generated, and looks like
//
//	INSERT INTO listing_texts (listing, about, ...) VALUES (?, ?, ...)
//	ON CONFLICT DO UPDATE SET (about, ...) = (ifnull(excluded.about, about), ...)
//	WHERE (about, ...) IS NOT (ifnull(excluded.about, about), ...)
var upsertTexts = func() string {
	columns, now, then := []string{"listing"}, []string(nil), []string(nil)
	for _, f := range textsOf {
		column := f.ColumnName()
		columns, now, then = append(columns, column), append(now, column), append(then, "ifnull(excluded."+column+", "+column+")")
	}
	return `
	INSERT INTO listing_texts (` + strings.Join(columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(textsOf)) + `)
	ON CONFLICT DO UPDATE SET (` + strings.Join(now, ", ") + `) = (` + strings.Join(then, ", ") + `)
	WHERE (` + strings.Join(now, ", ") + `) IS NOT (` + strings.Join(then, ", ") + `)`
}()

// inTexts are the groups that listing_texts has.
var inTexts = func() (all yp.Groups) {
	for _, f := range textsOf {
		all |= f.Group.Bit()
	}
	return all
}()

// saveTexts writes those long fields of a listing, by its row, that are in the groups; n = 0 where they are there already.
func saveTexts(tx *Tx, row int64, l *yp.Listing, writes yp.Groups) (n int64, err error) {
	if writes&inTexts == 0 {
		return 0, nil
	}
	args := make([]any, 1, 1+len(textsOf))
	args[0] = row
	for _, f := range textsOf {
		if writes&f.Group.Bit() == 0 {
			args = append(args, nil)
		} else {
			args = append(args, f.Value(l))
		}
	}
	return tx.Changed(upsertTexts, args...)
}

// keyColumn is the column of the source's own id.
const keyColumn = "listing_id"

// update saves what a page says otherwise of a listing that is stored.
func (s *saver) update(p placed) error {
	l, k := &s.page.listings[p.i], p.known
	gives := &s.page.gives[p.i]
	n, err := s.tx.Changed(upsertListing, append(slices.Clip(s.argsOf(p)), int64(gives.cards), int64(gives.before), s.at.latest(s.tx))...)
	if err != nil {
		return fmt.Errorf("listing %s: %w", l.ID, err)
	}
	texts, err := saveTexts(s.tx, k.id, l, gives.writes)
	if err != nil {
		return fmt.Errorf("listing %s: %w", l.ID, err)
	}
	s.rows[p.i] = k.id
	s.saved.Rows += n + texts
	if n == 0 {
		s.same = append(s.same, k.id)
	}
	if len(s.diffs[p.i].Changed) == 0 {
		s.saved.Changed--
		s.saved.Unchanged++
	}
	s.log.update(k.id, s.diffs[p.i])
	if d := s.diffs[p.i]; len(d.Changed) == 0 && len(d.Completed) > 0 {
		s.saved.Completed++
	}
	return nil
}

// known is a listing of the page that is already stored.
type known struct {
	id          int64
	fingerprint int64
	dropped     bool
	cards       yp.Groups
	company     company
	keyed       yp.Listing // what companies are made of
}

// into is where the columns of a listing l and its company c go, from l.id on: in selectKnown, and in selectKnownOwn.
func (k *known) into() []any {
	c, l := &k.company, &k.keyed
	return []any{
		&k.id, &k.cards, &c.id, &c.leadSource, &c.leadListing, &c.website,
		&l.ID, &l.Name, &l.PhoneE164, &l.Street, &l.City, &l.State, &l.PostalCode, &l.Website, &l.Domain,
	}
}

const selectKnown = `
	SELECT l.listing_id, l.fingerprint, l.dropped_at IS NOT NULL,
		l.id, l.cards, c.id, c.lead_source, c.lead_listing, ifnull(c.website, ''),
		l.listing_id, l.name, ifnull(l.phone_e164, ''), ifnull(l.street, ''), ifnull(l.city, ''), ifnull(l.state, ''),
		ifnull(l.postal_code, ''), ifnull(l.website, ''), ifnull(l.domain, '')
	FROM json_each(?) AS j
		CROSS JOIN listings l ON l.source_id = ? AND l.listing_id = j.value
		JOIN companies c ON c.id = l.company_id`

// with returns what the stored listing will be once some groups of l are saved, as far as companies
// go: they come from all that is known of it, not from the last page alone.
func (k *known) with(l *yp.Listing, writes yp.Groups) *yp.Listing {
	then := k.keyed
	then.Name = l.Name
	if writes&yp.GroupPhone.Bit() != 0 {
		then.PhoneE164 = l.PhoneE164
	}
	if writes&yp.GroupPlace.Bit() != 0 {
		then.Street, then.City, then.State, then.PostalCode = l.Street, l.City, l.State, l.PostalCode
	}
	if writes&yp.GroupWebsite.Bit() != 0 {
		then.Website, then.Domain = l.Website, l.Domain
	}
	return &then
}

// says reports whether the stored listing says so already, as far as companies go.
func (k *known) says(l *yp.Listing, writes yp.Groups) bool {
	then, now := k.with(l, writes), &k.keyed
	return then.Name == now.Name && then.PhoneE164 == now.PhoneE164 && then.Street == now.Street &&
		then.City == now.City && then.State == now.State &&
		then.PostalCode == now.PostalCode && then.Website == now.Website && then.Domain == now.Domain
}

// left returns the website that the listing gives up when it says then, if it does.
func (k *known) left(then *yp.Listing) string {
	if then.Website == k.keyed.Website {
		return ""
	}
	return k.keyed.Website
}
