package checkpoint

import (
	"fmt"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// searches are targets whose pages show listings, and whose end the site confirms or does not.
type searches struct{}

func (searches) save(tx *store.Tx, c *Claim, p *yp.Page, listings *store.Prepared, out *Committed) (err error) {
	if out.Saved, err = store.SaveListings(tx, c.pageOf(), listings); err != nil {
		return err
	}
	if err = planPage(tx, c.SourceID, c.TargetID, p.Listings); err != nil {
		return err
	}
	return c.notePage(tx, p)
}

func (searches) adds(p *yp.Page, out *Committed) added {
	kept := out.Kept()
	return added{
		seen: max(p.Raw, kept), accepted: kept, listings: p.Raw, updated: kept, changed: out.New + out.Changed,
		text: fmt.Sprintf("%s, %d new, %d changed", yp.Plural(kept, "listing"), out.New, out.Changed),
	}
}

func (searches) complete(tx *store.Tx, c *Claim, p *yp.Page, set []any, _ *Committed) (store.AttemptEnd, error) {
	return c.completeBy(tx, p, set)
}

// completeBy makes the target DONE with a page that was saved.
func (c *Claim) completeBy(tx *store.Tx, p *yp.Page, set []any) (end store.AttemptEnd, err error) {
	if err = c.change(tx, completePage, append(set, doneArgs(tx, "", "", End{p.Ending, p.EndText})...), p.Number); err == nil {
		err = c.kind().ended(tx, c, p.Ending)
	}
	return store.AttemptEnd{Ended: store.EndedDone, Code: yp.CodeSuccess}, err
}

// A crawl is complete when a word of the site proves its end (see yp.Ending). One that was
// interrupted for long, or went on deeper days later, saw two states of its source (see IndexRest).
const markComplete = `
	UPDATE targets SET complete_at = ?1 WHERE id = ?2 AND status = 'DONE' AND bad_count = 0 AND ifnull(crawl_started_at, ?1) >= ?3`

// ended ends the crawl of a search: where the site confirmed the end, what it did not
// meet is missing once more.
func (searches) ended(tx *store.Tx, c *Claim, how yp.Ending) error {
	if how == yp.EndLimit {
		return nil // it can go deeper
	}
	if err := tx.Run(forgetPages, c.TargetID); err != nil || !how.Confirmed() {
		return err
	}
	n, err := tx.Changed(markComplete, tx.Now, c.TargetID, yp.FormatTime(tx.At.Add(-IndexRest)))
	if err == nil && n > 0 {
		c.Dropped, err = store.EndCrawl(tx, c.pageOf())
	}
	return err
}

func (searches) counted() bool { return true }

func (searches) blames(yp.Event, yp.ErrorCode) bool { return true }

const loggedSearch = `
	SELECT x.id, x.source_id, x.claim_token, x.committed, x.crawls
	FROM sources s
		CROSS JOIN categories k ON k.slug = ?3
		CROSS JOIN targets x ON x.kind = 'search' AND x.source_id = s.id AND x.category_id = k.id AND x.city_id = coalesce(
			(SELECT y.city_id FROM source_cities y JOIN cities c ON c.id = y.city_id WHERE y.source_id = s.id AND y.slug = ?2 AND c.state = ?4),
			(SELECT id FROM cities WHERE slug = ?2 AND state = ?4 AND country = s.country))
	WHERE s.name = ?1`

func (searches) find(t *wal.Target) (query string, args []any) {
	return loggedSearch, []any{t.Source, t.CitySlug, t.CategorySlug, t.State}
}

func (searches) plan(tx *store.Tx, r *replayer, c *Claim, t *wal.Target) (p plannedLog, err error) {
	p.minutes = int64(IndexAgain.Minutes())
	if err = tx.Run(upsertCategory, t.CategorySlug, t.Category); err == nil {
		p.city, err = r.city(tx, t, c.SourceID)
	}
	return p, err
}

// reparse is save for a page that is no step of a crawl.
func (searches) reparse(tx *store.Tx, c *Claim, p *KeptPage) (saved Committed, older int, err error) {
	c.Crawl = min(p.Target.Crawl, c.Crawl) // the file is an older copy: its next crawl has this number again
	listings, older, err := store.PrepareReparsed(tx, c.pageOf(), p.Page)
	if err != nil {
		return saved, 0, err
	}
	if saved.Saved, err = store.SaveListings(tx, c.pageOf(), listings); err == nil {
		err = planPage(tx, c.SourceID, c.TargetID, p.Page.Listings)
	}
	return saved, older, err
}

func (searches) lost(tx *store.Tx, c *Claim, p *yp.Page) ([]yp.Listing, error) {
	return unknown(tx, c.SourceID, p.Listings)
}

func (searches) count(out *Replayed, p *yp.Page) {
	out.Pages++
	out.Listings += len(p.Listings)
}
