package store

import (
	"context"
	"fmt"
	"time"
)

// Delivery is a file of listings that was handed to somebody under a name.
type Delivery struct {
	ID      int64
	Name    string
	At      time.Time
	Event   int64 // the last one of listing_events that it has seen
	File    string
	Rows    int64
	Filters map[string]string // what was asked for, by the names of flags
}

// State is how a listing was told to somebody: a value of delivered.state.
type State string

// The states.
const (
	StateUnknown State = ""     // they have not got it
	StateOpen    State = "open" // they have it as open
	StateDropped State = "dropped"
	StateLeft    State = "left" // they know that it is none of their choice any more
)

// DeliveryBegun is a delivery that does not count yet. What it tells is gathered while its file is made. Intend stores
// that before the file gets its name, Complete makes it count when the file has it; see ResolveDelivery for what becomes
// of one that is killed between the two.
type DeliveryBegun struct {
	Name string
	Last *Delivery // the one before; nil = none

	told   map[State][]int64
	db     *DB
	intent int64 // its row in delivery_intents; 0 = none
	lock   *Lock // of the name, from Intend to Close
}

const lastDelivery = `SELECT id, at, event, file, rows, filters FROM deliveries WHERE name = ? ORDER BY id DESC LIMIT 1`

// BeginDelivery begins a delivery under a name.
func (db *DB) BeginDelivery(ctx context.Context, name string) (*DeliveryBegun, error) {
	b := &DeliveryBegun{Name: name, told: map[State][]int64{}, db: db}
	last, err := All(db.Reader(ctx), lastDelivery, []any{name}, func(d *Delivery) []any {
		return []any{&d.ID, Instant(&d.At), &d.Event, &d.File, &d.Rows, FromJSON(&d.Filters)}
	})
	if err != nil {
		return nil, fmt.Errorf("begin the delivery to %q: %w", name, err)
	}
	if len(last) > 0 {
		b.Last = &last[0]
	}
	return b, nil
}

// Tell notes how a listing, by its row id, is told.
func (b *DeliveryBegun) Tell(listing int64, s State) { b.told[s] = append(b.told[s], listing) }

// Check returns a *RefusedError when another delivery under the name was completed, or all were forgotten, meanwhile.
func (b *DeliveryBegun) Check(ctx context.Context) error {
	if err := b.check(b.db.Reader(ctx)); err != nil {
		return fmt.Errorf("deliver to %q: %w", b.Name, err)
	}
	return nil
}

func (b *DeliveryBegun) check(q Querier) error {
	last, err := Column[int64](q, `SELECT ifnull(max(id), 0) FROM deliveries WHERE name = ?`, b.Name)
	if err != nil {
		return err
	}
	if b.Last == nil && last[0] == 0 || b.Last != nil && b.Last.ID == last[0] {
		return nil
	}
	return refuse("another export with the same --as NAME has ended in the meantime")
}

// Complete makes the delivery count: d says what was handed over. The name is given up.
func (b *DeliveryBegun) Complete(ctx context.Context, d Delivery) error {
	defer b.Close()
	err := b.db.Write(ctx, func(tx *Tx) error {
		if b.intent == 0 { // of a file whose name does not matter
			if err := b.store(tx, d, PlacedFile{}); err != nil {
				return err
			}
		}
		return countIntent(tx, b.intent)
	})
	if err != nil {
		return fmt.Errorf("remember the delivery to %q: %w", b.Name, err)
	}
	return nil
}

const (
	hasDelivery      = `SELECT EXISTS (SELECT 1 FROM deliveries WHERE name = ?1) OR EXISTS (SELECT 1 FROM delivery_intents WHERE name = ?1)`
	forgetTold       = `DELETE FROM delivered WHERE name = ?`
	forgetDeliveries = `DELETE FROM deliveries WHERE name = ?`
)

// HasDelivery reports whether anything was delivered under a name, or was about to be.
func (db *DB) HasDelivery(ctx context.Context, name string) (has bool, err error) {
	if err = db.read.QueryRowContext(ctx, hasDelivery, name).Scan(&has); err != nil {
		err = fmt.Errorf("look for the deliveries to %q: %w", name, err)
	}
	return has, err
}

// ForgetDelivery deletes what is known of the deliveries under a name, and returns how many they were, and of how
// many listings.
func (db *DB) ForgetDelivery(ctx context.Context, name string) (deliveries, listings int64, err error) {
	err = db.Write(ctx, func(tx *Tx) (err error) {
		if err := tx.Run(forgetIntents, name); err != nil {
			return err
		}
		if listings, err = tx.Changed(forgetTold, name); err == nil {
			deliveries, err = tx.Changed(forgetDeliveries, name)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("forget the deliveries to %q: %w", name, err)
	}
	return deliveries, listings, err
}
