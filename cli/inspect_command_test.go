package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/yp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestRemedyText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   report.SourceStatus
		want string
	}{
		{report.SourceStatus{Name: "demo", Availability: store.SourceOpen}, ""},
		{
			report.SourceStatus{Name: "demo", Availability: store.SourceHeld, Until: noon.Add(time.Minute), Reason: "Retry-After"},
			"demo is held until 12:01:00Z (in 1m00s): Retry-After",
		},
		{
			report.SourceStatus{Name: "demo", Availability: store.SourcePaused, Reason: "401", Remedy: "sources enable demo"},
			"demo is paused: 401. When that is fixed: `ypcrawl sources enable demo`",
		},
		{
			report.SourceStatus{Name: "demo", Availability: store.SourceHeld, Until: noon.Add(time.Minute), Reason: "penalty"},
			"demo is held until 12:01:00Z (in 1m00s): a wait after blocks. Wait; reset only if the site has lifted the block",
		},
		{ // its time has come, and no run has probed it yet
			report.SourceStatus{Name: "demo", Availability: store.SourceQuarantined, Until: noon, Reason: "cf_challenge"},
			"demo is quarantined: cf_challenge; the next run requests one page, to see whether it answers. Wait; reset only if the site has lifted the block",
		},
		{
			report.SourceStatus{Name: "demo", Availability: store.SourceDisabled, Reason: "disabled by an operator", Remedy: "sources enable demo"},
			"demo is disabled. Open it with `ypcrawl sources enable demo`",
		},
	} {
		if got := remedyText(noon, tc.in); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// TestMarksOf: steps and requests stand in the order in which they happened, also
// those of one millisecond.
func TestMarksOf(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	found := int64(30)
	a := &report.TraceAttempt{
		Started: noon, HasSteps: true,
		Steps: []store.Step{
			{At: yp.FormatTime(noon), Event: "claimed"},
			{At: yp.FormatTime(second(44)), Event: "committed", Page: 1, Detail: "30 listings, 12 new"},
			{At: yp.FormatTime(second(3)), Event: "retry", Page: 1, Detail: "TIMEOUT"},
			{At: "no time", Event: "odd"},
		},
		Requests: []report.TraceRequest{
			{Page: 2, URL: "http://x/2", Type: "listing", Started: second(44), Finished: second(45), LatencyMS: 1000, HTTPStatus: 403, Class: "http_403", Proxy: "http://p:1", Via: "proxy", Identity: "chrome"},
			{Page: 1, URL: "http://x/1", Type: "listing", Started: second(2), Finished: second(3), LatencyMS: 1000, Class: "timeout", ProxyFailed: true},
			{Page: 1, URL: "http://x/1", Type: "listing", Retry: 1, Started: second(43), Finished: second(44), LatencyMS: 120, HTTPStatus: 200, Results: &found, WaitedMS: 42_000, WaitReason: "Retry-After"},
			{Page: 3, URL: "http://x/3", Type: "listing", Started: second(50), Finished: second(50), Class: "rate_limited", WaitReason: "penalty"},
		},
	}
	var got []string
	for _, m := range a.Marks() {
		got = append(got, m.Text)
	}
	want := []string{
		"claimed", "odd",
		"asked GET http://x/1", "no answer in 1.0 s: the proxy failed, timeout", "page 1 retry: TIMEOUT",
		"waited 42.0 s: Retry-After", "asked GET http://x/1 again (1)", "answered 200 in 120 ms: 30 listings", "page 1 committed: 30 listings, 12 new",
		"asked GET http://x/2 via http://p:1 as chrome", "answered 403 in 1.0 s: http_403",
		"not asked yet: penalty",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestNamedProxy(t *testing.T) {
	t.Parallel()
	all := []health.Proxy{
		{ID: 1, URL: "http://me:one@h:80", Name: "http://me:xxxxx@h:80"},
		{ID: 2, URL: "http://me:two@h:80", Name: "http://me:xxxxx@h:80"},
		{ID: 3, URL: "socks5://h:1080", Name: "socks5://h:1080"},
		{ID: 4, URL: "http://you:pw@h:80", Name: "http://you:xxxxx@h:80"},
	}
	for word, want := range map[string]int64{
		"1": 1, "http://me:two@h:80": 2, "http://me:two@h": 2, "socks5://h": 3, "http://you:xxxxx@h:80": 4, "you:pw@h:80": 4,
	} {
		if got, err := namedProxy(all, word); err != nil || got.ID != want {
			t.Errorf("%s: %d (%v), want %d", word, got.ID, err, want)
		}
	}
	if _, err := namedProxy(all, "http://me:xxxxx@h:80"); !errors.Is(err, health.ErrAmbiguous) || !isUsage(err) {
		t.Errorf("a name of two: %v", err)
	}
	if _, err := namedProxy(all, "http://me:sekret@elsewhere:80"); !isUsage(err) || strings.Contains(err.Error(), "sekret") {
		t.Errorf("none: %v", err)
	}
}
