package store

import (
	"context"
	"fmt"
)

// ReviewedBy says where somebody looked through what is to be reviewed.
type ReviewedBy string

// Where that was.
const (
	ReviewedByCommand ReviewedBy = "command"
	ReviewedByPage    ReviewedBy = "page"
)

// MarkReviewed keeps that somebody has looked through what became of listings up to an event,
// the last one that the list knew which was shown. The mark never goes back: when another
// review went as far or further meanwhile, nothing is written and marked is false. An event
// that there is not yet is refused.
func (db *DB) MarkReviewed(ctx context.Context, event int64, by ReviewedBy) (marked bool, err error) {
	err = db.Write(ctx, func(tx *Tx) error {
		var last, reviewed int64
		if err := tx.Get(`SELECT ifnull((SELECT max(id) FROM listing_events), 0), ifnull((SELECT max(event) FROM reviews), 0)`, nil, &last, &reviewed); err != nil {
			return err
		}
		if event < 0 || event > last {
			return refuse("event %d can't be marked as reviewed: the last event is %d", event, last)
		}
		if marked = event > reviewed; !marked {
			return nil
		}
		return tx.Run(`INSERT INTO reviews (at, event, by) VALUES (?, ?, ?)`, tx.Now, event, string(by))
	})
	if err != nil {
		return false, fmt.Errorf("mark as reviewed: %w", err)
	}
	return marked, nil
}
