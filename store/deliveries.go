package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/yp"
)

// Delivery is a file of listings that was handed to somebody under a name.
type Delivery struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Event   int64     `json:"event"` // the last one of listing_events that it has seen
	File    string    `json:"file"`
	Rows    int64     `json:"rows"`
	Filters string    `json:"-"` // JSON
}

// RememberDelivery keeps a delivery, so that the next one can tell what became of listings
// since. after is the id of the one that it follows, 0 = it is the first: when another was
// remembered meanwhile, both have told the same, and this one is refused.
func (db *DB) RememberDelivery(ctx context.Context, d Delivery, after int64) error {
	err := db.Write(ctx, func(tx *Tx) error {
		n, err := tx.Changed(`INSERT INTO deliveries (name, at, event, file, rows, filters) SELECT ?1, ?2, ?3, ?4, ?5, ?6
			WHERE ifnull((SELECT max(id) FROM deliveries WHERE name = ?1), 0) = ?7`,
			d.Name, yp.FormatTime(d.At), d.Event, d.File, d.Rows, d.Filters, after)
		if err == nil && n == 0 {
			err = refuse("another export was remembered under that name meanwhile")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remember the delivery %q: %w", d.Name, err)
	}
	return nil
}

// LastDelivery returns the last delivery under a name, nil if there is none.
func (db *DB) LastDelivery(ctx context.Context, name string) (*Delivery, error) {
	d := &Delivery{Name: name}
	err := db.read.QueryRowContext(ctx, `SELECT id, at, event, file, rows, filters FROM deliveries WHERE name = ? ORDER BY id DESC LIMIT 1`, name).
		Scan(&d.ID, Instant(&d.At), &d.Event, &d.File, &d.Rows, &d.Filters)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the delivery %q: %w", name, err)
	}
	return d, nil
}
