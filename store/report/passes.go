package report

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// PassState is how a pass stands.
type PassState string

// The states of a pass.
const (
	PassRunning  PassState = "running"  // a run of it lives
	PassUnknown  PassState = "unknown"  // whether a run of it lives can't be told
	PassStopped  PassState = "stopped"  // no run lives, and part of it is still to be crawled
	PassFinished PassState = "finished" // nothing of it is left, or a later one of the same selection has begun
)

// Pass is the last crawl of a source's selection, by as many runs as it took. What became of
// listings is counted since it began, over the whole source or the states of the scope.
type Pass struct {
	SourceID int64     `json:"-"`
	Source   string    `json:"source"`
	Of       string    `json:"selection"` // what it crawls, for people: "NH", "Plumbers in Reno, NV"; empty = all of the source
	Began    yp.Stamp  `json:"began_at"`
	Ended    yp.Stamp  `json:"ended_at"` // end of its last run; zero = one is running, or nobody knows
	Runs     int64     `json:"runs"`
	LastRun  int64     `json:"last_run"` // its number
	Outcome  string    `json:"outcome"`  // of the last run
	State    PassState `json:"state"`
	Failed   int64     `json:"failed"` // targets that it could not read: FAILED, PARKED or STUCK
	Unseen   int64     `json:"unseen"` // open listings that their searches have shown, and no other since it began: whether they were dropped nobody knows
	First    bool      `json:"first"`  // none of its states was crawled before: all that it finds is new

	*PassCounts // nil = not counted, see LastPasses
}

// PassCounts is what became of listings since a pass began.
type PassCounts struct {
	New      int64 `json:"new"`
	Changed  int64 `json:"changed"`
	Dropped  int64 `json:"dropped"`
	Restored int64 `json:"restored"`
	Rejected int64 `json:"rejected"`
}

const (
	// A run that is part of a pass x whose selection lies in the states ?2 at least in part.
	// And it read a page of a search of the source: its attempts tell. Those that went well are deleted
	// first; a run that ended before the oldest of these counts for the whole selection.
	lastPass = `
	SELECT x.selection, x.began_at
	FROM run_passes x CROSS JOIN runs r ON r.id = x.run_id
	WHERE x.source_id = ?1
		AND (?2 = '[]' OR x.selection -> '$.states' IS NULL
			OR EXISTS (SELECT 1 FROM json_each(x.selection, '$.states') s WHERE s.value IN (SELECT value FROM json_each(?2))))
		AND (x.selection -> '$.kinds' IS NULL OR EXISTS (SELECT 1 FROM json_each(x.selection, '$.kinds') k WHERE k.value = 'search'))
		AND r.pages > 0
		AND (EXISTS (
			SELECT 1
			FROM crawl_attempts a CROSS JOIN targets t ON t.id = a.target_id
			WHERE a.run_id = r.id
				AND a.pages IS NOT 0
				AND t.source_id = x.source_id
				AND t.kind = 'search'
				AND (?1 = 0 OR t.source_id = ?1)
				AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
				AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
				AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
				AND (t.population >= ?5 OR t.kind = 'index')
				AND t.kind IN (SELECT value FROM json_each(?6)))
			OR r.finished_at < ifnull((
				SELECT a.finished_at
				FROM crawl_attempts a INDEXED BY crawl_attempts_by_end
				WHERE a.finished_at IS NOT NULL AND a.error_code = 'SUCCESS' ORDER BY a.finished_at LIMIT 1),
				'9999'))
	ORDER BY x.run_id DESC LIMIT 1`
	lastOfAny = `
	SELECT x.selection, x.began_at
	FROM run_passes x CROSS JOIN runs r ON r.id = x.run_id
	WHERE x.source_id = ?1
		AND (?2 = '[]' OR x.selection -> '$.states' IS NULL
			OR EXISTS (SELECT 1 FROM json_each(x.selection, '$.states') s WHERE s.value IN (SELECT value FROM json_each(?2))))
		AND (x.selection -> '$.kinds' IS NULL OR EXISTS (SELECT 1 FROM json_each(x.selection, '$.kinds') k WHERE k.value = 'search'))
		AND r.pages > 0
		AND (EXISTS (
			SELECT 1
			FROM crawl_attempts a CROSS JOIN targets t ON t.id = a.target_id
			WHERE a.run_id = r.id AND a.pages IS NOT 0 AND t.source_id = x.source_id AND t.kind = 'search')
			OR r.finished_at < ifnull((
				SELECT a.finished_at
				FROM crawl_attempts a INDEXED BY crawl_attempts_by_end
				WHERE a.finished_at IS NOT NULL AND a.error_code = 'SUCCESS' ORDER BY a.finished_at LIMIT 1),
				'9999'))
	ORDER BY x.run_id DESC LIMIT 1`
	passRuns = `
	SELECT r.id, r.uuid, r.host, r.outcome, ifnull(r.finished_at, r.heartbeat_at) FROM run_passes x CROSS JOIN runs r ON r.id = x.run_id
	WHERE x.source_id = ? AND x.selection = ? AND x.began_at = ? ORDER BY x.run_id`
	// What is left of a pass that another one has followed is that one's.
	passFollowed  = `SELECT began_at > ? FROM passes WHERE source_id = ? AND selection = ?`
	crawledBefore = `
	SELECT EXISTS (
		SELECT 1
		FROM run_passes x CROSS JOIN runs r ON r.id = x.run_id
		WHERE x.source_id = ?1
			AND x.run_id < ?7
			AND x.began_at <> ?8
			AND (?2 = '[]' OR x.selection -> '$.states' IS NULL
				OR EXISTS (SELECT 1 FROM json_each(x.selection, '$.states') s WHERE s.value IN (SELECT value FROM json_each(?2))))
			AND (x.selection -> '$.kinds' IS NULL
				OR EXISTS (SELECT 1 FROM json_each(x.selection, '$.kinds') k WHERE k.value = 'search'))
			AND r.pages > 0
			AND (EXISTS (
				SELECT 1
				FROM crawl_attempts a CROSS JOIN targets t ON t.id = a.target_id
				WHERE a.run_id = r.id
					AND a.pages IS NOT 0
					AND t.source_id = x.source_id
					AND t.kind = 'search'
					AND (?1 = 0 OR t.source_id = ?1)
					AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
					AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
					AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
					AND (t.population >= ?5 OR t.kind = 'index')
					AND t.kind IN (SELECT value FROM json_each(?6)))
				OR r.finished_at < ifnull((
					SELECT a.finished_at
					FROM crawl_attempts a INDEXED BY crawl_attempts_by_end
					WHERE a.finished_at IS NOT NULL AND a.error_code = 'SUCCESS' ORDER BY a.finished_at LIMIT 1),
					'9999')))
		OR EXISTS (SELECT 1 FROM meta WHERE key = 'replayed_source:' || ?1)`
	sourceNames = `SELECT id, name FROM sources WHERE ?1 = 0 OR id = ?1 ORDER BY name`
)

// Passes returns the last pass of each source that read a page of the scope, or else of those whose
// selection has its states, with what became of listings since it began. A source that no run has
// crawled there has none.
func (k *Reader) Passes(ctx context.Context, scope store.Scope) ([]Pass, error) {
	all, err := k.LastPasses(ctx, scope)
	if err != nil || len(all) == 0 {
		return all, err
	}
	if len(all) == 1 {
		scope.SourceID = all[0].SourceID
	}
	counts, err := k.countBySource(ctx, SincePasses(all, ChangeFilter{Scope: scope}))
	for i := range all {
		p := &all[i]
		n := counts[p.SourceID]
		p.PassCounts = &PassCounts{
			New: n[store.EventNew], Changed: n[store.EventChanged], Dropped: n[store.EventDropped],
			Restored: n[store.EventRestored], Rejected: n[store.EventRejected],
		}
	}
	return all, err
}

// SincePasses narrows a filter to what became of listings since the passes of their sources
// began; of a source that has none, since the first of them did.
func SincePasses(all []Pass, f ChangeFilter) ChangeFilter {
	f.Since, f.Begins = begins(all)
	return f
}

// MarkOf is SincePasses for listings.
func MarkOf(all []Pass) *Since {
	m := &Since{}
	m.At, m.Begins = begins(all)
	return m
}

func begins(all []Pass) (first time.Time, of map[int64]time.Time) {
	of = map[int64]time.Time{}
	for i, p := range all {
		if of[p.SourceID] = p.Began.Time; i == 0 || p.Began.Before(first) {
			first = p.Began.Time
		}
	}
	return first, of
}

const (
	namesOfCities     = `SELECT name || iif(state = '', '', ', ') || state FROM cities WHERE id IN (SELECT value FROM json_each(?)) ORDER BY population DESC, id`
	namesOfCategories = `SELECT name FROM categories WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`
)

// selectionText says what a selection has of its source: "Plumbers in NH"; empty where nothing narrows it.
func (k *Reader) selectionText(ctx context.Context, s store.Scope) (string, error) {
	named := func(query, noun string, ids []int64) (string, error) {
		if len(ids) > mostNamed {
			return yp.Plural(len(ids), noun), nil
		}
		names, err := list(ctx, k, "name a selection", query, []any{store.JSONInts(ids)}, value[string])
		return strings.Join(names, " and "), err
	}
	categories, err := named(namesOfCategories, "category", s.CategoryIDs)
	if err != nil {
		return "", err
	}
	cities, err := named(namesOfCities, "city", s.CityIDs)
	return placedText(categories, cities, s), err
}

// mostNamed is how many cities, or categories, of a selection are named.
const mostNamed = 2

// placedText joins what is searched for and where.
func placedText(categories, cities string, s store.Scope) string {
	where := ""
	s.States = slices.DeleteFunc(slices.Clone(s.States), func(state string) bool { return state == "" })
	switch n := len(s.States); {
	case n == len(yp.States()) || n == 0:
	case n > 2*mostNamed:
		where = yp.Plural(n, "state")
	default:
		where = strings.Join(s.States, ", ")
	}
	switch {
	case cities == "":
		if s.MinPopulation > 0 {
			where = strings.TrimSuffix("cities of "+yp.Thousands(int64(s.MinPopulation))+" people or more in "+where, " in ")
		}
	case len(s.CityIDs) <= mostNamed || where == "":
		where = cities
	default:
		where = cities + " in " + where
	}
	if categories == "" || where == "" {
		return categories + where
	}
	return categories + " in " + where
}

// OpenPass is a pass that is not finished, and how far it is.
type OpenPass struct {
	Pass
	Crawled int64 `json:"crawled"` // searches of its selection that were crawled since it began
	Targets int64 `json:"targets"` // all of them
}

const (
	passSelection = `SELECT selection FROM run_passes WHERE source_id = ? AND run_id = ?`
	passShare     = `
	SELECT ifnull(sum(t.last_success_at >= ?7), 0), count(*) FROM targets t
	WHERE t.retired_at IS NULL
		AND (?1 = 0 OR t.source_id = ?1)
		AND (?2 = '[]' OR t.state IN (SELECT value FROM json_each(?2)))
		AND (?3 = '[]' OR t.kind = 'index' OR t.category_id IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR t.kind = 'index' OR t.city_id IN (SELECT value FROM json_each(?4)))
		AND (t.population >= ?5 OR t.kind = 'index')
		AND t.kind IN (SELECT value FROM json_each(?6))`
)

// OpenPasses are those of LastPasses that are not finished. It reads the searches of their selections.
func (k *Reader) OpenPasses(ctx context.Context, scope store.Scope) (open []OpenPass, err error) {
	all, err := k.LastPasses(ctx, scope)
	open = []OpenPass{}
	for _, p := range all {
		if p.State == PassFinished || err != nil {
			continue
		}
		o, text := OpenPass{Pass: p}, ""
		var of store.Selection
		if _, err = k.one(ctx, "read the selection of a pass", passSelection, []any{p.SourceID, p.LastRun}, &text); err == nil {
			of, err = store.ParseSelection(text, p.SourceID)
		}
		if of.Kinds = nil; err == nil { // searches
			_, err = k.one(ctx, "count what a pass has crawled", passShare, of.Args(yp.FormatTime(p.Began.Time)), &o.Crawled, &o.Targets)
		}
		open = append(open, o)
	}
	return open, err
}

// Share says how far the pass is: "2 of 6 targets (33.3%) were crawled in it so far".
func (p OpenPass) Share() string {
	return fmt.Sprintf("%s of %s (%s) have been crawled so far", yp.Thousands(p.Crawled),
		yp.Plural(p.Targets, "target"), yp.Share(100*float64(p.Crawled)/float64(max(p.Targets, 1))))
}

// LastPasses is Passes without the counts.
func (k *Reader) LastPasses(ctx context.Context, scope store.Scope) ([]Pass, error) {
	all, err := list(ctx, k, "list sources", sourceNames, []any{scope.SourceID}, func(p *Pass) []any { return []any{&p.SourceID, &p.Source} })
	if err != nil {
		return nil, err
	}
	passes := []Pass{}
	for _, p := range all {
		scope.SourceID = p.SourceID
		found, err := k.passOf(ctx, &p, scope)
		if err != nil {
			return nil, fmt.Errorf("read the last pass of %s: %w", p.Source, err)
		}
		if found {
			passes = append(passes, p)
		}
	}
	return passes, nil
}

func (k *Reader) passOf(ctx context.Context, p *Pass, scope store.Scope) (found bool, err error) {
	get := func(query string, args []any, into ...any) error {
		return k.pool().QueryRowContext(ctx, query, args...).Scan(into...)
	}
	var text string
	err = get(lastPass, scope.Args(), &text, at(&p.Began.Time))
	if errors.Is(err, sql.ErrNoRows) { // what is shown of the scope was found by searches beside it
		err = get(lastOfAny, scope.Args()[:2], &text, at(&p.Began.Time))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	selection, err := store.ParseSelection(text, p.SourceID)
	if err != nil {
		return false, err
	}
	if p.Of, err = k.selectionText(ctx, selection.Scope); err != nil {
		return false, err
	}
	began, first := yp.FormatTime(p.Began.Time), int64(0)
	p.State = PassFinished
	err = k.each(ctx, passRuns, []any{p.SourceID, text, began}, func(rows *sql.Rows) error {
		var uuid, host string
		var end time.Time
		err := rows.Scan(&p.LastRun, &uuid, &host, &p.Outcome, at(&end))
		if p.Runs++; p.Runs == 1 {
			first = p.LastRun
		}
		if end.After(p.Ended.Time) {
			p.Ended.Time = end
		}
		if err == nil && p.Outcome == "running" && host == k.host {
			alive, unseen := k.alive(uuid, end)
			switch {
			case alive:
				p.State = PassRunning
			case unseen != nil && p.State != PassRunning:
				p.State = PassUnknown
			}
		}
		return err
	})
	if err != nil {
		return false, err
	}
	var before, followed, open bool
	err = get(crawledBefore, store.Scope{SourceID: p.SourceID, States: selection.States}.Args(first, began), &before)
	if p.First = !before; err != nil {
		return false, err
	}
	if p.State != PassFinished {
		p.Ended.Time = time.Time{}
		return true, nil
	}
	if err := get(passFollowed, []any{began, p.SourceID, text}, &followed); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	row := store.PassRow{SourceID: p.SourceID, Selection: text, Began: p.Began.Time}
	if !followed {
		if open, err = row.Open(get); open {
			p.State = PassStopped
		}
	}
	if err == nil && p.State == PassFinished {
		p.Failed, p.Unseen, err = row.Failed(get)
	}
	return true, err
}
