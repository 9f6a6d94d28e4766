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
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Event   int64     `json:"event"` // the last one of listing_events that it has seen
	File    string    `json:"file"`
	Rows    int64     `json:"rows"`
	Filters string    `json:"-"` // JSON
}

// RememberDelivery keeps a delivery, so that the next one can tell what became of listings
// since.
func (db *DB) RememberDelivery(ctx context.Context, d Delivery) error {
	err := db.Write(ctx, func(tx *Tx) error {
		return tx.Run(`INSERT INTO deliveries (name, at, event, file, rows, filters) VALUES (?, ?, ?, ?, ?, ?)`,
			d.Name, yp.FormatTime(d.At), d.Event, d.File, d.Rows, d.Filters)
	})
	if err != nil {
		return fmt.Errorf("remember the delivery %q: %w", d.Name, err)
	}
	return nil
}

// LastDelivery returns the last delivery under a name, nil if there is none.
func (db *DB) LastDelivery(ctx context.Context, name string) (*Delivery, error) {
	d := &Delivery{Name: name}
	err := db.read.QueryRowContext(ctx, `SELECT at, event, file, rows, filters FROM deliveries WHERE name = ? ORDER BY id DESC LIMIT 1`, name).
		Scan(Instant(&d.At), &d.Event, &d.File, &d.Rows, &d.Filters)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the delivery %q: %w", name, err)
	}
	return d, nil
}
