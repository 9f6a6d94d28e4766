package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ypcrawl/store"
	"ypcrawl/yp"
)

// Measures are what monitoring asks: how the crawl of the whole file fares, in figures. What
// is not known is nil.
type Measures struct {
	Now      time.Time        `json:"now"`
	Runs     []RunMeasure     `json:"runs"` // that have not ended
	Sources  []SourceMeasure  `json:"sources"`
	Targets  []TargetMeasure  `json:"targets"` // by source and kind
	Listings ListingMeasure   `json:"listings"`
	Totals   TotalMeasure     `json:"totals"` // of all runs
	Attempts []AttemptMeasure `json:"attempts"`
	Hosts    []HostPace       `json:"hosts"` // held or slowed down
	Claims   ClaimMeasure     `json:"claims"`
	Left     *Left            `json:"time_left"`    // nil = no run reads anything now
	LastPage *time.Time       `json:"last_page_at"` // of any source
	LastRun  *RunEnd          `json:"last_run"`     // that has ended
	LastWell *time.Time       `json:"last_run_done_at"`
	Database *int64           `json:"database_bytes"`
	Journal  *int64           `json:"journal_bytes"`   // of the database's own journal, FILE-wal
	Logs     *int64           `json:"log_bytes"`       // of the write-ahead logs
	Reading  Seconds          `json:"reading_seconds"` // that it took to read all of this but what follows

	SlowMeasures
}

// DeadLetters counts the targets of every kind that no crawl takes again by itself.
func (m *Measures) DeadLetters() (n int64) {
	for _, t := range m.Targets {
		n += t.Parked
	}
	return n
}

// RunMeasure is a run that has not ended, or died without a word.
type RunMeasure struct {
	UUID      string    `json:"run"`
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Alive     bool      `json:"alive"` // its process is seen to live: it holds its lock
	Dead      bool      `json:"dead"`  // the next run takes back what it holds
	Started   time.Time `json:"started_at"`
	Heartbeat time.Time `json:"heartbeat_at"`
	AgeSec    float64   `json:"heartbeat_age_seconds"`
	Held      int64     `json:"targets_held"`

	// HeldSince is when the first of the targets it holds was claimed whose source is open now.
	HeldSince *time.Time `json:"held_since"`
}

// SourceMeasure is how a source fares. Requests that failed at their proxy, and those to
// robots.txt, do not count.
type SourceMeasure struct {
	Name         string                  `json:"source"`
	Availability store.SourceState       `json:"availability"`
	Code         yp.ErrorCode            `json:"code,omitempty"` // of a pause
	Reason       string                  `json:"reason,omitempty"`
	Until        *time.Time              `json:"until"`        // when it may open by itself
	Status       *string                 `json:"status"`       // as it was rated last
	Rate1h       *float64                `json:"success_rate"` // 0–1, of the hour before that
	P50          *int64                  `json:"latency_p50_ms"`
	P95          *int64                  `json:"latency_p95_ms"`
	LastPage     *time.Time              `json:"last_page_at"` // among its last 1,000 requests
	Succeeded    int64                   `json:"requests_succeeded_1h"`
	Failed       int64                   `json:"requests_failed_1h"`
	Pages        map[yp.Kind]int64       `json:"pages_1h"` // read, with anything on them
	Failures     map[yp.ErrorClass]int64 `json:"failures_1h"`

	id int64
}

// ClassCount counts the requests that failed with a class.
type ClassCount struct {
	Class yp.ErrorClass
	N     int64
}

// FailuresByClass lists Failures in the order of yp.ErrorClasses.
func (s SourceMeasure) FailuresByClass() (all []ClassCount) {
	for _, class := range yp.ErrorClasses() {
		if n := s.Failures[class]; n > 0 {
			all = append(all, ClassCount{class, n})
		}
	}
	return all
}

// LayoutAlarm reports whether the source is paused because its pages have changed.
func (s SourceMeasure) LayoutAlarm() bool { return s.Code == yp.CodeHTMLChanged }

// TargetMeasure counts the targets of a source and a kind.
type TargetMeasure struct {
	KindCounts
	Due int64 `json:"due"` // a run may claim them now
}

// ListingMeasure counts listings.
type ListingMeasure struct {
	All       int64 `json:"all"`
	Alive     int64 `json:"alive"`      // not dropped
	WithEmail int64 `json:"with_email"` // of them
	Companies int64 `json:"companies"`
}

// TotalMeasure is what all runs did, also those whose rows are deleted: it never falls.
type TotalMeasure struct {
	Pages    int64 `json:"pages"` // of every kind
	Requests int64 `json:"requests"`
	Targets  int64 `json:"targets"` // brought to an outcome
	New      int64 `json:"listings_new"`
}

// AttemptMeasure counts the attempts at targets that ended with a code. SUCCESS includes the
// targets whose site says that there is nothing.
type AttemptMeasure struct {
	Code yp.ErrorCode `json:"error_code"`
	Hour int64        `json:"last_hour"`
	Day  int64        `json:"last_24h"`
}

// ClaimMeasure counts the claims of the runs that have not ended and of the last one.
type ClaimMeasure struct {
	Claims  int64    `json:"claims"`
	Retries int64    `json:"retries"`       // tries more that these took: the database was busy
	Share   *float64 `json:"retries_share"` // of claims
}

// SlowMeasures read every search, and what became of listings: they are asked less often than
// the rest.
type SlowMeasures struct {
	Coverage CoverageMeasure `json:"coverage"`
	Passes   []Pass          `json:"passes"` // the last one of each source; null = not read yet
}

// CoverageMeasure is how much was seen of what the sites say that they list.
type CoverageMeasure struct {
	At        *time.Time `json:"at"`         // when it was read, and the passes; nil = not yet
	SiteTotal *int64     `json:"site_total"` // of the targets whose site says a number; nil = no site does
	Seen      *int64     `json:"seen"`       // of these
	Percent   *float64   `json:"percent"`
	PagesLeft *int64     `json:"pages_left"` // beyond the limit of pages
}

// RunEnd is how a run ended.
type RunEnd struct {
	UUID     string    `json:"run"`
	Outcome  string    `json:"outcome"`
	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at"`
}

const (
	runMeasures = `
	SELECT r.uuid, r.host, r.pid, r.started_at, r.heartbeat_at, count(t.id), min(iif(o.open, t.claimed_at, NULL))
	FROM runs r INDEXED BY runs_alive LEFT JOIN targets t ON t.run_id = r.id AND t.status = 'IN_PROGRESS' LEFT JOIN v_source_availability o ON o.source_id = t.source_id
	WHERE r.outcome = 'running' GROUP BY r.id ORDER BY r.id DESC LIMIT 1000`
	sourceMeasures = `
	SELECT o.source_id, o.source, o.state, ifnull(o.code, ''), ifnull(o.reason, ''), o.until, p.status, p.success_rate_1h, p.latency_p50_ms, p.latency_p95_ms,
		(SELECT max(iif(outcome = 'success' AND type IN ` + pageTypes + `, finished_at, NULL)) FROM (
			SELECT r.outcome, r.type, r.finished_at FROM requests r WHERE r.source_id = o.source_id AND r.proxy_failed = 0 AND r.finished_at <= ?1
			ORDER BY r.finished_at DESC LIMIT 1000))
	FROM v_source_availability o LEFT JOIN connectivity_profiles p ON p.source_id = o.source_id ORDER BY o.source`
	pageTypes = `('listing', 'detail', 'state_index', 'city_index')`

	// What is ready stands in an index of its own, and what falls due in another.
	dueTargets = `
	SELECT o.source, d.kind, sum(d.n) FROM (
		SELECT t.source_id, t.kind, count(*) AS n FROM targets t INDEXED BY targets_ready
		WHERE t.status = 'PLANNED' AND t.enabled = 1 AND t.paused = 0 AND t.not_before IS NULL AND t.retired_at IS NULL GROUP BY 1, 2
		UNION ALL SELECT t.source_id, t.kind, count(*) FROM targets t INDEXED BY targets_waiting
		WHERE t.not_before IS NOT NULL AND t.wait_reason IN ('backoff', 'recrawl', 'gap') AND t.not_before <= ?1
			AND t.enabled = 1 AND t.paused = 0 AND t.retired_at IS NULL GROUP BY 1, 2) d
	JOIN v_source_availability o ON o.source_id = d.source_id AND o.open GROUP BY 1, 2`
	listingMeasures = `
	SELECT ifnull(sum(listings), 0), ifnull(sum(listings - dropped), 0), ifnull(sum(emails), 0), (SELECT ifnull(sum(companies), 0) FROM company_totals) FROM listing_totals`
	totalMeasures = `
	SELECT ifnull(sum(pages), 0) + ` + forgotten + `'pages'), ifnull(sum(requests), 0) + ` + forgotten + `'requests'),
		ifnull(sum(targets), 0) + ` + forgotten + `'targets'), ifnull(sum(listings_new), 0) + ` + forgotten + `'listings_new') FROM runs`
	forgotten     = `(SELECT ifnull(max(cast(value AS INTEGER)), 0) FROM meta WHERE key = 'forgotten:' || `
	claimMeasures = `
	SELECT ifnull(sum(w.claims), 0), ifnull(sum(w.claim_retries), 0) FROM workers w
	WHERE w.run_id IN (SELECT id FROM runs WHERE outcome = 'running' UNION SELECT max(id) FROM runs)`
	runEnd    = `SELECT uuid, outcome, started_at, finished_at FROM runs WHERE outcome <> 'running' ORDER BY id DESC LIMIT 1`
	endedWell = `SELECT finished_at FROM runs WHERE outcome IN ('done', 'budget') ORDER BY id DESC LIMIT 1`
)

// What there is much of, the requests of an hour and the attempts of a day, is read as one
// letter each: to GROUP BY their kinds would sort them all, which takes longer than to read
// them. A page with anything on it is the number of its kind, another answer S, a failure the letter of its class; an attempt has that
// of its code, a capital one in the last hour.
var (
	requestMarks = `
	SELECT s.id, ifnull(group_concat(iif(r.outcome = 'success', CASE iif(r.result_count = 0, 'probe', r.type) WHEN 'listing' THEN '1' WHEN 'detail' THEN '2' WHEN 'probe' THEN 'S' ELSE '0' END, ` + letters("r.error_class", yp.ErrorClasses()) + `), ''), '')
	FROM sources s LEFT JOIN requests r ON r.source_id = s.id AND r.finished_at > ?1 AND r.finished_at <= ?2 AND r.proxy_failed = 0
		AND r.type <> 'robots' AND r.error_class IS NOT 'rate_limited' GROUP BY s.id`
	attemptMarks = `
	SELECT ifnull(group_concat(iif(a.finished_at > ?2, upper(letter), letter), ''), '') FROM (
		SELECT a.finished_at, iif(a.error_code = 'NO_LISTINGS' AND a.ended = 'done', 'a', ` + letters("a.error_code", yp.ErrorCodes()) + `) AS letter
		FROM crawl_attempts a WHERE a.finished_at > ?1 AND a.finished_at <= ?3 AND a.error_code IS NOT NULL) a`
)

// letters gives each of the words that a column may hold a letter, from a on.
func letters[T ~string](column string, words []T) string {
	text := "CASE " + column
	for i, word := range words {
		text += fmt.Sprintf(" WHEN '%s' THEN '%c'", word, 'a'+i)
	}
	return text + " END"
}

// countMarks counts the letters.
func countMarks(marks string) (n [128]int64) {
	for _, mark := range []byte(marks) {
		n[mark&127]++
	}
	return n
}

// Measure reads all measures but the slow ones (see MeasureSlowly). logs is the folder of the
// write-ahead logs. What it costs does not depend on how many listings there are, and little
// on how many targets.
func (k *Reader) Measure(ctx context.Context, logs string) (*Measures, error) {
	began := time.Now()
	m := &Measures{Now: k.db.Now()}
	now, hour, day := yp.FormatTime(m.Now), yp.FormatTime(m.Now.Add(-time.Hour)), yp.FormatTime(m.Now.AddDate(0, 0, -1))
	for _, read := range []func() error{
		k.inPlace,
		func() error { return k.measureRuns(ctx, m) },
		func() error { return k.measureSources(ctx, m, hour, now) },
		func() error { return k.measureTargets(ctx, m, now) },
		func() error { return k.measureAttempts(ctx, m, day, hour, now) },
		func() (err error) {
			_, err = k.one(ctx, "listings", listingMeasures, nil, &m.Listings.All, &m.Listings.Alive, &m.Listings.WithEmail, &m.Listings.Companies)
			return err
		},
		func() (err error) {
			_, err = k.one(ctx, "totals", totalMeasures, nil, fields(&m.Totals)...)
			return err
		},
		func() (err error) {
			m.Hosts, err = list(ctx, k, "hosts", hostPaces, []any{0, now}, fields[HostPace])
			return err
		},
		func() (err error) {
			c := &m.Claims
			if _, err = k.one(ctx, "claims", claimMeasures, nil, &c.Claims, &c.Retries); c.Claims > 0 {
				c.Share = new(float64(c.Retries) / float64(c.Claims))
			}
			return err
		},
		func() error { return k.measureEnds(ctx, m) },
		func() (err error) {
			m.Left, err = k.leftNow(ctx, store.Scope{})
			return err
		},
	} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("read measures: %w", err)
		}
	}
	path := k.db.Path()
	m.Database, m.Journal, m.Logs = fileSize(path), fileSize(path+"-wal"), folderSize(logs)
	if m.Journal == nil && m.Database != nil {
		m.Journal = new(int64(0)) // the last one who closed the file has folded it in
	}
	m.Reading = Seconds(time.Since(began).Seconds())
	return m, nil
}

func (k *Reader) measureRuns(ctx context.Context, m *Measures) (err error) {
	m.Runs, err = list(ctx, k, "runs", runMeasures, nil, func(r *RunMeasure) []any {
		return []any{&r.UUID, &r.Host, &r.PID, at(&r.Started), at(&r.Heartbeat), &r.Held, maybe(&r.HeldSince)}
	})
	for i := range m.Runs {
		r := &m.Runs[i]
		r.Alive, r.AgeSec = k.alive(r.UUID), max(0, m.Now.Sub(r.Heartbeat).Seconds())
		h := RunHolder{Alive: r.Alive, Here: r.Host == k.host, Silent: r.Heartbeat.Before(m.Now.Add(-store.SilentElsewhere))}
		r.Dead = h.Dead()
	}
	return err
}

func (k *Reader) measureSources(ctx context.Context, m *Measures, hour, now string) (err error) {
	m.Sources, err = list(ctx, k, "sources", sourceMeasures, []any{now}, func(s *SourceMeasure) []any {
		s.Pages, s.Failures = map[yp.Kind]int64{}, map[yp.ErrorClass]int64{}
		return []any{
			&s.id, &s.Name, &s.Availability, &s.Code, &s.Reason, maybe(&s.Until), &s.Status, &s.Rate1h, &s.P50, &s.P95, maybe(&s.LastPage),
		}
	})
	if err != nil {
		return err
	}
	of := map[int64]*SourceMeasure{}
	for i := range m.Sources {
		s := &m.Sources[i]
		of[s.id] = s
		if s.LastPage != nil && (m.LastPage == nil || s.LastPage.After(*m.LastPage)) {
			m.LastPage = s.LastPage
		}
	}
	type hourOf struct {
		id    int64
		marks string
	}
	hours, err := list(ctx, k, "requests", requestMarks, []any{hour, now}, func(r *hourOf) []any { return []any{&r.id, &r.marks} })
	for _, h := range hours {
		s, n := of[h.id], countMarks(h.marks)
		if s == nil { // it was added a moment ago
			continue
		}
		s.Succeeded = n['S']
		for i, kind := range yp.Kinds() {
			s.Pages[kind] = n['0'+i]
			s.Succeeded += n['0'+i]
		}
		s.Failed = int64(len(h.marks)) - s.Succeeded
		for i, class := range yp.ErrorClasses() {
			if failed := n['a'+i]; failed > 0 {
				s.Failures[class] = failed
			}
		}
	}
	return err
}

func (k *Reader) measureTargets(ctx context.Context, m *Measures, now string) error {
	args := placesOf(store.Scope{}, store.JSONTexts(yp.Kinds()))
	counts, err := list(ctx, k, "targets", kindCounts, args, fields[KindCounts])
	if err != nil {
		return err
	}
	due, err := list(ctx, k, "due targets", dueTargets, []any{now}, func(t *TargetMeasure) []any { return []any{&t.Source, &t.Kind, &t.Due} })
	m.Targets = make([]TargetMeasure, len(counts))
	for i, c := range counts {
		m.Targets[i].KindCounts = c
		for _, d := range due {
			if d.Source == c.Source && d.Kind == c.Kind {
				m.Targets[i].Due = d.Due
			}
		}
	}
	return err
}

func (k *Reader) measureAttempts(ctx context.Context, m *Measures, day, hour, now string) error {
	var marks string
	if _, err := k.one(ctx, "attempts", attemptMarks, []any{day, hour, now}, &marks); err != nil {
		return err
	}
	m.Attempts = []AttemptMeasure{}
	n := countMarks(marks)
	for i, code := range yp.ErrorCodes() {
		m.Attempts = append(m.Attempts, AttemptMeasure{Code: code, Hour: n['A'+i], Day: n['A'+i] + n['a'+i]})
	}
	return nil
}

func (k *Reader) measureEnds(ctx context.Context, m *Measures) error {
	var end RunEnd
	found, err := k.one(ctx, "the last run", runEnd, nil, fields(&end)...)
	if found {
		m.LastRun = &end
	}
	if err == nil {
		_, err = k.one(ctx, "the last run that was done", endedWell, nil, maybe(&m.LastWell))
	}
	return err
}

// MeasureSlowly reads the measures that Measure leaves out.
func (k *Reader) MeasureSlowly(ctx context.Context) (s SlowMeasures, err error) {
	at := k.db.Now()
	t, err := k.CoverageTotals(ctx, store.Scope{})
	if err == nil {
		s.Passes, err = k.Passes(ctx, store.Scope{})
	}
	if err != nil {
		return s, fmt.Errorf("read measures: %w", err)
	}
	c := &s.Coverage
	if c.At, c.PagesLeft = &at, &t.PagesLeft; t.Known > 0 {
		c.SiteTotal, c.Seen, c.Percent = &t.SiteTotal, &t.SeenOfKnown, t.Percent
	}
	return s, nil
}

// Beat is the last heartbeat of a run; zero = there is no such run under way.
type Beat struct {
	Now, At time.Time
}

const ownBeat = `SELECT heartbeat_at FROM runs WHERE outcome = 'running' AND host = ? AND pid = ? ORDER BY id DESC LIMIT 1`

// OwnBeat returns the last heartbeat of the run of this process. That it can be asked shows
// that the database can be read.
func (k *Reader) OwnBeat(ctx context.Context) (b Beat, err error) {
	if err = k.inPlace(); err != nil {
		return b, err
	}
	b.Now = k.db.Now()
	_, err = k.one(ctx, "look for the run of this process", ownBeat, []any{k.host, os.Getpid()}, at(&b.At))
	return b, err
}

// maybe scans a time that may be NULL into t: nil.
func maybe(t **time.Time) *maybeTime { return &maybeTime{t} }

type maybeTime struct{ t **time.Time }

// Scan implements sql.Scanner.
func (m *maybeTime) Scan(v any) error {
	var t time.Time
	err := at(&t).Scan(v)
	if *m.t = nil; !t.IsZero() {
		*m.t = &t
	}
	return err
}

// fileSize is nil where it is not known.
func fileSize(path string) *int64 {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return new(info.Size())
}

// folderSize adds up the files of a folder, which has no folders of its own; one that is not
// there has none.
func folderSize(dir string) *int64 {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || dir == "" {
		return nil
	}
	var sum int64
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err == nil && info.Mode().IsRegular() { // else it was packed or removed meanwhile
			sum += info.Size()
		}
	}
	return &sum
}
