package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"ypcrawl/yp"
)

// A key is in company_keys under its number, or under the next one of its kind that
// was free when it came: another key may have the same number. Its text is written out
// only where the row of its company does not give it: that gives one key of a kind, so
// there is no doubt which. So whoever finds a number makes sure of the key itself, and
// whoever changes the row of a company writes out the keys that it gives no more.

// kindBits of a number tell the kind of its key.
const kindBits = 2

// numberOf is the number of a key by its hash.
func numberOf(hash func(string) int64, key string) int64 {
	kind := slices.Index([]yp.KeyKind{yp.KeyWeb, yp.KeyTel, yp.KeyAdr}, yp.KindOf(key))
	return hash(key)<<kindBits | int64(kind)
}

// nextNumber is the next number for a key of the same kind.
func nextNumber(number int64) int64 { return number + 1<<kindBits }

// A hash has hashBits, so that a number takes eight bytes in the file; the highest
// placeBits tell the place of the key.
const (
	hashBits  = 54
	placeBits = 24
)

// keyHash is the hash of a key. Keys of one place, an area code with its exchange or a
// postal code, are near each other: a crawl goes from place to place, and so it writes
// few pages of the table, however large that is. Websites have no place. The hash is a
// cryptographic one so that nobody can make a thousand keys of one number.
func keyHash(key string) int64 {
	sum := sha256.Sum256([]byte(key))
	h := int64(binary.BigEndian.Uint64(sum[:]) >> (64 - hashBits)) // #nosec: the top bits
	from, to, place := 0, 0, int64(0)
	switch yp.KindOf(key) {
	case yp.KeyTel:
		from, to = len("tel:+"), len("tel:+1310555")
	case yp.KeyAdr:
		from, to = max(0, len(key)-len("90210")), len(key)
	}
	if from >= 0 && to <= len(key) {
		for _, digit := range []byte(key[from:to]) {
			place = 10*place + int64(digit&0xF)
		}
	}
	if place > 0 {
		return place<<(hashBits-placeBits) | h>>placeBits
	}
	return h
}

// foundKey is what is known of a key.
type foundKey struct {
	number  int64    // where it stands, or would
	company *company // that has it; nil = none
	spelled bool     // its text is written out
}

// What keyed has of a company's row is in selectKeyed, too.
const selectKeys = `
	SELECT j.key, k.key, c.id, c.lead_source, c.lead_listing,
		c.name, ifnull(c.phone_e164, ''), ifnull(c.street, ''), ifnull(c.postal_code, ''), ifnull(c.website, ''), c.country
	FROM json_each(?) AS j CROSS JOIN company_keys k ON k.hash = j.value JOIN companies c ON c.id = k.company_id`

// findKeys looks for keys; those whose number another key has are looked for under the next one.
func findKeys(q Querier, hash func(string) int64, keys []string) ([]foundKey, error) {
	found, left := make([]foundKey, len(keys)), make([]int, len(keys))
	for i, k := range keys {
		found[i].number, left[i] = numberOf(hash, k), i
	}
	for len(left) > 0 {
		numbers := make([]int64, len(left))
		for n, i := range left {
			numbers[n] = found[i].number
		}
		var taken []int // by other keys
		err := Each(q, selectKeys, []any{JSONInts(numbers)}, func(rows *sql.Rows) error {
			var n int
			var text sql.NullString
			var c company
			var row keyed
			if err := rows.Scan(append([]any{&n, &text, &c.id, &c.leadSource, &c.leadListing}, row.into()...)...); err != nil {
				return err
			}
			f, key := &found[left[n]], keys[left[n]]
			if text.String == key || !text.Valid && slices.Contains(row.keys(), key) {
				c.website = row.Website
				f.company, f.spelled = &c, text.Valid
			} else {
				f.number = nextNumber(f.number)
				taken = append(taken, left[n])
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("find companies by key: %w", err)
		}
		left = taken
	}
	return found, nil
}

const (
	selectKeyed = `
	SELECT c.name, ifnull(c.phone_e164, ''), ifnull(c.street, ''), ifnull(c.postal_code, ''), ifnull(c.website, ''), c.country
	FROM companies c
	WHERE c.id = ?`
	spellKey = `UPDATE company_keys SET key = ? WHERE hash = ?`
)

// keyed is what of a company its keys are made of.
type keyed struct {
	yp.Listing
	country string
}

// into is where the columns go.
func (k *keyed) into() []any {
	return []any{&k.Name, &k.PhoneE164, &k.Street, &k.PostalCode, &k.Website, &k.country}
}

// keys are those that the row of the company gives.
func (k *keyed) keys() []string { return yp.CompanyKeys(&k.Listing, k.country) }

// writeOutKeys must be called before a company's row is changed: the keys that the row gives, and
// that are none of those which it gives then, are written out.
func writeOutKeys(tx *Tx, company int64, then []string) error {
	var row keyed
	if err := tx.Get(selectKeyed, []any{company}, row.into()...); err != nil {
		return fmt.Errorf("find company %d: %w", company, err)
	}
	lost := slices.DeleteFunc(row.keys(), func(k string) bool { return slices.Contains(then, k) })
	if len(lost) == 0 {
		return nil
	}
	found, err := findKeys(tx, tx.w.keyHash, lost)
	if err != nil {
		return err
	}
	for i, f := range found {
		if f.company == nil || f.company.id != company || f.spelled {
			continue
		}
		if err := tx.Run(spellKey, lost[i], f.number); err != nil {
			return fmt.Errorf("write out the key %q of company %d: %w", lost[i], company, err)
		}
	}
	return nil
}

var insertKeys = newInsert(`INSERT INTO company_keys (hash, company_id, key)`, 3)

const insertKey = `INSERT INTO company_keys (hash, company_id, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`

// flush writes the keys that the page added, in the order of their numbers.
func (r *resolver) flush() error {
	keys := slices.SortedFunc(maps.Keys(r.newKeys), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.numbers[a], r.numbers[b]), cmp.Compare(a, b))
	})
	args := make([]any, 0, insertKeys.columns*len(keys))
	var taken []string // by another key of the page
	for i, k := range keys {
		if i > 0 && r.numbers[k] == r.numbers[keys[i-1]] {
			taken = append(taken, k)
			continue
		}
		c := r.newKeys[k].root()
		var spelled any
		if !slices.Contains(c.gives, k) {
			spelled = k
		}
		args = append(args, r.numbers[k], c.id, spelled)
	}
	if _, err := insertKeys.run(r.tx, args); err != nil {
		return fmt.Errorf("add company keys: %w", err)
	}
	for _, k := range taken { // under the first free number from its own on
		for number := r.numbers[k]; ; number = nextNumber(number) {
			n, err := r.tx.Changed(insertKey, number, r.newKeys[k].root().id, k)
			if err != nil {
				return fmt.Errorf("add company key: %w", err)
			}
			if n > 0 {
				break
			}
		}
	}
	return nil
}

const spelledKeys = `SELECT key FROM company_keys WHERE company_id = ? AND key IS NOT NULL`

// KeysOf returns the strong keys that a company has, in order, also those that no listing
// of it gives any more.
func KeysOf(ctx context.Context, db *DB, company int64) ([]string, error) {
	q := db.Reader(ctx)
	keys, err := Column[string](q, spelledKeys, company)
	if err != nil {
		return nil, err
	}
	var row keyed
	if err := db.read.QueryRowContext(ctx, selectKeyed, company).Scan(row.into()...); err != nil {
		return nil, err
	}
	given := row.keys()
	found, err := findKeys(q, db.keyHash, given)
	for i, f := range found {
		if f.company != nil && f.company.id == company && !f.spelled {
			keys = append(keys, given[i])
		}
	}
	slices.Sort(keys)
	return keys, err
}
