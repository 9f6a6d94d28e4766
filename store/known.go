package store

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"

	"ypcrawl/yp"
)

// known is a listing of the page that is already stored.
type known struct {
	id          int64
	fingerprint int64
	gone        bool
	filled      string // see listings.filled
	company     company
	keyed       yp.Listing // the fields that keys are made of
}

const selectKnown = `
	SELECT l.listing_id, l.id, l.fingerprint, l.gone_at IS NOT NULL, ifnull(l.filled, ''), c.id, c.lead_source, c.lead_listing, ifnull(c.website, ''),
		ifnull(l.phone_e164, ''), ifnull(l.street, ''), ifnull(l.postal_code, ''), ifnull(l.website, '')
	FROM json_each(?) AS j CROSS JOIN listings l ON l.source_id = ? AND l.listing_id = j.value JOIN companies c ON c.id = l.company_id`

// findKnown takes a JSON array of ids.
func findKnown(tx *Tx, source int64, ids string) (map[string]known, error) {
	rows, err := tx.Query(selectKnown, ids, source)
	if err != nil {
		return nil, fmt.Errorf("find listings: %w", err)
	}
	defer func() { _ = rows.Close() }()
	stored := map[string]known{}
	for rows.Next() {
		var id string
		var k known
		c := &k.company
		l := &k.keyed
		err := rows.Scan(&id, &k.id, &k.fingerprint, &k.gone, &k.filled, &c.id, &c.leadSource, &c.leadListing, &c.website,
			&l.PhoneE164, &l.Street, &l.PostalCode, &l.Website)
		if err != nil {
			return nil, err
		}
		stored[id] = k
	}
	return stored, rows.Err()
}

// with returns what the stored listing will be once l is saved, as far as keys
// go: they come from all that is known of it, not from the last page alone.
func (k known) with(l *yp.Listing) *yp.Listing {
	return &yp.Listing{
		Name: l.Name, PhoneE164: cmp.Or(l.PhoneE164, k.keyed.PhoneE164), Street: cmp.Or(l.Street, k.keyed.Street),
		PostalCode: cmp.Or(l.PostalCode, k.keyed.PostalCode), Website: cmp.Or(l.Website, k.keyed.Website),
	}
}

// left returns the website that the listing gives up for that of l, if it does.
func (k known) left(l *yp.Listing) string {
	if l.Website == "" || l.Website == k.keyed.Website {
		return ""
	}
	return k.keyed.Website
}

// fingerprint hashes what a page says of a listing, less its rank: two pages
// that say the same give the same number. The canonical forms are part of it, so
// that better rules for them reach what was stored under the old ones.
func fingerprint(l *yp.Listing) int64 {
	h := fnv.New64a()
	buf := make([]byte, 0, 1024)
	for _, f := range columnsOf {
		buf = f.AppendKey(buf, l)
	}
	_, _ = h.Write(buf)
	return int64(h.Sum64() & math.MaxInt64) // #nosec: the top bit is dropped on purpose
}
