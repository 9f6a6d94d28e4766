package store

import (
	"fmt"
	"strings"

	"ypcrawl/yp"
)

var selectKnownOwn = `
	SELECT l.source_id, l.cards_before, ifnull(l.own_page_at, ''),
		l.id, l.cards, c.id, c.lead_source, c.lead_listing, ifnull(c.website, ''),
		l.listing_id, l.name, ifnull(l.phone_e164, ''), ifnull(l.street, ''), ifnull(l.city, ''), ifnull(l.state, ''),
		ifnull(l.postal_code, ''), ifnull(l.website, ''), ifnull(l.domain, ''),
		` + beforeColumns + `
	FROM listings l JOIN companies c ON c.id = l.company_id WHERE l.id = ?`

// saveOwn takes over the groups ?2 of what a listing's own page says that was read at ?3; the listing's row is ?1. From then
// on the groups ?4 are those that cards have given since, and ?5 those that they had given before. ?6 is PageOf.latest. As in
//
//	UPDATE listings SET (phone, …, own_page_at, cards, cards_before) = (iif(?2 & 1, ?7, phone), …, max(min(ifnull(own_page_at, ''), ?6), ?3), ?4, ?5)
//	WHERE id = ?1 AND (phone, …, own_page_at, cards, cards_before) IS NOT (iif(?2 & 1, ?7, phone), …)
var saveOwn = func() string {
	now, then := []string{"own_page_at", "cards", "cards_before"}, []string{"max(min(ifnull(own_page_at, ''), ?6), ?3)", "?4", "?5"}
	for n, f := range ownFields {
		column := f.ColumnName()
		now, then = append(now, column), append(then, fmt.Sprintf("iif(?2 & %d, ?%d, %s)", f.Group.Bit(), 7+n, column))
	}
	columns, values := strings.Join(now, ", "), strings.Join(then, ", ")
	return `
	UPDATE listings SET (` + columns + `) = (` + values + `)
	WHERE id = ?1 AND (` + columns + `) IS NOT (` + values + `)`
}()

// ownFields are the fields of the table listings that an own page may give.
var ownFields = func() (fields []*yp.ListingField) {
	for _, f := range columnsOf {
		if f.Group != yp.GroupNone {
			fields = append(fields, f)
		}
	}
	return fields
}()

// ownPage is a listing whose own page was read.
type ownPage struct {
	known
	source int64
	before yp.Groups // that cards had given when it was read before
	readAt string    // last; "" = never
	values values
}

// SaveOwnPage stores what a listing's own page says, read at the transaction's time, in the listing, by its row id: the groups of
// fields that no card has given since the page was read last. What it says otherwise than is known is a change of the listing, also
// where nothing was known and the page was read before; what it says when it is read for the first time becomes known.
// A kept page that is read again leaves alone what cards had given when it was read, too.
// rows tells whether anything is stored otherwise now.
func SaveOwnPage(tx *Tx, at PageOf, listing int64, l *yp.Listing) (rows int64, err error) {
	var k ownPage
	into := append([]any{&k.source, &k.before, &k.readAt}, k.into()...)
	if err := tx.Get(selectKnownOwn, []any{listing}, append(into, k.values.into()...)...); err != nil {
		return 0, fmt.Errorf("look for a listing's own page: %w", err)
	}
	writes, since, before := l.Gives()&^k.cards, yp.Groups(0), k.cards
	if at.reparsed() {
		writes, since, before = writes&^k.before, k.cards, k.before
	}
	if rows, err = k.write(tx, l, writes, at.seen(tx), at.latest(tx), int64(since), int64(before)); err == nil && rows > 0 {
		err = k.tell(tx, at, l, writes)
	}
	if err != nil {
		return 0, fmt.Errorf("save a listing's own page: %w", err)
	}
	return rows, nil
}

// write writes the groups of a page, and returns how many rows say otherwise: see saveOwn.
func (k *ownPage) write(tx *Tx, l *yp.Listing, writes yp.Groups, seen, latest string, since, before int64) (rows int64, err error) {
	args := []any{k.id, int64(writes), seen, since, before, latest}
	for _, f := range ownFields {
		args = append(args, f.Value(l))
	}
	if rows, err = tx.Changed(saveOwn, args...); err != nil {
		return 0, err
	}
	texts, err := saveTexts(tx, k.id, l, writes)
	return rows + texts, err
}

// tell writes the history of what a page said, and finds the listing's company again by the keys that it has now.
func (k *ownPage) tell(tx *Tx, at PageOf, l *yp.Listing, writes yp.Groups) error {
	said := *l
	said.ID, said.Name = k.keyed.ID, k.keyed.Name
	now := valuesOf(&said, writes)
	var t eventBatch
	t.update(k.id, k.values.to(&now, k.readAt != "" && !at.reparsed()))
	if !k.says(&said, writes) {
		if err := k.joinCompany(tx, k.with(&said, writes)); err != nil {
			return err
		}
	}
	return t.flush(tx, at)
}

// joinCompany brings the company of a listing up to date that is stored as then.
func (k *ownPage) joinCompany(tx *Tx, then *yp.Listing) error {
	at := PageOf{SourceID: k.source}
	if err := at.inCountry(tx); err != nil {
		return err
	}
	keys := yp.CompanyKeys(then, at.Country)
	r, err := newResolver(tx, at, keys)
	if err != nil {
		return err
	}
	r.saveWaiting = func() error { return nil } // the listing is stored, and so is its company
	of, err := r.resolve(then, keys, r.know(k.company))
	if err != nil {
		return err
	}
	if err := r.refresh(of, then, k.left(then)); err != nil {
		return err
	}
	return r.flush()
}
