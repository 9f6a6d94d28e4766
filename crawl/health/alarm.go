package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Layout watches the pages of one source for one process: the layout alarm of the
// docs/health.md, section 4. It is safe for concurrent use.
type Layout struct {
	m      *Monitor
	source int64

	mu      sync.Mutex
	window  *window
	strikes int // pages running whose layout was not known; stored in sources
}

const (
	selectShares  = `SELECT category_id, field, listings, having_it, targets, bare FROM field_shares WHERE source_id = ?`
	selectStrikes = `SELECT layout_strikes FROM sources WHERE id = ?`
)

// Layout returns the layout alarm of a source, with what was learned before.
func (m *Monitor) Layout(ctx context.Context, sourceID int64) (*Layout, error) {
	l := &Layout{m: m, source: sourceID, window: newWindow()}
	rows, err := collect(ctx, m.db.Read(), (*shareRow).columns, selectShares, sourceID)
	if err == nil {
		err = m.db.Read().QueryRowContext(ctx, selectStrikes, sourceID).Scan(&l.strikes)
	}
	if err != nil {
		return nil, fmt.Errorf("read field shares of source %d: %w", sourceID, err)
	}
	for _, r := range rows {
		if f := fieldNumber(r.Field); f >= 0 {
			l.window.category(r.Category)[f] = share{r.Listings, r.Having, r.Targets, r.Bare}
		}
	}
	return l, nil
}

// shareRow is a row of field_shares; its JSON form is how many travel in one
// statement.
type shareRow struct {
	Category int64
	Field    string
	Listings float64
	Having   float64
	Targets  float64
	Bare     float64
}

func (s *shareRow) columns() []any {
	return []any{&s.Category, &s.Field, &s.Listings, &s.Having, &s.Targets, &s.Bare}
}

// Page takes in a page of a target and its category whose layout is known, with all
// its listings; none is a page too. When a field has gone missing it pauses the source
// until an operator enables it, and says which: "" = all is well.
func (l *Layout) Page(ctx context.Context, targetID, categoryID int64, listings []yp.Listing) (alarm string, err error) {
	have := count(listings)
	l.mu.Lock()
	struck := l.strikes > 0
	l.strikes = 0
	falls := l.window.add(targetID, categoryID, len(listings), have)
	l.mu.Unlock()
	if struck {
		if _, err = l.m.change(ctx, clearStrikes, yp.FormatTime(l.m.db.Now()), l.source); err != nil {
			err = fmt.Errorf("clear layout strikes: %w", err)
		}
	}
	if len(falls) == 0 {
		return "", err
	}
	alarm = reason(falls)
	return alarm, errors.Join(err, l.raise(ctx, alarm, falls))
}

const (
	// An alarm in force keeps its number.
	clearStrikes = `UPDATE sources SET layout_strikes = 0, updated_at = ? WHERE id = ? AND auto_disabled = 0`
	addStrike    = `UPDATE sources SET layout_strikes = layout_strikes + 1, updated_at = ? WHERE id = ? RETURNING layout_strikes`
	forgetFields = `DELETE FROM field_shares WHERE source_id = ? AND field IN (SELECT value FROM json_each(?))`
)

// raise pauses the source and forgets what was usual of the fields that fell, in
// one transaction: see window.add.
func (l *Layout) raise(ctx context.Context, alarm string, falls []fall) error {
	names := make([]string, len(falls))
	for i, f := range falls {
		names[i] = fields[f.field].Name
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	err = l.m.db.Write(ctx, func(tx *store.Tx) error {
		if err := pause(tx, l.source, yp.CodeHTMLChanged, alarm, time.Time{}); err != nil {
			return err
		}
		_, err := tx.Exec(forgetFields, l.source, string(list))
		return err
	})
	if err != nil {
		return fmt.Errorf("raise layout alarm (%s): %w", alarm, err)
	}
	return nil
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
		alarm = fmt.Sprintf("the layout was not known on %d pages running: %s", strikes, why)
		return pause(tx, l.source, yp.CodeHTMLChanged, alarm, time.Time{})
	})
	if err != nil {
		return "", fmt.Errorf("count a page of unknown layout: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strikes = max(l.strikes, strikes)
	return alarm, nil
}

const (
	saveShares = `
	INSERT INTO field_shares (source_id, category_id, field, listings, having_it, targets, bare)
	SELECT s.id, value ->> 'Category', value ->> 'Field', value ->> 'Listings', value ->> 'Having', value ->> 'Targets', value ->> 'Bare'
	FROM json_each(?2) JOIN sources s ON s.id = ?1 AND s.auto_disabled = 0 WHERE true
	ON CONFLICT DO UPDATE SET listings = excluded.listings, having_it = excluded.having_it, targets = excluded.targets, bare = excluded.bare`
)

// Flush stores what was learned since the last Flush, in one statement: at every
// roll-up and at the end. Targets under way count as they stand, or a source crawled a
// few targets at a time would never be known. Nothing is stored while the source waits for an operator:
// another process may have forgotten a field that this one still thinks usual. Of
// two processes the last one's shares stand; both learn of the same source.
func (l *Layout) Flush(ctx context.Context) error {
	rows, dirty := l.learned()
	if len(rows) == 0 {
		return nil
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	err = l.m.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(saveShares, l.source, string(list))
		return err
	})
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		maps.Copy(l.window.dirty, dirty)
		return fmt.Errorf("save field shares of source %d: %w", l.source, err)
	}
	return nil
}

// learned takes what is to be stored.
func (l *Layout) learned() (rows []shareRow, dirty map[int64]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dirty, l.window.dirty = l.window.dirty, map[int64]bool{}
	for category := range dirty {
		standing := l.window.standing(category)
		for f := range fields {
			s := &standing[f]
			rows = append(rows, shareRow{category, fields[f].Name, s.listings, s.having, s.targets, s.bare})
		}
	}
	return rows, dirty
}
