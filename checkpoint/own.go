package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// own are targets that are a listing's own page.
type own struct{}

func (own) save(tx *store.Tx, c *Claim, p *yp.Page, _ *store.Prepared, out *Committed) (err error) {
	if p.OwnListing() == nil {
		return errors.New("the page is no listing's own")
	}
	out.Rows, err = store.SaveOwnPage(tx, c.pageOf(), c.listing, p.OwnListing())
	return err
}

func (own) adds(p *yp.Page, _ *Committed) added {
	return added{seen: p.Raw, listings: p.Raw, text: "details"}
}

func (own) complete(tx *store.Tx, c *Claim, p *yp.Page, set []any, _ *Committed) (store.AttemptEnd, error) {
	return c.completeBy(tx, p, set)
}

func (own) ended(*store.Tx, *Claim, yp.Ending) error { return nil }

func (own) counted() bool { return false }

// That a listing's page is not there says nothing of how the source fares.
func (own) blames(event yp.Event, code yp.ErrorCode) bool {
	return event != yp.EventPark || code != yp.CodeNoListings
}

const loggedOwnPage = `
	SELECT d.id, d.source_id, d.claim_token, d.committed, d.crawls, d.listing
	FROM sources s
		JOIN listings l ON l.source_id = s.id AND l.listing_id = ?2
		JOIN targets d ON d.listing = l.id
	WHERE s.name = ?1`

func (own) find(t *wal.Target) (query string, args []any) {
	return loggedOwnPage, []any{t.Source, t.Listing}
}

func (own) plan(tx *store.Tx, r *replayer, c *Claim, t *wal.Target) (p plannedLog, err error) {
	var row int64
	if err = tx.Get(listingLogged, []any{c.SourceID, t.Listing}, &row); errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("details of listing %q of source %s: %w", yp.Printable(t.Listing), yp.Printable(t.Source), errNoListing)
	}
	p.listing, p.minutes = row, detailsMinutes
	if err == nil && t.CitySlug != "" {
		p.city, err = r.city(tx, t, c.SourceID)
	}
	return p, err
}

// reparse leaves alone what was crawled since, or begun to be.
func (k own) reparse(tx *store.Tx, c *Claim, p *KeptPage) (saved Committed, older int, err error) {
	switch {
	case c.Crawl > p.Target.Crawl:
		return saved, 1, nil
	case p.Page.Own:
		err = k.save(tx, c, p.Page, nil, &saved)
	}
	return saved, 0, err
}

func (own) lost(*store.Tx, *Claim, *yp.Page) ([]yp.Listing, error) { return nil, nil }

func (own) count(out *Replayed, _ *yp.Page) { out.Details++ }

// DetailsEvery is how often a listing's own page is asked for, unless somebody says
// otherwise.
const DetailsEvery = 30 * 24 * time.Hour

// A row of meta says that the details of a source's listings of one state are wanted:
// "details:1:CA". From then on every page plans those of its listings. 'sweeping' says
// that those that were there before are not all planned yet.
const (
	wantDetails = `
	INSERT INTO meta (key, value) SELECT 'details:' || ?1 || ':' || value, 'sweeping' FROM json_each(?2) WHERE true ON CONFLICT DO NOTHING`
	unswept = `
	SELECT j.value FROM json_each(?2) AS j CROSS JOIN meta m ON m.key = 'details:' || ?1 || ':' || j.value WHERE m.value = 'sweeping'`
	swept = `
	UPDATE meta SET value = 'planned' WHERE value = 'sweeping' AND key IN (SELECT 'details:' || ?1 || ':' || value FROM json_each(?2))`

	// A row of meta says that the own pages of a source's listings are asked for by their ids: "own_by_id:1". Without it, a
	// listing that has no address has no own page. Where it is new, what was there before is planned anew.
	ownByID    = `SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'own_by_id:' || ?1)`
	wantByID   = `INSERT INTO meta (key, value) VALUES ('own_by_id:' || ?1, 'yes') ON CONFLICT DO NOTHING`
	sweepAgain = `UPDATE meta SET value = 'sweeping' WHERE key > 'details:' || ?1 || ':' AND key < 'details:' || ?1 || ';'`
	wantByURL  = `DELETE FROM meta WHERE key = 'own_by_id:' || ?1`

	lastListing = `SELECT ifnull(max(id), 0) FROM listings`
	// A detail belongs to the city and the category whose search found its listing. Its priority is 100, and 101 once it was read.
	sweep = `
	INSERT INTO targets (source_id, kind, state, city_id, category_id, listing, population, priority, max_pages,
		crawl_frequency_minutes, retired_at, created_at)
	SELECT l.source_id, 'detail', l.found_state, t.city_id, t.category_id, l.id, ifnull(t.population, 0), 100, 1, ?5,
		l.dropped_at, ?6
	FROM listings l
		LEFT JOIN targets t ON t.id = (
			SELECT min(x.target_id)
			FROM sightings x JOIN targets y ON y.id = x.target_id
			WHERE x.listing = l.id AND y.state = l.found_state)
	WHERE +l.source_id = ?1
		AND l.id > ?2
		AND l.id <= ?3
		AND l.found_state IN (SELECT value FROM json_each(?4))
		AND (l.profile_url IS NOT NULL OR EXISTS (SELECT 1 FROM meta b WHERE b.key = 'own_by_id:' || l.source_id))
		AND NOT EXISTS (SELECT 1 FROM targets d WHERE d.listing = l.id)
	ON CONFLICT DO NOTHING`
	planDetails = `
	INSERT INTO targets (source_id, kind, state, city_id, category_id, listing, population, priority, max_pages,
		crawl_frequency_minutes, retired_at, created_at)
	SELECT l.source_id, 'detail', l.found_state, t.city_id, t.category_id, l.id, ifnull(t.population, 0), 100, 1, ?4,
		NULL, ?5
	FROM json_each(?2) AS j CROSS JOIN listings l ON l.source_id = ?1 AND l.listing_id = j.value JOIN targets t ON t.id = ?3
	WHERE EXISTS (SELECT 1 FROM meta w WHERE w.key >= 'details:' AND w.key < 'details;')
		AND EXISTS (SELECT 1 FROM meta m WHERE m.key = 'details:' || l.source_id || ':' || l.found_state)
		AND (l.profile_url IS NOT NULL OR EXISTS (SELECT 1 FROM meta b WHERE b.key = 'own_by_id:' || l.source_id))
		AND NOT EXISTS (SELECT 1 FROM targets d WHERE d.listing = l.id)
	ON CONFLICT DO NOTHING`

	detailsMinutes = int64(DetailsEvery / time.Minute)
)

// sweepChunk bounds how long other writers wait behind the planning of what was there
// before.
const sweepChunk = 5000

// WantDetails plans the details of every listing that a source has in some states, in
// steps that let other writers pass, and returns how many were new. From then on every
// page plans those of its listings in its own transaction, whoever commits it.
func (k *Keeper) WantDetails(ctx context.Context, source int64, states []string) (added int, err error) {
	err = k.write(ctx, "plan details", func(tx *store.Tx) error { return tx.Run(wantDetails, source, store.JSONTexts(states)) })
	if err != nil {
		return 0, err
	}
	return k.sweep(ctx, source, states)
}

// AskByID says whether the own pages of a source's listings are asked for by their ids, so that those without an address have
// one, too. It is to be called before WantDetails.
func (k *Keeper) AskByID(ctx context.Context, source int64, byID bool) error {
	var is bool
	if err := k.row(ctx, ownByID, []any{source}, &is); err != nil || is == byID {
		return err
	}
	return k.write(ctx, "plan details", func(tx *store.Tx) error {
		if !byID {
			return tx.Run(wantByURL, source)
		}
		return errors.Join(tx.Run(wantByID, source), tx.Run(sweepAgain, source))
	})
}

// sweep plans the details of the listings that were there, in the order of their rows. What
// comes after the last plans its own.
func (k *Keeper) sweep(ctx context.Context, source int64, states []string) (added int, err error) {
	left, err := store.Column[string](k.db.Reader(ctx), unswept, source, store.JSONTexts(states))
	if err != nil || len(left) == 0 {
		return 0, err
	}
	list := store.JSONTexts(left)
	var last int64
	if err := k.row(ctx, lastListing, nil, &last); err != nil {
		return 0, err
	}
	for from := int64(0); ; from += sweepChunk {
		end := from+sweepChunk >= last
		err := k.write(ctx, "plan details", func(tx *store.Tx) error {
			n, err := tx.Changed(sweep, source, from, from+sweepChunk, list, detailsMinutes, tx.Now)
			if added += int(n); err != nil || !end {
				return err
			}
			return tx.Run(swept, source, list)
		})
		if err != nil || end {
			return added, err
		}
	}
}

// planPage plans the details of a page's listings, where somebody wants them.
func planPage(tx *store.Tx, source, target int64, listings []yp.Listing) error {
	if len(listings) == 0 {
		return nil
	}
	ids := make([]string, len(listings))
	for i := range listings {
		ids[i] = listings[i].ID
	}
	return tx.Run(planDetails, source, store.JSONTexts(ids), target, detailsMinutes, tx.Now)
}
