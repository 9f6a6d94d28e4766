package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Replayed counts what a replay did.
type Replayed struct {
	Events   int `json:"events"`
	Pages    int `json:"pages"`
	Listings int `json:"listings"` // met, not all of them new
	New      int `json:"new"`
	Targets  int `json:"targets"`
	Details  int `json:"details"` // listings' own pages
	Damaged  int `json:"damaged"` // lines that could not be read
}

// ReplayConfig says what logs do not hold.
type ReplayConfig struct {
	BaseURL func(source string) string                  // of a source; may return ""
	City    func(name, slug, state string) (City, bool) // from the gazetteer
	Damaged func(error)                                 // told of every line that could not be read
}

// replayBatch is how many events share a transaction.
const replayBatch = 256

// Replay builds targets, listings and companies from logged events alone, in
// their order. Logs hold a page before its commit, so a page may stand there
// twice: replaying is idempotent, and replaying into a database that has the
// pages already changes nothing.
func (k *Keeper) Replay(ctx context.Context, events iter.Seq2[*wal.Event, error], cfg ReplayConfig) (Replayed, error) {
	r := &replayer{cfg: cfg, sources: map[string]int64{}, targets: map[string]int64{}}
	batch := make([]*wal.Event, 0, replayBatch)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := k.write(ctx, func(tx *store.Tx) error { return r.apply(tx, batch) })
		batch = batch[:0]
		return err
	}
	for e, err := range events {
		if err != nil {
			r.out.Damaged++
			cfg.Damaged(err)
			continue
		}
		if batch = append(batch, e); len(batch) == replayBatch {
			if err := errors.Join(ctx.Err(), flush()); err != nil {
				return r.out, fmt.Errorf("replay: %w", err)
			}
		}
	}
	if err := flush(); err != nil {
		return r.out, fmt.Errorf("replay: %w", err)
	}
	r.out.Targets = len(r.targets)
	return r.out, nil
}

type replayer struct {
	cfg     ReplayConfig
	sources map[string]int64
	targets map[string]int64
	out     Replayed
}

func (r *replayer) apply(tx *store.Tx, events []*wal.Event) error {
	now, at := tx.Now, tx.At
	defer func() { tx.Now, tx.At = now, at }() // other callers share the transaction
	for _, e := range events {
		r.out.Events++
		if e.Target == nil && e.Detail == nil {
			continue
		}
		tx.At, tx.Now = e.Timestamp.UTC(), yp.FormatTime(e.Timestamp)
		if err := r.try(tx, e); err != nil {
			return fmt.Errorf("event %d of %s: %w", e.Seq, e.WorkerID, err)
		}
	}
	return nil
}

// try applies one event under a savepoint of its own: one that the database
// refuses is told like a line that can't be read, and the rest goes on.
func (r *replayer) try(tx *store.Tx, e *wal.Event) error {
	if _, err := tx.Exec("SAVEPOINT event"); err != nil {
		return err
	}
	before := r.out
	refused := r.one(tx, e)
	if refused == nil {
		_, err := tx.Exec("RELEASE event")
		return err
	}
	if store.Fatal(refused) {
		return refused
	}
	if _, err := tx.Exec("ROLLBACK TO event"); err != nil {
		return errors.Join(refused, err)
	}
	r.out = before
	r.out.Damaged++
	r.cfg.Damaged(fmt.Errorf("event %d of %s: %w", e.Seq, e.WorkerID, refused))
	clear(r.sources) // what was added for the event is gone
	if e.Target != nil {
		delete(r.targets, targetKey(e.Target))
	}
	_, err := tx.Exec("RELEASE event")
	return err
}

func targetKey(t *wal.Target) string { return t.Source + "\x00" + t.CitySlug + "\x00" + t.CategorySlug }

func (r *replayer) one(tx *store.Tx, e *wal.Event) error {
	if e.Target == nil {
		return r.detail(tx, e)
	}
	source, target, err := r.target(tx, e.Target)
	if err != nil {
		return err
	}
	switch e.Type {
	case wal.TargetStart:
		_, err = tx.Exec(replayRetry, target, tx.Now)
	case wal.PageComplete:
		return r.page(tx, e, source, target)
	case wal.TargetComplete:
		if err := r.empty(tx, e, target); err != nil {
			return err
		}
		return r.done(tx, target, e.Complete, string(e.ErrorCode), e.Error)
	case wal.TargetError:
		return r.fail(tx, e, target)
	}
	return err
}

// fail applies what the log says became of a target: it waits (PLANNED), rests
// (FAILED), or is parked.
func (r *replayer) fail(tx *store.Tx, e *wal.Event, target int64) error {
	var n, level int
	if err := tx.Get(`SELECT consecutive_failures, backoff_level FROM targets WHERE id = ?`, []any{target}, &n, &level); err != nil {
		return err
	}
	status, set := setback(e, n, level)
	var until any
	if set.Wait > 0 {
		until = yp.FormatTime(tx.At.Add(set.Wait))
	}
	_, err := tx.Exec(replayFailed, string(status), tx.Now, string(e.ErrorCode), clip(e.Error), until, set.Level, string(set.Health),
		status == yp.Parked && set.Level > keepLevel, target, tx.Now, tx.Now)
	return err
}

// setback is what a logged failure made of a target that had failed n times in a
// row before. The log alone says which of the three it was: programs before this
// one took every failure for FAILED.
func setback(e *wal.Event, n, level int) (yp.Status, yp.Setback) {
	switch e.Status {
	case yp.Parked:
		set := yp.Setback{Event: yp.EventPark, Health: yp.Dead, Level: keepLevel}
		if level == yp.MaxBackoffLevel && e.ErrorCode != yp.CodeNoListings { // not for a permanent cause
			set.Level = level
		}
		return yp.Parked, set
	case yp.Planned:
		return yp.Planned, yp.Fail(min(n+1, 2), 0, 0)
	}
	level = min(level+1, yp.MaxBackoffLevel)
	return yp.Failed, yp.Setback{Event: yp.EventFail, Health: yp.Degraded, Level: level, Wait: yp.Backoff(level)}
}

const (
	replayTarget = `
	INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
	SELECT ?1, c.id, k.id, c.state, c.population, ?4, ?5, ?6 FROM cities c, categories k WHERE c.slug = ?2 AND k.slug = ?3
	ON CONFLICT DO NOTHING`
	replayTargetID = `
	SELECT t.id FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
	WHERE t.source_id = ? AND c.slug = ? AND k.slug = ?`

	// Only a target that nobody holds is moved: a replay never disturbs a crawl. How
	// a target failed is taken from logs only where no run of this database has
	// tried it: what an operator reset since must not fail again. What stands there of
	// a later time, or of a later crawl, is not undone when a log is read again.
	idle         = ` WHERE id = ? AND status <> 'IN_PROGRESS'`
	untried      = idle + ` AND status = 'PLANNED' AND total_attempts = 0`
	thisCrawl    = ` AND ifnull(crawl_started_at, '') <= ?`
	replayDone   = `UPDATE targets SET ` + doneSet + idle + ` AND status <> 'DONE'` + thisCrawl
	replayFailed = `UPDATE targets SET status = ?, finished_at = ?, last_error_code = ?, last_error = ?,
		consecutive_failures = consecutive_failures + 1, backoff_until = ?, backoff_level = ?,
		crawl_status = iif(crawl_status = 'paused', 'paused', ?), auto_disabled = ?` + untried + thisCrawl + ` AND ifnull(finished_at, '') < ?`
	// A dead letter that is crawled again was taken back by an operator.
	replayRetry = `UPDATE targets SET status = 'PLANNED', backoff_until = NULL, auto_disabled = 0,
		consecutive_failures = iif(status = 'PARKED', 0, consecutive_failures), backoff_level = iif(status = 'PARKED', 0, backoff_level),
		crawl_status = iif(crawl_status = 'failed', 'active', crawl_status)
		WHERE id = ? AND (status IN ('FAILED', 'PARKED') OR backoff_until IS NOT NULL) AND total_attempts = 0 AND finished_at < ?`
	replayAnew = `UPDATE targets SET status = 'PLANNED', finished_at = NULL, next_crawl_at = NULL, backoff_until = NULL, auto_disabled = 0,
		crawl_status = iif(crawl_status = 'failed', 'active', crawl_status), crawls = crawls + 1, ` + anew + idle
	// More pages were wanted than the crawl had, and it goes on behind them.
	replayMore  = `UPDATE targets SET status = 'PLANNED', finished_at = NULL, next_crawl_at = NULL` + idle + ` AND status = 'DONE'`
	replayStart = `UPDATE targets SET crawl_started_at = ifnull(crawl_started_at, ?)` + idle
	replayPage  = `
	UPDATE targets SET page_current = ?, next_page_url = ?, last_listing_id = ifnull(?, last_listing_id),
		raw_count = raw_count + ?, accepted_count = accepted_count + ?, bad_count = bad_count + ?, site_total = ifnull(?, site_total)` + idle + ` AND page_current = ? - 1`
	replayState = `
	SELECT page_current, crawls, status = 'DONE', claim_token, ifnull(crawl_started_at, ''),
		max(ifnull(crawl_started_at, ''), ifnull(finished_at, ''), ifnull((SELECT max(seen_at) FROM sightings WHERE target_id = t.id), ''))
	FROM targets t WHERE id = ?`
)

func (r *replayer) target(tx *store.Tx, t *wal.Target) (source, target int64, err error) {
	key := targetKey(t)
	if source, err = r.source(tx, t.Source); err != nil {
		return 0, 0, err
	}
	if id, ok := r.targets[key]; ok {
		return source, id, nil
	}
	city, ok := r.cfg.City(t.City, t.CitySlug, t.State)
	if !ok {
		city = City{Slug: t.CitySlug, Name: t.City, State: t.State, Tier: 3}
	}
	if _, err := saveCities(tx, []City{city}); err != nil {
		return 0, 0, err
	}
	if _, err := tx.Exec(upsertCategory, t.CategorySlug, t.Category); err != nil {
		return 0, 0, err
	}
	if _, err := tx.Exec(replayTarget, source, city.Slug, t.CategorySlug, t.Priority, t.MaxPages, tx.Now); err != nil {
		return 0, 0, err
	}
	if err := tx.Get(replayTargetID, []any{source, city.Slug, t.CategorySlug}, &target); err != nil {
		return 0, 0, err
	}
	r.targets[key] = target
	return source, target, nil
}

func (r *replayer) source(tx *store.Tx, name string) (id int64, err error) {
	if id, ok := r.sources[name]; ok {
		return id, nil
	}
	if _, err := tx.Exec(insertSource, name, r.cfg.BaseURL(name), tx.Now); err != nil {
		return 0, err
	}
	if err := tx.Get(sourceID, []any{name}, &id); err != nil {
		return 0, err
	}
	r.sources[name] = id
	return id, nil
}

const insertSource = `INSERT INTO sources (name, base_url, created_at, updated_at) VALUES (?1, ?2, ?3, ?3) ON CONFLICT (name) DO NOTHING`

// page applies one page_complete line as CommitPage did.
func (r *replayer) page(tx *store.Tx, e *wal.Event, source, target int64) error {
	if e.Page == nil {
		return nil
	}
	p := e.Page
	state, known, err := r.begin(tx, p, target)
	if err != nil {
		return err
	}
	r.out.Pages++
	r.out.Listings += len(p.Listings)
	if known {
		return nil
	}
	at := store.PageOf{
		SourceID: source, TargetID: target, State: e.Target.State, Page: p.Number, Crawl: state.crawl, Others: p.Others, Rejected: p.Rejected,
	}
	saved, err := store.SaveListings(tx, at, p.Listings)
	if err != nil {
		return err
	}
	if err := planPage(tx, source, p.Listings); err != nil {
		return err
	}
	r.out.New += saved.New
	saved.Repeated = saved.Repeated && echoes(saved, p.Raw)
	return r.advance(tx, p, saved, target)
}

// replayed is what stands of a target's current crawl.
type replayed struct {
	page    int
	crawl   int64
	done    bool  // it has come to an end
	token   int64 // of the last claim in this database, 0 = none
	started string
	last    string // the latest time of anything that is stored of it
}

func (s *replayed) read(tx *store.Tx, target int64) error {
	return tx.Get(replayState, []any{target}, &s.page, &s.crawl, &s.done, &s.token, &s.started, &s.last)
}

// anew begins the target's next crawl.
func (s *replayed) anew(tx *store.Tx, target int64) error {
	s.started, s.page, s.crawl, s.done = "", 0, s.crawl+1, false
	_, err := tx.Exec(replayAnew, target)
	return err
}

// begin tells whether the page is stored already (by the crawl that logged it, or
// by an earlier replay), or is of a crawl before the one that is, and which crawl it
// is of. A first page later than all that is stored begins a new crawl; the page behind
// the last one of a crawl that the limit of pages ended goes on with it.
func (r *replayer) begin(tx *store.Tx, p *wal.Page, target int64) (s replayed, known bool, err error) {
	if err := s.read(tx, target); err != nil {
		return s, false, err
	}
	if p.Number <= s.page && tx.Now <= s.last || tx.Now < s.started {
		return s, true, nil
	}
	since := s.done && tx.Now > s.last
	switch {
	case p.Number == 1 && (s.page > 0 || since):
		err = s.anew(tx, target)
	case p.Number == s.page+1 && since:
		_, err = tx.Exec(replayMore, target)
	}
	if err != nil {
		return s, false, err
	}
	if s.started == "" && p.Number == s.page+1 { // a page that comes before its time begins nothing
		_, err = tx.Exec(replayStart, tx.Now, target)
	}
	return s, false, err
}

func (r *replayer) advance(tx *store.Tx, p *wal.Page, saved store.Saved, target int64) error {
	raw, accepted, next := p.Raw, saved.Kept(), p.NextURL
	if saved.Repeated {
		raw, accepted, next = 0, 0, ""
	}
	var last any
	if n := len(p.Listings); n > 0 {
		last = p.Listings[n-1].ID
	}
	_, err := tx.Exec(replayPage, p.Number, null(next), last, max(raw, accepted), accepted, p.Bad+saved.Dropped, nullID(int64(p.Total)), target, p.Number)
	if err != nil || !p.Last && !saved.Repeated {
		return err
	}
	return r.done(tx, target, p.End || saved.Repeated, "", "")
}

// empty begins the crawl that the event ends, where that found nothing at all and so
// logged no page. One that this database made itself stands there already: it was
// logged a moment after it was stored, so its claim tells that and not its time.
func (r *replayer) empty(tx *store.Tx, e *wal.Event, target int64) error {
	var s replayed
	if e.ErrorCode != yp.CodeNoListings {
		return nil
	}
	if err := s.read(tx, target); err != nil {
		return err
	}
	if !s.done && s.page == 0 || tx.Now <= s.last || s.token >= e.Target.ClaimToken {
		return nil
	}
	if err := s.anew(tx, target); err != nil {
		return err
	}
	_, err := tx.Exec(replayStart, tx.Now, target)
	return err
}

const crawlOf = `SELECT crawls, ifnull(complete_at >= ifnull(crawl_started_at, ''), 0) FROM targets WHERE id = ?`

// done ends the target's crawl; confirmed tells that the site said so itself. What may
// stand in a log twice, the last page of a crawl, ends it once.
func (r *replayer) done(tx *store.Tx, target int64, confirmed bool, code, reason string) error {
	n, err := tx.Changed(replayDone, tx.Now, tx.Now, tx.Now, null(code), null(reason), target, tx.Now)
	if err != nil || n == 0 || !confirmed {
		return err
	}
	var crawl int64
	var ended bool
	if err := tx.Get(crawlOf, []any{target}, &crawl, &ended); err != nil || ended {
		return err
	}
	return endCrawl(tx, store.PageOf{TargetID: target, Crawl: crawl})
}
