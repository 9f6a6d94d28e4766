package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// The layout alarm: see doc.go and docs/health.md, section 4.
const (
	// MaxStrikes is how many pages running whose layout is not known raise the alarm.
	MaxStrikes = 3

	alarmPages    = 3     // in a row, of as many targets
	usualListings = 50    // seen of a category before its shares count
	usualShare    = 0.9   // of them had the field
	provingPage   = 5     // listings: a page of fewer says nothing
	remembered    = 1_000 // listings of a category; what is older counts half
)

// fields are the fields of a listing that the layout alarm watches: those that a page may
// say or not. Id, name and rank are not among them: without the first two there is no
// listing, and the page's own checks see it.
var fields = slices.DeleteFunc(slices.Clone(yp.ListingFields[:]), func(f yp.ListingField) bool { return !f.Is(yp.Watched) })

// share is what is usual of a field in one category: how many listings were seen and had it.
type share struct{ listings, having float64 }

// row is a share as it is stored; its JSON form is how many travel in one statement.
type row struct {
	Category         int64
	Field            string
	Listings, Having float64
}

// Layout is the layout alarm of one source for one process. It is safe for concurrent use.
type Layout struct {
	m      *Monitor
	source int64

	mu      sync.Mutex
	usual   map[int64][]share // by category, in the order of fields
	changed map[int64]bool    // categories of which there is something to store
	missing [][]int64         // of each field: the targets of the pages in a row that lack it
	strikes int               // pages running whose layout was not known; stored in sources

	unfollowed []int64 // the targets in a row whose list leads on by nothing that can be followed
	accepted   bool    // an operator let the source go on after the alarm for that; stored in meta
}

const (
	selectShares  = `SELECT category_id, field, listings, having_it FROM field_shares WHERE source_id = ?`
	selectStrikes = `SELECT layout_strikes FROM sources WHERE id = ?`
	// An alarm in force keeps its number.
	clearStrikes = `UPDATE sources SET layout_strikes = 0, updated_at = ? WHERE id = ? AND auto_disabled = 0`
	addStrike    = `UPDATE sources SET layout_strikes = layout_strikes + 1, updated_at = ? WHERE id = ? RETURNING layout_strikes`
	nextAccepted = `SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'next_alarm:' || ?)`
	acceptNext   = `INSERT INTO meta (key, value) VALUES ('next_alarm:' || ?, '1') ON CONFLICT DO NOTHING`
	expectNext   = `DELETE FROM meta WHERE key = 'next_alarm:' || ?`
	forgetField  = `DELETE FROM field_shares WHERE source_id = ? AND field = ?`
	saveShares   = `
	INSERT INTO field_shares (source_id, category_id, field, listings, having_it)
	SELECT s.id, value ->> 'Category', value ->> 'Field', value ->> 'Listings', value ->> 'Having'
	FROM json_each(?2) JOIN sources s ON s.id = ?1 AND s.auto_disabled = 0 WHERE true
	ON CONFLICT DO UPDATE SET listings = excluded.listings, having_it = excluded.having_it`
)

// Layout returns the layout alarm of a source, with what was learned before.
func (m *Monitor) Layout(ctx context.Context, sourceID int64) (*Layout, error) {
	l := &Layout{m: m, source: sourceID, usual: map[int64][]share{}, changed: map[int64]bool{}, missing: make([][]int64, len(fields))}
	rows, err := store.All(m.db.Reader(ctx), selectShares, []any{sourceID}, store.Fields[row])
	if err == nil {
		err = m.db.Read().QueryRowContext(ctx, selectStrikes, sourceID).Scan(&l.strikes)
	}
	if err == nil {
		err = m.db.Read().QueryRowContext(ctx, nextAccepted, sourceID).Scan(&l.accepted)
	}
	if err != nil {
		return nil, fmt.Errorf("read field shares of source %d: %w", sourceID, err)
	}
	for _, r := range rows {
		if f := slices.IndexFunc(fields, func(f yp.ListingField) bool { return f.Name == r.Field }); f >= 0 {
			l.category(r.Category)[f] = share{r.Listings, r.Having}
		}
	}
	return l, nil
}

func (l *Layout) category(id int64) []share {
	if l.usual[id] == nil {
		l.usual[id] = make([]share, len(fields))
	}
	return l.usual[id]
}

// add takes a page and returns the fields that went missing. Of those everything is forgotten
// then: an operator who lets the source go on takes its pages as they are, and must not meet
// the same alarm again. A page that lacks a field that is usual is not learned from.
func (l *Layout) add(target, category int64, listings []yp.Listing) (gone []int) {
	usual := l.category(category)
	l.changed[category] = true
	for f := range fields {
		s, having := &usual[f], 0
		for i := range listings {
			if fields[f].Has(&listings[i]) {
				having++
			}
		}
		isUsual := s.listings >= usualListings && s.having >= usualShare*s.listings
		switch {
		case having > 0:
			l.missing[f] = l.missing[f][:0]
		case isUsual && len(listings) >= provingPage:
			if !slices.Contains(l.missing[f], target) {
				l.missing[f] = append(l.missing[f], target)
			}
			if len(l.missing[f]) >= alarmPages {
				gone = append(gone, f)
			}
			continue
		}
		if s.listings > remembered {
			s.listings, s.having = s.listings/2, s.having/2
		}
		s.listings, s.having = s.listings+float64(len(listings)), s.having+float64(having)
	}
	for _, f := range gone {
		l.missing[f] = nil
		for _, shares := range l.usual {
			shares[f] = share{}
		}
	}
	return gone
}

// Page takes in a page of a target and its category whose layout is known, with all
// its listings; none is a page too. When a field is missing it pauses the source
// until an operator enables it, and says which: "" = all is well.
func (l *Layout) Page(ctx context.Context, targetID, categoryID int64, listings []yp.Listing) (alarm string, err error) {
	l.mu.Lock()
	struck := l.strikes > 0
	l.strikes = 0
	gone := l.add(targetID, categoryID, listings)
	l.mu.Unlock()
	if struck {
		if _, err = l.m.change(ctx, clearStrikes, yp.FormatTime(l.m.db.Now()), l.source); err != nil {
			err = fmt.Errorf("clear layout strikes: %w", err)
		}
	}
	if len(gone) == 0 {
		return "", err
	}
	names := make([]string, len(gone))
	for i, f := range gone {
		names[i] = fields[f].Name
	}
	alarm = fmt.Sprintf("fields are missing: %s (on the last pages of %d targets; at least %.0f%% of the listings had them before)",
		strings.Join(names, ", "), alarmPages, 100*usualShare)
	raised := l.m.db.Write(ctx, func(tx *store.Tx) error {
		err := tx.Run(pauseForGood, string(yp.CodeHTMLChanged), alarm, tx.Now, l.source)
		for _, name := range names {
			if err == nil {
				err = tx.Run(forgetField, l.source, name)
			}
		}
		return err
	})
	if raised != nil {
		raised = fmt.Errorf("raise the layout alarm (%s): %w", alarm, raised)
	}
	return alarm, errors.Join(err, raised)
}

// Unfollowed takes in a target whose list leads on by nothing that can be followed; why says what is there. The third
// target in a row pauses the source until an operator enables it, and alarm says so: the layout lacks the field
// next. An operator who lets the source go on is not told again until a next link was followed.
func (l *Layout) Unfollowed(ctx context.Context, targetID int64, why string) (alarm string, err error) {
	l.mu.Lock()
	if !slices.Contains(l.unfollowed, targetID) {
		l.unfollowed = append(l.unfollowed, targetID)
	}
	raise := len(l.unfollowed) >= alarmPages && !l.accepted
	if raise {
		l.unfollowed, l.accepted = nil, true
	}
	l.mu.Unlock()
	if !raise {
		return "", nil
	}
	alarm = fmt.Sprintf("fields are missing: next (the lists of the last %d targets have a next page that can't be followed: %s)",
		alarmPages, why)
	err = l.m.db.Write(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.Run(pauseForGood, string(yp.CodeHTMLChanged), alarm, tx.Now, l.source), tx.Run(acceptNext, l.source))
	})
	if err != nil {
		err = fmt.Errorf("raise the layout alarm (%s): %w", alarm, err)
	}
	return alarm, err
}

// Ended takes in a target whose list came to another end; followed tells that a next link was followed on the way.
func (l *Layout) Ended(ctx context.Context, followed bool) error {
	l.mu.Lock()
	l.unfollowed = l.unfollowed[:0]
	expect := followed && l.accepted
	l.accepted = l.accepted && !followed
	l.mu.Unlock()
	if !expect {
		return nil
	}
	_, err := l.m.change(ctx, expectNext, l.source)
	return err
}

// Unknown takes in a page of the site whose layout is not known (HTML_CHANGED); why
// says what was missing. The third running pauses the source until an operator
// enables it, and so does every one after it: then alarm is not "".
func (l *Layout) Unknown(ctx context.Context, why string) (alarm string, err error) {
	strikes := 0
	err = l.m.db.Write(ctx, func(tx *store.Tx) error {
		alarm = ""
		if err := tx.Get(addStrike, []any{tx.Now, l.source}, &strikes); err != nil {
			return err
		}
		if strikes < MaxStrikes {
			return nil
		}
		alarm = fmt.Sprintf("the layout of %d pages in a row was not recognized: %s", strikes, why)
		return tx.Run(pauseForGood, string(yp.CodeHTMLChanged), alarm, tx.Now, l.source)
	})
	if err != nil {
		return "", fmt.Errorf("count a page with an unknown layout: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strikes = max(l.strikes, strikes)
	return alarm, nil
}

// Flush stores what was learned, in one statement: at every roll-up and at the end. Nothing is
// stored while the source waits for an operator: another process may have forgotten a field
// that this one still thinks usual. Of two processes the last one's shares stand; both learn of
// the same source.
func (l *Layout) Flush(ctx context.Context) error {
	l.mu.Lock()
	var rows []row
	for category := range l.changed {
		for f, s := range l.usual[category] {
			rows = append(rows, row{category, fields[f].Name, s.listings, s.having})
		}
	}
	clear(l.changed)
	l.mu.Unlock()
	if len(rows) == 0 {
		return nil
	}
	err := l.m.db.Write(ctx, func(tx *store.Tx) error { return tx.Run(saveShares, l.source, store.JSON(rows)) })
	if err != nil { // stored with the next page of the category
		return fmt.Errorf("save field shares of source %d: %w", l.source, err)
	}
	return nil
}
