package report

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// UnknownTargetError says that a word names no target.
type UnknownTargetError struct {
	Word string
	Hint string // the nearest word, or what to do; may be empty
}

func (e *UnknownTargetError) Error() string {
	text := fmt.Sprintf("no target %q", e.Word)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// AmbiguousTargetError says that several sources have the target.
type AmbiguousTargetError struct {
	Word    string
	Sources []string
}

func (e *AmbiguousTargetError) Error() string {
	return fmt.Sprintf("target %q is there for several sources: add --source %s", e.Word, strings.Join(e.Sources, " or --source "))
}

const (
	targetByID = `SELECT id FROM targets WHERE id = ?1 AND (?2 = 0 OR source_id = ?2)`
	// The unique key of targets, in its own order.
	targetBySlugs = `
	SELECT t.id, s.name FROM sources s CROSS JOIN cities c CROSS JOIN categories k
		CROSS JOIN targets t ON t.kind = 'search' AND t.source_id = s.id AND t.city_id = c.id AND t.category_id = k.id
	WHERE c.slug = ?1 AND k.slug = ?2 AND (?3 = 0 OR s.id = ?3) ORDER BY s.name`
	citySlugs     = `SELECT slug FROM cities`
	categorySlugs = `SELECT slug FROM categories`
)

// FindTarget returns the id of the target that word names: its id, or
// "los-angeles-ca/plumbers", both also behind the name of its source, "demo/12".
// sourceID chooses among sources, 0 = any. The error is an *UnknownTargetError or an
// *AmbiguousTargetError where those apply.
func (k *Reader) FindTarget(ctx context.Context, word string, sourceID int64) (int64, error) {
	name, err := k.ofSource(ctx, word, &sourceID)
	if err != nil {
		return 0, fmt.Errorf("find target %q: %w", word, err)
	}
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return k.targetByID(ctx, id, sourceID)
	}
	city, category, ok := strings.Cut(strings.ToLower(name), "/")
	if !ok {
		return 0, &UnknownTargetError{Word: word, Hint: "want an id, or city/category like los-angeles-ca/plumbers"}
	}
	var ids []int64
	var sources []string
	err = k.db.Each(ctx, targetBySlugs, []any{city, category, sourceID}, func(rows *sql.Rows) error {
		var id int64
		var source string
		err := rows.Scan(&id, &source)
		ids, sources = append(ids, id), append(sources, source)
		return err
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("find target %q: %w", word, err)
	case len(ids) == 0:
		return 0, k.unknownTarget(ctx, word, city, category)
	case len(ids) > 1:
		return 0, &AmbiguousTargetError{Word: word, Sources: sources}
	}
	return ids[0], nil
}

// ofSource cuts the name of a source off a word like "demo/12", and sets id to it; a word
// that begins with no source, or with another than id chooses, is returned whole.
func (k *Reader) ofSource(ctx context.Context, word string, id *int64) (string, error) {
	name, rest, ok := strings.Cut(word, "/")
	if !ok || name == "" || rest == "" {
		return word, nil
	}
	known, err := k.SourceID(ctx, name)
	if err != nil || known == 0 || *id != 0 && *id != known {
		return word, err
	}
	*id = known
	return rest, nil
}

// ListingName is what a listing is called by: its source and the source's own id.
type ListingName struct {
	SourceID int64
	Source   string
	ID       string
	Company  int64
}

const listingsByID = `
	SELECT s.id, s.name, l.listing_id, l.company_id FROM sources s CROSS JOIN listings l ON l.source_id = s.id AND l.listing_id = ?1
	WHERE ?2 = 0 OR s.id = ?2 ORDER BY s.name`

// FindListings returns the listings that word names, "400110158" or "demo/400110158": one
// of each source that has it. sourceID chooses among sources, 0 = any.
func (k *Reader) FindListings(ctx context.Context, word string, sourceID int64) (all []ListingName, err error) {
	id, of := word, sourceID
	for range 2 { // an id may hold a slash itself: the whole word first
		err = k.db.Each(ctx, listingsByID, []any{id, of}, func(rows *sql.Rows) error {
			var l ListingName
			err := rows.Scan(&l.SourceID, &l.Source, &l.ID, &l.Company)
			all = append(all, l)
			return err
		})
		if err == nil && len(all) == 0 {
			id, err = k.ofSource(ctx, word, &of)
		}
		if err != nil || len(all) > 0 {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find listing %q: %w", word, err)
	}
	return all, nil
}

func (k *Reader) targetByID(ctx context.Context, id, sourceID int64) (int64, error) {
	found := false
	err := k.db.Each(ctx, targetByID, []any{id, sourceID}, func(*sql.Rows) error { found = true; return nil })
	if err == nil && !found {
		err = &UnknownTargetError{Word: strconv.FormatInt(id, 10), Hint: "`ypcrawl targets list` shows those there are"}
	}
	return id, err
}

// unknownTarget names the words that were probably meant.
func (k *Reader) unknownTarget(ctx context.Context, word, city, category string) error {
	near, known, err := k.nearest(ctx, citySlugs, city)
	if err != nil {
		return err
	}
	nearCategory, knownCategory, err := k.nearest(ctx, categorySlugs, category)
	if err != nil {
		return err
	}
	e := &UnknownTargetError{Word: word}
	switch {
	case known && knownCategory:
		e.Hint = "it was not planned; `ypcrawl plan` adds targets"
	case near != "" && nearCategory != "":
		e.Hint = fmt.Sprintf("did you mean %s/%s?", near, nearCategory)
	case known || near != "":
		e.Hint = fmt.Sprintf("nothing was planned for the category %q", category)
	default:
		e.Hint = fmt.Sprintf("nothing was planned for the place %q", city)
	}
	return e
}

// nearest returns the word of a query that word was meant to be, and whether it is
// that very word.
func (k *Reader) nearest(ctx context.Context, query, word string) (near string, known bool, err error) {
	var all []string
	err = k.db.Each(ctx, query, nil, func(rows *sql.Rows) error {
		var s string
		err := rows.Scan(&s)
		known = known || s == word
		all = append(all, s)
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("find %q: %w", word, err)
	}
	if known {
		return word, true, nil
	}
	near, _ = yp.Nearest(word, all)
	return near, false, nil
}

const sourceID = `SELECT id FROM sources WHERE name = ?`

// SourceID returns the id of a source; 0 when the database does not have it.
func (k *Reader) SourceID(ctx context.Context, name string) (id int64, err error) {
	err = k.db.Read().QueryRowContext(ctx, sourceID, name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}
