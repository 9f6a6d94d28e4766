package health

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// readCounts is what the requests of the enabled sources say at ?1; ?2 is a day before, ?3 an hour,
// ?4 ten minutes. What counts is every request but robots.txt, our own deferrals, and those that a
// proxy itself failed: the index requests_rollup leaves these out and has all that is asked. A row dated
// in the future, left by a clock that was set back, does not count. The percentiles are the nearest rank:
// the smallest latency that so many of the samples do not exceed. A histogram is sorted sooner than samples.
const readCounts = `
	WITH bars AS MATERIALIZED (
		SELECT source_id, latency_ms, error_class, count(*) AS n, count(*) FILTER (WHERE outcome = 'success' AND parse_ok = 1) AS ok,
			count(*) FILTER (WHERE finished_at > ?4) AS recent
		FROM sources s CROSS JOIN requests ON source_id = s.id
		WHERE s.enabled = 1 AND finished_at > ?3 AND finished_at <= ?1 AND proxy_failed = 0 AND type <> 'robots' AND error_class IS NOT 'rate_limited'
		GROUP BY 1, 2, 3),
	ranks AS (
		SELECT *, sum(n) OVER (PARTITION BY source_id ORDER BY latency_ms) AS below, sum(n) OVER (PARTITION BY source_id) AS samples FROM bars),
	hour AS (
		SELECT source_id, sum(n) AS n, sum(ok) AS ok, min(latency_ms) FILTER (WHERE 100 * below >= 50 * samples) AS p50,
			min(latency_ms) FILTER (WHERE 100 * below >= 95 * samples) AS p95,
			sum(recent) AS recent, sum(recent) FILTER (WHERE error_class = 'http_429') AS limited
		FROM ranks GROUP BY 1),
	classes AS (SELECT source_id, error_class, sum(n) AS n FROM bars WHERE error_class IS NOT NULL GROUP BY 1, 2),
	failures AS (SELECT source_id, json_group_object(error_class, n) AS failures FROM classes GROUP BY 1),
	day AS ( -- the rest of it, so that no row is read twice
		SELECT source_id, count(*) AS n, count(*) FILTER (WHERE outcome = 'success' AND parse_ok = 1) AS ok FROM sources s CROSS JOIN requests ON source_id = s.id
		WHERE s.enabled = 1 AND finished_at > ?2 AND finished_at <= ?3 AND proxy_failed = 0 AND type <> 'robots' AND error_class IS NOT 'rate_limited'
		GROUP BY 1)
	SELECT s.id, ifnull(h.n, 0), ifnull(h.ok, 0), ifnull(h.n, 0) + ifnull(d.n, 0), ifnull(h.ok, 0) + ifnull(d.ok, 0), p50, p95,
		ifnull(failures, '{}'), ifnull(recent, 0), ifnull(limited, 0)
	FROM sources s LEFT JOIN hour h ON h.source_id = s.id LEFT JOIN failures f ON f.source_id = s.id LEFT JOIN day d ON d.source_id = s.id
	WHERE s.enabled = 1 ORDER BY s.id`

// RollUp reads the requests of the last 24 hours and rolls the profile of every
// enabled source, also of one without a sample; it counts on the figures over time (rollSeries). It
// returns the profiles as they are afterwards. Any number of processes may do so at once: a reading that
// another has overtaken is dropped.
func (m *Monitor) RollUp(ctx context.Context) ([]Profile, error) {
	readAt := m.db.Now()
	counts, err := m.counts(ctx, readAt)
	if err != nil {
		return nil, fmt.Errorf("roll up requests: %w", err)
	}
	profiles, err := m.roll(ctx, counts, readAt)
	if err != nil {
		return nil, fmt.Errorf("roll up: %w", err)
	}
	return profiles, m.RollSeries(ctx)
}

// roll rolls the profiles by counts that were read at readAt, in one transaction. One that
// somebody has rolled up after this reading stays as it is.
func (m *Monitor) roll(ctx context.Context, counts []sourceCounts, readAt time.Time) (profiles []Profile, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		profiles = make([]Profile, 0, len(counts))
		for _, c := range counts {
			p, err := loadProfile(tx, c.source)
			if overtaken := p.UpdatedAt.After(readAt) && !p.UpdatedAt.After(tx.At); err == nil && !overtaken {
				p = p.Rolled(c.Counts, tx.At)
				err = saveCounts(tx, p, c.Counts)
			}
			if err != nil {
				return err
			}
			profiles = append(profiles, p)
		}
		return correctClock(tx)
	})
	return profiles, err
}

type sourceCounts struct {
	source int64
	Counts
}

// counts reads what the enabled sources' requests say at now.
func (m *Monitor) counts(ctx context.Context, now time.Time) ([]sourceCounts, error) {
	at := []any{
		yp.FormatTime(now), yp.FormatTime(now.Add(-24 * time.Hour)), yp.FormatTime(now.Add(-time.Hour)),
		yp.FormatTime(now.Add(-10 * time.Minute)),
	}
	return store.All(m.db.Reader(ctx), readCounts, at, func(c *sourceCounts) []any {
		return []any{
			&c.source, &c.Samples1h, &c.OK1h, &c.Samples24h, &c.OK24h, millis(&c.P50), millis(&c.P95), (*classCounts)(&c.Failures),
			&c.Samples10m, &c.Limited10m,
		}
	})
}

// classCounts scans failures by class, as JSON.
type classCounts map[yp.ErrorClass]int

func (c *classCounts) Scan(value any) error {
	text, _ := value.(string)
	return json.Unmarshal([]byte(text), (*map[yp.ErrorClass]int)(c))
}

const (
	selectProfile = `
	SELECT s.id, ifnull(p.status, ''), ifnull(p.error_class, ''), p.failing_since, p.quarantine_until,
		ifnull(p.cooldown_minutes, 0), p.probe_until, p.updated_at
	FROM sources s LEFT JOIN connectivity_profiles p ON p.source_id = s.id
	WHERE s.id = ?`
	upsertProfile = `
	INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, cooldown_minutes,
		probe_until, updated_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
	ON CONFLICT (source_id) DO UPDATE SET status = ?2, error_class = ?3, failing_since = ?4, quarantine_until = ?5,
		cooldown_minutes = ?6, probe_until = ?7, updated_at = ?8`
	// Without samples nothing is known.
	updateCounts = `
	UPDATE connectivity_profiles SET samples_1h = ?2, success_rate_1h = CAST(?3 AS REAL) / nullif(?2, 0), samples_24h = ?4,
		success_rate_24h = CAST(?5 AS REAL) / nullif(?4, 0), latency_p50_ms = iif(?2 > 0, ?6, NULL), latency_p95_ms = iif(?2 > 0, ?7, NULL),
		dominant_class = ?8, burst_429 = ?9
	WHERE source_id = ?1`
)

// loadProfile reads the profile of a source; one never rolled up has no status.
func loadProfile(tx *store.Tx, sourceID int64) (p Profile, err error) {
	err = tx.Get(selectProfile, []any{sourceID}, &p.SourceID, &p.Status, &p.Class, store.Instant(&p.FailingSince),
		store.Instant(&p.QuarantineUntil), duration{&p.Cooldown, time.Minute}, store.Instant(&p.ProbeUntil), store.Instant(&p.UpdatedAt))
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("source %d: %w", sourceID, ErrNoSource)
	}
	return p, err
}

func saveProfile(tx *store.Tx, p Profile) error {
	err := tx.Run(upsertProfile, p.SourceID, string(p.Status), store.Text(string(p.Class)), stamp(p.FailingSince), stamp(p.QuarantineUntil),
		int(p.Cooldown/time.Minute), stamp(p.ProbeUntil), stamp(p.UpdatedAt))
	if err != nil {
		return fmt.Errorf("save connectivity profile of source %d: %w", p.SourceID, err)
	}
	return nil
}

// saveCounts saves a profile with the counts that it was rolled up by.
func saveCounts(tx *store.Tx, p Profile, c Counts) error {
	if err := saveProfile(tx, p); err != nil {
		return err
	}
	return tx.Run(updateCounts, p.SourceID, c.Samples1h, c.OK1h, c.Samples24h, c.OK24h, c.P50.Milliseconds(), c.P95.Milliseconds(),
		store.Text(string(c.Dominant())), flag(c.Burst()))
}

// Probe is the right to ask a quarantined source once.
type Probe struct {
	SourceID int64
	Until    time.Time // then somebody else may probe
}

// A source that is disabled, paused or held is not probed: it has other reasons not
// to be asked.
const sourceOpen = `
	SELECT NOT EXISTS (SELECT 1 FROM v_source_closures WHERE source_id = ?1 AND state <> 'quarantined' AND until > ?2)`

// BeginProbe takes the one probe of a source whose cooldown is over: true for one
// caller among all workers and processes, until that probe has ended or ProbeTime
// has passed. EndProbe must follow.
func (m *Monitor) BeginProbe(ctx context.Context, sourceID int64) (Probe, bool, error) {
	var probe Probe
	err := m.db.Write(ctx, func(tx *store.Tx) error {
		probe = Probe{}
		stored, err := loadProfile(tx, sourceID)
		if err != nil || stored.Status != Quarantined {
			return err
		}
		p := stored.sane(tx.At)
		var open bool
		if err := tx.Get(sourceOpen, []any{sourceID, tx.Now}, &open); err != nil {
			return err
		}
		if open && p.probeDue(tx.At) {
			p.ProbeUntil = tx.At.Add(ProbeTime)
			probe = Probe{sourceID, p.ProbeUntil}
		}
		if p == stored {
			return nil
		}
		return saveProfile(tx, p)
	})
	if err != nil {
		return Probe{}, false, fmt.Errorf("begin probe: %w", err)
	}
	return probe, probe.SourceID != 0, nil
}

// EndProbe writes the outcome of a probe, and of a failed one its class. It
// returns the profile as it is afterwards, and ErrProbeLost with it when the probe
// was no longer the source's.
func (m *Monitor) EndProbe(ctx context.Context, probe Probe, ok bool, class yp.ErrorClass) (p Profile, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) (err error) {
		if p, err = loadProfile(tx, probe.SourceID); err != nil {
			return err
		}
		if p.Status != Quarantined || !p.ProbeUntil.Equal(probe.Until) {
			return ErrProbeLost
		}
		p = p.Probed(ok, class, tx.At)
		return saveProfile(tx, p)
	})
	if err != nil {
		return p, fmt.Errorf("end probe of source %d: %w", probe.SourceID, err)
	}
	return p, nil
}
