package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"ypcrawl/yp"
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

// Item is what somebody gets a row for.
type Item string

// The items.
const (
	ItemListing Item = "listing"
	ItemCompany Item = "company"
)

// DeliveryBegun is a delivery that does not count yet. Tell stores what it delivers while its file
// is made; Complete makes it count, once the file has its name. One that is killed before leaves
// rows that nobody reads, and the next one overwrites them: so the same changes are delivered again.
type DeliveryBegun struct {
	ID        int64
	Recipient int64
	Name      string
	Item      Item
	Fields    []string  // whose differences are delivered, in the order of fingerprints
	Last      *Delivery // the last complete one; nil = none
	Forgotten bool      // Last is of an older version, which did not store what it delivered

	db *DB
}

const (
	findRecipient = `SELECT id, item, fields, first FROM recipients WHERE name = ?`
	addRecipient  = `INSERT INTO recipients (name, item, first, fields) VALUES (?, ?, ?, ?)`
	addFields     = `UPDATE recipients SET fields = ? WHERE id = ?`
	lastComplete  = `SELECT id, at, event, file, rows, filters FROM deliveries WHERE name = ? AND complete = 1 ORDER BY id DESC LIMIT 1`
	beginDelivery = `INSERT INTO deliveries (name, at, event, file, rows, filters, complete) VALUES (?, ?, 0, ?, 0, ?, 0) RETURNING id`
	// Nobody has begun another one since: of two at once the younger one goes on.
	isYoungest = `SELECT id = ?2 AND complete = 0 FROM deliveries WHERE name = ?1 ORDER BY id DESC LIMIT 1`
	// Where the last delivery with the item was not completed, the row before it stays.
	tell = `INSERT INTO delivered (recipient, item, delivery, told)
		SELECT ?1, j.value, ?2, substr(?4, j.key * ?5 + 1, ?5) FROM json_each(?3) j WHERE true
		ON CONFLICT DO UPDATE SET before = iif(delivery IN (SELECT id FROM deliveries WHERE complete = 0), before, told),
			told = excluded.told, delivery = excluded.delivery`
	completeDelivery = `UPDATE deliveries SET complete = 1, at = ?2, event = ?3, file = ?4, rows = ?5 WHERE id = ?1`
)

// ToldNow is what a row v of delivered holds: that of the last complete delivery.
const ToldNow = `iif(v.delivery IN (SELECT id FROM deliveries WHERE complete = 0), v.before, v.told)`

// BeginDelivery begins a delivery under a name. fields are those whose differences the program
// finds; those of earlier deliveries come first, in the order that they had. The error is a
// *RefusedError where the name gets rows for something else.
func (db *DB) BeginDelivery(ctx context.Context, d Delivery, item Item, fields []string) (*DeliveryBegun, error) {
	b := &DeliveryBegun{Name: d.Name, Item: item, db: db}
	err := db.Write(ctx, func(tx *Tx) error {
		last := Delivery{Name: d.Name}
		err := tx.Get(lastComplete, []any{d.Name}, &last.ID, Instant(&last.At), &last.Event, &last.File, &last.Rows, FromJSON(&last.Filters))
		if err == nil {
			b.Last = &last
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := tx.Get(beginDelivery, []any{d.Name, tx.Now, d.File, JSON(d.Filters)}, &b.ID); err != nil {
			return err
		}
		var of Item
		first := b.ID
		err = tx.Get(findRecipient, []any{d.Name}, &b.Recipient, &of, FromJSON(&b.Fields), &first)
		known := err == nil
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if known && of != item {
			return refuse("delivery %s has a row for each %s, and this export has one for each %s: choose another --as NAME", d.Name, of, item)
		}
		had := len(b.Fields)
		for _, f := range fields {
			if !slices.Contains(b.Fields, f) {
				b.Fields = append(b.Fields, f)
			}
		}
		if !known {
			var res sql.Result
			if res, err = tx.Exec(addRecipient, d.Name, string(item), first, JSONTexts(b.Fields)); err == nil {
				b.Recipient, err = res.LastInsertId()
			}
		} else if err = nil; len(b.Fields) > had {
			err = tx.Run(addFields, JSONTexts(b.Fields), b.Recipient)
		}
		b.Forgotten = b.Last != nil && last.ID < first
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("begin the delivery to %q: %w", d.Name, err)
	}
	return b, nil
}

// Tell stores what is delivered of items, one after the other in told, each of the same length. It counts
// when the delivery is complete.
func (b *DeliveryBegun) Tell(ctx context.Context, items []int64, told []byte) error {
	if len(items) == 0 {
		return nil
	}
	err := b.db.Write(ctx, func(tx *Tx) error {
		if err := b.youngest(tx.Get); err != nil {
			return err
		}
		return tx.Run(tell, b.Recipient, b.ID, JSONInts(items), told, len(told)/len(items))
	})
	if err != nil {
		return fmt.Errorf("store the rows of the delivery to %q: %w", b.Name, err)
	}
	return nil
}

// Check returns a *RefusedError when another delivery under the name was begun meanwhile.
func (b *DeliveryBegun) Check(ctx context.Context) error {
	err := b.youngest(func(query string, args []any, dest ...any) error {
		return b.db.read.QueryRowContext(ctx, query, args...).Scan(dest...)
	})
	if err != nil {
		return fmt.Errorf("deliver to %q: %w", b.Name, err)
	}
	return nil
}

func (b *DeliveryBegun) youngest(get func(query string, args []any, dest ...any) error) error {
	var yes bool
	err := get(isYoungest, []any{b.Name, b.ID}, &yes)
	if err == nil && !yes {
		err = refuse("another export with the same --as NAME was started in the meantime")
	}
	return err
}

// Complete makes the delivery count: d says what was handed over.
func (b *DeliveryBegun) Complete(ctx context.Context, d Delivery) error {
	err := b.db.Write(ctx, func(tx *Tx) error {
		if err := b.youngest(tx.Get); err != nil {
			return err
		}
		return tx.Run(completeDelivery, b.ID, yp.FormatTime(d.At), d.Event, d.File, d.Rows)
	})
	if err != nil {
		return fmt.Errorf("remember the delivery to %q: %w", b.Name, err)
	}
	return nil
}

// State says how an item stands with somebody.
type State byte

// The states.
const (
	StateUnknown State = 0   // they have not got it
	StateOpen    State = 'o' // they have it as open
	StateClosed  State = 'c' // they know that it closed
	StateLeft    State = 'l' // they know that it is none of their choice any more
)

// A field's part of a fingerprint: three bytes of hash, or one of these.
const (
	hashSize    = 3
	hashNothing = 0 // it has no value
	hashUnknown = 1 // the program that wrote it does not know the field
)

// listingDigits is how many digits the listing has that stands for a company: SQL reads them.
const listingDigits = 12

// Told is what a delivery has of an item: its state, and a fingerprint.
type Told []byte

// AppendTold begins what is delivered of an item; listing is the one that stands for a company, 0 = the
// item is a listing. A part for each field follows, see AppendHash.
func AppendTold(b []byte, s State, listing int64) []byte {
	b = append(b, byte(s))
	if listing > 0 {
		b = fmt.Appendf(b, "%0*d", listingDigits, listing)
	}
	return b
}

// AppendHash appends a field's part of a fingerprint. known reports whether the program knows the field.
func AppendHash(b []byte, text string, known bool) []byte {
	h := uint32(hashNothing)
	switch {
	case !known:
		h = hashUnknown
	case text != "":
		sum := uint64(14695981039346656037) // FNV-1a
		for i := range len(text) {
			sum = (sum ^ uint64(text[i])) * 1099511628211
		}
		h = max(uint32((sum^sum>>24^sum>>48)&0xffffff), hashUnknown+1)
	}
	return append(b, byte(h>>16), byte(h>>8), byte(h))
}

// State is how the item stands.
func (t Told) State() State {
	if len(t) == 0 {
		return StateUnknown
	}
	return State(t[0])
}

// Listing is the one that stood for the company.
func (t Told) Listing() (id int64) {
	for _, digit := range t[min(1, len(t)):min(1+listingDigits, len(t))] {
		id = id*10 + int64(digit-'0')
	}
	return id
}

// Differences returns the places of the fields that differ from those of another one about an item
// of the same kind. What only one of them knows does not differ.
func (t Told) Differences(now Told, item Item) (places []int) {
	head := 1
	if item == ItemCompany {
		head += listingDigits
	}
	for i := head; i+hashSize <= min(len(t), len(now)); i += hashSize {
		a, b := [hashSize]byte(t[i:]), [hashSize]byte(now[i:])
		if unknown := [hashSize]byte{0, 0, hashUnknown}; a != b && a != unknown && b != unknown {
			places = append(places, (i-head)/hashSize)
		}
	}
	return places
}

// DeliveryRow is a delivery as lists show it.
type DeliveryRow struct {
	Name    string            `json:"name"`
	At      time.Time         `json:"at"`
	Rows    int64             `json:"rows"`
	File    string            `json:"file"`
	Item    Item              `json:"row_for"` // "" = of an older version, which did not store what it delivered
	Filters map[string]string `json:"filters"`
	Has     int64             `json:"has"` // items that the name has by now, those that closed or left not counted
}

const listDeliveries = `
	SELECT d.name, d.at, d.rows, d.file, ifnull(r.item, ''), d.filters, (SELECT count(*) FROM delivered v WHERE v.recipient = r.id AND substr(` + ToldNow + `, 1, 1) = x'6f')
	FROM deliveries d LEFT JOIN recipients r ON r.name = d.name
	WHERE d.id IN (SELECT max(id) FROM deliveries WHERE complete = 1 GROUP BY name) ORDER BY d.name LIMIT ?`

// Deliveries lists the last complete delivery under each name, at most limit of them, 0 = all.
func (db *DB) Deliveries(ctx context.Context, limit int) ([]DeliveryRow, error) {
	if limit == 0 {
		limit = -1
	}
	all, err := All(db.Reader(ctx), listDeliveries, []any{limit}, func(r *DeliveryRow) []any {
		return []any{&r.Name, Instant(&r.At), &r.Rows, &r.File, &r.Item, FromJSON(&r.Filters), &r.Has}
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return all, nil
}

const (
	hasDelivery      = `SELECT EXISTS (SELECT 1 FROM deliveries WHERE name = ?1) OR EXISTS (SELECT 1 FROM recipients WHERE name = ?1)`
	forgetItems      = `DELETE FROM delivered WHERE (recipient, item) IN (SELECT v.recipient, v.item FROM recipients r CROSS JOIN delivered v ON v.recipient = r.id WHERE r.name = ? LIMIT ?)`
	forgetRecipient  = `DELETE FROM recipients WHERE name = ?`
	forgetDeliveries = `DELETE FROM deliveries WHERE name = ?`

	// forgetAtOnce items go in one transaction: a crawl beside it waits for some milliseconds.
	forgetAtOnce = 2000
)

// HasDelivery reports whether anything was delivered under a name, or begun.
func (db *DB) HasDelivery(ctx context.Context, name string) (has bool, err error) {
	if err = db.read.QueryRowContext(ctx, hasDelivery, name).Scan(&has); err != nil {
		err = fmt.Errorf("look for the deliveries to %q: %w", name, err)
	}
	return has, err
}

// ForgetDelivery deletes what is known of the deliveries under a name: what was delivered first, in small
// transactions, so that one which is cut short is gone on with by another call.
func (db *DB) ForgetDelivery(ctx context.Context, name string) (deliveries, items int, err error) {
	for n := forgetAtOnce; err == nil && n == forgetAtOnce; {
		err = db.Write(ctx, func(tx *Tx) error {
			deleted, err := tx.Changed(forgetItems, name, forgetAtOnce)
			n = int(deleted)
			items += n
			return err
		})
	}
	if err == nil {
		err = db.Write(ctx, func(tx *Tx) error {
			if err := tx.Run(forgetRecipient, name); err != nil {
				return err
			}
			n, err := tx.Changed(forgetDeliveries, name)
			deliveries = int(n)
			return err
		})
	}
	if err != nil {
		err = fmt.Errorf("forget the deliveries to %q: %w", name, err)
	}
	return deliveries, items, err
}
