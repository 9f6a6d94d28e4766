package checkpoint

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// Replayed counts what a replay did, and what it passed over.
type Replayed struct {
	Events   int `json:"events"`
	Pages    int `json:"pages"`
	Listings int `json:"listings"` // on the pages, not all of them new
	New      int `json:"new"`
	Targets  int `json:"targets"`
	Indexes  int `json:"index_pages"` // pages of indexes; not of Pages
	Details  int `json:"details"`     // listings' own pages; not of Pages

	Known   int `json:"known"`   // of Pages, Indexes and Details: there already, in this or a later form
	Late    int `json:"late"`    // of Pages: older than what their target has reached, so that only the listings that nobody knew were added
	Aside   int `json:"aside"`   // of Pages: their listings were stored, but their target stays where it is: a page before them is missing, or a run holds it
	Unknown int `json:"unknown"` // events of a kind that this program does not know
	Damaged int `json:"damaged"` // lines that could not be read, and events that the database refused
	Torn    int `json:"torn"`    // logs that end in the middle of a line; for whoever reads them to set
}

// ReplayConfig says what logs do not hold.
type ReplayConfig struct {
	BaseURL func(source string) string                     // of a source; may return ""
	City    func(name, slug, state string) (yp.City, bool) // from the gazetteer
	Damaged func(error)                                    // called for every line that could not be read
	Adopt   string                                         // id of the logs' database, which an untouched file becomes; "" = it stays what it is

	// Details, when set, reads the events of details once more: a clock that was set back can
	// bring one before the page that its listing stands on.
	Details func() (iter.Seq2[*wal.Event, error], error)
}

// replayBatch is how many events share a transaction.
const replayBatch = 256

// Replay builds targets, listings and companies from logged events alone. They come in the
// order of wal.Index.OpenOrdered. What an event is to its target tell its claim's token, its
// number in its log, the crawl and the page; never its time, which is only stored. Of pages of
// different targets the commits tell which came first. Logs hold a
// page before its commit, so a page may stand there twice: replaying is idempotent, and
// replaying into a database that has the pages already changes nothing.
func (k *Keeper) Replay(ctx context.Context, events iter.Seq2[*wal.Event, error], cfg ReplayConfig) (Replayed, error) {
	r := &replayer{cfg: cfg, sources: map[string]int64{}, targets: map[string]int64{}, shown: map[int64]map[string]string{}}
	if err := r.read(ctx, k, events); err != nil {
		return r.out, fmt.Errorf("replay: %w", err)
	}
	if r.again {
		again, err := cfg.Details()
		if err == nil {
			r.second = true
			err = r.read(ctx, k, again)
		}
		if err != nil {
			return r.out, fmt.Errorf("replay details: %w", err)
		}
		r.out.Details += r.early // what is left had a later claim's page before it
		r.out.Known += r.early
	}
	r.out.Targets = len(r.targets)
	return r.out, nil
}

// read applies the events in batches.
func (r *replayer) read(ctx context.Context, k *Keeper, events iter.Seq2[*wal.Event, error]) error {
	batch := make([]*wal.Event, 0, replayBatch)
	flush := func() error {
		if err := ctx.Err(); err != nil || len(batch) == 0 && r.own != "" {
			return err
		}
		err := k.db.Write(ctx, func(tx *store.Tx) error { return r.apply(tx, batch) })
		batch = batch[:0]
		return err
	}
	for e, err := range events {
		if err != nil {
			if !r.second {
				r.damaged(err)
			}
			continue
		}
		if batch = append(batch, e); len(batch) == replayBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

type replayer struct {
	cfg     ReplayConfig
	own     string // id of the database that is replayed into
	sources map[string]int64
	targets map[string]int64
	shown   map[int64]map[string]string // see citiesOf
	run     int64                       // highest number of a run of this database
	again   bool                        // there were events of details whose listing was not there yet
	early   int                         // of them, pages that are to be counted
	second  bool                        // those events are read once more
	out     Replayed
}

func (r *replayer) damaged(err error) {
	r.out.Damaged++
	r.cfg.Damaged(err)
}

func (r *replayer) apply(tx *store.Tx, events []*wal.Event) error {
	if r.own == "" {
		if r.cfg.Adopt != "" {
			if err := store.TakeOver(tx, r.cfg.Adopt); err != nil {
				return err
			}
		}
		if err := tx.Get(`SELECT value FROM meta WHERE key = 'database_id'`, nil, &r.own); err != nil {
			return err
		}
	}
	for _, e := range events {
		if r.second && (e.Target == nil || e.Target.Kind != yp.KindDetail) {
			continue
		}
		if !r.second {
			r.out.Events++
		}
		if !slices.Contains(wal.EventTypes(), e.Type) {
			r.out.Unknown++
			continue
		}
		if e.Target == nil {
			continue
		}
		if cmp.Or(e.Database, r.own) == r.own {
			r.run = max(r.run, e.RunNumber)
		}
		if err := r.attempt(tx, e, func() error { return r.one(tx, e) }); err != nil {
			return fmt.Errorf("event %d of %s: %w", e.Seq, e.WorkerID, err)
		}
	}
	if r.run == 0 {
		return nil
	}
	return tx.Run(raiseRunNumber, r.run)
}

// attempt applies one event at its own time, under a savepoint of its own: one that the
// database refuses is reported like a line that can't be read, and the rest goes on.
func (r *replayer) attempt(tx *store.Tx, e *wal.Event, fn func() error) error {
	now, at := tx.Now, tx.At
	defer func() { tx.Now, tx.At = now, at }() // other callers share the transaction
	tx.At, tx.Now = e.At().UTC(), yp.FormatTime(e.At())
	if err := tx.Run("SAVEPOINT event"); err != nil {
		return err
	}
	before := r.out
	refused := fn()
	if refused == nil {
		return tx.Run("RELEASE event")
	}
	if store.Fatal(refused) {
		return refused
	}
	if err := tx.Run("ROLLBACK TO event"); err != nil {
		return errors.Join(refused, err)
	}
	r.out = before
	r.damaged(fmt.Errorf("event %d of %s: %w", e.Seq, e.WorkerID, refused))
	clear(r.sources) // what was added for the event was rolled back
	if e.Target != nil {
		delete(r.targets, e.Target.Key())
	}
	return tx.Run("RELEASE event")
}

// withoutForeign leaves out of a page the listings that no crawl has written: a line that was altered can
// still be read.
func (r *replayer) withoutForeign(e *wal.Event) error {
	if t := e.Target; max(len(t.Source), len(t.City), len(t.CitySlug), len(t.Category), len(t.CategorySlug)) > yp.MaxName {
		return fmt.Errorf("its target has a name of more than %d bytes", yp.MaxName)
	}
	if e.Page == nil {
		return nil
	}
	foreign := func(l yp.Listing) bool { return len(l.ID) > yp.MaxID || len(l.Name) > yp.MaxName }
	if slices.ContainsFunc(e.Listings, foreign) {
		e.Listings = slices.DeleteFunc(slices.Clone(e.Listings), foreign)
		r.damaged(fmt.Errorf("event %d of %s: a listing has a name of more than %d bytes or an id of more than %d, and is left out", e.Seq, e.WorkerID, yp.MaxName, yp.MaxID))
	}
	return nil
}

func (r *replayer) one(tx *store.Tx, e *wal.Event) error {
	if err := r.withoutForeign(e); err != nil {
		return err
	}
	s, err := r.target(tx, e)
	if err != nil || e.Type == wal.Heartbeat || e.Type == wal.ClaimLost {
		return err
	}
	if s.TargetID == 0 {
		return r.wait(e)
	}
	if err := s.read(tx, r.own); err != nil {
		return err
	}
	if e.Type == wal.PageComplete {
		return r.page(tx, e, s)
	}
	if s.has(e) {
		return nil
	}
	switch e.Type {
	case wal.TargetStart:
		err = tx.Run(replayRetry, s.TargetID)
	case wal.TargetComplete:
		if err = s.empty(tx, e); err == nil {
			err = s.finish(tx, replayEnd, e.Complete, e.ErrorCode, e.Error)
		}
	case wal.TargetError:
		err = s.fail(tx, e)
	}
	if err != nil {
		return err
	}
	return s.mark(tx, e, r.own)
}

// fail applies what the log says became of a target.
func (s *stand) fail(tx *store.Tx, e *wal.Event) error {
	var n, level int
	if err := tx.Get(`SELECT consecutive_failures, backoff_level FROM targets WHERE id = ?`, []any{s.TargetID}, &n, &level); err != nil {
		return err
	}
	return tx.Run(replayFailed, append(failArgs(tx, setback(e, n, level), e.ErrorCode, e.Error), s.TargetID)...)
}

// setback is what a logged failure made of a target that had failed n times in a
// row before: it waits (PLANNED), rests (FAILED), or is parked. The log alone says which of
// the three it was.
func setback(e *wal.Event, n, level int) yp.Setback {
	switch e.Status {
	case yp.Parked:
		if level < yp.MaxBackoffLevel || e.ErrorCode == yp.CodeNoListings { // a permanent cause
			level = permanent
		}
		return yp.Setback{Event: yp.EventPark, Level: level}
	case yp.Planned:
		return yp.Fail(min(n+1, 2), 0, 0)
	}
	level = min(level+1, yp.MaxBackoffLevel)
	return yp.Setback{Event: yp.EventFail, Level: level, Wait: yp.Backoff(level)}
}

const (
	replaySearch = `
	INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
	SELECT ?1, c.id, k.id, c.state, c.population, ?4, ?5, ?6 FROM cities c, categories k WHERE c.slug = ?2 AND k.slug = ?3
	ON CONFLICT DO NOTHING`
	replayIndex = `
	INSERT INTO targets (source_id, kind, state, population, priority, max_pages, crawl_frequency_minutes, created_at)
	VALUES (?1, 'index', ?2, 0, ?3, ?4, ?5, ?6)
	ON CONFLICT (source_id, state) WHERE kind = 'index' DO UPDATE SET max_pages = excluded.max_pages WHERE status <> 'IN_PROGRESS'`
	replayDetail = `
	INSERT INTO targets (source_id, kind, state, city_id, category_id, listing, population, priority, max_pages, crawl_frequency_minutes, created_at)
	SELECT l.source_id, 'detail', l.found_state, c.id, (SELECT id FROM categories WHERE slug = ?3), l.id, ifnull(c.population, 0), ` + freshDetail + `, 1, ?4, ?5
	FROM listings l LEFT JOIN cities c ON c.slug = ?2 WHERE l.id = ?1
	ON CONFLICT DO NOTHING`
	replayListing = `SELECT id FROM listings WHERE source_id = ? AND listing_id = ?`
	shownCities   = `SELECT x.slug, c.slug FROM source_cities x JOIN cities c ON c.id = x.city_id WHERE x.source_id = ?`

	searchID = `
	SELECT t.id FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
	WHERE t.kind = 'search' AND t.source_id = ? AND c.slug = ? AND k.slug = ?`

	// Only a target that nobody holds is moved: a replay never disturbs a crawl. How
	// a target failed is taken from logs only where no run of this database has
	// tried it: what an operator reset since must not fail again.
	idle         = ` WHERE id = ? AND status <> 'IN_PROGRESS'`
	untried      = idle + ` AND status = 'PLANNED' AND total_attempts = 0`
	replayDone   = `UPDATE targets SET ` + doneSet + idle + ` AND status <> 'DONE'`
	replayEnd    = completeSet + idle + ` AND status <> 'DONE'`
	replayFailed = failSet + untried
	// A dead letter that is crawled again was taken back by an operator.
	retaken     = `consecutive_failures = iif(status = 'PARKED', 0, consecutive_failures), backoff_level = iif(status = 'PARKED', 0, backoff_level), `
	replayRetry = `UPDATE targets SET ` + retaken + planSet + `
		WHERE id = ? AND (status IN ('FAILED', 'PARKED') OR wait_reason IS 'backoff') AND total_attempts = 0`
	replayAnew = `UPDATE targets SET ` + planSet + `, finished_at = NULL, ` + retaken + anew + `, crawl_started_at = ?, crawls = ?` + idle
	// More pages were wanted than the crawl had, or the last one was none, and it goes on.
	replayMore = `UPDATE targets SET ` + planSet + `, finished_at = NULL` + idle + ` AND status = 'DONE'`
	replayPage = pageSet + idle + isNext
	// A claim of this database comes after every one that the logs tell of.
	replayToken = `UPDATE targets SET claim_token = ?2 WHERE id = ?1 AND status <> 'IN_PROGRESS' AND claim_token < ?2`
)

// target finds the target of an event, or adds it. One of a detail is 0 while no page has
// brought its listing.
func (r *replayer) target(tx *store.Tx, e *wal.Event) (s *stand, err error) {
	t := e.Target
	s = &stand{Claim: Claim{Kind: cmp.Or(t.Kind, yp.KindSearch), Place: t.Place}, database: cmp.Or(e.Database, r.own)}
	if s.SourceID, err = r.source(tx, t.Source); err != nil {
		return nil, err
	}
	if s.Kind == yp.KindDetail {
		err := tx.Get(replayListing, []any{s.SourceID, t.Listing}, &s.listing)
		if errors.Is(err, sql.ErrNoRows) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
	key := t.Key()
	if s.TargetID = r.targets[key]; s.TargetID != 0 {
		return s, nil
	}
	city := ""
	if s.Kind != yp.KindIndex {
		if city, err = r.city(tx, t, s.SourceID); err != nil {
			return nil, err
		}
	}
	var add string
	var added []any
	find, found := findTarget(t)
	switch s.Kind {
	case yp.KindSearch:
		if err := tx.Run(upsertCategory, t.CategorySlug, t.Category); err != nil {
			return nil, err
		}
		add, added = replaySearch, []any{s.SourceID, city, t.CategorySlug, t.Priority, t.MaxPages, tx.Now}
		find, found = searchID, []any{s.SourceID, city, t.CategorySlug}
	case yp.KindIndex:
		add, added = replayIndex, []any{s.SourceID, t.State, t.Priority, t.MaxPages, int64(IndexAgain / time.Minute), tx.Now}
	case yp.KindDetail:
		add, added = replayDetail, []any{s.listing, city, t.CategorySlug, detailsMinutes, tx.Now}
	default:
		return nil, fmt.Errorf("unknown kind of target %q: want one of %v", t.Kind, yp.Kinds())
	}
	if err := tx.Run(add, added...); err != nil {
		return nil, err
	}
	if err := tx.Get(find, found, &s.TargetID); err != nil {
		return nil, err
	}
	r.targets[key] = s.TargetID
	return s, nil
}

// city returns the slug here of a target's city, which is added if need be; "" = it has none.
func (r *replayer) city(tx *store.Tx, t *wal.Target, source int64) (slug string, err error) {
	if t.CitySlug == "" && t.Kind == yp.KindDetail {
		return "", nil
	}
	shown, err := r.citiesOf(tx, source)
	if err != nil {
		return "", err
	}
	if slug, ok := shown[t.CitySlug]; ok {
		return slug, nil
	}
	city, ok := r.cfg.City(t.City, t.CitySlug, t.State)
	if !ok {
		city = yp.City{Slug: t.CitySlug, Name: t.City, State: t.State, Tier: 3}
	}
	_, err = saveCities(tx, []yp.City{city})
	return city.Slug, err
}

// citiesOf returns the cities that the indexes of a source have shown: their slugs, by what
// the source calls them in its addresses, and so in the names of its targets.
func (r *replayer) citiesOf(tx *store.Tx, source int64) (map[string]string, error) {
	if shown, ok := r.shown[source]; ok {
		return shown, nil
	}
	type city struct{ address, slug string }
	all, err := store.All(tx, shownCities, []any{source}, func(c *city) []any { return []any{&c.address, &c.slug} })
	shown := make(map[string]string, len(all))
	for _, c := range all {
		shown[c.address] = c.slug
	}
	r.shown[source] = shown
	return shown, err
}

// wait puts off an event of a detail whose listing no page has brought: all are read once
// more when there are no more pages. Then it is refused like a line that can't be read.
func (r *replayer) wait(e *wal.Event) error {
	switch {
	case !r.second && r.cfg.Details != nil:
		r.again = true
		if e.Type == wal.PageComplete {
			r.early++
		}
		return nil
	case e.Type == wal.PageComplete:
		r.early = max(r.early-1, 0)
		return fmt.Errorf("details of listing %q of source %s: the listing is not in the database", yp.Printable(e.Target.Listing), yp.Printable(e.Target.Source))
	}
	return nil
}

func (r *replayer) source(tx *store.Tx, name string) (id int64, err error) {
	if id, ok := r.sources[name]; ok {
		return id, nil
	}
	if err := tx.Run(insertSource, name, r.cfg.BaseURL(name), tx.Now); err != nil {
		return 0, err
	}
	if err := tx.Get(sourceID, []any{name}, &id); err != nil {
		return 0, err
	}
	r.sources[name] = id
	return id, nil
}

const insertSource = `INSERT INTO sources (name, base_url, created_at, updated_at) VALUES (?1, ?2, ?3, ?3) ON CONFLICT (name) DO NOTHING`
