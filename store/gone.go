package store

import "fmt"

// DropAfter is how many complete crawls of every target that met it a listing must
// be missing from, running, until it is gone.
const DropAfter = 2

const (
	missUnseen = `UPDATE sightings SET missed = missed + 1 WHERE target_id = ? AND crawl < ?`
	// A target that met it and has not yet been crawled twice without it keeps a listing
	// alive; one that is retired will never be asked again and keeps nothing.
	dropMissed = `
	UPDATE listings SET gone_at = ?1
	WHERE gone_at IS NULL AND id IN (SELECT listing FROM sightings WHERE target_id = ?2 AND crawl < ?3 AND missed >= ?4)
		AND NOT EXISTS (
			SELECT 1 FROM sightings s JOIN targets t ON t.id = s.target_id
			WHERE s.listing = listings.id AND s.missed < ?4 AND t.retired_at IS NULL)
	RETURNING id`
)

// EndCrawl notes that a crawl of a target saw every page to a confirmed end: what
// it did not meet is missing once more, and gone after DropAfter such crawls of
// every target that ever met it. It must be called once a crawl, in the
// transaction that ends it. Crawls that were cut short, by a block, an error or the
// limit of pages, prove nothing and must not be ended so. It returns how many are gone.
func EndCrawl(tx *Tx, at PageOf) (dropped int, err error) {
	n, err := tx.Changed(missUnseen, at.TargetID, at.Crawl)
	if err != nil {
		return 0, fmt.Errorf("look for missing listings: %w", err)
	}
	if n == 0 {
		return 0, nil
	}
	rows, err := dropMissing(tx, at)
	if err != nil {
		return 0, fmt.Errorf("drop listings: %w", err)
	}
	t := trail{dropped: rows}
	return len(rows), t.flush(tx, at)
}

func dropMissing(tx *Tx, at PageOf) (gone []int64, err error) {
	rows, err := tx.Query(dropMissed, tx.Now, at.TargetID, at.Crawl, DropAfter)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		gone = append(gone, id)
	}
	return gone, rows.Err()
}
