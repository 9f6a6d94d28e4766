package checkpoint

import (
	"database/sql"
	"errors"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// stand is how far a target has come here, by its own row and by the logs of one database. Its
// Claim is that of the page or the end that is replayed, as far as what is stored depends on it:
// Crawl is the number of the crawl here, PageCurrent the last page of it that is stored.
type stand struct {
	Claim
	database string // that wrote the logs

	started bool // false = it has ended, and the next one has not begun
	done    bool
	held    bool // a run has it now
	tried   bool // by a run of this database, whose claims the logs tell of

	// The last event of these logs that was read.
	logToken, seq int64
	logged        int64 // number there of the crawl that the target is in here
	ended         int64 // last crawl whose end was counted
	gap           bool  // a page before the last one read is missing
}

const (
	replayStand = `
	SELECT t.page_current, t.crawls, t.crawl_started_at IS NOT NULL, t.status = 'DONE', t.status = 'IN_PROGRESS', t.claim_token, t.total_attempts > 0,
		ifnull(r.claim_token, -1), ifnull(r.seq, -1), ifnull(r.crawl, iif(?3, t.crawls, 0)), ifnull(r.ended, 0), ifnull(r.gap, 0)
	FROM targets t LEFT JOIN replayed r ON r.target_id = t.id AND r.database_id = ?2 WHERE t.id = ?1`
	replayMark = `
	INSERT INTO replayed (target_id, database_id, claim_token, seq, crawl, ended, gap) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET claim_token = excluded.claim_token, seq = excluded.seq, crawl = excluded.crawl, ended = excluded.ended, gap = excluded.gap`
)

func (s *stand) read(tx *store.Tx, own string) error {
	err := tx.Get(replayStand, []any{s.TargetID, s.database, s.database == own}, &s.PageCurrent, &s.Crawl, &s.started, &s.done, &s.held, &s.Token, &s.tried,
		&s.logToken, &s.seq, &s.logged, &s.ended, &s.gap)
	s.tried = s.tried && s.database == own
	return err
}

// has reports whether the event is in the database already, or something later of its
// target: it was read before, or a run of this database has come past it.
func (s *stand) has(e *wal.Event) bool {
	k := e.Target.ClaimToken
	if k < s.logToken || k == s.logToken && e.Seq <= s.seq {
		return true
	}
	return s.tried && k <= s.Token && k != s.logToken
}

// goesOn reports whether a page is the next one of the crawl that the last claim was in the
// middle of: it was logged, and its commit never came.
func (s *stand) goesOn(e *wal.Event) bool {
	c := e.Target.Crawl
	return e.Target.ClaimToken == s.Token && e.Target.ClaimToken > s.logToken && s.started && !s.done && e.Page.Number == s.PageCurrent+1 && c == s.Crawl
}

// mark notes that the event was read.
func (s *stand) mark(tx *store.Tx, e *wal.Event, own string) error {
	k := e.Target.ClaimToken
	if err := tx.Run(replayMark, s.TargetID, s.database, k, e.Seq, s.logged, s.ended, s.gap); err != nil {
		return err
	}
	if s.database != own || k <= s.Token {
		return nil
	}
	return tx.Run(replayToken, s.TargetID, k)
}

// page applies one page_complete line as CommitPage did.
func (r *replayer) page(tx *store.Tx, e *wal.Event, s *stand) error {
	p := e.Page
	if p == nil {
		return nil
	}
	has := s.has(e) && !s.goesOn(e)
	switch {
	case r.second && has:
		return nil // counted at the first reading, or in the end
	case r.second:
		r.early--
	}
	switch s.Kind {
	case yp.KindIndex:
		r.out.Indexes++
		shown, err := r.citiesOf(tx, s.SourceID)
		if err != nil {
			return err
		}
		for i := range p.Cities {
			shown[p.Cities[i].Address] = p.Cities[i].Slug
		}
	case yp.KindDetail:
		r.out.Details++
	default:
		r.out.Pages++
		r.out.Listings += len(p.Listings)
	}
	if has {
		return r.late(tx, e, s)
	}
	if err := s.begin(tx, e); err != nil {
		return err
	}
	out, err := s.take(tx, p, store.Prepare(p))
	if err != nil {
		return err
	}
	r.out.New += out.New
	if s.gap = p.Number > s.PageCurrent+1; s.held || s.gap {
		r.out.Aside++
	}
	if err := s.advance(tx, p, out); err != nil {
		return err
	}
	return s.mark(tx, e, r.own)
}

const selectUnknown = `
	SELECT j.value FROM json_each(?1) AS j WHERE NOT EXISTS (SELECT 1 FROM listings l WHERE l.source_id = ?2 AND l.listing_id = j.value)`

// late keeps of a page that its target has left behind the listings that nobody knows: logs
// that are read file by file, out of order, lose nothing.
func (r *replayer) late(tx *store.Tx, e *wal.Event, s *stand) error {
	if s.Kind != yp.KindSearch {
		r.out.Known++
		return nil
	}
	lost, err := unknown(tx, s.SourceID, e.Page.Listings)
	if err != nil {
		return err
	}
	if len(lost) == 0 {
		r.out.Known++
		return nil
	}
	at := s.pageOf()
	at.Crawl = min(at.Crawl, e.Target.Crawl)
	saved, err := store.SaveListings(tx, at, store.Prepare(&yp.Page{Number: e.Page.Number, Listings: lost}))
	if err != nil {
		return err
	}
	r.out.New += saved.New
	r.out.Late++
	return planPage(tx, s.SourceID, s.TargetID, lost)
}

// unknown returns the listings that are not stored.
func unknown(tx *store.Tx, source int64, listings []yp.Listing) (lost []yp.Listing, err error) {
	byID := make(map[string]yp.Listing, len(listings))
	ids := make([]string, 0, len(listings))
	for _, l := range listings {
		if l.ID != "" && l.Name != "" {
			byID[l.ID], ids = l, append(ids, l.ID)
		}
	}
	found, err := store.Column[string](tx, selectUnknown, store.JSONTexts(ids), source)
	for _, id := range found {
		lost = append(lost, byID[id])
	}
	return lost, err
}

const replaySeen = `UPDATE sightings SET since = ?2 WHERE target_id = ?1 AND since = ?2 - 1`

// begin brings the target to the crawl that a page is of.
func (s *stand) begin(tx *store.Tx, e *wal.Event) error {
	if s.begins(e) {
		// A crawl that goes no further than its first page, and is followed by the next one at
		// once: that page was logged and never committed.
		uncommitted := s.Kind == yp.KindSearch && s.started && !s.done && s.PageCurrent == 1 && e.Target.Crawl == s.Crawl+1
		err := s.anew(tx, e.Target.Crawl)
		if err == nil && uncommitted {
			err = tx.Run(replaySeen, s.TargetID, s.Crawl)
		}
		return err
	}
	s.logged = max(s.logged, e.Target.Crawl)
	if p := e.Page; s.done && (p.Number > s.PageCurrent || p.Number == s.PageCurrent && !p.Last) {
		return tx.Run(replayMore, s.TargetID)
	}
	return nil
}

// begins reports whether a page is of another crawl than the one that the target is in.
func (s *stand) begins(e *wal.Event) bool {
	return e.Target.Crawl > s.logged || !s.started
}

// anew begins the target's next crawl, which has the number c in the logs.
func (s *stand) anew(tx *store.Tx, c int64) error {
	if s.held {
		return nil
	}
	s.started, s.PageCurrent, s.Crawl, s.done, s.logged, s.gap = true, 0, max(s.Crawl+1, c), false, c, false
	return tx.Run(replayAnew, tx.Now, s.Crawl, s.TargetID)
}

// empty begins the crawl that the event ends, where that found nothing at all and so
// logged no page.
func (s *stand) empty(tx *store.Tx, e *wal.Event) error {
	c := e.Target.Crawl
	if e.ErrorCode != yp.CodeNoListings || c == s.logged && s.started {
		return nil
	}
	return s.anew(tx, c)
}

// advance moves the target on to the page, as savePage does for a claim.
func (s *stand) advance(tx *store.Tx, p *yp.Page, out Committed) error {
	err := tx.Run(replayPage, append(s.progress(p, out), s.TargetID, p.Number)...)
	switch {
	case err != nil || !p.Last:
		return err
	case s.Kind == yp.KindIndex:
		return s.completeIndex(tx, p.Plan)
	}
	return s.finish(tx, replayDone, p.End, "", "")
}

const indexMet = `SELECT raw_count, accepted_count FROM targets WHERE id = ? AND status <> 'IN_PROGRESS'`

// completeIndex ends the crawl of an index as its last page did.
func (s *stand) completeIndex(tx *store.Tx, p *yp.SearchPlan) error {
	err := tx.Get(indexMet, []any{s.TargetID}, &s.Seen, &s.Accepted)
	if s.gap || s.ended == s.Crawl || errors.Is(err, sql.ErrNoRows) {
		return nil // it has ended: its last page stands in the logs twice
	}
	if err != nil {
		return err
	}
	s.ended = s.Crawl
	if p == nil {
		p = &yp.SearchPlan{}
	}
	end, err := s.endIndex(tx, s.Seen-s.Accepted, p, true)
	if err != nil {
		return err
	}
	if end.Suspect != "" {
		return tx.Run(startOver, s.TargetID)
	}
	if err := s.finish(tx, replayDone, false, "", end.Warning); err != nil {
		return err
	}
	return tx.Run(indexWhole, tx.Now, s.TargetID)
}

// finish ends the target's crawl; confirmed says that the site said so itself. What may
// stand in a log twice, the last page of a crawl, ends it once. A crawl of which a page is
// missing is not ended: its target goes on behind the last page before.
func (s *stand) finish(tx *store.Tx, query string, confirmed bool, code yp.ErrorCode, reason string) error {
	if s.gap {
		return nil
	}
	n, err := tx.Changed(query, append(doneArgs(tx, code, reason), s.TargetID)...)
	if err != nil || n == 0 || !confirmed || s.ended == s.Crawl || s.Kind != yp.KindSearch {
		return err
	}
	s.ended = s.Crawl
	return s.endCrawl(tx, true)
}
