package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

const day = 24 * time.Hour

func TestPrune(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keep, kept time.Duration
	}{{0, 14 * day}, {14 * day, 14 * day}, {time.Hour, day}, {-day, day}, {30 * day, 30 * day}, {1000 * day, 90 * day}} {
		inWorld(t, fmt.Sprint("keep ", c.keep), func(t *testing.T, w *world) {
			w.requests(t,
				req{n: 3, ago: c.kept + time.Millisecond},
				req{n: 2, ago: c.kept + time.Millisecond, source: other, kind: "robots"},
				req{n: 5, ago: c.kept},
				req{n: 7, ago: -1000 * day}, // before the clock was set back: none of our business
				req{n: 4, ago: c.kept * 2})  // and old ones behind them
			ok(t, w.prune(t.Context(), c.keep))
			wantRows(t, w.db, `SELECT count(*) FROM requests`, "12")
		})
	}
	inWorld(t, "more than a batch", func(t *testing.T, w *world) {
		w.requests(t, req{n: 2*pruneBatch + 1, ago: 15 * day}, req{n: 10})
		ok(t, w.prune(t.Context(), 0))
		wantRows(t, w.db, `SELECT count(*) FROM requests`, "10")
	})
	inWorld(t, "behind a day of a clock that was ahead", func(t *testing.T, w *world) {
		w.requests(t, req{n: 2 * pruneBatch, ago: -15 * day}, req{n: pruneBatch, ago: 15 * day}, req{n: 3, ago: 13 * day},
			req{n: pruneBatch, ago: 15 * day}, req{n: 2*pruneBatch + 10, ago: 13 * day}, req{n: 7, ago: 15 * day})
		// The last 7 are behind a whole batch that stays: some later day will find them.
		ok(t, w.prune(t.Context(), 0))
		wantRows(t, w.db, `SELECT count(*) FROM requests`, fmt.Sprint(4*pruneBatch+3+10+7))
	})
	inWorld(t, "attempts and workers", func(t *testing.T, w *world) {
		must(t, w.db,
			`INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome) VALUES
				(1, 'a', 'h', 1, 1, 'c', 'x', 'x', '2026-08-22T11:59:59.999Z', 'done'),
				(2, 'b', 'h', 1, 1, 'c', 'x', 'x', '2026-08-22T12:00:00.000Z', 'dead'),
				(3, 'c', 'h', 1, 1, 'c', 'x', '2020-01-01T00:00:00.000Z', NULL, 'running')`,
			`INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at, stopped_at) VALUES
				(3, 'w', 'n', 'h', 1, 'x', 'x', NULL), (1, 'w', 'n', 'h', 1, 'x', 'x', NULL), (1, 'v', 'n', 'h', 1, 'x', 'x', 'x'), (2, 'w', 'n', 'h', 1, 'x', 'x', 'x')`,
			`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended) VALUES
				(1, 1, 1, 'w', 1, 0, 'x', '2026-08-22T11:59:59.999Z', 'released'), (1, 2, 2, 'w', 1, 0, 'x', '2026-08-22T12:00:00.000Z', 'released'),
				(1, 3, 3, 'w', 1, 0, '2020-01-01T00:00:00.000Z', NULL, 'running')`)
		ok(t, w.prune(t.Context(), 0))
		wantRows(t, w.db, `SELECT claim_token FROM crawl_attempts`, "2", "3")
		wantRows(t, w.db, `SELECT run_id FROM workers ORDER BY run_id`, "2", "3")
	})
	inWorld(t, "attempts that went well", func(t *testing.T, w *world) {
		must(t, w.db,
			`INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome) VALUES (1, 'a', 'h', 1, 1, 'c', 'x', 'x', '2026-11-20T11:59:59.999Z', 'done')`,
			`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code) VALUES
				(1, 1, 1, 'w', 1, 0, 'x', '2026-10-21T11:59:59.999Z', 'done', 'SUCCESS'), (1, 2, 1, 'w', 1, 0, 'x', '2026-10-21T12:00:00.000Z', 'done', 'SUCCESS'),
				(1, 3, 1, 'w', 1, 0, 'x', '2026-10-21T11:59:59.999Z', 'done', 'NO_LISTINGS'), (1, 4, 1, 'w', 1, 0, 'x', '2026-10-21T11:59:59.999Z', 'failed', 'TIMEOUT'),
				(1, 5, 1, 'w', 1, 0, 'x', '2026-10-21T11:59:59.999Z', 'released', NULL)`)
		ok(t, w.prune(t.Context(), 0))
		wantRows(t, w.db, `SELECT claim_token FROM crawl_attempts ORDER BY claim_token`, "2", "4", "5")
	})
}

// Runs go 90 days after their end, unless something that is kept comes from them.
func TestPruneRuns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	must(t, w.db,
		`INSERT INTO runs (uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
			SELECT 'u' || i, 'h', 1, 1, 'c', 'x', 'x', '2026-08-22T11:59:59.999Z', 'done' FROM n`,
		`UPDATE runs SET pages = 3, requests = 5, targets = 1, listings_new = 40, listings_changed = 7`,
		`UPDATE runs SET finished_at = '2026-08-22T12:00:00.000Z' WHERE id = 700`,
		`UPDATE runs SET finished_at = NULL, outcome = 'running' WHERE id = 701`,
		`INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at) VALUES (600, 'w', 'n', 'h', 1, 'x', 'x')`,
		`INSERT INTO listing_events (at, kind, source_id, listing_id, run_id) VALUES ('x', 'rejected', 1, 'a', 2)`,
		`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended) VALUES
			(1, 1, 1000, 'w', 1, 0, 'x', '2026-08-22T12:00:00.000Z', 'released')`)
	ok(t, w.prune(t.Context(), 0))
	wantRows(t, w.db, `SELECT id FROM runs ORDER BY id`, "2", "700", "701", "1000")
	wantRows(t, w.db, `SELECT key || ' ' || (value / 1196.0) FROM meta WHERE key LIKE 'forgotten:%' ORDER BY 1`,
		"forgotten:listings_changed 7.0", "forgotten:listings_new 40.0", "forgotten:pages 3.0", "forgotten:requests 5.0", "forgotten:targets 1.0")
	wantRows(t, w.db, `PRAGMA foreign_key_check`)
	for _, child := range []string{"targets", "listing_events", "crawl_attempts", "workers"} {
		plan := table(t, w.db, `EXPLAIN QUERY PLAN SELECT 1 FROM `+child+` WHERE run_id = 1`)
		if len(plan) != 1 || !strings.Contains(plan[0], "INDEX") {
			t.Errorf("deleting a run reads all of %s: %v", child, plan)
		}
	}
}

// TestPruneClock: time in which no run lasts makes nothing old. A start with a clock that is years ahead deletes nothing, though it lasts
// for days; a run of its true length deletes what has become old in it; and a run after one that ended deletes all.
func TestPruneClock(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.requests(t, req{n: 3, ago: 13 * day})
	ok(t, w.rollSeries(t.Context(), 0))
	w.requests(t, req{n: 2, ago: time.Hour}) // which the start with that clock counts
	must(t, w.db,
		`INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome) VALUES
			(1, 'a', 'h', 1, 1, 'c', 'x', '2026-08-25T12:00:00.000Z', '2026-08-25T12:00:00.000Z', 'done'),
			(2, 'b', 'h', 1, 1, 'c', 'x', '2026-11-20T12:00:00.000Z', '2026-11-20T12:00:00.000Z', 'dead')`,
		`INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at, stopped_at) VALUES (1, 'w', 'n', 'h', 1, 'x', 'x', 'x')`,
		`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code) VALUES
			(1, 1, 2, 'w', 1, 0, 'x', '2026-10-22T12:00:00.000Z', 'done', 'SUCCESS'), (1, 2, 2, 'w', 1, 0, 'x', '2026-08-29T12:00:00.000Z', 'failed', 'TIMEOUT')`,
		`INSERT INTO deliveries (name, at, event, file, rows, filters) VALUES ('ann', '2026-08-25T12:00:00.000Z', 1, 'f', 1, '{}'), ('ann', '2026-11-20T12:00:00.000Z', 1, 'f', 1, '{}')`)
	const kept = `SELECT (SELECT count(*) FROM requests), (SELECT sum(requests) FROM request_spans WHERE span = 'minute'), (SELECT sum(requests) FROM request_spans WHERE span = 'hour'),
		(SELECT count(*) FROM crawl_attempts), (SELECT count(*) FROM workers), (SELECT count(*) FROM runs), (SELECT count(*) FROM deliveries)`
	w.clock.Move(3 * KeepHours)
	age := w.age(t)
	prunes := func(lasted time.Duration, want string) {
		t.Helper()
		ok(t, w.Prune(t.Context(), 0, age, lasted))
		wantRows(t, w.db, kept, want)
	}
	must(t, w.db, `INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES (3, 'c', 'h', 1, 1, 'c', '2032-11-18T12:00:00.000Z', '2032-11-18T12:00:00.000Z')`)
	prunes(0, "5|2|5|2|1|3|2")
	prunes(23*time.Hour, "5|2|5|2|1|3|2")
	w.requests(t, req{n: 4}) // of this run, and dated by its clock
	prunes(5*day, "6|4|9|1|0|2|1")
	w.clock.Move(-3 * KeepHours) // the clock is right again
	prunes(5*day, "6|4|9|1|0|2|1")
	w.clock.Move(3 * KeepHours)
	must(t, w.db, `UPDATE runs SET outcome = 'done', finished_at = '2032-11-18T12:00:00.000Z' WHERE id = 3`)
	age = w.age(t)
	prunes(0, "4|4|4|0|0|1|1") // as it was its clock, and none of a clock that is ahead
}

// TestPruneClocks: what is an hour old stays, whatever a clock does, and what a run wrote itself ages while that run lasts.
func TestPruneClocks(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome) VALUES `
	ended := func(id, at string) string {
		return insert + fmt.Sprintf(`(%s, 'u%[1]s', 'h', 1, 1, 'c', 'x', '%s', '%[2]s', 'done')`, id, at)
	}
	ahead := func(by, lasted time.Duration, runs ...string) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			w.requests(t, req{n: 10, ago: time.Hour})
			must(t, w.db, runs...)
			age := w.age(t)
			w.clock.Move(by)
			ok(t, w.Prune(t.Context(), 0, age, lasted))
			wantRows(t, w.db, `SELECT count(*) FROM requests`, "10")
		}
	}
	inWorld(t, "set ahead in the first run of a file", ahead(300*day, 26*time.Hour))
	inWorld(t, "set ahead in a run, after one whose clock was ahead", ahead(300*day, time.Hour, ended("1", "2036-05-20T12:00:00.000Z"), ended("2", "2026-11-20T11:30:00.000Z")))
	inWorld(t, "ahead at a start, after one whose clock was ahead", func(t *testing.T, w *world) {
		w.requests(t, req{n: 10, ago: time.Hour})
		must(t, w.db, ended("1", "2036-05-20T12:00:00.000Z"), ended("2", "2026-11-20T11:30:00.000Z"))
		w.clock.Move(300 * day)
		ok(t, w.prune(t.Context(), 0))
		wantRows(t, w.db, `SELECT count(*) FROM requests`, "10")
	})
	inWorld(t, "set ahead in a long run beside which a short one ended", func(t *testing.T, w *world) {
		must(t, w.db, ended("1", "2026-11-20T12:00:00.000Z"))
		age := w.age(t)
		w.clock.Move(200 * day)
		w.requests(t, req{n: 10, ago: time.Hour})
		must(t, w.db, ended("3", "2027-06-08T12:00:00.000Z"))
		w.clock.Move(300 * day)
		ok(t, w.Prune(t.Context(), 0, age, 200*day))
		wantRows(t, w.db, `SELECT count(*) FROM requests`, "10")
	})
	inWorld(t, "ahead for so long that the last run that ended is deleted", func(t *testing.T, w *world) {
		w.requests(t, req{n: 7, ago: time.Hour})
		ok(t, w.rollSeries(t.Context(), 0))
		must(t, w.db, ended("1", "2026-11-20T12:00:00.000Z"))
		w.clock.Move(3 * KeepHours)
		age := w.age(t)
		for d := range time.Duration(94) {
			ok(t, w.Prune(t.Context(), 0, age, d*day))
			w.clock.Move(day)
		}
		wantRows(t, w.db, `SELECT (SELECT sum(requests) FROM request_spans WHERE span = 'hour'), (SELECT count(*) FROM runs)`, "7|0")
	})
	inWorld(t, "a run that lasts, after a rest of half a year", func(t *testing.T, w *world) {
		must(t, w.db, ended("1", "2026-05-20T12:00:00.000Z"), `INSERT INTO listing_events (at, kind, source_id, listing_id, run_id) VALUES ('x', 'rejected', 1, 'a', 1)`)
		age := w.age(t)
		for d := range time.Duration(50) {
			w.requests(t, req{n: 10})
			ok(t, w.Prune(t.Context(), 0, age, d*day))
			w.clock.Move(day)
		}
		wantRows(t, w.db, `SELECT count(*) FROM requests`, "150")
	})
}

// age is that of a run which begins now.
func (w *world) age(t *testing.T) *Age {
	t.Helper()
	age, err := w.Age(t.Context())
	ok(t, err)
	return age
}

// prune deletes what a run that begins now finds old.
func (w *world) prune(ctx context.Context, keep time.Duration) error {
	return pruneNow(ctx, w.Monitor, keep)
}

func pruneNow(ctx context.Context, m *Monitor, keep time.Duration) error {
	age, err := m.Age(ctx)
	if err == nil {
		err = m.Prune(ctx, keep, age, 0)
	}
	return err
}

// TestNights: of nightly crawls, what is kept for a time stays as large as it is once that time has passed:
// the rows of the tables, and the file.
func TestNights(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const sizes = `SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM crawl_attempts), (SELECT count(*) FROM workers), (SELECT count(*) FROM runs),
		(SELECT count(*) FROM run_passes), (SELECT count(*) FROM deliveries)`
	pages := func() (n int) {
		t.Helper()
		ok(t, w.db.Read().QueryRowContext(t.Context(), `SELECT page_count FROM pragma_page_count`).Scan(&n))
		return n
	}
	months, space := []string(nil), 0
	for night := 1; night <= 155; night++ {
		ok(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
			for _, statement := range []string{
				`INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at, finished_at, outcome, pages) VALUES (?1, 'u' || ?1, 'h', 1, 1, 'c', ?2, ?2, ?2, 'done', 40)`,
				`INSERT INTO run_passes (source_id, run_id, selection, began_at) VALUES (1, ?1, '{}', ?2)`,
				`INSERT INTO workers (run_id, worker_id, name, host, pid, started_at, heartbeat_at, stopped_at) VALUES (?1, 'w', 'n', 'h', 1, ?2, ?2, ?2)`,
				`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, ended, error_code, metadata)
					WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
					SELECT 1, ?1 * 100 + i, ?1, 'w', 1, 0, ?2, ?2, iif(i = 0, 'failed', 'done'), iif(i = 0, 'TIMEOUT', 'SUCCESS'), '{"steps":[]}' FROM n`,
				`INSERT INTO requests (source_id, target_id, claim_token, correlation_id, type, url, started_at, finished_at, outcome, result_count, latency_ms)
					WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39) SELECT 1, 1, ?1 * 100, 'x', 'listing', 'http://h/' || i, ?2, ?2, 'success', 1, 1 FROM n`,
				`INSERT INTO deliveries (name, at, event, file, rows, filters) VALUES ('ann', ?2, ?1, 'f', 1, '{}')`,
			} {
				if err := tx.Run(statement, night, tx.Now); err != nil {
					return err
				}
			}
			return nil
		}))
		ok(t, w.prune(t.Context(), 0))
		if night > 93 && night%31 == 0 {
			months = append(months, table(t, w.db, sizes)...)
		}
		if night == 124 {
			space = pages()
		}
		w.clock.Move(day)
	}
	// 15 nights of requests; 31 of attempts that went well, 91 of the others; 91 of the rest.
	wantRows(t, w.db, sizes, "600|680|91|91|91|91")
	if len(months) != 2 || months[0] != months[1] {
		t.Errorf("month by month: %v", months)
	}
	if now := pages(); now > space+space/20 { // pages of indexes are not always full
		t.Errorf("the file has grown from %d to %d pages within a month", space, now)
	}
}

// TestPruneStops: the end of its context ends it between two batches.
func TestPruneStops(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.requests(t, req{n: 4 * pruneBatch, ago: 15 * day})
	ok(t, w.rollSeries(t.Context(), 0)) // its commits are not those that are counted here
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	commits := 0
	db := storetest.OpenConfig(t, store.Config{Path: w.path, Now: w.clock.Now, BeforeCommit: func() {
		if commits++; commits == 2 {
			stop()
		}
	}})
	if err := pruneNow(ctx, New(db), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	wantRows(t, w.db, `SELECT count(*) FROM requests`, fmt.Sprint(2*pruneBatch))
}

// TestPruneYields: what a worker writes meanwhile shares a batch's transaction or
// comes right behind it: it never waits for two of them.
func TestPruneYields(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.requests(t, req{n: 8 * pruneBatch, ago: 15 * day})
	pruned := make(chan error, 1)
	first := make(chan struct{})
	commits := 0
	db := storetest.OpenConfig(t, store.Config{Path: w.path, Now: w.clock.Now, BeforeCommit: func() {
		if commits++; commits == 1 {
			close(first)
		}
	}})
	go func() {
		pruned <- pruneNow(t.Context(), New(db), 0)
	}()
	<-first
	for range 3 {
		var left [2]int
		for i := range left {
			ok(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.Get(`SELECT count(*) FROM requests`, nil, &left[i]) }))
		}
		if deleted := left[0] - left[1]; deleted > 2*pruneBatch {
			t.Errorf("%d rows were deleted between two commits, want at most two batches", deleted)
		}
	}
	ok(t, <-pruned)
}
