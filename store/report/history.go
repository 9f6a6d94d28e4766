package report

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// UnknownListingError says that nothing is known of a listing.
type UnknownListingError struct{ Source, ID string }

func (e *UnknownListingError) Error() string {
	return fmt.Sprintf("no listing %q of %s was ever seen", e.ID, e.Source)
}

// History is one listing with all that became of it, the oldest first.
type History struct {
	Source    string    `json:"source"`
	ListingID string    `json:"listing_id"`
	Name      string    `json:"name"` // as it is now, like the rest; empty = rejected ever since
	City      string    `json:"city"`
	State     string    `json:"state"`
	CompanyID *int64    `json:"company_id"`
	FirstSeen time.Time `json:"first_seen_at,omitzero"`
	LastSeen  time.Time `json:"last_seen_at,omitzero"`
	Gone      time.Time `json:"gone_at,omitzero"`
	Changes   []Change  `json:"history"`
}

const showListing = `
	SELECT l.id, l.name, ifnull(l.city, ''), ifnull(l.state, ''), l.company_id, l.first_seen_at, l.last_seen_at, l.gone_at
	FROM listings l WHERE l.source_id = ? AND l.listing_id = ?`

// History returns the history of the listing that a source knows by id. The error is an
// *UnknownListingError when there is none.
func (k *Reader) History(ctx context.Context, source, id string) (*History, error) {
	h := &History{Source: source, ListingID: id, Changes: []Change{}}
	src, err := k.SourceID(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("look for the source %s: %w", source, err)
	}
	var row int64
	err = k.db.Read().QueryRowContext(ctx, showListing, src, id).
		Scan(&row, &h.Name, &h.City, &h.State, &h.CompanyID, at(&h.FirstSeen), at(&h.LastSeen), at(&h.Gone))
	known := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("look at listing %s of %s: %w", id, source, err)
	}
	err = k.eachChange(ctx, listHistory, []any{row, src, id}, func(c *Change) error {
		h.Changes = append(h.Changes, *c)
		return nil
	})
	if err == nil && !known && len(h.Changes) == 0 {
		err = &UnknownListingError{Source: source, ID: id}
	}
	return h, err
}

// UnknownRunError says that a word names no run, or several.
type UnknownRunError struct {
	Word string
	Hint string
}

func (e *UnknownRunError) Error() string { return fmt.Sprintf("no run %q: %s", e.Word, e.Hint) }

// RunMark is a run as a point in time.
type RunMark struct {
	ID      int64
	UUID    string
	Started time.Time
	Pass    time.Time // when its pass began, by an earlier run if that is before Started; zero = none
}

// minPrefix is the shortest beginning of a run's uuid that names it.
const minPrefix = 4

const (
	runByID   = `SELECT r.id, r.uuid, r.started_at, r.pass_began_at FROM runs r WHERE r.id = ?`
	runByUUID = `SELECT r.id, r.uuid, r.started_at, r.pass_began_at FROM runs r WHERE r.uuid GLOB ? LIMIT 2`
	lastRun   = `SELECT r.id, r.uuid, r.started_at, r.pass_began_at FROM runs r WHERE r.id = coalesce(
		(SELECT o.id FROM runs o WHERE o.outcome <> 'running' AND o.pages > 0 ORDER BY o.id DESC LIMIT 1),
		(SELECT o.id FROM runs o WHERE o.outcome <> 'running' ORDER BY o.id DESC LIMIT 1))`
)

func (k *Reader) runs(ctx context.Context, query string, args ...any) (found []RunMark, err error) {
	err = k.db.Each(ctx, query, args, func(rows *sql.Rows) error {
		var r RunMark
		err := rows.Scan(&r.ID, &r.UUID, at(&r.Started), at(&r.Pass))
		found = append(found, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for a run: %w", err)
	}
	return found, nil
}

// FindRun returns the run that word names: its number, or its uuid or the beginning
// of it, in any letter case. The error is an *UnknownRunError when there is none.
func (k *Reader) FindRun(ctx context.Context, word string) (RunMark, error) {
	if id, err := strconv.ParseInt(word, 10, 64); err == nil {
		if found, err := k.runs(ctx, runByID, id); err != nil || len(found) == 1 {
			return first(found), err
		}
	}
	prefix := strings.ToUpper(word)
	if strings.Trim(prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" || len(prefix) < minPrefix {
		return RunMark{}, &UnknownRunError{Word: word, Hint: "want its number, or the first letters of its uuid"}
	}
	found, err := k.runs(ctx, runByUUID, prefix+"*")
	switch {
	case err != nil:
		return RunMark{}, err
	case len(found) == 0:
		return RunMark{}, &UnknownRunError{Word: word, Hint: "no run has that number, and no uuid begins so"}
	case len(found) > 1:
		return RunMark{}, &UnknownRunError{Word: word, Hint: "several uuids begin so: give more of it"}
	}
	return found[0], nil
}

// LastFinishedRun returns the youngest run that has ended, one that read pages of results
// before one that had nothing to do; ok is false when none has.
func (k *Reader) LastFinishedRun(ctx context.Context) (r RunMark, ok bool, err error) {
	found, err := k.runs(ctx, lastRun)
	return first(found), len(found) == 1, err
}

func first(found []RunMark) RunMark {
	if len(found) == 0 {
		return RunMark{}
	}
	return found[0]
}
