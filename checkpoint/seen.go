package checkpoint

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// End is how the crawl of a search came to its end, and why, for people.
type End struct {
	How yp.Ending
	Why string
}

// SeenPage is what a page of a crawl under way has shown: ids of organic listings, and of those that were ads alone.
type SeenPage struct {
	Page         int
	Organic, Ads []string
}

// PassShown is what a source has shown of its lists in a pass.
type PassShown struct {
	NextPages int  // pages with a next link that could be followed
	Fewest    int  // fewest organic cards on one of these
	Most      int  // most organic cards on one of these
	Deeper    bool // of another target, a page of a higher number
}

const (
	savePage = `
	INSERT INTO crawl_pages (target_id, page, crawl, organic, ads) VALUES (?1, ?2, ?3, ?4, ?5)
	ON CONFLICT DO UPDATE SET crawl = ?3, organic = ?4, ads = ?5`
	selectPages = `SELECT page, organic, ads FROM crawl_pages WHERE target_id = ? AND crawl = ? ORDER BY page`
	selectCards = `SELECT json_array_length(organic) FROM crawl_pages WHERE target_id = ? AND page = ? AND crawl = ?`
	forgetPages = `DELETE FROM crawl_pages WHERE target_id = ?`

	// ?3: the page has a next link. ?6: it is the deepest of its target so far.
	savePassPage = `
	INSERT INTO pass_pages (source_id, pass, next_pages, fewest, most, deepest, deepest_target, second)
	VALUES (?1, ifnull((SELECT began_at FROM run_passes WHERE source_id = ?1 AND run_id = ?2), 'run ' || ?2),
		?3, iif(?3, ?4, NULL), iif(?3, ?4, NULL), ?5, ?6, 0)
	ON CONFLICT DO UPDATE SET next_pages = next_pages + ?3, fewest = iif(?3, min(ifnull(fewest, ?4), ?4), fewest),
		most = iif(?3, max(ifnull(most, ?4), ?4), most),
		second = CASE WHEN deepest_target = ?6 THEN second WHEN ?5 > deepest THEN deepest ELSE max(second, ?5) END,
		deepest_target = iif(?5 > deepest, ?6, deepest_target), deepest = max(deepest, ?5)`
	selectPassPage = `
	SELECT next_pages, ifnull(fewest, 0), ifnull(most, 0), iif(deepest_target = ?3, second, deepest) > ?4 FROM pass_pages
	WHERE source_id = ?1
		AND pass = ifnull((SELECT began_at FROM run_passes WHERE source_id = ?1 AND run_id = ?2), 'run ' || ?2)`
)

// notePage notes the ids that a page has shown, as long as its crawl can go on, and what the source shows of its lists
// in this pass. (A replay needs no more than the first: verdicts are in the log.)
func (c *Claim) notePage(tx *store.Tx, p *yp.Page) error {
	if !p.Last || p.NextURL != "" { // our limit of pages alone ends it: it can go deeper later
		if err := tx.Run(savePage, c.TargetID, p.Number, c.Crawl, store.JSONTexts(p.OrganicIDs()), store.JSONTexts(p.Ads)); err != nil {
			return err
		}
	}
	if c.logged || p.Number == 1 && p.NextURL == "" {
		return nil
	}
	if linkless := yp.IsPosition(p.NextURL) || yp.IsPosition(c.NextPageURL); !linkless {
		return tx.Run(savePassPage, c.SourceID, c.Worker.RunID, p.NextURL != "", p.Organic, p.Number, c.TargetID)
	}
	return c.noteBefore(tx, p)
}

// noteBefore notes of a list without links the page before this one: only now is it known that listings are behind it.
func (c *Claim) noteBefore(tx *store.Tx, p *yp.Page) error {
	cards := 0
	if p.Number > 1 && len(p.OrganicIDs()) > 0 {
		if err := tx.Get(selectCards, []any{c.TargetID, p.Number - 1, c.Crawl}, &cards); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return tx.Run(savePassPage, c.SourceID, c.Worker.RunID, cards > 0, cards, p.Number, c.TargetID)
}

// SeenPages returns what the pages of the target's crawl have shown that are committed.
func (k *Keeper) SeenPages(ctx context.Context, c *Claim) (pages []SeenPage, err error) {
	err = store.Each(k.db.Reader(ctx), selectPages, []any{c.TargetID, c.Crawl}, func(rows *sql.Rows) error {
		var p SeenPage
		var organic, ads string
		if err := rows.Scan(&p.Page, &organic, &ads); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(organic), &p.Organic); err != nil {
			return fmt.Errorf("ids of page %d of target %d: %w", p.Page, c.TargetID, err)
		}
		pages = append(pages, p)
		return json.Unmarshal([]byte(ads), &pages[len(pages)-1].Ads)
	})
	return pages, err
}

// PassShown returns what the source has shown in the pass of the claim's run; Deeper is of pages behind the given one.
func (k *Keeper) PassShown(ctx context.Context, c *Claim, page int) (s PassShown, err error) {
	err = k.row(ctx, selectPassPage, []any{c.SourceID, c.Worker.RunID, c.TargetID, page}, &s.NextPages, &s.Fewest, &s.Most, &s.Deeper)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return s, err
}
