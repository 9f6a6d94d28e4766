package store

import (
	"fmt"
	"strings"

	"ypcrawl/yp"
)

const selectOwn = `SELECT l.source_id, l.cards_before, ifnull(l.own_page_at, ''), `

var selectKnownOwn = selectOwn + knownColumns + `, ` + beforeColumns + `
	FROM listings l JOIN companies c ON c.id = l.company_id WHERE l.id = ?`

// saveOwn takes over the groups ?2 of what a listing's own page says, the listing's row is ?1: from now on no card has said
// anything since. ownAgain does so with a kept page that is read again, where it says otherwise. ?3 is when the page was read.
var saveOwn, ownAgain = func() (save, again string) {
	var now, then []string
	for _, f := range columnsOf {
		if f.Group == yp.GroupNone {
			continue
		}
		column := f.ColumnName()
		now = append(now, column)
		then = append(then, fmt.Sprintf("iif(?2 & %d, ?%d, %s)", f.Group.Bit(), 4+len(then), column))
	}
	columns, values := strings.Join(now, ", "), strings.Join(then, ", ")
	return `
	UPDATE listings SET (` + columns + `, own_page_at, cards, cards_before) = (` + values + `, ?3, 0, cards) WHERE id = ?1`, `
	UPDATE listings SET (` + columns + `, own_page_at) = (` + values + `, max(ifnull(own_page_at, ''), ?3))
	WHERE id = ?1 AND (own_page_at IS NULL OR (` + columns + `) IS NOT (` + values + `))`
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
// rows tells, of a kept page that is read again, whether it says otherwise now.
func SaveOwnPage(tx *Tx, at PageOf, listing int64, l *yp.Listing) (rows int64, err error) {
	var k ownPage
	into := append([]any{&k.source, &k.before, &k.readAt}, k.into()...)
	if err := tx.Get(selectKnownOwn, []any{listing}, append(into, k.values.into()...)...); err != nil {
		return 0, fmt.Errorf("look for a listing's own page: %w", err)
	}
	writes := l.Gives() &^ k.cards
	if at.again() { // what cards had given when it was read, it left alone
		writes &^= k.before
	}
	if rows, err = k.write(tx, at, l, writes); err == nil && rows > 0 {
		err = k.tell(tx, at, l, writes)
	}
	if err != nil {
		return 0, fmt.Errorf("save a listing's own page: %w", err)
	}
	return rows, nil
}

// write writes the groups of a page, and returns how many rows say otherwise.
func (k *ownPage) write(tx *Tx, at PageOf, l *yp.Listing, writes yp.Groups) (rows int64, err error) {
	query, args := saveOwn, []any{k.id, int64(writes), at.seen(tx)}
	if at.again() {
		query = ownAgain
	}
	for _, f := range columnsOf {
		if f.Group != yp.GroupNone {
			args = append(args, f.Value(l))
		}
	}
	if rows, err = tx.Changed(query, args...); err != nil {
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
	t.update(k.id, k.values.to(&now, k.readAt != "" && !at.again()))
	if !k.says(&said, writes) {
		if err := k.joinCompany(tx, k.with(&said, writes)); err != nil {
			return err
		}
	}
	return t.flush(tx, at)
}

// joinCompany brings the company of a listing up to date that is stored as then.
func (k *ownPage) joinCompany(tx *Tx, then *yp.Listing) error {
	keys := yp.CompanyKeys(then)
	r, err := newResolver(tx, k.source, keys)
	if err != nil {
		return err
	}
	r.settle = func() error { return nil } // the listing is stored, and so is its company
	of, err := r.resolve(then, keys, r.know(k.company))
	if err != nil {
		return err
	}
	if err := r.refresh(of, then, k.left(then)); err != nil {
		return err
	}
	return r.flush()
}
