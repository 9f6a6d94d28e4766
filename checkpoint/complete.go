package checkpoint

import (
	"database/sql"
	"errors"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// A crawl is complete when the site itself said that nothing follows and, if it said
// how many listings it has, nearly all of them were met (sites count some twice); a
// card that could not be read may be the one that is missed. One that was interrupted for
// long, or went on deeper days later, saw two states of its source (see IndexRest).
const markComplete = `
	UPDATE targets SET complete_at = ?1
	WHERE id = ?2 AND status = 'DONE' AND bad_count = 0 AND (site_total IS NULL OR 20 * raw_count >= 19 * site_total)
		AND ifnull(crawl_started_at, ?1) >= ?3
	RETURNING source_id`

// endCrawl ends a crawl that came to an end that the site confirmed: what it did not
// meet is missing once more. Its transaction must have made the target DONE.
func (c *Claim) endCrawl(tx *store.Tx, confirmed bool) (err error) {
	if c.Dropped = 0; confirmed && c.Kind == yp.KindSearch {
		c.Dropped, err = endCrawl(tx, c.pageOf())
	}
	return err
}

func endCrawl(tx *store.Tx, at store.PageOf) (dropped int, err error) {
	err = tx.Get(markComplete, []any{tx.Now, at.TargetID, yp.FormatTime(tx.At.Add(-IndexRest))}, &at.SourceID)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return store.EndCrawl(tx, at)
}
