package report

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// ChangeKinds lists what `changes` tells of listings, in the order in which people read it.
func ChangeKinds() []store.Event {
	return []store.Event{store.EventNew, store.EventChanged, store.EventDropped, store.EventRestored, store.EventRejected}
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// ChangeFilter selects changes. Empty fields select all.
type ChangeFilter struct {
	Scope store.Scope // source and states count; the state is the listing's own
	Since time.Time   // zero = from the beginning
	Kinds []store.Event
	Run   int64 // what this run found; 0 = any

	Lasting bool // not what a later change undid

	Begins map[int64]time.Time // of these sources, by id, another time in place of Since, and no earlier one: see SincePasses
}

// countChanges reads listing_events through its index of times, and for each row the
// listings as they are now, or one as it was staged. A state narrows before a row is made up.
// What merely became known of a listing, because other markup shows more, is no change.
const (
	// ?5 is empty, or {"1": time}: since when of a source, if not since ?1; {"run": number}: what that run found;
	// {"lasting": 1}: what no later change undid. It is the same in the three statements.
	countChanges = `
	SELECT e.source_id, e.kind, count(*)
	FROM listing_events e
		CROSS JOIN sources s ON s.id = e.source_id
		LEFT JOIN listings l ON l.id BETWEEN e.listing AND e.listing + e.listings - 1
		LEFT JOIN staged_listings g ON e.kind = 'rejected' AND g.source_id = e.source_id AND g.listing_id = e.listing_id
		LEFT JOIN listings r ON e.kind = 'rejected' AND r.source_id = e.source_id AND r.listing_id = e.listing_id
	WHERE e.kind <> 'completed'
		AND e.at >= ?1
		AND (?2 = 0 OR e.source_id = ?2)
		AND (?3 = '[]'
			OR coalesce(g.listing ->> 'state', l.state, r.state, l.found_state, r.found_state) IN (SELECT value FROM json_each(?3)))
		AND (?4 = '[]' OR e.kind IN (SELECT value FROM json_each(?4)))
		AND (?5 = '' OR e.at >= ifnull(?5 ->> ('$."' || e.source_id || '"'), '')
			AND (?5 ->> '$.run' IS NULL OR e.run_id = ?5 ->> '$.run')
			AND (?5 ->> '$.lasting' IS NULL
				OR (e.kind NOT IN ('dropped', 'restored')
					OR e.id = (
						SELECT max(x.id) FROM listing_events x
						WHERE x.listing = e.listing AND x.kind IN ('dropped', 'restored')))))
	GROUP BY 1, 2`
	// Counts of a source or of all need neither listings nor their staged forms; the kinds stand
	// side by side, for a million rows in groups take five times as long.
	countPlain = `
	SELECT ifnull(max(e.source_id), 0), ifnull(sum(e.listings) FILTER (WHERE e.kind = 'new'), 0),
		count(*) FILTER (WHERE e.kind = 'changed'), count(*) FILTER (WHERE e.kind = 'dropped'),
		count(*) FILTER (WHERE e.kind = 'restored'), count(*) FILTER (WHERE e.kind = 'rejected')
	FROM listing_events e
	WHERE e.at >= ?1
		AND ?2 = ?2
		AND ?3 = ?3
		AND ?4 = ?4
		AND (?5 = '' OR e.at >= ifnull(?5 ->> ('$."' || e.source_id || '"'), '')
			AND (?5 ->> '$.run' IS NULL OR e.run_id = ?5 ->> '$.run')
			AND (?5 ->> '$.lasting' IS NULL
				OR (e.kind NOT IN ('dropped', 'restored')
					OR e.id = (
						SELECT max(x.id) FROM listing_events x
						WHERE x.listing = e.listing AND x.kind IN ('dropped', 'restored')))))
		AND (?2 = 0 OR e.source_id = ?2)
	GROUP BY e.source_id`
	countOfOne = `
	SELECT ifnull(max(e.source_id), 0), ifnull(sum(e.listings) FILTER (WHERE e.kind = 'new'), 0),
		count(*) FILTER (WHERE e.kind = 'changed'), count(*) FILTER (WHERE e.kind = 'dropped'),
		count(*) FILTER (WHERE e.kind = 'restored'), count(*) FILTER (WHERE e.kind = 'rejected')
	FROM listing_events e
	WHERE e.at >= ?1
		AND ?2 = ?2
		AND ?3 = ?3
		AND ?4 = ?4
		AND (?5 = '' OR e.at >= ifnull(?5 ->> ('$."' || e.source_id || '"'), '')
			AND (?5 ->> '$.run' IS NULL OR e.run_id = ?5 ->> '$.run')
			AND (?5 ->> '$.lasting' IS NULL
				OR (e.kind NOT IN ('dropped', 'restored')
					OR e.id = (
						SELECT max(x.id) FROM listing_events x
						WHERE x.listing = e.listing AND x.kind IN ('dropped', 'restored')))))
		AND e.source_id = ?2`
)

func (f ChangeFilter) args() []any {
	since := ""
	if !f.Since.IsZero() {
		since = yp.FormatTime(f.Since)
	}
	return []any{since, f.Scope.SourceID, store.JSONTexts(f.Scope.States), store.JSONTexts(f.Kinds), f.more()}
}

// more writes what ?5 of countChanges reads; empty when there is nothing.
func (f ChangeFilter) more() string {
	all := beginsOf(f.Since, f.Begins)
	if f.Run != 0 {
		all["run"] = f.Run
	}
	if f.Lasting {
		all["lasting"] = 1
	}
	return filledJSON(all)
}

// beginsOf are the times since when changes of sources are told, by their ids: those that differ from since.
func beginsOf(since time.Time, begins map[int64]time.Time) map[string]any {
	times := map[string]any{}
	for id, at := range begins {
		if !at.Equal(since) {
			times[strconv.FormatInt(id, 10)] = yp.FormatTime(at)
		}
	}
	return times
}

// filledJSON is an object as JSON, "" when it is empty.
func filledJSON(all map[string]any) string {
	if len(all) == 0 {
		return ""
	}
	return store.JSON(all)
}

// ChangesSince is a value of the filter "since" of changes: a time, and for the sources of passes when those began.
func ChangesSince(at time.Time, passes []Pass) string {
	begins := map[string]string{"all": ""}
	if !at.IsZero() {
		begins["all"] = yp.FormatTime(at)
	}
	for _, pass := range passes {
		begins[pass.Source] = yp.FormatTime(pass.Began.Time)
	}
	return store.JSON(begins)
}

// CountChanges counts the changes of the filter by kind; kinds with none are absent.
func (k *Reader) CountChanges(ctx context.Context, f ChangeFilter) (map[store.Event]int64, error) {
	counts := map[store.Event]int64{}
	bySource, err := k.countBySource(ctx, f)
	for _, of := range bySource {
		for kind, n := range of {
			counts[kind] += n
		}
	}
	return counts, err
}

func (k *Reader) countBySource(ctx context.Context, f ChangeFilter) (map[int64]map[store.Event]int64, error) {
	counts := map[int64]map[store.Event]int64{}
	add := func(source int64, kind store.Event, n int64) {
		if n > 0 && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind)) {
			if counts[source] == nil {
				counts[source] = map[store.Event]int64{}
			}
			counts[source][kind] = n
		}
	}
	query, row := countChanges, func(rows *sql.Rows) error {
		var source, n int64
		var kind store.Event
		err := rows.Scan(&source, &kind, &n)
		add(source, kind, n)
		return err
	}
	if len(f.Scope.States) == 0 {
		if query = countPlain; f.Scope.SourceID != 0 {
			query = countOfOne
		}
		row = func(rows *sql.Rows) error {
			var source int64
			var n [5]int64
			err := rows.Scan(&source, &n[0], &n[1], &n[2], &n[3], &n[4])
			for i, kind := range ChangeKinds() {
				add(source, kind, n[i])
			}
			return err
		}
	}
	if err := k.each(ctx, query, f.args(), row); err != nil {
		return nil, fmt.Errorf("count changes: %w", err)
	}
	return counts, nil
}

// History is the value of the filter "listing" of changes that asks for all that became of the listing that a source knows by id. The
// error is a *NotFoundError when none was ever seen.
func (k *Reader) History(ctx context.Context, source, id string) (of string, err error) {
	src, err := k.SourceID(ctx, source)
	if err != nil {
		return "", err
	}
	var row int64 // 0 = none: it was rejected ever since
	known, err := k.one(ctx, "look for a listing", `
	SELECT id FROM listings
	WHERE source_id = ?1 AND listing_id = ?2
	UNION ALL
	SELECT 0 FROM (SELECT 1 FROM listing_events WHERE listing IS NULL AND source_id = ?1 AND listing_id = ?2 LIMIT 1)
	LIMIT 1`, []any{src, id}, &row)
	if err == nil && !known {
		err = &NotFoundError{What: fmt.Sprintf("no listing %q of %s was ever seen", id, source)}
	}
	return store.JSON(map[string]any{"row": row, "source": src, "id": id}), err
}
