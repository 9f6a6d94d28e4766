package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const (
	spansOf = `
	SELECT s.name, r.span, substr(r.began_at, 12, 5), r.requests, r.pages, r.http_403, r.timeout
	FROM request_spans r JOIN sources s ON s.id = r.source_id
	WHERE r.span <> 'ever' ORDER BY 1, 2 DESC, r.began_at`
	// What the spans say must be what the requests say.
	wrongMinutes = `
	WITH truth AS (
		SELECT source_id, substr(finished_at, 1, 16) || ':00.000Z' AS began_at, count(*) AS n, sum(outcome = 'success' AND parse_ok = 1) AS ok,
			sum(latency_ms) AS latency, sum(latency_ms <= 25) AS fast, sum(latency_ms <= 30000) AS slow, sum(error_class IS 'timeout') AS timeout
		FROM requests WHERE proxy_failed = 0 AND type <> 'robots' AND error_class IS NOT 'rate_limited' GROUP BY 1, 2),
	told AS (SELECT source_id, began_at, requests, pages, latency_ms, ms_25, ms_30000, timeout FROM request_spans WHERE span = 'minute')
	SELECT 'lacks', * FROM (SELECT * FROM truth EXCEPT SELECT * FROM told) UNION ALL SELECT 'invents', * FROM (SELECT * FROM told EXCEPT SELECT * FROM truth)`
	wrongSums = `
	SELECT source_id, span, sum(requests) AS n, sum(pages), sum(latency_ms), min(ms_25 <= ms_50 AND ms_50 <= ms_100 AND ms_100 <= ms_200 AND ms_200 <= ms_400 AND ms_400 <= ms_800
		AND ms_800 <= ms_1500 AND ms_1500 <= ms_3000 AND ms_3000 <= ms_6000 AND ms_6000 <= ms_12000 AND ms_12000 <= ms_30000 AND ms_30000 <= requests) AS grows
	FROM request_spans GROUP BY 1, 2
	HAVING NOT grows OR n <> (SELECT sum(requests) FROM request_spans m WHERE m.source_id = request_spans.source_id AND m.span = 'minute')`
)

// exact fails where the figures by time are not those of the requests that are there.
func (w *world) exact(t *testing.T) {
	t.Helper()
	wantRows(t, w.db, wrongMinutes)
	wantRows(t, w.db, wrongSums)
}

func (w *world) count(t *testing.T) {
	t.Helper()
	w.rollUp(t, demo)
}

func TestSeries(t *testing.T) {
	t.Parallel()
	inWorld(t, "what counts, by source and span", func(t *testing.T, w *world) {
		w.requests(t, req{n: 3, latency: 120}, req{n: 2, ago: time.Minute, class: yp.ClassHTTP403}, req{n: 1, ago: time.Hour, class: yp.ClassTimeout, latency: 30_001},
			req{n: 4, unread: true, latency: 25}, req{n: 50, kind: "robots"}, req{n: 50, class: yp.ClassRateLimited}, req{n: 50, class: yp.ClassTimeout, proxy: true},
			req{n: 7, source: other, kind: "detail", latency: 26})
		w.count(t)
		w.exact(t)
		wantRows(t, w.db, spansOf, "demo|minute|11:00|1|0|0|1", "demo|minute|11:59|2|0|2|0", "demo|minute|12:00|7|3|0|0",
			"demo|hour|11:00|3|0|2|1", "demo|hour|12:00|7|3|0|0", "other|minute|12:00|7|7|0|0", "other|hour|12:00|7|7|0|0")
		wantRows(t, w.db, `SELECT ms_25, ms_100, ms_200, ms_30000, requests FROM request_spans WHERE source_id = 1 AND span = 'ever'`, "6|6|9|9|10")
		wantRows(t, w.db, `SELECT ms_25, ms_50 FROM request_spans WHERE source_id = 2 AND span = 'ever'`, "0|7")
	})
	inWorld(t, "a source that is disabled", func(t *testing.T, w *world) {
		w.requests(t, req{source: other})
		must(t, w.db, `UPDATE sources SET enabled = 0`)
		_, err := w.RollUp(t.Context())
		ok(t, err)
		w.exact(t)
		wantRows(t, w.db, `SELECT requests FROM request_spans`, "1", "1", "1")
	})
	inWorld(t, "again and again", func(t *testing.T, w *world) {
		w.requests(t, req{n: 5, class: yp.ClassTimeout})
		for range 3 {
			w.count(t)
			w.restart(t)
		}
		w.exact(t)
		w.requests(t, req{n: 2})
		w.count(t)
		w.exact(t)
	})
	inWorld(t, "a request that is written late", func(t *testing.T, w *world) {
		w.requests(t, req{n: 5}, req{n: 3, ago: time.Minute})
		w.count(t)
		w.clock.Move(10 * time.Minute)
		w.requests(t, req{n: 1})
		w.count(t)
		w.requests(t, req{n: 7, ago: 11 * time.Minute, class: yp.ClassTimeout}, req{n: 1, ago: 10 * time.Minute})
		w.count(t)
		w.exact(t)
	})
	inWorld(t, "a clock that is set back", func(t *testing.T, w *world) {
		w.requests(t, req{n: 5})
		w.count(t)
		w.clock.Move(-90 * time.Minute)
		w.requests(t, req{n: 3, class: yp.ClassTimeout})
		w.count(t)
		w.exact(t)
		w.clock.Move(90 * time.Minute) // the minute of before once more
		w.requests(t, req{n: 2})
		w.count(t)
		w.exact(t)
	})
	inWorld(t, "a backlog of several batches, in several roll-ups", func(t *testing.T, w *world) {
		w.requests(t, req{n: 2*countBatch + 3, ago: time.Hour}, req{n: countBatch})
		ok(t, w.rollSeries(t.Context(), 1))
		wantRows(t, w.db, `SELECT requests FROM request_spans WHERE span = 'ever'`, fmt.Sprint(countBatch))
		w.count(t)
		w.exact(t)
	})
	inWorld(t, "what is too old for minutes, or for hours", func(t *testing.T, w *world) {
		w.requests(t, req{n: 2, ago: KeepMinutes + time.Minute}, req{n: 4, ago: KeepHours + time.Hour}, req{n: 8})
		w.count(t)
		wantRows(t, w.db, `SELECT span, sum(requests) FROM request_spans GROUP BY 1 ORDER BY 1`, "ever|14", "hour|10", "minute|8")
	})
}

// TestSeriesOfLatency: an estimated percentile lies between the bounds of its column, where the true one does.
func TestSeriesOfLatency(t *testing.T) {
	t.Parallel()
	bounds := []int{0, 25, 50, 100, 200, 400, 800, 1500, 3000, 6000, 12000, 30000, 1 << 30}
	column := func(ms int) int { return slices.IndexFunc(bounds[1:], func(most int) bool { return ms <= most }) }
	for seed := range uint64(40) {
		inWorld(t, fmt.Sprint(seed), func(t *testing.T, w *world) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for range 1 + rnd.IntN(60) {
				w.requests(t, req{n: 1 + rnd.IntN(3), latency: bounds[1+rnd.IntN(11)] + rnd.IntN(3) - 1})
			}
			w.count(t)
			c := w.counted(t, demo)
			for i, query := range []string{`SELECT p50_ms FROM v_request_minutes`, `SELECT p95_ms FROM v_request_hours`} {
				var told float64
				ok(t, w.db.Row(t.Context(), query, nil, &told))
				truth := int([]time.Duration{c.P50, c.P95}[i].Milliseconds())
				lower := bounds[column(truth)]
				if upper := bounds[column(truth)+1]; int(told) < lower || int(told) > upper {
					t.Errorf("%s is %v, and of the requests %d", query, told, truth)
				}
			}
		})
	}
}

// TestSeriesPruned: requests are counted before they are deleted, figures go in their time, and
// requests that get the ids of deleted ones are counted.
func TestSeriesPruned(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const spans = `SELECT span, sum(requests) FROM request_spans GROUP BY 1 ORDER BY 1`
	w.requests(t, req{n: countBatch + pruneBatch, ago: 15 * day})
	ok(t, w.prune(t.Context(), 0))
	wantRows(t, w.db, `SELECT count(*) FROM requests`, "0")
	wantRows(t, w.db, spans, "ever|2500", "hour|2500")

	w.requests(t, req{n: 7}) // with ids from 1 on
	w.count(t)
	wantRows(t, w.db, spans, "ever|2507", "hour|2507", "minute|7")

	w.clock.Move(KeepMinutes)
	ok(t, w.prune(t.Context(), 0))
	wantRows(t, w.db, spans, "ever|2507", "hour|2507", "minute|7")
	w.clock.Move(time.Minute)
	ok(t, w.prune(t.Context(), 0))
	wantRows(t, w.db, spans, "ever|2507", "hour|2507")
	w.clock.Move(KeepHours)
	ok(t, w.prune(t.Context(), 0))
	wantRows(t, w.db, spans, "ever|2507")
}

// TestSeriesKeptByRuns: a start with a clock that is years ahead deletes no hours; the next one after a run of that time does.
func TestSeriesKeptByRuns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.requests(t, req{n: 7})
	w.count(t)
	ended := func(id int) {
		t.Helper()
		must(t, w.db, fmt.Sprintf(`INSERT INTO runs (id, uuid, host, pid, command, started_at, heartbeat_at, finished_at, outcome)
			VALUES (%d, '%[1]d', 'h', 1, 'c', '%[2]s', '%[2]s', '%[2]s', 'done')`, id, yp.FormatTime(w.clock.Now())))
	}
	ended(1)
	w.clock.Move(3 * KeepHours)
	ok(t, w.prune(t.Context(), 0))
	wantRows(t, w.db, `SELECT requests FROM request_spans WHERE span = 'hour'`, "7")
	ended(2)
	ok(t, w.prune(t.Context(), 0))
	wantRows(t, w.db, `SELECT requests FROM request_spans WHERE span = 'hour'`)
}

// TestSeriesOfTwo: processes that roll up at once count every request once, while workers write more.
func TestSeriesOfTwo(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.requests(t, req{n: 3*countBatch + 1})
	var rolling sync.WaitGroup
	for range 3 {
		m := w.open(t)
		rolling.Go(func() {
			for range 4 {
				if _, err := m.RollUp(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writer := w.again(t)
	for i := range 20 {
		writer.requests(t, req{n: 10, ago: time.Duration(i%3) * time.Minute, class: yp.ClassTimeout})
	}
	rolling.Wait()
	w.count(t)
	w.exact(t)
}

// killed names the file of a world whose roll-up a test kills, and the commit at which: see TestSeriesKilled.
const killed = "YPCRAWL_TEST_KILLED_ROLLUP"

// TestSeriesKilled: a process that is killed in the middle of a roll-up, before and after it has counted some of
// it, leaves nothing that is counted twice or not at all.
func TestSeriesKilled(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(killed); path != "" {
		dieRollingUp(t, path)
	}
	for commit := range 4 {
		t.Run(fmt.Sprint("at commit ", commit+1), func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.requests(t, req{n: countBatch, class: yp.ClassTimeout}, req{n: 2*countBatch + 5, ago: time.Minute})
			ok(t, w.db.Close())
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSeriesKilled$")
			cmd.Env = append(os.Environ(), killed+"="+w.path, fmt.Sprintf("%s_AT=%d", killed, commit+1))
			var ended *exec.ExitError
			if out, err := cmd.CombinedOutput(); !errors.As(err, &ended) || ended.Success() {
				t.Fatalf("it was not killed: %v\n%s", err, out)
			}
			w.Monitor = w.open(t)
			w.requests(t, req{n: 3})
			w.count(t)
			w.exact(t)
		})
	}
}

// dieRollingUp rolls up the file, and is killed within the transaction of a commit.
func dieRollingUp(t *testing.T, path string) {
	var at, commits int
	_, err := fmt.Sscan(os.Getenv(killed+"_AT"), &at)
	ok(t, err)
	self, err := os.FindProcess(os.Getpid())
	ok(t, err)
	db := storetest.OpenConfig(t, store.Config{Path: path, Now: func() time.Time { return noon }, BeforeCommit: func() {
		if commits++; commits == at {
			ok(t, self.Kill())
			select {}
		}
	}})
	_, err = New(db).RollUp(context.Background())
	t.Fatal(cmp.Or(err, errors.New("it has ended")))
}

// TestSeriesOfPasses: what runs of several sources brought of each is added up by the roll-up.
func TestSeriesOfPasses(t *testing.T) {
	t.Parallel()
	w := setup(t)
	must(t, w.db,
		`INSERT INTO runs (id, uuid, host, pid, command, started_at, heartbeat_at) VALUES (1, 'a', 'h', 1, 'c', 'x', 'x'), (2, 'b', 'h', 1, 'c', 'x', 'x')`,
		`INSERT INTO run_passes (source_id, run_id, selection, began_at) VALUES (1, 1, '{}', 'x'), (2, 1, '{}', 'x'), (1, 2, '{}', 'x')`,
		`INSERT INTO crawl_attempts (target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at) VALUES (1, 1, 1, 'w', 1, 0, 'x'), (1, 2, 2, 'w', 1, 0, 'x')`,
		`INSERT INTO companies (id, name, lead_source, lead_listing, first_seen_at) VALUES (1, 'c', 1, 'l', 'x')`,
		`INSERT INTO listings (id, source_id, listing_id, company_id, name, found_state, fingerprint, first_seen_at, last_seen_at) VALUES (1, 1, 'l', 1, 'c', 'CA', 0, 'x', 'x')`)
	event := func(kind string, source, listings, run int) {
		t.Helper()
		must(t, w.db, fmt.Sprintf(`INSERT INTO listing_events (at, kind, source_id, listing, listings, company_id, run_id) VALUES ('x', '%s', %d, 1, %d, %s, nullif(%d, 0))`,
			kind, source, listings, map[bool]string{true: "NULL", false: "1"}[kind == "new"], run))
	}
	page := func(token, source int, kind string, results int) {
		t.Helper()
		must(t, w.db, fmt.Sprintf(`INSERT INTO requests (source_id, target_id, claim_token, correlation_id, type, url, started_at, finished_at, outcome, latency_ms, parse_ok, result_count)
			VALUES (%d, 1, %d, 'c', '%s', 'u', 'x', '2026-11-20T12:00:00.000Z', 'success', 1, 1, %d)`, source, token, kind, results))
	}
	event("new", 1, 30, 1)
	event("changed", 1, 1, 1)
	event("new", 2, 5, 1)
	page(1, 1, "listing", 30)
	page(1, 1, "listing", 0) // the site has nothing there, and nothing is committed
	w.count(t)
	event("dropped", 1, 1, 1)
	event("restored", 1, 1, 2)
	event("changed", 1, 1, 2)
	event("completed", 1, 1, 2)
	event("new", 1, 9, 0)
	page(2, 1, "detail", 1)
	page(2, 1, "state_index", 0)
	for range 2 {
		w.count(t)
		wantRows(t, w.db, `SELECT source_id, run_id, pages, new, changed, dropped, restored FROM run_passes`, "1|1|1|30|1|1|0", "1|2|2|0|1|0|1", "2|1|0|5|0|0|0")
	}
}
