package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
)

const (
	profileColumns = `
	SELECT s.id, s.name, ifnull(p.status, ''), ifnull(p.error_class, ''), ifnull(p.samples_1h, 0), ifnull(p.success_rate_1h, 0),
		ifnull(p.samples_24h, 0), ifnull(p.success_rate_24h, 0), p.latency_p50_ms, p.latency_p95_ms, ifnull(p.dominant_class, ''),
		ifnull(p.burst_429, 0), p.failing_since, p.quarantine_until, ifnull(p.cooldown_minutes, 0), p.probe_until, p.updated_at
	FROM sources s LEFT JOIN connectivity_profiles p ON p.source_id = s.id `
	selectProfile  = profileColumns + `WHERE s.id = ?`
	selectProfiles = profileColumns + `WHERE p.source_id IS NOT NULL ORDER BY s.name`
	upsertProfile  = `
	INSERT INTO connectivity_profiles (source_id, status, error_class, samples_1h, success_rate_1h, samples_24h, success_rate_24h,
		latency_p50_ms, latency_p95_ms, dominant_class, burst_429, failing_since, quarantine_until, cooldown_minutes, probe_until, updated_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
	ON CONFLICT (source_id) DO UPDATE SET status = ?2, error_class = ?3, samples_1h = ?4, success_rate_1h = ?5, samples_24h = ?6,
		success_rate_24h = ?7, latency_p50_ms = ?8, latency_p95_ms = ?9, dominant_class = ?10, burst_429 = ?11, failing_since = ?12,
		quarantine_until = ?13, cooldown_minutes = ?14, probe_until = ?15, updated_at = ?16`
)

func scanProfile(r row) (p Profile, err error) {
	var minutes int
	err = r.Scan(&p.SourceID, &p.Source, &p.Status, &p.Class, &p.Samples1h, &p.Rate1h, &p.Samples24h, &p.Rate24h,
		millis{&p.P50}, millis{&p.P95}, &p.Dominant, &p.Burst, clock{&p.FailingSince}, clock{&p.QuarantineUntil}, &minutes,
		clock{&p.ProbeUntil}, clock{&p.UpdatedAt})
	p.Cooldown = time.Duration(minutes) * time.Minute
	return p, err
}

// loadProfile reads the profile of a source; one never rolled up has no status.
func loadProfile(tx *store.Tx, sourceID int64) (Profile, error) {
	rows, err := tx.Query(selectProfile, sourceID)
	if err != nil {
		return Profile{}, err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return Profile{}, errors.Join(rows.Err(), fmt.Errorf("source %d: %w", sourceID, ErrNoSource))
	}
	p, err := scanProfile(rows)
	return p, errors.Join(err, rows.Err())
}

func saveProfile(tx *store.Tx, p Profile) error {
	_, err := tx.Exec(upsertProfile, p.SourceID, string(p.Status), text(string(p.Class)), p.Samples1h, successRate(p.Rate1h, p.Samples1h),
		p.Samples24h, successRate(p.Rate24h, p.Samples24h), latency(p.P50, p.Samples1h), latency(p.P95, p.Samples1h), text(string(p.Dominant)),
		flag(p.Burst), stamp(p.FailingSince), stamp(p.QuarantineUntil), int(p.Cooldown/time.Minute), stamp(p.ProbeUntil), stamp(p.UpdatedAt))
	if err != nil {
		return fmt.Errorf("save connectivity profile of source %d: %w", p.SourceID, err)
	}
	return nil
}

// successRate writes a success rate; without samples there is none.
func successRate(rate float64, samples int) any {
	if samples == 0 {
		return nil
	}
	return rate
}

func latency(d time.Duration, samples int) any {
	if samples == 0 {
		return nil
	}
	return d.Milliseconds()
}

// Profiles returns the profiles of all sources that were ever rolled up, by name.
func (m *Monitor) Profiles(ctx context.Context) ([]Profile, error) {
	all, err := collect(ctx, m.db.Read(), scanProfile, selectProfiles)
	if err != nil {
		return nil, fmt.Errorf("read connectivity profiles: %w", err)
	}
	return all, nil
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, scan func(row) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// querier is the pool of readers, or one reading transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
