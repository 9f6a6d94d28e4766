package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

var (
	// ErrProbeLost means that the probe is no longer the source's: it took longer
	// than ProbeTime and another has begun, or the quarantine has ended meanwhile.
	// Its outcome was not written.
	ErrProbeLost = errors.New("too late: another process tests the source")
	// ErrNoSource means that no source has that id.
	ErrNoSource = errors.New("no such source")
)

// Monitor keeps how sources fare in the database. It holds no state of its own
// and is safe for concurrent use, by any number of processes on one file.
type Monitor struct{ db *store.DB }

// New returns the monitor of a database.
func New(db *store.DB) *Monitor { return &Monitor{db: db} }

// stamp writes a time; zero is NULL.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return yp.FormatTime(t)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// duration scans a number of units; NULL is 0.
type duration struct {
	d    *time.Duration
	unit time.Duration
}

func (s duration) Scan(value any) error {
	var n sql.NullInt64
	err := n.Scan(value)
	*s.d = time.Duration(n.Int64) * s.unit
	return err
}

func millis(d *time.Duration) duration { return duration{d, time.Millisecond} }

const (
	// AuthPause is how long a source pauses that asks for credentials (401, 407).
	AuthPause = 30 * time.Minute
	// maxPause bounds a pause of which the row does not say how long it was to be.
	maxPause = 6 * time.Hour
)

const (
	// The first reason to wait for an operator stands.
	pauseForGood = `
	UPDATE sources SET auto_disabled = 1, paused_until = NULL, paused_code = ?, paused_reason = ?, updated_at = ?
	WHERE id = ? AND auto_disabled = 0`
	pauseUntil = `
	UPDATE sources SET paused_until = ?1, paused_code = ?2, paused_reason = ?3, updated_at = ?4, paused_ms = ?6
	WHERE id = ?5 AND auto_disabled = 0 AND ifnull(paused_until, '') < ?1`
)

// Pause stops a source by itself for AuthPause; code and reason are shown. A pause in force
// stays, and one that waits for an operator is not replaced.
func (m *Monitor) Pause(ctx context.Context, sourceID int64, code yp.ErrorCode, reason string) error {
	return m.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Run(pauseUntil, stamp(tx.At.Add(AuthPause)), string(code), reason, tx.Now, sourceID, AuthPause.Milliseconds()); err != nil {
			return fmt.Errorf("pause source %d for %s: %w", sourceID, code, err)
		}
		return nil
	})
}

const setEnabled = `UPDATE sources SET enabled = ?, updated_at = ? WHERE name = ?`

// SetEnabled is the operator's word. Enabling a source, also one that is enabled,
// takes back what was set automatically: its pause, its quarantine, its penalties
// and its strikes (trigger sources_enabled). found reports whether there is such a
// source.
func (m *Monitor) SetEnabled(ctx context.Context, name string, enabled bool) (found bool, err error) {
	found, err = m.change(ctx, setEnabled, flag(enabled), yp.FormatTime(m.db.Now()), name)
	if err != nil {
		return false, fmt.Errorf("enable or disable source %s: %w", name, err)
	}
	return found, nil
}

// change runs one statement and reports whether it changed a row.
func (m *Monitor) change(ctx context.Context, query string, args ...any) (found bool, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Changed(query, args...)
		found = n > 0
		return err
	})
	return found && err == nil, err
}

// mendable are the times that only a clock which was set back since can have left further
// ahead than they were when they were set, and how long each was then, in seconds; where a
// row does not say, the most that it may have been.
var mendable = [...]struct{ table, column, seconds string }{
	{"sources", "paused_until", fmt.Sprintf("ifnull(paused_ms, %d) / 1000.0", maxPause.Milliseconds())},
	{"hosts", "held_until", fmt.Sprintf("ifnull(held_ms, iif(held_for = 'penalty', %d, %d)) / 1000.0",
		MaxPenalty.Milliseconds(), MaxHold.Milliseconds())},
	{"hosts", "floor_at", "0"},
	{"connectivity_profiles", "quarantine_until", "cooldown_minutes * 60"},
	{"proxies", "cooldown_until", fmt.Sprint(yp.ProxyRest.Seconds())},
}

// corrections writes a statement about the times of mendable that end later than if they began
// now: their table, their column, and that end. The statements look like
//
//	SELECT EXISTS (SELECT 1 FROM hosts WHERE floor_at > strftime('%Y-%m-%dT%H:%M:%fZ', ?1, (0) || ' seconds')) OR EXISTS (...)
//	UPDATE hosts SET floor_at = strftime(...) WHERE floor_at > strftime(...)
func corrections(format string) (queries []string) {
	for _, m := range mendable {
		end := `strftime('%Y-%m-%dT%H:%M:%fZ', ?1, (` + m.seconds + `) || ' seconds')`
		queries = append(queries, fmt.Sprintf(format, m.table, m.column, end))
	}
	return queries
}

var (
	findAhead    = `SELECT ` + strings.Join(corrections(`EXISTS (SELECT 1 FROM %s WHERE %s > %s)`), ` OR `)
	correctAhead = corrections(`UPDATE %[1]s SET %[2]s = %[3]s WHERE %[2]s > %[3]s`)
)

// CorrectClock cuts the pauses, holds and quarantines that a clock which was set back would
// make longer than they were to be, and the rests of proxies: views and claims compare
// their ends with the clock as they are. It writes only if there are any.
func (m *Monitor) CorrectClock(ctx context.Context) error {
	var ahead bool
	err := m.db.Read().QueryRowContext(ctx, findAhead, yp.FormatTime(m.db.Now())).Scan(&ahead)
	if err == nil && ahead {
		err = m.db.Write(ctx, correctClock)
	}
	if err != nil {
		return fmt.Errorf("cut times that are too far ahead: %w", err)
	}
	return nil
}

func correctClock(tx *store.Tx) error {
	for _, query := range correctAhead {
		if err := tx.Run(query, tx.Now); err != nil {
			return err
		}
	}
	return nil
}

const (
	selectUnread = `SELECT ifnull((SELECT value FROM meta WHERE key = 'unread:' || ?), '')`
	saveUnread   = `INSERT INTO meta (key, value) VALUES ('unread:' || ?1, ?2) ON CONFLICT DO UPDATE SET value = ?2`
	forgetUnread = `DELETE FROM meta WHERE key = 'unread:' || ?1`
)

// NoteUnread notes that a run could not read many cards of a source, why and which, for whoever asks about the source;
// "" = it could.
func (m *Monitor) NoteUnread(ctx context.Context, source int64, text string) error {
	var noted string
	err := m.db.Read().QueryRowContext(ctx, selectUnread, source).Scan(&noted)
	if err == nil && noted != text {
		err = m.db.Write(ctx, func(tx *store.Tx) error {
			if text == "" {
				return tx.Run(forgetUnread, source)
			}
			return tx.Run(saveUnread, source, text)
		})
	}
	if err != nil {
		return fmt.Errorf("note unreadable cards: %w", err)
	}
	return nil
}
