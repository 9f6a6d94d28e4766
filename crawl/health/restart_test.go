package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/yp"
)

// TestRestart: what a source has told us outlives the process that was told.
func TestRestart(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := newPacing(t, w)
	authFailures(t, w)
	p.see(t, 3, blocked)
	p.see(t, 10, Seen{Host: "b", HostFault: true, Class: yp.ClassHTTP429, RetryAfter: 10 * time.Minute})
	l := w.layout(t)
	for range 2 {
		_, err := l.Unknown(t.Context(), "no list")
		ok(t, err)
	}
	ok(t, w.Pause(t.Context(), other, yp.CodeAuthFailed, "401", w.clock.now().Add(AuthPause)))
	_, err := w.AddProxy(t.Context(), urlA, nameA)
	ok(t, err)
	ok(t, w.countProxy(t, 1, ProxyUse{Successes: 3, Failures: 10, Consecutive: 10, CooldownUntil: w.clock.now().Add(ProxyRest), LastError: "refused"}))
	ok(t, w.KeepSample(t.Context(), Sample{SourceID: demo, URL: "u", Reason: "r", Body: []byte("body")}))
	profiles := storedProfiles(t, w)
	proxies, err := w.Proxies(t.Context())
	ok(t, err)

	w.clock.move(20 * time.Second)
	w.restart(t)
	p = newPacing(t, w)
	p.want(t, "a hold 40s penalty: 3 blocks in a row",
		"b delay 3s slowed down: 10 of the last 10 requests failed", "b hold 9m40s Retry-After")
	again := storedProfiles(t, w)
	if d := cmp.Diff(profiles, again); d != "" || again[0].Status != Quarantined {
		t.Errorf("profiles: %s %s", again[0].Status, d)
	}
	proxiesAgain, err := w.Proxies(t.Context())
	ok(t, err)
	if d := cmp.Diff(proxies, proxiesAgain); d != "" || proxies[0].CooldownUntil.IsZero() {
		t.Errorf("proxies: %s", d)
	}
	if p := w.rollUp(t, demo); p.Status != Quarantined {
		t.Errorf("rolled up to %s", p.Status)
	}
	w.begin(t, false)
	wantRows(t, w.db, `SELECT paused_code FROM sources WHERE id = 2`, "AUTH_FAILED")
	if body, err := w.ReadSample(t.Context(), 1); err != nil || string(body) != "body" {
		t.Errorf("sample: %q, %v", body, err)
	}
	if alarm, err := w.layout(t).Unknown(t.Context(), "no list"); err != nil || alarm == "" {
		t.Errorf("the third strike: %q, %v", alarm, err)
	}
}
