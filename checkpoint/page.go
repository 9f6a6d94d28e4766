package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Committed says what the commit of a page made of it.
type Committed struct {
	store.Saved
	Cities int      // of an index: those that its crawl had not seen
	Added  int      // of them new to the source, or back
	Index  IndexEnd // of the last page of an index
	Done   bool     // the attempt has ended: the page was the last
}

const (
	advancePage = `
	UPDATE targets SET page_current = ?1, next_page_url = ?2, last_listing_id = ifnull(?3, last_listing_id),
		raw_count = raw_count + ?4, accepted_count = accepted_count + ?5, bad_count = bad_count + ?6,
		seen_ids = ifnull(?7, seen_ids), site_total = ifnull(?8, site_total), recoveries = 0, committed = ?9, heartbeat_at = ?10
	WHERE id = ?11 AND claimed_by IS ?12 AND claim_token = ?13 AND status = ?14 AND page_current = ?15 - 1`
	// A detail that was read waits behind those that never were: 101. A crawl is due its frequency after it began, a tenth
	// sooner: who starts a run at the same minute of every week is to find the work. 0 = never by itself. See completeTarget, too.
	completePage = `
	UPDATE targets SET page_current = ?1, next_page_url = ?2, last_listing_id = ifnull(?3, last_listing_id),
		raw_count = raw_count + ?4, accepted_count = accepted_count + ?5, bad_count = bad_count + ?6,
		seen_ids = ifnull(?7, seen_ids), site_total = ifnull(?8, site_total), recoveries = 0, committed = ?9,
		claimed_by = NULL, claimed_at = NULL, run_id = NULL, heartbeat_at = NULL, status = 'DONE',
		priority = iif(kind = 'detail', 101, priority), finished_at = ?10, last_success_at = ?11,
		wait_reason = iif(crawl_frequency_minutes > 0, 'recrawl', NULL),
		not_before = iif(crawl_frequency_minutes > 0,
			strftime('%Y-%m-%dT%H:%M:%fZ', ifnull(crawl_started_at, ?12), '+' || max(2, crawl_frequency_minutes * 0.9) || ' minutes'),
			NULL),
		consecutive_failures = 0, backoff_level = 0, last_error_code = ?13, last_error = ?14,
		total_successes = total_successes + 1, ending = ?15, end_text = ?16, shrunk = iif(?17 = 'shrunk', shrunk + 1, 0)
	WHERE id = ?18 AND claimed_by IS ?19 AND claim_token = ?20 AND status = ?21 AND page_current = ?22 - 1`
	countRun = `
	UPDATE runs SET pages = pages + 1, targets = targets + ?1, heartbeat_at = ?2, listings_new = listings_new + ?3,
		listings_rejected = listings_rejected + ?4, listings_dropped = listings_dropped + ?5, listings_restored = listings_restored + ?6,
		listings_changed = listings_changed + ?7
	WHERE id = ?8`
	countWorker = `
	UPDATE workers SET pages = pages + 1, listings = listings + ?, heartbeat_at = ? WHERE run_id = ? AND worker_id = ?`
	sourceSucceeded = `UPDATE sources SET consecutive_failures = 0 WHERE id = ? AND consecutive_failures > 0`
)

// CommitPage is the checkpoint: listings, companies, counters and the target's
// progress in one transaction, or ErrClaimLost and nothing at all. On success
// the claim is moved on to the page.
func (k *Keeper) CommitPage(ctx context.Context, c *Claim, p yp.Page) (Committed, error) {
	var out Committed
	var attempt store.Attempt
	var at time.Time
	listings := store.Prepare(&p)
	err := k.write(ctx, fmt.Sprintf("commit page %d of target %d", p.Number, c.TargetID), func(tx *store.Tx) (err error) {
		at = tx.At
		out, attempt, err = c.commit(tx, &p, listings)
		return err
	})
	if err != nil {
		return Committed{}, err
	}
	c.Requests = c.Requests[:0]
	c.Attempt, c.Committed, c.CommittedAt = attempt, c.number, at
	c.PageCurrent, c.NextPageURL = p.Number, p.NextURL
	adds, bad := c.kind().adds(&p, &out), p.Bad+out.Dropped
	c.Accepted += adds.accepted
	c.Seen += adds.seen + bad
	c.Bad += bad
	c.SiteTotal = cmp.Or(p.SiteTotal, c.SiteTotal)
	return out, nil
}

// commit makes the commit of a page, and the end of the claim with the last one. It returns the attempt with the page
// added: a copy, for a transaction that fails must leave the claim as it was.
func (c *Claim) commit(tx *store.Tx, p *yp.Page, listings *store.Prepared) (out Committed, attempt store.Attempt, err error) {
	if err = c.take(tx); err != nil {
		return out, attempt, err
	}
	k := c.kind()
	if err = k.save(tx, c, p, listings, &out); err != nil {
		return out, attempt, err
	}
	adds, end := k.adds(p, &out), store.AttemptEnd{}
	if c.Dropped, out.Done = 0, p.Last; out.Done {
		end, err = k.complete(tx, c, p, c.progress(p, &out, adds), &out)
	} else {
		err = c.change(tx, advancePage, append(c.progress(p, &out, adds), c.beat(tx)), p.Number)
	}
	if err == nil { // pages of every kind count, of targets searches alone
		err = tx.Run(countRun, out.Done && k.counted(), tx.Now, out.New, out.Rejected, c.Dropped, out.Restored, out.Changed, c.Worker.RunID)
	}
	if err == nil {
		err = tx.Run(countWorker, out.Kept(), tx.Now, c.Worker.RunID, c.Worker.ID)
	}
	if err != nil {
		return out, attempt, err
	}
	attempt = c.Attempt
	attempt.Pages++
	attempt.Listings, attempt.Upserted, attempt.Changed = attempt.Listings+adds.listings, attempt.Upserted+adds.updated, attempt.Changed+adds.changed
	attempt.Trace.Add(tx.At, "committed", p.Number, adds.text)
	if !out.Done {
		return out, attempt, store.SaveRequests(tx, c.Requests)
	}
	if end.Ended == store.EndedDone {
		if err := tx.Run(sourceSucceeded, c.SourceID); err != nil {
			return out, attempt, err
		}
	}
	return out, attempt, c.close(tx, &attempt, end)
}

// beat is the heartbeat of a page; what nobody holds has none.
func (c *Claim) beat(tx *store.Tx) any {
	if c.logged {
		return nil
	}
	return tx.Now
}

// progress are the arguments of pageSet: what a page adds to its crawl.
func (c *Claim) progress(p *yp.Page, out *Committed, adds added) []any {
	var last any
	if n := len(p.Listings); n > 0 && !p.Own {
		last = p.Listings[n-1].ID
	}
	return []any{
		p.Number, store.Text(p.NextURL), last, adds.seen, adds.accepted, p.Bad + out.Dropped,
		store.Number(int64(p.Seen)), store.Number(int64(max(p.SiteTotal, 0))), c.number,
	}
}

func doneArgs(tx *store.Tx, code yp.ErrorCode, reason string, how End) []any {
	ending := store.Text(string(how.How))
	return []any{tx.Now, tx.Now, tx.Now, store.Text(string(code)), store.Text(reason), ending, store.Text(how.Why), ending}
}

func (c *Claim) pageOf() store.PageOf {
	return store.PageOf{
		SourceID: c.SourceID, TargetID: c.TargetID, State: c.Place.State, Crawl: c.Crawl, RunID: c.Worker.RunID,
		Fetched: c.fetched,
	}
}

const showedMore = `
	SELECT EXISTS (SELECT 1 FROM targets t CROSS JOIN sightings s ON s.target_id = t.id
		WHERE t.id = ?1 AND (t.complete_at IS NOT NULL OR ?5) AND s.crawl < ?2 AND s.missed = 0 AND s.page >= ?3
			AND NOT EXISTS (SELECT 1 FROM listings l WHERE l.id = s.listing AND l.listing_id IN (SELECT value FROM json_each(?4))))`

// ShowedMore reports whether the last complete crawl of the target, or one since, found
// listings on the page or behind it that this one has not yet seen; ids are those of the page in hand. ever says that
// no crawl need have been complete.
func (k *Keeper) ShowedMore(ctx context.Context, c *Claim, page int, ids []string, ever bool) (more bool, err error) {
	err = k.row(ctx, showedMore, []any{c.TargetID, c.Crawl, page, store.JSONTexts(ids), ever}, &more)
	return more, err
}
