package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

// TestRuns: what a run did is told from what it left.
func TestRuns(t *testing.T) {
	t.Parallel()
	b, clock := setupClock(t, 2, "CA")
	noErr(t, b.run.Enlist(t.Context(), yp.WorkerID(0, 1), "amber", checkpoint.Usage{Memory: 50e6}))
	_, err := b.run.BeginPass(t.Context(), store.Scope{SourceID: b.scope.SourceID, States: []string{"CA"}, MinPopulation: 10}, new(36*time.Hour))
	noErr(t, err)
	c := b.claim(t, 0)
	c.Requests = []store.Request{
		{SourceID: 1, TargetID: c.TargetID, ClaimToken: c.Token, Correlation: "x", Type: yp.RequestListing, URL: "http://h/", Started: clock.Now(), Results: 2, Waited: 3 * time.Second, WaitReason: "pace", Bytes: 7},
		{SourceID: 1, TargetID: c.TargetID, ClaimToken: c.Token, Correlation: "y", Type: yp.RequestListing, URL: "http://h/", Started: clock.Now(), Class: yp.ClassTimeout},
	}
	b.commit(t, c, page(false, "a", "b"))
	clock.Move(10 * time.Second)
	_, err = b.Fail(t.Context(), c, yp.CodeTimeout, "slow")
	noErr(t, err)
	noErr(t, b.run.Finish(t.Context(), checkpoint.OutcomeDone, 3))
	r, err := b.Run(t.Context(), b.run.ID)
	noErr(t, err)
	var values []any
	for _, name := range strings.Fields("state took_seconds pages new requests requests_kept claims attempts_kept") {
		values = append(values, r.Get(name))
	}
	if got := fmt.Sprint(values); got != "[done 10 1 2 3 2 1 1]" {
		t.Error(got)
	}
	for name, want := range map[string]string{
		"attempts":            `[{"kind":"search","ended":"failed","attempts":1,"pages":1,"listings":2}]`,
		"errors":              `[{"error":"TIMEOUT","attempts":1,"targets":1}]`,
		"requests_by_outcome": `[{"type":"listing","outcome":"failure","error_class":"timeout","requests":1,"bytes":0},{"type":"listing","outcome":"success","error_class":null,"requests":1,"bytes":7}]`,
		"waits":               `[{"reason":"pace","waited_seconds":3}]`,
		"passes":              `[{"source":"demo","run":1,"began_at":"` + yp.FormatTime(clock.Now().Add(-10*time.Second)) + `","kind":"search","states":"CA","cities":null,"categories":null,"min_population":10,"recrawl_seconds":129600}]`,
	} {
		if data, err := json.Marshal(r.Part(name)); err != nil || string(data) != want {
			t.Errorf("%s: %s, %v; want %s", name, data, err, want)
		}
	}

	var unknown *report.NotFoundError
	if _, err := b.Run(t.Context(), 99); !errors.As(err, &unknown) {
		t.Errorf("run 99: %v", err)
	}
}
