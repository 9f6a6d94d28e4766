package checkpoint

import (
	"database/sql"
	"encoding/json"
	"errors"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// stand is how far a target has come here, by its own row and by the logs of one database.
type stand struct {
	target, source int64
	kind           yp.Kind
	listing        int64  // of a detail
	database       string // that wrote the logs

	page    int   // of the current crawl, the last one stored
	crawl   int64 // its number here
	started bool  // false = it has ended, and the next one has not begun
	done    bool
	held    bool // a run has it now
	claimed int64
	tried   bool // by a run of this database, whose claims the logs tell of

	// The last event of these logs that was read.
	token, seq int64
	logged     int64 // number there of the crawl that the target is in here; 0 = it was not said
	ended      int64 // last crawl whose end was counted
	gap        bool  // a page before the last one read is missing
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
	err := tx.Get(replayStand, []any{s.target, s.database, s.database == own}, &s.page, &s.crawl, &s.started, &s.done, &s.held, &s.claimed, &s.tried,
		&s.token, &s.seq, &s.logged, &s.ended, &s.gap)
	s.tried = s.tried && s.database == own
	return err
}

// has reports whether the event is in the database already, or something later of its
// target: it was read before, or a run of this database has come past it.
func (s *stand) has(e *wal.Event) bool {
	k := e.Target.ClaimToken
	if k < s.token || k == s.token && e.Seq <= s.seq {
		return true
	}
	return s.tried && k <= s.claimed && k != s.token
}

// goesOn reports whether a page is the next one of the crawl that the last claim was in the
// middle of: it was logged, and its commit never came.
func (s *stand) goesOn(e *wal.Event) bool {
	c := e.Target.Crawl
	return e.Target.ClaimToken == s.claimed && e.Target.ClaimToken > s.token && s.started && !s.done && e.Page.Number == s.page+1 && (c == 0 || c == s.crawl)
}

// mark notes that the event was read.
func (s *stand) mark(tx *store.Tx, e *wal.Event, own string) error {
	k := e.Target.ClaimToken
	if _, err := tx.Exec(replayMark, s.target, s.database, k, e.Seq, s.logged, s.ended, s.gap); err != nil {
		return err
	}
	if s.database != own || k <= s.claimed {
		return nil
	}
	_, err := tx.Exec(replayToken, s.target, k)
	return err
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
	switch s.kind {
	case yp.KindIndex:
		r.out.Indexes++
		shown, err := r.citiesOf(tx, s.source)
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
	c := s.claim(e)
	out, err := c.take(tx, p, store.Prepare(p))
	if err != nil {
		return err
	}
	r.out.New += out.New
	if s.gap = p.Number > s.page+1; s.held || s.gap {
		r.out.Aside++
	}
	if err := s.advance(tx, c, p, out); err != nil {
		return err
	}
	return s.mark(tx, e, r.own)
}

// claim is the claim of a page, as far as what the page says depends on it.
func (s *stand) claim(e *wal.Event) *Claim {
	return &Claim{TargetID: s.target, SourceID: s.source, Kind: s.kind, Place: e.Target.Place, Crawl: s.crawl, listing: s.listing}
}

const selectUnknown = `
	SELECT j.value FROM json_each(?1) AS j WHERE NOT EXISTS (SELECT 1 FROM listings l WHERE l.source_id = ?2 AND l.listing_id = j.value)`

// late keeps of a page that its target has left behind the listings that nobody knows: logs
// that are read file by file, out of order, lose nothing.
func (r *replayer) late(tx *store.Tx, e *wal.Event, s *stand) error {
	if s.kind != yp.KindSearch {
		r.out.Known++
		return nil
	}
	lost, err := unknown(tx, s.source, e.Page.Listings)
	if err != nil {
		return err
	}
	if len(lost) == 0 {
		r.out.Known++
		return nil
	}
	at := s.claim(e).pageOf()
	if e.Target.Crawl > 0 {
		at.Crawl = min(at.Crawl, e.Target.Crawl)
	}
	saved, err := store.SaveListings(tx, at, store.Prepare(&yp.Page{Number: e.Page.Number, Listings: lost}))
	if err != nil {
		return err
	}
	r.out.New += saved.New
	r.out.Late++
	return planPage(tx, s.source, s.target, lost)
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
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(selectUnknown, string(list), source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		lost = append(lost, byID[id])
	}
	return lost, rows.Err()
}

const replaySeen = `UPDATE sightings SET since = ?2 WHERE target_id = ?1 AND since = ?2 - 1`

// begin brings the target to the crawl that a page is of.
func (s *stand) begin(tx *store.Tx, e *wal.Event) error {
	if s.begins(e) {
		// A crawl that goes no further than its first page, and is followed by the next one at
		// once: that page was logged and never committed.
		uncommitted := s.kind == yp.KindSearch && s.started && !s.done && s.page == 1 && e.Target.Crawl == s.crawl+1
		err := s.anew(tx, e.Target.Crawl)
		if err == nil && uncommitted {
			_, err = tx.Exec(replaySeen, s.target, s.crawl)
		}
		return err
	}
	s.logged = max(s.logged, e.Target.Crawl)
	if p := e.Page; s.done && (p.Number > s.page || p.Number == s.page && !p.Last) {
		_, err := tx.Exec(replayMore, s.target)
		return err
	}
	return nil
}

// begins reports whether a page is of another crawl than the one that the target is in.
func (s *stand) begins(e *wal.Event) bool {
	n, c := e.Page.Number, e.Target.Crawl
	switch {
	case c == 0: // an older log does not say: a first page begins a crawl
		return n == 1 && (s.page > 0 || s.done || !s.started)
	case s.logged == 0 && s.started && n > 1 && n == s.page+1:
		return false // the program that writes the number has gone on with a crawl of one that did not
	}
	return c > s.logged || !s.started
}

// anew begins the target's next crawl, which has the number c in the logs.
func (s *stand) anew(tx *store.Tx, c int64) error {
	if s.held {
		return nil
	}
	s.started, s.page, s.crawl, s.done, s.logged, s.gap = true, 0, max(s.crawl+1, c), false, c, false
	_, err := tx.Exec(replayAnew, tx.Now, s.crawl, s.target)
	return err
}

// empty begins the crawl that the event ends, where that found nothing at all and so
// logged no page.
func (s *stand) empty(tx *store.Tx, e *wal.Event) error {
	c := e.Target.Crawl
	if e.ErrorCode != yp.CodeNoListings || c == 0 && !s.done && s.page == 0 || c > 0 && c == s.logged && s.started {
		return nil
	}
	return s.anew(tx, c)
}

func (s *stand) advance(tx *store.Tx, c *Claim, p *yp.Page, out Committed) error {
	raw, accepted, next := max(p.Raw, out.Kept()), out.Kept(), p.NextURL
	switch {
	case s.kind == yp.KindIndex:
		raw, accepted = out.Cities, out.Added
	case out.Repeated:
		raw, accepted, next = 0, 0, ""
	}
	var last any
	if n := len(p.Listings); n > 0 {
		last = p.Listings[n-1].ID
	}
	_, err := tx.Exec(replayPage, p.Number, null(next), last, raw, accepted, p.Bad+out.Dropped, nullID(int64(p.SiteTotal)), s.target, p.Number)
	switch {
	case err != nil || !p.Last && !out.Repeated:
		return err
	case s.kind == yp.KindIndex:
		return s.endIndex(tx, c, p.Plan)
	}
	return s.finish(tx, p.End || out.Repeated, "", "")
}

const indexMet = `SELECT raw_count, accepted_count FROM targets WHERE id = ? AND status <> 'IN_PROGRESS'`

// endIndex ends the crawl of an index as CompleteIndex did.
func (s *stand) endIndex(tx *store.Tx, c *Claim, p *yp.SearchPlan) error {
	err := tx.Get(indexMet, []any{s.target}, &c.Seen, &c.Accepted)
	if s.gap || errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	var plan Plan
	if p != nil {
		plan = Plan{Categories: p.Categories, TierPages: p.TierPages, Explicit: p.Explicit, MaxTargets: p.MaxTargets}
	} else {
		p = &yp.SearchPlan{}
	}
	end, err := c.endIndex(tx, plan, p.MinPopulation, -1)
	if err != nil {
		return err
	}
	if end.Suspect != "" {
		_, err := tx.Exec(startOver, s.target)
		return err
	}
	if err := s.finish(tx, false, "", ""); err != nil {
		return err
	}
	_, err = tx.Exec(indexWhole, tx.Now, s.target)
	return err
}

// finish ends the target's crawl; confirmed tells that the site said so itself. What may
// stand in a log twice, the last page of a crawl, ends it once. A crawl of which a page is
// missing is not ended: its target goes on behind the last page before.
func (s *stand) finish(tx *store.Tx, confirmed bool, code, reason string) error {
	if s.gap {
		return nil
	}
	n, err := tx.Changed(replayDone, tx.Now, tx.Now, tx.Now, null(code), null(reason), s.target)
	if err != nil || n == 0 || !confirmed || s.ended == s.crawl || s.kind != yp.KindSearch {
		return err
	}
	s.ended = s.crawl
	_, err = endCrawl(tx, store.PageOf{TargetID: s.target, Crawl: s.crawl})
	return err
}
