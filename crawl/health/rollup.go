package health

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// What counts is every request but robots.txt (types are an enumeration, and one
// comparison is cheaper than five), our own deferrals, and those that a proxy
// itself failed: the index leaves these out. Each query reads a stretch of that
// index, requests_rollup, and nothing else; a row dated in the future, left by a
// clock that was set back, is in none of the stretches.
const (
	counted = `
	FROM requests WHERE source_id = ?1 AND finished_at > ?2 AND finished_at <= ?3
		AND proxy_failed = 0 AND type <> 'robots' AND error_class IS NOT 'rate_limited'`
	countSamples = `SELECT count(*), count(*) FILTER (WHERE outcome = 'success' AND parse_ok = 1)` + counted
	countLimited = `SELECT count(*), count(*) FILTER (WHERE error_class = 'http_429')` + counted
	countOthers  = `SELECT ifnull(http_status, 0)` + counted + ` AND error_class = 'unknown' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1`
	countClasses = `SELECT error_class, count(*)` + counted + ` AND outcome = 'failure' GROUP BY error_class`
	// Sorting a histogram beats sorting samples, and it gives the hour's sums in the same pass.
	countLatencies = `
	SELECT latency_ms, count(*), count(*) FILTER (WHERE outcome = 'success' AND parse_ok = 1)` + counted + `
	GROUP BY latency_ms ORDER BY latency_ms`

	enabledSources = `SELECT id FROM sources WHERE enabled = 1 ORDER BY id`
)

// RollUp reads the requests of the last 24 hours and rolls the profile of every
// enabled source, also of one without a sample. It returns the profiles as they
// are afterwards. Any number of processes may do so at once: a reading that
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
	return profiles, nil
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
				err = saveProfile(tx, p)
			}
			if err != nil {
				return err
			}
			profiles = append(profiles, p)
		}
		return mendClock(tx)
	})
	return profiles, err
}

type sourceCounts struct {
	source int64
	Counts
}

// counts reads what the enabled sources' requests say at now, in one snapshot.
func (m *Monitor) counts(ctx context.Context, now time.Time) (all []sourceCounts, err error) {
	tx, err := m.db.Read().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	ids, err := store.Column[int64](tx, enabledSources)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		c, err := countsOf(ctx, tx, id, now)
		if err != nil {
			return nil, fmt.Errorf("source %d: %w", id, err)
		}
		all = append(all, sourceCounts{id, c})
	}
	return all, nil
}

// bar is one bar of the histogram of latencies.
type bar struct {
	latency     time.Duration
	samples, ok int
}

// countsOf reads the counts of one source.
func countsOf(ctx context.Context, tx *sql.Tx, source int64, now time.Time) (c Counts, err error) {
	hour := now.Add(-time.Hour)
	between := func(from, to time.Time) []any { return []any{source, yp.FormatTime(from), yp.FormatTime(to)} }
	bars, err := store.All(tx, countLatencies, between(hour, now),
		func(b *bar) []any { return []any{millis(&b.latency), &b.samples, &b.ok} })
	if err != nil {
		return c, err
	}
	for _, b := range bars {
		c.Samples1h += b.samples
		c.OK1h += b.ok
	}
	c.P50, c.P95 = percentile(bars, c.Samples1h, 50), percentile(bars, c.Samples1h, 95)
	type classCount struct {
		class yp.ErrorClass
		n     int
	}
	classes, err := store.All(tx, countClasses, between(hour, now),
		func(c *classCount) []any { return []any{&c.class, &c.n} })
	if err != nil {
		return c, err
	}
	c.Failures = map[yp.ErrorClass]int{}
	for _, f := range classes {
		c.Failures[f.class] = f.n
	}
	if c.mostFrequent() == yp.ClassUnknown {
		if err := tx.QueryRowContext(ctx, countOthers, between(hour, now)...).Scan(&c.OtherStatus); err != nil {
			return c, err
		}
	}
	burst := between(now.Add(-10*time.Minute), now)
	err = tx.QueryRowContext(ctx, countLimited, burst...).Scan(&c.Samples10m, &c.Limited10m)
	if err != nil {
		return c, err
	}
	// The rest of the day, so that no row is read twice.
	err = tx.QueryRowContext(ctx, countSamples, between(now.Add(-24*time.Hour), hour)...).Scan(&c.Samples24h, &c.OK24h)
	c.Samples24h += c.Samples1h
	c.OK24h += c.OK1h
	return c, err
}

// percentile is the nearest rank: the smallest latency that at least percent of
// the samples do not exceed.
func percentile(bars []bar, samples, percent int) time.Duration {
	left := (samples*percent + 99) / 100
	for _, b := range bars {
		if left -= b.samples; left <= 0 {
			return b.latency
		}
	}
	return 0
}

const (
	profileColumns = `
	SELECT s.id, s.name, ifnull(p.status, ''), ifnull(p.error_class, ''), ifnull(p.samples_1h, 0), ifnull(p.success_rate_1h, 0),
		ifnull(p.samples_24h, 0), ifnull(p.success_rate_24h, 0), p.latency_p50_ms, p.latency_p95_ms, ifnull(p.dominant_class, ''),
		ifnull(p.burst_429, 0), p.failing_since, p.quarantine_until, ifnull(p.cooldown_minutes, 0), p.probe_until, p.updated_at
	FROM sources s LEFT JOIN connectivity_profiles p ON p.source_id = s.id `
	selectProfile = profileColumns + `WHERE s.id = ?`
	upsertProfile = `
	INSERT INTO connectivity_profiles (source_id, status, error_class, samples_1h, success_rate_1h, samples_24h, success_rate_24h,
		latency_p50_ms, latency_p95_ms, dominant_class, burst_429, failing_since, quarantine_until, cooldown_minutes, probe_until, updated_at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
	ON CONFLICT (source_id) DO UPDATE SET status = ?2, error_class = ?3, samples_1h = ?4, success_rate_1h = ?5, samples_24h = ?6,
		success_rate_24h = ?7, latency_p50_ms = ?8, latency_p95_ms = ?9, dominant_class = ?10, burst_429 = ?11, failing_since = ?12,
		quarantine_until = ?13, cooldown_minutes = ?14, probe_until = ?15, updated_at = ?16`
)

func (p *Profile) columns() []any {
	return []any{
		&p.SourceID, &p.Source, &p.Status, &p.Class, &p.Samples1h, &p.Rate1h, &p.Samples24h, &p.Rate24h,
		millis(&p.P50), millis(&p.P95), &p.Dominant, &p.Burst,
		store.Instant(&p.FailingSince),
		store.Instant(&p.QuarantineUntil),
		duration{&p.Cooldown, time.Minute},
		store.Instant(&p.ProbeUntil),
		store.Instant(&p.UpdatedAt),
	}
}

// loadProfile reads the profile of a source; one never rolled up has no status.
func loadProfile(tx *store.Tx, sourceID int64) (p Profile, err error) {
	err = tx.Get(selectProfile, []any{sourceID}, p.columns()...)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("source %d: %w", sourceID, ErrNoSource)
	}
	return p, err
}

func saveProfile(tx *store.Tx, p Profile) error {
	err := tx.Run(upsertProfile, p.SourceID, string(p.Status), store.Text(string(p.Class)),
		p.Samples1h, ofSamples(p.Samples1h, p.Rate1h), p.Samples24h, ofSamples(p.Samples24h, p.Rate24h),
		ofSamples(p.Samples1h, p.P50.Milliseconds()), ofSamples(p.Samples1h, p.P95.Milliseconds()),
		store.Text(string(p.Dominant)), flag(p.Burst), stamp(p.FailingSince), stamp(p.QuarantineUntil),
		int(p.Cooldown/time.Minute), stamp(p.ProbeUntil), stamp(p.UpdatedAt))
	if err != nil {
		return fmt.Errorf("save connectivity profile of source %d: %w", p.SourceID, err)
	}
	return nil
}

// ofSamples writes what the samples say; without samples that is nothing.
func ofSamples(samples int, value any) any {
	if samples == 0 {
		return nil
	}
	return value
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
