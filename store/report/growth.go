package report

import (
	"context"
	"time"

	"ypcrawl/yp"
)

// Growth is what one needs to say how large a database will be when what is planned is done.
type Growth struct {
	Targets     int64 // all rows
	Pages       int64 // read by the crawls that the targets are in, or were last
	LoggedPages int64 // of every kind, committed by the runs since the oldest log
	Requests    int64 // rows
	Attempts    int64 // rows
	StepBytes   int64 // of the steps of an attempt, on average of the last ones

	RequestDays float64 // from the oldest request that is kept to the newest

	kinds []growthKind
}

// growthKind is of the targets of a source and a kind.
type growthKind struct {
	kind           yp.Kind
	targets, pages float64 // not crawled yet, and how many pages one has
	read           float64 // pages, as Growth.Pages
}

const (
	growthTotals = `
	SELECT (SELECT ifnull(sum(targets), 0) FROM target_totals), (SELECT ifnull(sum(pages), 0) FROM target_totals),
		(SELECT ifnull(sum(pages), 0) FROM runs WHERE heartbeat_at >= ?1), ifnull((SELECT max(id) FROM requests) - (SELECT min(id) FROM requests) + 1, 0), ifnull((SELECT max(id) FROM crawl_attempts) - (SELECT min(id) FROM crawl_attempts) + 1, 0),
		(SELECT cast(ifnull(avg(length(ifnull(metadata, ''))), 0) AS INTEGER) FROM crawl_attempts WHERE id > (SELECT max(id) FROM crawl_attempts) - 200),
		ifnull((SELECT julianday(finished_at) FROM requests WHERE id = (SELECT max(id) FROM requests)) - (SELECT julianday(started_at) FROM requests WHERE id = (SELECT min(id) FROM requests)), 0)`
	// A target that is done says how many pages those of its kind and source have.
	growthKinds = `
	SELECT kind, ifnull(sum(pages), 0) * 1.0, ifnull(sum(targets) FILTER (WHERE status IN ('PLANNED', 'IN_PROGRESS', 'FAILED')), 0) * 1.0,
		ifnull(sum(pages) FILTER (WHERE status = 'DONE') * 1.0 / nullif(sum(targets) FILTER (WHERE status = 'DONE'), 0), 1.0)
	FROM target_totals GROUP BY source_id, kind`
)

// Growth reads it off counters and the ends of indexes: rows that a pruning left out in the middle are counted.
// logged is when the oldest log was begun that is still there.
func (k *Reader) Growth(ctx context.Context, logged time.Time) (g Growth, err error) {
	_, err = k.one(ctx, "read what is there", growthTotals, []any{yp.FormatTime(logged)}, &g.Targets, &g.Pages, &g.LoggedPages, &g.Requests, &g.Attempts, &g.StepBytes, &g.RequestDays)
	if err == nil {
		g.kinds, err = list(ctx, k, "read what is left", growthKinds, nil, func(l *growthKind) []any { return []any{&l.kind, &l.read, &l.targets, &l.pages} })
	}
	return g, err
}

// TargetsLeft is how many targets are not done.
func (g *Growth) TargetsLeft() (n int64) {
	for _, l := range g.kinds {
		n += int64(l.targets)
	}
	return n
}

// PagesLeft is how many pages those have, if they are like the ones that are done.
func (g *Growth) PagesLeft() (n int64) {
	for _, l := range g.kinds {
		n += int64(l.targets * l.pages)
	}
	return n
}

// Weigh counts pages of results: those that the targets have read, that the logs hold, and that are left. A page of
// another kind, which brings one business or names of cities, counts as the share small of one; in the logs
// they are mixed as in the targets.
func (g *Growth) Weigh(small float64) (read, logged, left float64) {
	for _, l := range g.kinds {
		weight := small
		if l.kind == yp.KindSearch {
			weight = 1
		}
		read += weight * l.read
		left += weight * l.targets * l.pages
	}
	if logged = read; g.LoggedPages > g.Pages { // else runs are not known: the file was rebuilt
		logged *= float64(g.LoggedPages) / float64(g.Pages)
	}
	return read, logged, left
}

// AtEnd is how many rows of a table there will be that grows with each of so many left, and is kept for so many days,
// if the crawl goes on as fast as the requests that are kept were made.
func (g *Growth) AtEnd(now, left int64, days int) int64 {
	all := now + left
	if g.RequestDays > 0.01 && g.Requests > 0 {
		all = min(all, max(now, int64(float64(all)/g.daysOf(g.PagesLeft()+g.Requests)*float64(days))))
	}
	return all
}

// DaysLeft is how long the rest takes at that speed; 0 = not known.
func (g *Growth) DaysLeft() float64 {
	if g.RequestDays <= 0.01 || g.Requests == 0 {
		return 0
	}
	return g.daysOf(g.PagesLeft())
}

func (g *Growth) daysOf(requests int64) float64 {
	return float64(requests) * g.RequestDays / float64(g.Requests)
}
