package crawl_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// All targets are crawled by the same engine. What these tests say of one kind they say of all
// three.

// aTarget is a kind of target, and a world in which one of it is due and nothing else.
type aTarget struct {
	kind    yp.Kind
	first   string // address of its first page
	pages   int
	prepare func(w *world) func(*crawl.Config)
}

func eachKind() []aTarget {
	return []aTarget{
		{yp.KindIndex, "/state-ca", 27, func(w *world) func(*crawl.Config) {
			w.write("DELETE FROM targets")
			w.indexes("ca")
			w.wantIndexes("CA")
			return w.reads()
		}},
		{yp.KindSearch, target, 2, func(w *world) func(*crawl.Config) {
			w.on(target, ok(page(target+"?page=2", shops(1, 3)...)))
			w.on(target+"?page=2", ok(page("", shops(4, 3)...)))
			return func(*crawl.Config) {}
		}},
		{yp.KindDetail, shop(1), 1, func(w *world) func(*crawl.Config) {
			w.on(target, ok(page("", shops(1, 1)...)))
			w.on(shop(1), ok(own(1)))
			w.done()
			w.start()
			return detailsOnly
		}},
	}
}

// stands compares the target with "DONE, 27 pages, 1 attempts, 0 failures".
func (w *world) stands(k aTarget, want string) {
	w.t.Helper()
	w.same("the target", w.table(`SELECT status || ', ' || page_current || ' pages, ' || total_attempts || ' attempts, ' || consecutive_failures || ' failures'
		FROM targets WHERE kind = '`+string(k.kind)+`'`), []string{want})
}

// fetched is how often its first page was asked for.
func (w *world) fetched(k aTarget) (n int) {
	for _, uri := range w.asked() {
		if uri == k.first {
			n++
		}
	}
	return n
}

// TestClosedSource: a source that is closed is not asked for a target of any kind, which stays
// as it is.
func TestClosedSource(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"disabled":    `UPDATE sources SET enabled = 0`,
		"paused":      `UPDATE sources SET paused_until = '2999-01-01T00:00:00.000Z', paused_code = 'AUTH_FAILED', paused_reason = 'test'`,
		"quarantined": `INSERT OR REPLACE INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, cooldown_minutes, updated_at) SELECT id, 'quarantined', 'timeout', created_at, '2999-01-01T00:00:00.000Z', 30, created_at FROM sources`,
	} {
		for _, k := range eachKind() {
			parallel(t, fmt.Sprintf("%s/%s", name, k.kind), func(t *testing.T) {
				w := setup(t, layout{yaml: shopPages})
				prepared := k.prepare(w)
				w.write(change)
				if err := w.crawl(w.engine(prepared)); !errors.As(err, new(*crawl.BlockedError)) {
					t.Fatalf("ended with %v", err)
				}
				storetest.Equal(t, w.fetched(k), 0, "requests for the page")
				w.stands(k, "PLANNED, 0 pages, 0 attempts, 0 failures")
			})
		}
	}
}

// TestStopOfEveryKind: a stop finishes the current page and begins no other; the next run goes
// on behind it.
func TestStopOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, k := range eachKind() {
		parallel(t, string(k.kind), func(t *testing.T) {
			w := setup(t, layout{yaml: shopPages})
			change := k.prepare(w)
			good := w.route(k.first)
			var e *crawl.Engine
			w.on(k.first, after(func() { e.Stop(crawl.ErrInterrupted) }, good))
			before := len(w.asked())
			e = w.engine(change)
			endedBy(t, w.crawl(e), crawl.ErrInterrupted)
			status, attempts := yp.Planned, 2
			if k.pages == 1 {
				status, attempts = yp.Done, 1
			}
			w.stands(k, fmt.Sprintf("%s, 1 pages, 1 attempts, 0 failures", status))
			w.start()
			w.done(change)
			w.stands(k, fmt.Sprintf("DONE, %d pages, %d attempts, 0 failures", k.pages, attempts))
			storetest.Equal(t, len(w.asked())-before, k.pages, "pages asked for")
		})
	}
}

// TestProbes: a source whose quarantine is over is probed with a page that is due, whatever its
// kind. One answer opens the source, another one closes it for longer.
func TestProbes(t *testing.T) {
	for _, k := range eachKind() {
		for _, opens := range []bool{true, false} {
			inBubble(t, fmt.Sprintf("%s/answers: %v", k.kind, opens), func(t *testing.T) {
				w := setupInBubble(t, layout{yaml: shopPages})
				change := k.prepare(w)
				if !opens {
					w.on(k.first, status(http.StatusForbidden, "<html>no</html>"))
				}
				now := time.Now()
				w.write(`DELETE FROM requests`)
				w.write(`INSERT OR REPLACE INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
					VALUES (?, 'quarantined', 'timeout', ?, ?, ?)`, w.scope.SourceID, yp.FormatTime(now.Add(-time.Hour)), yp.FormatTime(now.Add(time.Minute)), yp.FormatTime(now))
				w.start()
				err := w.crawl(w.engine(change))
				const firstRequest = "SELECT type, outcome FROM requests WHERE type <> 'robots' ORDER BY id LIMIT 1"
				if opens {
					storetest.NoError(t, err)
					w.stands(k, fmt.Sprintf("DONE, %d pages, 1 attempts, 0 failures", k.pages))
					w.same("the first request", w.table(firstRequest), []string{"probe success"})
					return
				}
				if !errors.As(err, new(*crawl.BlockedError)) {
					t.Fatalf("ended with %v", err)
				}
				w.stands(k, "PLANNED, 0 pages, 0 attempts, 0 failures")
				w.same("the first request", w.table(firstRequest), []string{"probe failure"})
				w.same("the source", w.table("SELECT status, cooldown_minutes FROM connectivity_profiles"), []string{"quarantined 60"})
			})
		}
	}
}
