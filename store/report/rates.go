package report

import (
	"context"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// RequestRate is what the requests of a source came to in a minute or an hour.
type RequestRate struct {
	Source   string
	At       time.Time // begin of the span
	Requests int64     // all that the health of a source counts
	Pages    int64     // of them answered with a page that could be read
	Failures map[yp.ErrorClass]int64
	P50, P95 time.Duration // 0 = no samples
}

const requestRates = `
	SELECT source, began_at, requests, pages, p50_ms, p95_ms, dns, tls, timeout, connection_refused, http_403, http_429, http_5xx,
		parse_error, auth_error, cf_challenge, unknown
	FROM request_spans_and_latency
	WHERE (?1 = 0 OR source_id = ?1) AND span = ?2 AND began_at >= ?3 AND began_at <= ?4 ORDER BY began_at, source`

// countedClasses are the classes that the figures have a column of, in the order of the columns.
var countedClasses = [...]yp.ErrorClass{
	yp.ClassDNS, yp.ClassTLS, yp.ClassTimeout, yp.ClassConnectionRefused, yp.ClassHTTP403, yp.ClassHTTP429,
	yp.ClassHTTP5xx, yp.ClassParseError, yp.ClassAuthError, yp.ClassChallenge, yp.ClassUnknown,
}

// Rates returns what requests came to by source and span, which is a minute (kept for two days) or an hour (kept for two
// years), in the spans that begin at since or later. A span without requests is left out, the oldest comes first. Of the scope only the
// source counts: requests have no state.
func (k *Reader) Rates(ctx context.Context, scope store.Scope, span time.Duration, since time.Time) ([]RequestRate, error) {
	of := "minute"
	if span >= time.Hour {
		of = "hour"
	}
	type row struct {
		RequestRate
		p50, p95 *float64
		failures [len(countedClasses)]int64
	}
	args := []any{scope.SourceID, of, yp.FormatTime(since), yp.FormatTime(k.db.Now())}
	rows, err := list(ctx, k, "requests by time", requestRates, args, func(r *row) []any {
		into := []any{&r.Source, at(&r.At), &r.Requests, &r.Pages, &r.p50, &r.p95}
		for i := range r.failures {
			into = append(into, &r.failures[i])
		}
		return into
	})
	rates := make([]RequestRate, len(rows))
	for i, r := range rows {
		r.P50, r.P95, r.Failures = milliseconds(r.p50), milliseconds(r.p95), map[yp.ErrorClass]int64{}
		for c, n := range r.failures {
			if n > 0 {
				r.Failures[countedClasses[c]] = n
			}
		}
		rates[i] = r.RequestRate
	}
	return rates, err
}

// milliseconds is 0 where nothing is known.
func milliseconds(ms *float64) time.Duration {
	if ms == nil {
		return 0
	}
	return time.Duration(*ms) * time.Millisecond
}

// PassChange is what a pass of a source brought, by all its runs.
type PassChange struct {
	Source                                 string
	Began                                  time.Time
	New, Changed, Dropped, Restored, Pages int64
}

const passChanges = `
	SELECT s.name, x.began_at, sum(x.new), sum(x.changed), sum(x.dropped), sum(x.restored), sum(x.pages)
	FROM sources s CROSS JOIN run_passes x ON x.source_id = s.id
	WHERE (?1 = 0 OR s.id = ?1) AND x.began_at >= ?2 GROUP BY x.source_id, x.began_at, x.selection ORDER BY x.began_at, s.name`

// PassChanges returns what the passes brought that began at since or later, the oldest first; those of runs whose rows are
// deleted are left out. Of the scope only the source counts.
func (k *Reader) PassChanges(ctx context.Context, scope store.Scope, since time.Time) ([]PassChange, error) {
	return list(ctx, k, "changes by pass", passChanges, []any{scope.SourceID, yp.FormatTime(since)}, func(p *PassChange) []any {
		return []any{&p.Source, at(&p.Began), &p.New, &p.Changed, &p.Dropped, &p.Restored, &p.Pages}
	})
}

// RunChange is what a run brought.
type RunChange struct {
	Run                                    int64
	Began                                  time.Time
	New, Changed, Dropped, Restored, Pages int64
}

const (
	runChanges = `
	SELECT id, started_at, listings_new, listings_changed, listings_dropped, listings_restored, pages
	FROM (SELECT * FROM runs ORDER BY id DESC LIMIT ?1) ORDER BY id`
	// Of a run of several sources the part of one.
	runChangesOf = `
	SELECT r.id, r.started_at, x.new, x.changed, x.dropped, x.restored, x.pages
	FROM (SELECT * FROM run_passes WHERE source_id = ?2 ORDER BY run_id DESC LIMIT ?1) x CROSS JOIN runs r ON r.id = x.run_id ORDER BY r.id`
)

// RunChanges returns what the last runs brought, the oldest of them first; with a source in the scope, what they brought of it.
func (k *Reader) RunChanges(ctx context.Context, scope store.Scope, last int) ([]RunChange, error) {
	query, args := runChanges, []any{atMost(last)}
	if scope.SourceID != 0 {
		query, args = runChangesOf, append(args, scope.SourceID)
	}
	return list(ctx, k, "changes by run", query, args, func(r *RunChange) []any {
		return []any{&r.Run, at(&r.Began), &r.New, &r.Changed, &r.Dropped, &r.Restored, &r.Pages}
	})
}
