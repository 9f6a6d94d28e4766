package report

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
)

// ToReview counts what became of listings since the last review: what the crawl dropped,
// restored and rejected.
type ToReview struct {
	Dropped  int64     `json:"dropped"`
	Restored int64     `json:"restored"`
	Rejected int64     `json:"rejected"`
	Since    time.Time `json:"since"` // the last review; zero = there was none
	Mark     int64     `json:"-"`     // the last event that the last review has seen
}

// Total is how many there are.
func (r ToReview) Total() int64 { return r.Dropped + r.Restored + r.Rejected }

// Review is a list of what is to be reviewed, as it stood in one moment.
type Review struct {
	ToReview
	Changes []ReviewChange // the oldest first
	Mark    int64          // the last event that the list knows: up to it all are shown; see store.MarkReviewed
	More    int64          // that the limit kept back: they are not shown, and come after the mark
	Later   int64          // that came after the event up to which the list goes
}

// ReviewChange is a change with its number.
type ReviewChange struct {
	Event int64 `json:"event"`
	Change
}

const (
	lastReview    = `SELECT event, at FROM reviews ORDER BY event DESC LIMIT 1`
	fromReview    = ` FROM listing_events e INDEXED BY listing_events_to_review WHERE e.kind IN ('dropped', 'restored', 'rejected') AND e.id > ?1`
	countToReview = `SELECT ifnull(sum(e.kind = 'dropped'), 0), ifnull(sum(e.kind = 'restored'), 0), ifnull(sum(e.kind = 'rejected'), 0)` + fromReview
	countUpTo     = `SELECT count(*)` + fromReview + ` AND e.id <= ?2`
	listToReview  = `SELECT e.id, ` + changeColumns + changeFrom + `e.id IN (SELECT e.id` + fromReview + ` AND e.id <= ?3 ORDER BY e.id LIMIT ?2) ORDER BY e.id`
)

// ToReview counts what is to be reviewed.
func (k *Reader) ToReview(ctx context.Context) (r ToReview, err error) {
	err = k.snapshot(ctx, "count what is to be reviewed", func(tx *sql.Tx) error {
		r, err = toReview(ctx, tx)
		return err
	})
	return r, err
}

func toReview(ctx context.Context, tx *sql.Tx) (r ToReview, err error) {
	err = tx.QueryRowContext(ctx, lastReview).Scan(&r.Mark, at(&r.Since))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return r, err
	}
	err = tx.QueryRowContext(ctx, countToReview, r.Mark).Scan(&r.Dropped, &r.Restored, &r.Rejected)
	return r, err
}

// LastEvent is the number of the last event of listings that there is, 0 = none.
func (k *Reader) LastEvent(ctx context.Context) (last int64, err error) {
	_, err = k.one(ctx, "look for the last event", lastEvent, nil, &last)
	return last, err
}

// Review lists what is to be reviewed, the oldest first, at most limit of it (0 = all), in
// one snapshot of the file: what a crawl adds meanwhile is neither in the list nor below its
// mark. With an event to go up to (0 = the last one), later ones are left out of the list, so
// that the same question has the same answer until somebody marks it as reviewed.
func (k *Reader) Review(ctx context.Context, upto int64, limit int) (*Review, error) {
	r := &Review{}
	err := k.snapshot(ctx, "list what is to be reviewed", func(tx *sql.Tx) (err error) {
		if r.ToReview, err = toReview(ctx, tx); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, lastEvent).Scan(&r.Mark); err != nil {
			return err
		}
		if upto > 0 {
			r.Mark = min(r.Mark, upto)
		}
		listed := int64(0)
		if err := tx.QueryRowContext(ctx, countUpTo, r.ToReview.Mark, r.Mark).Scan(&listed); err != nil {
			return err
		}
		r.Later = r.Total() - listed
		rows, err := tx.QueryContext(ctx, listToReview, r.ToReview.Mark, atMost(limit), r.Mark)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			c := ReviewChange{Change: Change{Changes: []store.FieldChange{}, Reasons: []string{}}}
			if err := rows.Scan(append([]any{&c.Event}, fields(&c.Change)...)...); err != nil {
				return err
			}
			r.Changes = append(r.Changes, c)
		}
		if r.More = listed - int64(len(r.Changes)); r.More > 0 && len(r.Changes) > 0 {
			r.Mark = r.Changes[len(r.Changes)-1].Event
		}
		return rows.Err()
	})
	return r, err
}

// snapshot runs do in a transaction that reads one state of the file; what it is for begins
// the text of its error.
func (k *Reader) snapshot(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := k.db.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err == nil {
		err = errors.Join(do(tx), tx.Rollback()) // nothing was written
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
