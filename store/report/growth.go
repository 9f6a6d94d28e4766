package report

import (
	"context"

	"ypcrawl/yp"
)

// Growth is what one needs to say how large a database will be when what is planned is done.
type Growth struct {
	Targets     int64 // all rows
	Pages       int64 // read by the crawls that the targets are in, or were last
	LoggedPages int64 // of results, committed by all runs that are known: what the logs hold of searches
	Requests    int64 // rows
	Attempts    int64 // rows
	StepBytes   int64 // of the steps of an attempt, on average of the last ones

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
		(SELECT ifnull(sum(pages), 0) FROM runs), ifnull((SELECT max(id) FROM requests) - (SELECT min(id) FROM requests) + 1, 0), ifnull((SELECT max(id) FROM crawl_attempts) - (SELECT min(id) FROM crawl_attempts) + 1, 0),
		(SELECT cast(ifnull(avg(length(ifnull(metadata, ''))), 0) AS INTEGER) FROM crawl_attempts WHERE id > (SELECT max(id) FROM crawl_attempts) - 200)`
	// A target that is done tells how many pages those of its kind and source have.
	growthKinds = `
	SELECT kind, ifnull(sum(pages), 0) * 1.0, ifnull(sum(targets) FILTER (WHERE status IN ('PLANNED', 'IN_PROGRESS', 'FAILED')), 0) * 1.0,
		ifnull(sum(pages) FILTER (WHERE status = 'DONE') * 1.0 / nullif(sum(targets) FILTER (WHERE status = 'DONE'), 0), 1.0)
	FROM target_totals GROUP BY source_id, kind`
)

// Growth reads it off counters and the ends of indexes: rows that a pruning left out in the middle are counted.
func (k *Reader) Growth(ctx context.Context) (g Growth, err error) {
	_, err = k.one(ctx, "read what is there", growthTotals, nil, &g.Targets, &g.Pages, &g.LoggedPages, &g.Requests, &g.Attempts, &g.StepBytes)
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

// Weigh counts pages of results, those that the targets have read, that the logs hold, and that are left; a page of
// another kind, which brings one business or names of cities, counts as the share small of one.
func (g *Growth) Weigh(small float64) (read, logged, left float64) {
	for _, l := range g.kinds {
		if l.kind == yp.KindSearch {
			read += l.read
			left += l.targets * l.pages
		} else {
			logged += small * l.read
			left += small * l.targets * l.pages
		}
	}
	return read + logged, max(read, float64(g.LoggedPages)) + logged, left
}
