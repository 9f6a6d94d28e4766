package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var bg = context.Background()

// tried is a world whose clock is where it was set, with a run and target 1 held
// under token 5.
type tried struct {
	*world
	at time.Time
}

func newTried(t *testing.T) *tried {
	t.Helper()
	x := &tried{at: noon}
	x.world = worldOn(t, storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "a.db"), Now: func() time.Time { return x.at }}))
	x.must(t, `INSERT INTO runs (id, uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES (1, 'u', 'h', 1, 1, 'run', 'x', 'x')`)
	x.hold(t, 1, 5)
	return x
}

// hold claims a target under a token and begins its attempt.
func (x *tried) hold(t *testing.T, target, token int64) {
	t.Helper()
	noErr(t, x.Write(bg, func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'w', claimed_at = ?, run_id = 1, claim_token = ?, page_current = 2 WHERE id = ?`, tx.Now, token, target)
		return errors.Join(err, store.BeginAttempt(tx, store.AttemptKey{TargetID: target, Token: token}, 1, "w", 3, 2))
	}))
}

func (x *tried) drop(t *testing.T, target string) {
	t.Helper()
	x.must(t, `UPDATE targets SET status = 'PLANNED', claimed_by = NULL, claimed_at = NULL, run_id = NULL WHERE id = `+target)
}

const attemptRows = `SELECT target_id, claim_token, run_id, worker_id, attempt_number, page_before, started_at, finished_at, duration_ms, ended, error_code,
	error_message, http_status, proxy, identity, user_agent, pages, listings, upserted, changed, bytes, backoff_delay_ms, metadata FROM crawl_attempts ORDER BY id`

func TestAttempt(t *testing.T) {
	t.Parallel()
	key := store.AttemptKey{TargetID: 1, Token: 5}
	const begun = "1|5|1|w|3|2|2026-11-20T12:00:00.000Z|"
	a := store.Attempt{
		HTTPStatus: 503, Proxy: "http://p:1", Identity: "firefox", UserAgent: "Mozilla/5.0", Pages: 2, Listings: 60, Upserted: 58, Changed: 9, Bytes: 1 << 20, StartedAt: noon,
	}
	a.Trace.Add(noon.Add(time.Second), "asked", 3, "because\x1b[31m")
	const trace = `{"steps":[{"at":"2026-11-20T12:00:01.000Z","event":"asked","page":3,"detail":"because[31m"}],"dropped":0}`
	idle := store.Attempt{StartedAt: noon, Trace: a.Trace}
	setBack := store.Attempt{StartedAt: noon.Add(time.Hour), Trace: a.Trace}
	const by, did = "|503|http://p:1|firefox|Mozilla/5.0", "|2|60|58|9|1048576|"
	for _, c := range []struct {
		name string
		a    store.Attempt
		end  store.AttemptEnd
		want string // how long it took, and what it was
	}{
		{"failed", a, store.AttemptEnd{Ended: store.EndedFailed, Code: yp.CodeNetworkError, Message: "503", Backoff: 2 * time.Hour}, "60250|failed|NETWORK_ERROR|503" + by + did + "7200000|"},
		{"done", a, store.AttemptEnd{Ended: store.EndedDone, Code: yp.CodeSuccess}, "60250|done|SUCCESS|" + by + did + "|"},
		{"parked", a, store.AttemptEnd{Ended: store.EndedParked, Code: yp.CodeNoListings, Message: "404"}, "60250|parked|NO_LISTINGS|404" + by + did + "|"},
		{"released, having done nothing", idle, store.AttemptEnd{Ended: store.EndedReleased, Message: "stop"}, "60250|released||stop|||||0|0|0|0|0||"},
		{"a clock set back meanwhile", setBack, store.AttemptEnd{Ended: store.EndedReleased}, "0|released|||||||0|0|0|0|0||"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newTried(t)
			same(t, "begun", rows(t, x.DB, attemptRows), []string{begun + "||running|||||||||||||"})
			x.at = noon.Add(time.Minute + 250*time.Millisecond)
			noErr(t, x.end(key, c.a, c.end))
			want := []string{begun + "2026-11-20T12:01:00.250Z|" + c.want + trace}
			same(t, "ended", rows(t, x.DB, attemptRows), want)
			noErr(t, x.end(key, store.Attempt{}, store.AttemptEnd{Ended: store.EndedReleased}))
			same(t, "the row of an attempt that was over was written again", rows(t, x.DB, attemptRows), want)
		})
	}
}

func (x *tried) end(key store.AttemptKey, a store.Attempt, end store.AttemptEnd) error {
	return x.Write(bg, func(tx *store.Tx) error { return store.EndAttempt(tx, key, &a, end) })
}

// TestAttemptRules: an outcome has a code, and nothing else has one; one row a claim.
func TestAttemptRules(t *testing.T) {
	t.Parallel()
	x := newTried(t)
	key := store.AttemptKey{TargetID: 1, Token: 5}
	for _, c := range []struct {
		end   store.Ended
		code  yp.ErrorCode
		taken bool
	}{
		{store.EndedDone, "", false},
		{store.EndedFailed, "", false},
		{store.EndedParked, "", false},
		{store.EndedReleased, yp.CodeTimeout, false},
		{store.EndedRecovered, yp.CodeSuccess, false},
		{"running", "", false},
		{"finished", yp.CodeSuccess, false},
		{store.EndedFailed, "timeout", false},
		{store.EndedFailed, yp.CodeTimeout, true},
	} {
		if err := x.end(key, store.Attempt{StartedAt: noon}, store.AttemptEnd{Ended: c.end, Code: c.code}); (err == nil) != c.taken {
			t.Errorf("%q with code %q: %v", c.end, c.code, err)
		}
	}
	again := func(tx *store.Tx) error { return store.BeginAttempt(tx, key, 1, "w", 4, 0) }
	if err := x.Write(bg, again); err == nil || !strings.Contains(err.Error(), "record attempt") {
		t.Errorf("a second row of one claim: %v", err)
	}
	for _, code := range yp.ErrorCodes() {
		noErr(t, x.try(`UPDATE crawl_attempts SET error_code = ?`, string(code)))
	}
}

// TestCloseAttempts: those whose claim is gone end as recovered; a living claim's
// attempt, and one that is over, stay as they are.
func TestCloseAttempts(t *testing.T) {
	t.Parallel()
	x := newTried(t) // target 1, token 5
	for target := int64(2); target <= 5; target++ {
		x.hold(t, target, 1)
	}
	x.drop(t, "2")                                                     // its claim is gone
	x.must(t, `UPDATE targets SET page_current = 6 WHERE id IN (2,3)`) // and 4 pages were committed
	x.must(t, `UPDATE targets SET claim_token = 2 WHERE id = 3`)       // held again, under another token
	x.must(t, `UPDATE targets SET page_current = 0 WHERE id = 4`)      // crawled anew since
	x.drop(t, "4")
	noErr(t, x.end(store.AttemptKey{TargetID: 5, Token: 1}, store.Attempt{StartedAt: noon}, store.AttemptEnd{Ended: store.EndedReleased}))
	x.drop(t, "5") // its claim is gone, its attempt was ended before
	closing := func() { noErr(t, x.Write(bg, store.CloseAttempts)) }
	x.at = noon.Add(90*time.Second + time.Millisecond)
	closing()
	const q = `SELECT target_id, ended, finished_at, duration_ms, error_code, pages, listings, bytes, metadata FROM crawl_attempts ORDER BY id`
	want := []string{
		"1|running|||||||",
		"2|recovered|2026-11-20T12:01:30.001Z|90001||4|||",
		"3|recovered|2026-11-20T12:01:30.001Z|90001||4|||",
		"4|recovered|2026-11-20T12:01:30.001Z|90001||0|||",
		`5|released|2026-11-20T12:00:00.000Z|0||0|0|0|{"steps":[],"dropped":0}`,
	}
	same(t, "closed", rows(t, x.DB, q), want)
	x.at = x.at.Add(time.Hour)
	closing()
	same(t, "closed again", rows(t, x.DB, q), want)
	x.drop(t, "1")
	x.at = noon.Add(-time.Hour) // the clock was set back
	closing()
	same(t, "under a clock set back", rows(t, x.DB, q)[:1], []string{"1|recovered|2026-11-20T11:00:00.000Z|0||0|||"})
}

// TestTrace: a trace is bounded and says how much it lacks.
func TestTrace(t *testing.T) {
	t.Parallel()
	var trace store.Trace
	for i := range 1000 {
		trace.Add(noon.Add(time.Duration(i)*time.Second), "step", i, "why")
	}
	if len(trace.Steps) != 256 || trace.Dropped != 744 || trace.Steps[255].Page != 255 {
		t.Errorf("%d steps, %d dropped, the last of page %d: want the first 256 and 744", len(trace.Steps), trace.Dropped, trace.Steps[len(trace.Steps)-1].Page)
	}
	x := newTried(t)
	noErr(t, x.end(store.AttemptKey{TargetID: 1, Token: 5}, store.Attempt{Trace: trace, StartedAt: noon}, store.AttemptEnd{Ended: store.EndedReleased}))
	var kept store.Trace
	if err := json.Unmarshal([]byte(rows(t, x.DB, `SELECT metadata FROM crawl_attempts`)[0]), &kept); err != nil || !slices.Equal(kept.Steps, trace.Steps) || kept.Dropped != 744 {
		t.Errorf("the row keeps %d steps, %d dropped (%v)", len(kept.Steps), kept.Dropped, err)
	}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// someRequest is a page that was fetched and read.
func someRequest() store.Request {
	return store.Request{
		SourceID: 1, TargetID: 1, ClaimToken: 7, Page: 2, Correlation: "c1", Retry: 1, Type: yp.RequestListing, URL: "http://x/2",
		Started: noon, Latency: 1234*time.Millisecond + 999*time.Microsecond, Waited: 2 * time.Second, WaitReason: "pace",
		Status: 200, Results: 30, Bytes: 4096, Proxy: "http://p:1", Identity: "firefox", Via: "proxy",
	}
}

func (w *world) record(requests ...store.Request) error {
	return w.Write(bg, func(tx *store.Tx) error { return store.SaveRequests(tx, requests) })
}

const requestRow = `SELECT source_id, target_id, claim_token, page, correlation_id, retry_seq, type, url, started_at, finished_at, waited_ms, wait_reason,
	outcome, error_class, http_status, latency_ms, parse_ok, result_count, bytes, proxy, proxy_failed, identity, via FROM requests ORDER BY id DESC LIMIT 1`

func TestSaveRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const head, end = "1|1|7|2|c1|1|listing|http://x/2|2026-11-20T12:00:00.000Z|", "2026-11-20T12:00:01.234Z|2000|pace|"
	const by = "|http://p:1|0|firefox|proxy"
	bare := store.Request{SourceID: 2, Correlation: "c2", Type: yp.RequestRobots, URL: "/robots.txt", Started: noon}
	late := store.Request{SourceID: 1, TargetID: 1, ClaimToken: 7, Page: 2, Correlation: "c1", Type: yp.RequestListing, URL: "http://x/2", Latency: time.Hour}
	for _, c := range []struct {
		name   string
		change func(*store.Request)
		want   string
	}{
		{"success", func(*store.Request) {}, head + end + "success||200|1234|1|30|4096" + by},
		{"an empty result is a success with 0", func(r *store.Request) { r.Results = 0 }, head + end + "success||200|1234|1|0|4096" + by},
		{"a page that could not be read", func(r *store.Request) { r.Class = yp.ClassParseError }, head + end + "failure|parse_error|200|1234|0||4096" + by},
		{
			"no answer", func(r *store.Request) { r.Class, r.Status, r.Bytes, r.Latency = yp.ClassConnectionRefused, 0, 0, 0 },
			head + "2026-11-20T12:00:00.000Z|2000|pace|failure|connection_refused||0|||0" + by,
		},
		{
			"the proxy's own fault", func(r *store.Request) { r.Class, r.Status, r.ProxyFailed = yp.ClassUnknown, 0, true },
			head + end + "failure|unknown||1234|||4096|http://p:1|1|firefox|proxy",
		},
		{
			"of no target, by no proxy, without a wait", func(r *store.Request) { *r = bare },
			"2||||c2|0|robots|/robots.txt|2026-11-20T12:00:00.000Z|2026-11-20T12:00:00.000Z|0||success|||0|1|0|0||0||none",
		},
		{
			"a deferral", func(r *store.Request) { *r = late.Deferral(noon.Add(time.Second), "Retry-After") },
			"1|1|7|2|c1|0|listing|http://x/2|2026-11-20T12:00:01.000Z|2026-11-20T12:00:01.000Z|0|Retry-After|failure|rate_limited||0|||0||0||none",
		},
	} {
		r := someRequest()
		c.change(&r)
		noErr(t, w.record(r))
		same(t, c.name, rows(t, w.DB, requestRow), []string{c.want})
	}
}

// TestEveryRequest: every type and every class has a row, and the outcome says
// whether there is a class.
func TestEveryRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []store.Request
	for _, typ := range yp.RequestTypes() {
		for _, class := range append(yp.ErrorClasses(), "") {
			r := someRequest()
			if r.Type, r.Class = typ, class; class == yp.ClassRateLimited {
				r = r.Deferral(noon, "pace")
			}
			all = append(all, r)
		}
	}
	noErr(t, w.record(all...))
	const q = `SELECT count(*), count(DISTINCT type), count(DISTINCT error_class), sum(outcome = 'success'), sum(error_class IS NULL), sum(result_count IS NOT NULL),
		sum(parse_ok = 1), sum(parse_ok = 0), sum(error_class = 'parse_error') FROM requests`
	same(t, "rows", rows(t, w.DB, q), []string{"78|6|12|6|6|6|6|6|6"})
}

// TestRequestRules: what the rules forbid, the schema does not take, and one bad row
// takes the others of its page with it.
func TestRequestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, change := range map[string]func(*store.Request){
		"no such type":               func(r *store.Request) { r.Type = "page" },
		"no such class":              func(r *store.Request) { r.Class = "TIMEOUT" },
		"no such way":                func(r *store.Request) { r.Via = "pigeon" },
		"a success of less than 0":   func(r *store.Request) { r.Results = -1 },
		"a retry before the first":   func(r *store.Request) { r.Retry = -1 },
		"fewer bytes than none":      func(r *store.Request) { r.Bytes = -1 },
		"a deferral that took time":  func(r *store.Request) { r.Class = yp.ClassRateLimited },
		"of a source there is not":   func(r *store.Request) { r.SourceID = 99 },
		"of a target there is not":   func(r *store.Request) { r.TargetID = 99 },
		"of no source":               func(r *store.Request) { r.SourceID = 0 },
		"a deferral that ends later": func(r *store.Request) { r.Class, r.Latency = yp.ClassRateLimited, time.Millisecond },
	} {
		r := someRequest()
		change(&r)
		if err := w.record(someRequest(), r, someRequest()); err == nil || !strings.Contains(err.Error(), "record request") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.is(t, `SELECT count(*) FROM requests`, "0")
	for name, set := range map[string]string{
		"a failure without a class": `outcome = 'failure'`, "a success with one": `error_class = 'dns'`, "a success without a count": `result_count = NULL`,
	} {
		noErr(t, w.record(someRequest()))
		if err := w.try(`UPDATE requests SET ` + set); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func (w *world) try(query string, args ...any) error {
	return w.Write(bg, func(tx *store.Tx) error { _, err := tx.Exec(query, args...); return err })
}
