package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

const (
	// A pass goes on while there is something of it to crawl: not done yet, or made due by
	// it, and last crawled, or planned, before it began.
	ofPass     = ` AND iif(t.last_success_at IS NULL, t.created_at <= ?7, t.last_success_at < ?7)`
	passIsHeld = `EXISTS (SELECT 1 FROM targets t INDEXED BY targets_held WHERE t.status = 'IN_PROGRESS' AND t.source_id = ?1 AND ` + where + ofPass + `)`
	passWaits  = `EXISTS (SELECT 1 FROM targets t INDEXED BY targets_waiting WHERE t.wait_reason IN ('recrawl', 'gap') AND t.not_before <= ?8
		AND t.enabled = 1 AND t.paused = 0 AND t.retired_at IS NULL AND ` + where + ofPass + `)`
	readPass = `SELECT began_at, cutoff FROM passes WHERE source_id = ? AND selection = ?`
	savePass = `
	INSERT INTO passes (source_id, selection, began_at, cutoff) VALUES (?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET began_at = excluded.began_at, cutoff = excluded.cutoff`
	runOfPass = `UPDATE runs SET pass_began_at = min(ifnull(pass_began_at, ?1), ?1) WHERE id = ?2`

	// The gap between two crawls stands: only an operator's reset lifts it. A target that ended in the
	// future (a clock was set back since) is long done.
	recrawlDone = `
	UPDATE targets AS t SET wait_reason = iif(` + inGap + `, 'gap', 'recrawl'), not_before = iif(` + inGap + `, ` + gapEnd + `, ?7)
	WHERE t.status = 'DONE' AND t.retired_at IS NULL AND (t.finished_at <= ?8 OR t.finished_at > ?7) AND ` + where
	inGap  = `t.kind = 'search' AND ` + gapEnd + ` > ?7 AND t.crawl_started_at <= ?7`
	gapEnd = `strftime('%Y-%m-%dT%H:%M:%fZ', t.crawl_started_at, '+2 minutes')`
)

// goesOnWith asks whether a pass goes on in one of the parts of its scope.
func goesOnWith(part store.Scope) string {
	return `SELECT ` + passIsHeld + ` OR ` + passWaits + ` OR EXISTS (SELECT 1 ` + candidates(part) + ofPass + `)`
}

// Pass is what a run does of a selection: it goes on with the pass that an earlier run of the
// same selection has begun and not brought to its end, or begins one.
type Pass struct {
	Began   time.Time
	GoesOn  bool
	Recrawl int // DONE targets that are due because of it
}

// BeginPass begins a pass over the scope, or goes on with the last one. With again not nil
// its DONE targets are due whose last crawl had ended so long ago when the pass began, 0 =
// all. They are crawled anew, from page 1; Wake plans them, those in the gap between two
// crawls when it is over.
func (r *Run) BeginPass(ctx context.Context, scope store.Scope, again *time.Duration) (p Pass, err error) {
	selection := selectionOf(scope, again)
	err = r.keeper.write(ctx, "begin a pass", func(tx *store.Tx) error {
		p = Pass{}
		var began, cutoff string
		err := tx.Get(readPass, []any{scope.SourceID, selection}, &began, &cutoff)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if began != "" && began <= tx.Now {
			if p.Began, err = yp.ParseTime(began); err != nil {
				return err
			}
			made := yp.FormatTime(p.Began.Add(yp.MinCrawlGap)) // what a pass makes due is due by then
			for _, part := range parts(scope) {
				if p.GoesOn {
					break
				}
				if err := tx.Get(goesOnWith(part), part.Args(began, made), &p.GoesOn); err != nil {
					return err
				}
			}
		}
		if !p.GoesOn {
			began, p.Began = tx.Now, tx.At
			if cutoff = tx.Now; again != nil {
				cutoff = yp.FormatTime(tx.At.Add(-*again))
			}
			if err := tx.Run(savePass, scope.SourceID, selection, began, cutoff); err != nil {
				return err
			}
		}
		if again != nil {
			n, err := tx.Changed(recrawlDone, scope.Args(tx.Now, cutoff)...)
			if err != nil {
				return err
			}
			p.Recrawl = int(n)
		}
		return tx.Run(runOfPass, began, r.ID)
	})
	return p, err
}

// selectionOf names what a pass is about: the same command has the same one.
func selectionOf(s store.Scope, again *time.Duration) string {
	sorted := func(ids []int64) []int64 { return slices.Sorted(slices.Values(ids)) }
	return store.JSON(struct {
		Kinds      []yp.Kind      `json:"kinds,omitempty"`
		States     []string       `json:"states,omitempty"`
		Cities     []int64        `json:"cities,omitempty"`
		Categories []int64        `json:"categories,omitempty"`
		Population int            `json:"min_population,omitempty"`
		Recrawl    *time.Duration `json:"recrawl,omitempty"`
	}{s.Kinds, slices.Sorted(slices.Values(s.States)), sorted(s.CityIDs), sorted(s.CategoryIDs), s.MinPopulation, again})
}

// What is done is due its new frequency after its last crawl began; 0 = once only.
const setFrequency = `
	UPDATE targets AS t SET crawl_frequency_minutes = ?7,
		wait_reason = iif(t.status <> 'DONE', t.wait_reason, iif(?7 > 0, 'recrawl', NULL)),
		not_before = iif(t.status <> 'DONE', t.not_before, iif(?7 > 0, strftime('%Y-%m-%dT%H:%M:%fZ', ifnull(t.crawl_started_at, t.finished_at), '+' || max(2, ?7 * 0.9) || ' minutes'), NULL))
	WHERE t.crawl_frequency_minutes <> ?7 AND ` + where

// SetFrequency says how long after its last crawl began each target of the scope is
// crawled again, in whole minutes, 0 = never by itself, and returns how many had
// another frequency.
func (k *Keeper) SetFrequency(ctx context.Context, scope store.Scope, every time.Duration) (n int, err error) {
	return k.changed(ctx, "set how often targets are crawled", setFrequency, func(*store.Tx) []any { return scope.Args(int64(every / time.Minute)) })
}
