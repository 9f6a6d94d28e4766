package report_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

func readTrace(t *testing.T, b *bundle, id int64, attempts int) *report.Trace {
	t.Helper()
	tr, err := b.Trace(t.Context(), id, attempts)
	noErr(t, err)
	return tr
}

// tell notes a step and a request on a claim, as a worker does.
func tell(b *bundle, c *checkpoint.Claim, event string, class yp.ErrorClass, status int) {
	now := b.DB().Now()
	c.Attempt.Trace.Add(now, event, 1, "a detail")
	c.Requests = append(c.Requests, store.Request{
		SourceID: c.SourceID, TargetID: c.TargetID, ClaimToken: c.Token, Page: 1, Correlation: "c", Retry: len(c.Requests), Type: "listing",
		URL: "http://x/y", Started: now, Latency: 120 * time.Millisecond, Waited: 42 * time.Second, WaitReason: "Retry-After",
		Class: class, Status: status, Results: 30, Proxy: "http://p:1", Identity: "honest", Via: "proxy",
	})
}

func TestTrace(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	c := b.claim(t, 0)
	tell(b, c, "retry", yp.ClassHTTP429, 429)
	clock.Move(time.Second)
	tell(b, c, "rotated", yp.ClassTimeout, 0)
	clock.Move(time.Second)
	if _, err := b.Fail(t.Context(), c, yp.CodeTimeout, "it hangs"); err != nil {
		t.Fatal(err)
	}
	tr := readTrace(t, b, c.TargetID, 5)
	if len(tr.Attempts) != 1 || tr.Earlier != 0 || tr.ID != c.TargetID {
		t.Fatalf("%+v", tr)
	}
	a := tr.Attempts[0]
	if a.Number != 1 || a.Worker != c.Worker.ID || a.Ended != "failed" || a.Code != "TIMEOUT" || a.Message != "it hangs" || *a.DurationMS != 2000 ||
		*a.BackoffMS < 120_000 || *a.Pages != 0 || a.Finished.Sub(a.Started) != 2*time.Second || a.Run != b.run.UUID {
		t.Errorf("attempt: %+v", a)
	}
	if !a.HasSteps || len(a.Steps) != 2 || a.Steps[0].Event != "retry" || a.Steps[1].Detail != "a detail" || a.Dropped != 0 {
		t.Errorf("steps: %+v", a.Steps)
	}
	if len(a.Requests) != 2 {
		t.Fatalf("requests: %+v", a.Requests)
	}
	r := a.Requests[0]
	if r.HTTPStatus != 429 || r.Class != "http_429" || r.WaitedMS != 42_000 || r.WaitReason != "Retry-After" || r.LatencyMS != 120 || r.Proxy != "http://p:1" ||
		r.Results != nil || r.Outcome != "failure" || a.Requests[1].Retry != 1 || a.Requests[1].HTTPStatus != 0 {
		t.Errorf("request: %+v", r)
	}
}

func TestTraceLimit(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 1, "CA")
	for range 4 {
		c := b.claim(t, 0)
		for c.TargetID != 1 { // the first by priority is taken again and again
			c = b.claim(t, 0)
		}
		noErr(t, b.Release(t.Context(), c, "stop"))
		clock.Move(time.Hour)
	}
	for limit, want := range map[int]string{1: "[4] 3", 3: "[2 3 4] 1", 9: "[1 2 3 4] 0", 0: "[1 2 3 4] 0"} {
		tr := readTrace(t, b, 1, limit)
		numbers := []int{}
		for _, a := range tr.Attempts {
			numbers = append(numbers, a.Number)
			if a.Ended != "released" || a.Message != "stop" {
				t.Errorf("%+v", a)
			}
		}
		if got := fmt.Sprint(numbers, " ", tr.Earlier); got != want {
			t.Errorf("limit %d: %s, want %s", limit, got, want)
		}
	}
}

// TestTraceOfWhatIsGone: a killed process, pruned requests, a text that is no list
// of steps.
func TestTraceOfWhatIsGone(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, "CA")
	if tr := readTrace(t, b, 1, 5); len(tr.Attempts) != 0 || tr.Attempts == nil {
		t.Errorf("never crawled: %+v", tr.Attempts)
	}
	c := b.claim(t, 0)
	a := readTrace(t, b, c.TargetID, 5).Attempts[0]
	if a.Ended != "running" || a.HasSteps || a.Pages != nil || !a.Finished.IsZero() || a.DurationMS != nil || a.Steps == nil || a.Requests == nil {
		t.Errorf("under way: %+v", a)
	}
	execute(t, b.DB(), fmt.Sprintf(`UPDATE crawl_attempts SET metadata = '[1, 2]' WHERE target_id = %d`, c.TargetID))
	if a := readTrace(t, b, c.TargetID, 5).Attempts[0]; a.HasSteps || len(a.Steps) != 0 {
		t.Errorf("another form of metadata: %+v", a)
	}
	execute(t, b.DB(), fmt.Sprintf(`UPDATE crawl_attempts SET metadata = '{"steps": [{"at": "x", "event": "y"}], "dropped": 3}' WHERE target_id = %d`, c.TargetID))
	if a := readTrace(t, b, c.TargetID, 5).Attempts[0]; !a.HasSteps || len(a.Steps) != 1 || a.Dropped != 3 {
		t.Errorf("steps: %+v", a)
	}
	if _, err := b.Trace(t.Context(), 999, 5); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no such target: %v", err)
	}
}
