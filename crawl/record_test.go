package crawl_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// TestRecord: every request made is a row, with what it was for and what came of it.
func TestRecord(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 2})
	w.robots = "User-agent: *\nAllow: /\n"
	w.on(target, ok(page(target+"?page=2&s=distance", shops(1, 3)...)))
	w.on(target+"?page=2&s=distance", inTurn(status(500, "oops"), ok(page("", shops(4, 2)...))))
	w.on(city(1), redirectTo("/city-1-ca/plumbers?moved=1"))
	w.on("/city-1-ca/plumbers?moved=1", ok(page("", shops(7, 1)...)))
	began := yp.FormatTime(time.Now())
	w.done()
	run := w.number("SELECT id FROM runs")
	id := func(n int) string { return fmt.Sprintf("%d.amber.%d", run, n) }
	const columns = `SELECT type, ifnull(target_id, '-'), ifnull(claim_token, '-'), ifnull(page, '-'), correlation_id, retry_seq, substr(url, length(?) + 1), outcome,
		ifnull(error_class, '-'), http_status, ifnull(parse_ok, '-'), ifnull(result_count, '-'), identity, via, ifnull(proxy, '-'), proxy_failed FROM requests `
	w.same("rows", w.table(columns+"WHERE type = 'listing' ORDER BY id", w.URL), []string{
		"listing 1 1 1 " + id(1) + " 0 " + target + " success - 200 1 3 honest none - 0",
		"listing 1 1 2 " + id(2) + " 0 " + target + "?page=2&s=distance failure http_5xx 500 - - honest none - 0",
		"listing 1 1 2 " + id(2) + " 1 " + target + "?page=2&s=distance success - 200 1 2 honest none - 0",
		"listing 2 1 1 " + id(3) + " 0 /city-1-ca/plumbers success - 200 1 1 honest none - 0", // with the redirect that followed
	})
	robots := w.table(columns+"WHERE type = 'robots'", w.URL)
	if len(robots) != 1 || !strings.HasPrefix(robots[0], "robots - - - robots.") || !strings.HasSuffix(robots[0], " 0 /robots.txt success - 200 1 0 honest none - 0") {
		t.Errorf("robots.txt: %v", robots)
	}
	w.counts("rows with impossible times or sizes",
		0, "SELECT count(*) FROM requests WHERE started_at < ? OR finished_at > ? OR bytes <= 0 OR latency_ms > 60000", began, yp.FormatTime(time.Now()))
	w.tidy()
	all := w.attempted("done SUCCESS 200: committed retry committed")
	if a := all[0]; a.Pages != 2 || a.Listings != 5 || a.Identity != "honest" || a.UserAgent != fetch.DefaultUserAgent || int64(a.Bytes) != w.number("SELECT sum(bytes) FROM requests WHERE target_id = 1") {
		t.Errorf("attempt %+v", a)
	}
	for _, step := range all[0].Steps {
		if step.At < began || step.Page == 0 || step.Detail == "" {
			t.Errorf("step %+v", step)
		}
	}
}

// TestRobotsRecord: robots.txt is on record whatever came of it, redirects one by one.
func TestRobotsRecord(t *testing.T) {
	for _, tt := range []struct {
		name   string
		robots http.HandlerFunc
		rows   []string
	}{
		{"there is none", status(404, shell("none")), []string{"ok 404, 0 listings"}},
		{"it is forbidden", status(403, "no"), []string{"http_403 403"}},
		{"it has moved", inTurn(redirectTo("/robots.txt?2"), ok("")), []string{"ok 302, 0 listings", "ok 200, 0 listings"}},
		{"it comes at the third try", inTurn(status(500, ""), status(503, ""), ok("")), []string{"http_5xx 500", "http_5xx 503", "ok 200, 0 listings"}},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{})
			w.rules = tt.robots
			w.done()
			w.is(1, yp.Done, 1, "")
			w.same("robots.txt", w.table(requestRow+"WHERE type = 'robots' ORDER BY id"), tt.rows)
			w.onRecord("ok 200, 3 listings")
		})
	}
}

// TestDeferrals: whoever finds the host held for longer than the run waits gives its
// target back, and a row tells of the request that was not made. No budget counts it.
func TestDeferrals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 3})
		w.fetch.DelayMin = 2 * time.Second
		first := inTurn(tooMany("900"), ok(page("", shops(1, 3)...)))
		for n := range 3 {
			w.on(city(n), first)
		}
		var blocked *crawl.BlockedError
		began := time.Now()
		err := w.crawl(w.engine(workers(3), func(c *crawl.Config) { c.Budget.Requests = 3 })) // one is made
		if !errors.As(err, &blocked) || blocked.Availability.State != store.SourceHeld || blocked.Availability.Reason != "Retry-After" || blocked.Source != "test" {
			t.Fatalf("the run ended with %v", err)
		}
		if want := "source test is held: Retry-After, until "; !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), " UTC") {
			t.Errorf("it says %q", err)
		}
		took(t, began, 0, 15*time.Second)
		w.askedTimes(1)
		if want := began.Add(902 * time.Second); blocked.Availability.Until.Sub(want).Abs() > time.Second {
			t.Errorf("until %s, want %s", blocked.Availability.Until, want)
		}
		w.same("rows", w.table(`SELECT ifnull(error_class, 'ok'), retry_seq, latency_ms, started_at = finished_at, waited_ms, wait_reason FROM requests
			WHERE type = 'listing' ORDER BY 1, 2`), []string{
			"http_429 0 0 1 2000 delay between requests",
			"rate_limited 0 0 1 0 Retry-After",
			"rate_limited 0 0 1 0 Retry-After",
			"rate_limited 1 0 1 0 Retry-After",
		})
		var ends []string
		for id := range int64(3) {
			a := w.attempts(id + 1)
			if len(a) != 1 || !strings.Contains(a[0].Message, "the host allows no request yet") {
				t.Errorf("target %d: %v", id+1, a)
			}
			ends = append(ends, a[0].String())
			w.is(id+1, yp.Planned, 0, "")
		}
		slices.Sort(ends)
		w.same("attempts", ends, []string{"released", "released", "released 429: retry"})
		storetest.Equal(t, w.table("SELECT samples_1h, dominant_class, status FROM connectivity_profiles")[0], "1 - failing", "the roll-up, for which a deferral is no sample,")

		w.tidy()
		time.Sleep(10 * time.Minute)
		w.done() // waits for the five minutes left
		took(t, began, 15*time.Minute, 920*time.Second)
	})
}

// TestWaits: a row says how long its request waited for the host's turn, and why.
func TestWaits(t *testing.T) {
	const rows = "SELECT waited_ms, wait_reason FROM requests WHERE type = 'listing' ORDER BY id"
	second := ok(page(target+"?page=3", shops(4, 3)...))
	for _, tt := range []struct {
		name  string
		world func(*world)
		delay time.Duration
		want  []string
	}{
		{"the pace", func(w *world) { w.fetch.DelayMin = 3 * time.Second }, 0, times(3, "3000 delay between requests")},
		{"Crawl-delay", func(w *world) { w.robots = "User-agent: *\nCrawl-delay: 7\n" }, 0, times(3, "7000 Crawl-delay")},
		{"Retry-After", func(w *world) { w.on(target+"?page=2", inTurn(tooMany("90"), second)) }, 0, []string{"0 -", "0 -", "90000 Retry-After", "0 -"}},
		{
			"a 429 without", func(w *world) { w.on(target+"?page=2", inTurn(status(429, ""), second)) }, 0,
			[]string{"0 -", "0 -", "30000 429 without Retry-After", "500 slowed down: HTTP 429 at requests without a delay"},
		},
		{
			"what was learned before", func(w *world) {
				w.write(`INSERT INTO hosts (source_id, host, delay_ms, delay_reason, updated_at) VALUES (?, 'directory.test', 5000, 'slowed down: 9 of the last 20 requests failed', ?)`,
					w.scope.SourceID, yp.FormatTime(time.Now()))
			}, time.Second, times(3, "5000 slowed down: 9 of the last 20 requests failed"),
		},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			w := setupInBubble(t, layout{})
			threePages(w)
			tt.world(w)
			w.done(func(c *crawl.Config) { c.Delay = tt.delay })
			w.same("waits", w.table(rows), tt.want)
			w.tidy()
		})
	}
	inBubble(t, "a penalty", func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 3})
		w.on(target, status(403, ""))
		w.on(city(1), status(403, ""))
		e := w.engine()
		done := w.begin(t.Context(), e)
		time.Sleep(10 * time.Second)
		if got := e.Waiting(); !strings.HasPrefix(got, "waiting until 00:00:") || !strings.HasSuffix(got, " UTC: refused by the site") {
			t.Errorf("it says %q", got)
		}
		storetest.NoError(t, w.wait(done))
		w.is(3, yp.Done, 1, "")
		w.same("starts", w.table("SELECT round((julianday(started_at) - julianday((SELECT min(started_at) FROM requests))) * 86400) FROM requests WHERE type = 'listing' ORDER BY id"),
			[]string{"0", "0", "30"})
	})
}
