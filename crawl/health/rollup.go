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

// roll rolls the profiles by counts that were read at readAt, in one transaction.
func (m *Monitor) roll(ctx context.Context, counts []sourceCounts, readAt time.Time) (profiles []Profile, err error) {
	err = m.db.Write(ctx, func(tx *store.Tx) error {
		profiles = make([]Profile, 0, len(counts))
		for _, c := range counts {
			p, err := rollUp(tx, c, readAt)
			if err != nil {
				return err
			}
			profiles = append(profiles, p)
		}
		return mendClock(tx)
	})
	return profiles, err
}

// rollUp takes one step, unless somebody has rolled up after this reading.
func rollUp(tx *store.Tx, c sourceCounts, readAt time.Time) (Profile, error) {
	p, err := loadProfile(tx, c.source)
	if err != nil {
		return p, err
	}
	if p.UpdatedAt.After(readAt) && !p.UpdatedAt.After(tx.At) {
		return p, nil
	}
	p = p.Rolled(c.Counts, now(tx))
	return p, saveProfile(tx, p)
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
	ids, err := collect(ctx, tx, func(r row) (id int64, err error) { return id, r.Scan(&id) }, enabledSources)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		c, err := reading{ctx, tx, id, now}.counts()
		if err != nil {
			return nil, fmt.Errorf("source %d: %w", id, err)
		}
		all = append(all, sourceCounts{id, c})
	}
	return all, nil
}

// reading reads the counts of one source.
type reading struct {
	ctx    context.Context //nolint:containedctx // lives for one call
	q      querier
	source int64
	now    time.Time
}

func (r reading) counts() (c Counts, err error) {
	hour, day := r.now.Add(-time.Hour), r.now.Add(-24*time.Hour)
	if err := r.latencies(&c, hour); err != nil {
		return c, err
	}
	if c.Failures, err = r.classes(hour); err != nil {
		return c, err
	}
	if c.mostFrequent() == yp.ClassUnknown {
		err := r.q.QueryRowContext(r.ctx, countOthers, r.args(hour, r.now)...).Scan(&c.OtherStatus)
		if err != nil {
			return c, err
		}
	}
	if c.Samples10m, c.Limited10m, err = r.pair(countLimited, r.now.Add(-10*time.Minute), r.now); err != nil {
		return c, err
	}
	// The rest of the day, so that no row is read twice.
	c.Samples24h, c.OK24h, err = r.pair(countSamples, day, hour)
	c.Samples24h += c.Samples1h
	c.OK24h += c.OK1h
	return c, err
}

func (r reading) args(from, to time.Time) []any {
	return []any{r.source, yp.FormatTime(from), yp.FormatTime(to)}
}

func (r reading) pair(query string, from, to time.Time) (a, b int, err error) {
	err = r.q.QueryRowContext(r.ctx, query, r.args(from, to)...).Scan(&a, &b)
	return a, b, err
}

func (r reading) classes(from time.Time) (map[yp.ErrorClass]int, error) {
	type classCount struct {
		class yp.ErrorClass
		n     int
	}
	rows, err := collect(r.ctx, r.q, func(r row) (c classCount, err error) { return c, r.Scan(&c.class, &c.n) },
		countClasses, r.args(from, r.now)...)
	all := make(map[yp.ErrorClass]int, len(rows))
	for _, c := range rows {
		all[c.class] = c.n
	}
	return all, err
}

// bar is one bar of the histogram of latencies.
type bar struct {
	latency time.Duration
	samples int
	ok      int
}

func (r reading) latencies(c *Counts, from time.Time) error {
	bars, err := collect(r.ctx, r.q, func(r row) (b bar, err error) { return b, r.Scan(millis{&b.latency}, &b.samples, &b.ok) },
		countLatencies, r.args(from, r.now)...)
	for _, b := range bars {
		c.Samples1h += b.samples
		c.OK1h += b.ok
	}
	c.P50, c.P95 = percentile(bars, c.Samples1h, 50), percentile(bars, c.Samples1h, 95)
	return err
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
