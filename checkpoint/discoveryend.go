package checkpoint

import (
	"context"
	"database/sql"
	"fmt"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// WalkEnd is what a complete walk made of what was known before.
type WalkEnd struct {
	Gone    int    // cities known before and not met
	Retired int    // their targets
	Suspect string // why the walk is not believed; "" = it is
}

const (
	// missing are the cities of the state that this walk has not met.
	missing = `source_id = ?1 AND gone_at IS NULL AND last_seen_at < ?3 AND city_id IN (SELECT c.id FROM cities c WHERE c.state = ?2)`

	countMissing = `SELECT count(*) FROM source_cities WHERE ` + missing
	markGone     = `UPDATE source_cities SET gone_at = ?4 WHERE ` + missing
	retireGone   = `
	UPDATE targets SET retired_at = ?3 WHERE source_id = ?1 AND retired_at IS NULL AND city_id IN (
		SELECT x.city_id FROM cities c CROSS JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
		WHERE c.state = ?2 AND x.gone_at IS NOT NULL)`
	finishWalk = `
	UPDATE discoveries SET status = 'DONE', run_id = NULL, gone = ?, finished_at = ?, last_done_at = ?` + walkFence + ` AND pages_done = pages`
	failWalk = `
	UPDATE discoveries SET status = 'FAILED', run_id = NULL, finished_at = ?, last_error_code = ?, last_error = ?` + walkFence
	releaseWalk = `UPDATE discoveries SET status = 'PLANNED', run_id = NULL` + walkFence
)

// EndWalk ends a walk whose pages are all committed: cities of the state that it did
// not meet are marked as gone, and their targets retired; nothing is deleted, and one
// in progress finishes its page. Where fewer than half of the cities known before
// were met, the index is more likely to be broken than the cities to be gone: the
// walk becomes FAILED, nothing is marked, and WalkEnd.Suspect says why. The next
// walk starts over then. (An operator who knows better has no way past that valve
// yet but time: cities come and go by a few.)
func (k *Keeper) EndWalk(ctx context.Context, w *Walk) (end WalkEnd, err error) {
	err = k.write(ctx, func(tx *store.Tx) error {
		end = WalkEnd{}
		if err := store.SaveRequests(tx, w.Requests); err != nil {
			return err
		}
		if err := tx.Get(countMissing, []any{w.SourceID, w.State, w.StartedAt}, &end.Gone); err != nil {
			return err
		}
		if end.Suspect = suspect(w.Cities-w.Added, end.Gone); end.Suspect != "" {
			end.Gone = 0
			return w.change(tx, failWalk, append([]any{tx.Now, string(yp.CodeHTMLChanged), end.Suspect}, w.fenced()...)...)
		}
		if _, err := tx.Exec(markGone, w.SourceID, w.State, w.StartedAt, tx.Now); err != nil {
			return err
		}
		n, err := tx.Changed(retireGone, w.SourceID, w.State, tx.Now)
		if err != nil {
			return err
		}
		end.Retired = int(n)
		return w.change(tx, finishWalk, append([]any{end.Gone, tx.Now, tx.Now}, w.fenced()...)...)
	})
	if err != nil {
		return WalkEnd{}, fmt.Errorf("end the walk through %s: %w", w.State, err)
	}
	w.Requests = w.Requests[:0]
	return end, nil
}

// suspect tells why a walk that met so many of the cities known before, and missed so
// many, is not believed; "" = it is.
func suspect(met, missed int) string {
	switch before := met + missed; {
	case missed <= met:
		return ""
	case met == 0:
		return fmt.Sprintf("the index shows none of the %d cities known before: that is not believed", before)
	default:
		return fmt.Sprintf("the index shows %d of the %d cities known before: fewer than half are not believed", met, before)
	}
}

// FailWalk ends a walk that can't go on. Its pages are kept, and nothing is marked as
// gone; the next walk goes on behind them, see PlanWalks.
func (k *Keeper) FailWalk(ctx context.Context, w *Walk, code yp.ErrorCode, reason string) error {
	return k.leaveWalk(ctx, w, failWalk, yp.FormatTime(k.db.Now()), string(code), clip(reason))
}

// ReleaseWalk hands a walk back, to be gone on with.
func (k *Keeper) ReleaseWalk(ctx context.Context, w *Walk) error {
	return k.leaveWalk(ctx, w, releaseWalk)
}

func (k *Keeper) leaveWalk(ctx context.Context, w *Walk, query string, args ...any) error {
	err := k.write(ctx, func(tx *store.Tx) error {
		if err := w.change(tx, query, append(args, w.fenced()...)...); err != nil {
			return err
		}
		return store.SaveRequests(tx, w.Requests)
	})
	if err != nil {
		return fmt.Errorf("leave the walk through %s: %w", w.State, err)
	}
	w.Requests = w.Requests[:0]
	return nil
}

const (
	walkers = `
	SELECT DISTINCT r.id, r.uuid, r.host, r.heartbeat_at FROM discoveries d JOIN runs r ON r.id = d.run_id WHERE d.status = 'IN_PROGRESS'`
	recoverWalks = `
	UPDATE discoveries SET status = 'PLANNED', run_id = NULL
	WHERE status = 'IN_PROGRESS' AND run_id IN (SELECT value FROM json_each(?))`
)

// RecoverWalks takes back at once the walks of dead processes, as RecoverDead does
// their targets; it returns how many.
func (k *Keeper) RecoverWalks(ctx context.Context) (int, error) {
	dead, err := k.dead(ctx, walkers)
	if err != nil || len(dead) == 0 {
		return 0, err
	}
	var n int64
	err = k.write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Changed(recoverWalks, jsonInts(dead))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("recover walks of dead runs: %w", err)
	}
	return int(n), nil
}

const foundCities = `
	SELECT c.slug, c.name, c.state, c.population, ifnull(c.lat, 0), ifnull(c.lon, 0), c.tier
	FROM cities c CROSS JOIN source_cities x ON x.source_id = ?1 AND x.city_id = c.id
	WHERE c.state = ?2 AND c.population >= ?3 AND x.gone_at IS NULL AND x.last_seen_at >= ?4 ORDER BY c.population DESC, c.slug`

// FoundCities lists the cities that a walk has met, the largest first, those with at
// least so many people; cities that the gazetteer does not know have none.
func (k *Keeper) FoundCities(ctx context.Context, w *Walk, minPopulation int) ([]City, error) {
	var all []City
	err := k.db.Each(ctx, foundCities, []any{w.SourceID, w.State, minPopulation, w.StartedAt}, func(rows *sql.Rows) error {
		var c City
		err := rows.Scan(&c.Slug, &c.Name, &c.State, &c.Population, &c.Lat, &c.Lon, &c.Tier)
		all = append(all, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the cities of %s: %w", w.State, err)
	}
	return all, nil
}
