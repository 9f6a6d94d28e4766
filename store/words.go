package store

import (
	"context"
	"database/sql"
	"fmt"
)

// The full-text index of listings is brought up to date when somebody searches, not by the commit of
// a page: many rows at once cost 6 µs each, those of one page 25. Two marks in meta say how far it goes.
const (
	wordsMarks = `
	SELECT ifnull(max(iif(key = 'words_listing', CAST(value AS INTEGER), NULL)), 0),
		ifnull(max(iif(key = 'words_event', CAST(value AS INTEGER), NULL)), 0)
	FROM meta
	WHERE key IN ('words_listing', 'words_event')`
	wordsEnds = `SELECT ifnull((SELECT max(id) FROM listings), 0), ifnull((SELECT max(id) FROM listing_events), 0)`
	dropWords = `
	DELETE FROM listing_words
	WHERE rowid IN (
		SELECT listing FROM listing_events
		WHERE listing <= ?1 AND id > ?2 AND id <= ?3 AND kind IN ('changed', 'completed'))`
	// A listing whose card tells no city has the one of the first search that showed it, here and in addWords.
	redoWords = `
	INSERT INTO listing_words (rowid, name, categories, city)
	SELECT l.id, l.name, l.categories,
		coalesce(l.city, (
			SELECT c.name
			FROM sightings g JOIN targets t ON t.id = g.target_id JOIN cities c ON c.id = t.city_id
			WHERE g.listing = l.id ORDER BY g.target_id LIMIT 1))
	FROM listings l
	WHERE l.id IN (
		SELECT listing FROM listing_events
		WHERE listing <= ?1 AND id > ?2 AND id <= ?3 AND kind IN ('changed', 'completed'))`
	addWords = `
	INSERT INTO listing_words (rowid, name, categories, city)
	SELECT l.id, l.name, l.categories,
		coalesce(l.city, (
			SELECT c.name
			FROM sightings g JOIN targets t ON t.id = g.target_id JOIN cities c ON c.id = t.city_id
			WHERE g.listing = l.id ORDER BY g.target_id LIMIT 1))
	FROM listings l
	WHERE l.id > ? AND l.id <= ?`
	markWords = `
	INSERT INTO meta (key, value) VALUES ('words_listing', ?), ('words_event', ?)
	ON CONFLICT DO UPDATE SET value = excluded.value`
	wordsAtOnce = 5000 // rows: some 30 ms of the writer
)

// IndexWords brings the full-text index of listings up to date, a few thousand rows a
// transaction, so that a crawl beside it goes on.
func (db *DB) IndexWords(ctx context.Context) error {
	for more := true; more; {
		err := db.Write(ctx, func(tx *Tx) error {
			var upto, event, lastListing, lastEvent int64
			if err := tx.Get(wordsMarks, nil, &upto, &event); err != nil {
				return err
			}
			if err := tx.Get(wordsEnds, nil, &lastListing, &lastEvent); err != nil {
				return err
			}
			toListing, toEvent := min(lastListing, upto+wordsAtOnce), min(lastEvent, event+wordsAtOnce)
			if toListing < lastListing {
				toEvent = event // what an event tells counts as read when every listing before it is indexed
			}
			if more = toListing < lastListing || toEvent < lastEvent; toListing == upto && toEvent == event {
				return nil
			}
			for _, step := range []struct {
				query string
				args  []any
			}{
				{dropWords, []any{upto, event, toEvent}},
				{redoWords, []any{upto, event, toEvent}},
				{addWords, []any{upto, toListing}},
				{markWords, []any{toListing, toEvent}},
			} {
				if err := tx.Run(step.query, step.args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index the words of listings: %w", err)
		}
	}
	return nil
}

// WordsMarks says how far the full-text index goes in a snapshot: up to which event and row id.
func WordsMarks(ctx context.Context, tx *sql.Tx) (event, listing int64, err error) {
	err = tx.QueryRowContext(ctx, wordsMarks).Scan(&listing, &event)
	return event, listing, err
}

const wordsLacking = `
	SELECT count(*) FROM listings
	WHERE id > (SELECT ifnull(max(CAST(value AS INTEGER)), 0) FROM meta WHERE key = 'words_listing')`

// WordsLacking counts the listings that the full-text index does not have yet.
func (db *DB) WordsLacking(ctx context.Context) (n int64, err error) {
	err = db.read.QueryRowContext(ctx, wordsLacking).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("read the index of words: %w", err)
	}
	return n, nil
}
