package checkpoint

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

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

	Known       int `json:"known"`       // of Pages, Indexes and Details: there already, in this or a later form
	Late        int `json:"late"`        // of them: not the next one of their target, so that only the listings that nobody knew were added
	Uncommitted int `json:"uncommitted"` // of them: never committed, as a later line says; passed over
	Unknown     int `json:"unknown"`     // events of a kind that this program does not know
	Damaged     int `json:"damaged"`     // lines that could not be read, and events that the database refused
	Torn        int `json:"torn"`        // logs that end in the middle of a line; for whoever reads them to set
}

// ReplayConfig says what logs do not hold.
type ReplayConfig struct {
	BaseURL func(source string) string                     // of a source; may return ""
	City    func(name, slug, state string) (yp.City, bool) // from the gazetteer
	Damaged func(error)                                    // called for every line that could not be read
	Adopt   string                                         // id of the logs' database, which an untouched file becomes; "" = it stays what it is
}

// replayBatch is how many events share a transaction.
const replayBatch = 256

// Replay makes the claims, commits and ends anew that logs tell of, by the functions that a crawl
// calls, each at its own time. The events come by commit (wal.Options.ByCommit). What a target has by the
// number of its last commit is passed over, so replaying is idempotent, and replaying into a
// database that has the pages already changes nothing.
func (k *Keeper) Replay(ctx context.Context, events iter.Seq2[*wal.Event, error], cfg ReplayConfig) (Replayed, error) {
	r := &replayer{cfg: cfg, sources: map[string]int64{}, targets: map[string]int64{}, behind: map[string]int64{}}
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
			r.damaged(err)
			continue
		}
		if batch = append(batch, e); len(batch) == replayBatch {
			if err := flush(); err != nil {
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
	own     string // id of the database that is replayed into
	sources map[string]int64
	targets map[string]int64
	behind  map[string]int64 // see base
	last    int64            // highest number of a commit
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
		r.out.Events++
		if !slices.Contains(wal.EventTypes(), e.Type) {
			r.out.Unknown++
			continue
		}
		if e.Target == nil {
			continue
		}
		if err := r.attempt(tx, e, func() error { return r.one(tx, e) }); err != nil {
			return fmt.Errorf("event %d of %s: %w", e.Seq, e.WorkerID, err)
		}
	}
	return r.raise(tx)
}

// raise lets the next commit here come behind those of the logs.
func (r *replayer) raise(tx *store.Tx) error {
	if r.last == 0 {
		return nil
	}
	return tx.Run(raiseCommit, r.last)
}

// attempt applies one event at its own time, under a savepoint of its own: one that the
// database refuses is reported like a line that can't be read, and the rest goes on.
func (r *replayer) attempt(tx *store.Tx, e *wal.Event, fn func() error) error {
	now, at := tx.Now, tx.At
	defer func() { tx.Now, tx.At = now, at }() // other callers share the transaction
	tx.At, tx.Now = e.Timestamp.UTC(), yp.FormatTime(e.Timestamp)
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
	clear(r.behind)
	delete(r.targets, e.Target.Key())
	return tx.Run("RELEASE event")
}

// withoutForeign leaves out of a page the listings that no crawl has written: a line that was altered can
// still be read.
func (r *replayer) withoutForeign(e *wal.Event) error {
	if t := e.Target; max(len(t.Source), len(t.City), len(t.CitySlug), len(t.State), len(t.Category), len(t.CategorySlug)) > yp.MaxName {
		return fmt.Errorf("its target has a name of more than %d bytes", yp.MaxName)
	}
	if e.Page == nil {
		return nil
	}
	foreign := func(l yp.Listing) bool { return len(l.ID) > yp.MaxPathID || len(l.Name) > yp.MaxName }
	if slices.ContainsFunc(e.Listings, foreign) {
		e.Listings = slices.DeleteFunc(slices.Clone(e.Listings), foreign)
		r.damaged(fmt.Errorf("event %d of %s: a listing has a name of more than %d bytes or an id of more than %d, and is left out",
			e.Seq, e.WorkerID, yp.MaxName, yp.MaxPathID))
	}
	return nil
}

// one makes what an event tells of anew.
func (r *replayer) one(tx *store.Tx, e *wal.Event) error {
	if err := r.withoutForeign(e); err != nil {
		return err
	}
	k, page := kindOf(e.Target.Kind), e.Type == wal.PageComplete && e.Page != nil
	if page {
		if k != nil {
			k.count(&r.out, e.Page)
		}
		if e.Nth == 0 {
			r.out.Uncommitted++
			return nil
		}
	} else if e.Nth == 0 && e.Type != wal.TargetStart {
		return nil // it tells of no commit, or its page has told it
	}
	if k == nil {
		return fmt.Errorf("unknown kind of target %q: want one of %v", e.Target.Kind, yp.Kinds())
	}
	base, err := r.base(tx, e)
	if err != nil {
		return err
	}
	c, err := r.target(tx, e.Target)
	if errors.Is(err, errNoListing) && !page {
		return nil
	}
	if err != nil || e.Type == wal.TargetStart { // what was begun is planned
		return err
	}
	c.number = base + e.Nth
	r.last = max(r.last, c.number)
	fresh, err := c.hold(tx, e, base)
	if err != nil {
		return err
	}
	if page {
		if !c.logged || e.Page.Number != c.PageCurrent+1 || base+e.Target.Crawl != c.Crawl {
			return r.late(tx, e, c, base)
		}
		return r.commit(tx, e, c)
	}
	known := !fresh && c.number <= c.Committed
	lacks := e.Type == wal.TargetComplete && e.Committed > 0 && base+e.Committed > c.Committed // a page before it
	if !c.logged || known || lacks {
		return nil
	}
	return r.commit(tx, e, c)
}

// commit commits the page, or the end, of an event.
func (r *replayer) commit(tx *store.Tx, e *wal.Event, c *Claim) (err error) {
	switch e.Type {
	case wal.PageComplete:
		var out Committed
		if out, _, err = c.commit(tx, e.Page, store.Prepare(e.Page)); err == nil {
			r.out.New += out.New
		}
	case wal.TargetComplete:
		_, err = c.finish(tx, e.ErrorCode, e.Error, End{e.How, e.Why})
	case wal.TargetError:
		err = c.failAgain(tx, e)
	}
	return err
}

// failAgain ends a claim in the failure that was logged. No log tells of an operator who plans a target again:
// that shows where it then fares better than its failures here would have it.
func (c *Claim) failAgain(tx *store.Tx, e *wal.Event) error {
	var n, level int
	if err := tx.Get(standing, c.fenced(), &n, &level); err != nil {
		return err
	}
	next, _ := yp.InProgress.Next(yp.Fail(n+1, level, 0).Event)
	if e.Status == yp.Parked && (next != yp.Parked || e.ErrorCode == yp.CodeNoListings) {
		_, err := c.park(tx, e.ErrorCode, e.Error)
		return err
	}
	if e.Status == yp.Planned && next != yp.Planned {
		if err := tx.Run(forgetFailures, c.TargetID); err != nil {
			return err
		}
	}
	if e.Status == yp.Failed && next == yp.Parked { // it was never to be parked: see notThere
		_, err := c.setBack(tx, yp.Fail(n+1, level, 0).Open(), e.ErrorCode, clip(e.Error))
		return err
	}
	_, err := c.failed(tx, e.ErrorCode, e.Error, new(yp.Setback))
	return err
}

const (
	forgetFailures = `UPDATE targets SET consecutive_failures = 0, backoff_level = 0 WHERE id = ?`

	// Nobody is to have the target. A dead letter that is claimed was planned again by an operator.
	claimLogged = `
	UPDATE targets SET status = 'PLANNED', not_before = NULL, wait_reason = NULL, finished_at = NULL, claim_token = ?2,
		max_pages = ?3, total_attempts = total_attempts + 1, crawl_started_at = ifnull(crawl_started_at, ?4),
		consecutive_failures = iif(status = 'PARKED', 0, consecutive_failures),
		backoff_level = iif(status = 'PARKED', 0, backoff_level)
	WHERE id = ?1 AND status <> 'IN_PROGRESS' AND claim_token < ?2`
	beginLogged = `
	UPDATE targets SET page_current = 0, next_page_url = NULL, last_listing_id = NULL, raw_count = 0, accepted_count = 0,
		bad_count = 0, seen_ids = NULL, ending = NULL, end_text = NULL, site_total = NULL, crawl_started_at = ?3,
		recoveries = 0, crawls = ?2
	WHERE id = ?1 AND crawls < ?2`
	heldLogged = `
	SELECT page_current, crawls, accepted_count, raw_count + bad_count AS seen_count, bad_count, committed, state,
		ifnull(listing, 0) AS listing, status = 'PLANNED' AND claim_token = ?2 AND crawl_started_at IS NOT NULL AS logged
	FROM targets WHERE id = ?1`
)

// hold claims the target for the claim of an event, unless a later one has it, or had: then
// logged is false. It reports whether the claim is a new one here.
func (c *Claim) hold(tx *store.Tx, e *wal.Event, base int64) (fresh bool, err error) {
	c.Token = base + e.Target.ClaimToken
	if err := c.readState(tx); err != nil || c.logged {
		return false, err
	}
	began := tx.Now
	if !e.Started.IsZero() {
		began = yp.FormatTime(e.Started)
	}
	n, err := tx.Changed(claimLogged, c.TargetID, c.Token, e.Target.MaxPages, began)
	if err == nil && n > 0 {
		err = tx.Run(beginLogged, c.TargetID, base+e.Target.Crawl, began)
	}
	if err != nil || n == 0 {
		return false, err
	}
	return true, c.readState(tx)
}

// readState reads how far the target is, and whether it is the claim's.
func (c *Claim) readState(tx *store.Tx) error {
	return tx.GetNamed(heldLogged, []any{c.TargetID, c.Token}, c.column)
}

// base is what is added to the numbers of another database's commits, claims and crawls: they come
// behind all that this one had when it first met them.
func (r *replayer) base(tx *store.Tx, e *wal.Event) (n int64, err error) {
	if cmp.Or(e.Database, r.own) == r.own {
		return 0, nil
	}
	if n, ok := r.behind[e.Database]; ok {
		return n, nil
	}
	if err := r.raise(tx); err != nil {
		return 0, err
	}
	if err := tx.Run(putBehind, e.Database); err != nil {
		return 0, err
	}
	err = tx.Get(isBehind, []any{e.Database}, &n)
	r.behind[e.Database] = n
	return n, err
}

const (
	putBehind = `INSERT INTO meta (key, value) SELECT 'replayed:' || ?, ifnull((SELECT value FROM meta WHERE key = 'committed'), '0') WHERE true ON CONFLICT DO NOTHING`
	isBehind  = `SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'replayed:' || ?`
)

// late keeps of a page that is not the next one of its target the listings that nobody knows: a page before
// it is missing, a run has the target, or it has come further. Logs that are read file by file, out of order, lose nothing.
func (r *replayer) late(tx *store.Tx, e *wal.Event, c *Claim, base int64) error {
	lost, err := c.kind().lost(tx, c, e.Page)
	if err != nil {
		return err
	}
	if len(lost) == 0 && c.number <= c.Committed {
		r.out.Known++
		return nil
	}
	if r.out.Late++; len(lost) == 0 {
		return nil
	}
	at := c.pageOf()
	at.Crawl = min(at.Crawl, base+e.Target.Crawl)
	saved, err := store.SaveListings(tx, at, store.Prepare(&yp.Page{Number: e.Page.Number, Listings: lost}))
	if err != nil {
		return err
	}
	r.out.New += saved.New
	return planPage(tx, c.SourceID, c.TargetID, lost)
}

const (
	// A log tells what was planned: no rule of what may be planned now keeps it out. It was retired while it was in hand.
	planLogged = `
	INSERT INTO targets (source_id, kind, state, city_id, category_id, listing, population, priority, max_pages, crawl_frequency_minutes, created_at, retired_at)
	SELECT ?1, ?2, ?3, c.id, k.id, ?6, ifnull(c.population, 0), ?7, ?8, ?9, ?10, CASE ?2 WHEN 'detail' THEN (SELECT dropped_at FROM listings WHERE id = ?6)
		WHEN 'search' THEN (SELECT x.removed_at FROM source_cities x WHERE x.source_id = ?1 AND x.city_id = c.id) END
	FROM (SELECT 1) LEFT JOIN cities c ON c.id = ?4 LEFT JOIN categories k ON k.slug = ?5 WHERE true`
	listingLogged = `SELECT id FROM listings WHERE source_id = ? AND listing_id = ?`
	cityLogged    = `SELECT c.id FROM source_cities x JOIN cities c ON c.id = x.city_id WHERE x.source_id = ? AND x.slug = ? AND c.state = ?`
	insertSource  = `
	INSERT INTO sources (name, base_url, country, created_at, updated_at) VALUES (?1, ?2, ?4, ?3, ?3) ON CONFLICT (name) DO NOTHING`
	// A crawl of it is not its first.
	cameByReplay = `INSERT INTO meta (key, value) VALUES ('replayed_source:' || ?, '1')`
)

// errNoListing is of a listing's own page.
var errNoListing = errors.New("the listing is not in the database")

// target finds the target of an event, or plans it.
func (r *replayer) target(tx *store.Tx, t *wal.Target) (c *Claim, err error) {
	c = &Claim{Kind: cmp.Or(t.Kind, yp.KindSearch), Place: t.Place}
	if c.SourceID, err = r.source(tx, t.Source, t.Country); err != nil {
		return nil, err
	}
	key := t.Key()
	if c.TargetID = r.targets[key]; c.TargetID != 0 {
		return c, nil
	}
	var found Claim
	find, names := c.kind().find(t)
	err = tx.GetNamed(find, names, found.column)
	if errors.Is(err, sql.ErrNoRows) {
		if err = r.plan(tx, c, t); err == nil {
			err = tx.GetNamed(find, names, found.column)
		}
	}
	if err != nil {
		return nil, err
	}
	c.TargetID = found.TargetID
	r.targets[key] = c.TargetID
	return c, nil
}

// plan plans a target as the one that a log names.
func (r *replayer) plan(tx *store.Tx, c *Claim, t *wal.Target) error {
	p, err := c.kind().plan(tx, r, c, t)
	if err != nil {
		return err
	}
	return tx.Run(planLogged, c.SourceID, string(c.Kind), t.State, p.city, t.CategorySlug, p.listing, t.Priority, t.MaxPages,
		p.minutes, tx.Now)
}

// city returns the row here of a target's city, which is added if need be. Logs have what the source calls it in
// its addresses, if its index has shown it.
func (r *replayer) city(tx *store.Tx, t *wal.Target, source int64) (id int64, err error) {
	if err = tx.Get(cityLogged, []any{source, t.CitySlug, t.State}, &id); !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	city := yp.City{Slug: t.CitySlug, Name: t.City, State: t.State, Country: t.Country, Tier: 3}
	if t.OwnCity != nil {
		own := t.OwnCity
		city.Population, city.Lat, city.Lon, city.Tier = max(0, own.Population), own.Lat, own.Lon, min(max(own.Tier, 1), 3)
	} else if t.Country == "" && len(t.State) != 2 {
		return 0, fmt.Errorf("%q is not a state of the USA", yp.Printable(t.State))
	} else if known, ok := r.cfg.City(t.City, t.CitySlug, t.State); ok && t.Country == "" {
		city = known
	}
	ids, err := saveCities(tx, []yp.City{city})
	if err == nil && len(ids) == 1 {
		id = ids[0]
	}
	return id, err
}

func (r *replayer) source(tx *store.Tx, name, country string) (id int64, err error) {
	if id, ok := r.sources[name]; ok {
		return id, nil
	}
	added, err := tx.Changed(insertSource, name, r.cfg.BaseURL(name), tx.Now, cmp.Or(country, yp.DefaultCountry))
	if err != nil {
		return 0, err
	}
	if err := tx.Get(sourceByName, []any{name}, &id); err != nil {
		return 0, err
	}
	if added > 0 {
		err = tx.Run(cameByReplay, id)
	}
	r.sources[name] = id
	return id, err
}
