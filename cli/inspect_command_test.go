package cli

import (
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/report"
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
		if got := tc.in.WhatToDo(noon); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
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
		"1": 1, "2": 2, "socks5://h": 3, "http://you:xxxxx@h:80": 4, "you:pw@h:80": 4,
	} {
		if got, err := namedProxy(all, word); err != nil || got.ID != want {
			t.Errorf("%s: %d (%v), want %d", word, got.ID, err, want)
		}
	}
	if _, err := namedProxy(all, "http://me:xxxxx@h:80"); !isUsage(err) || !strings.Contains(err.Error(), "use the id") {
		t.Errorf("a name of two: %v", err)
	}
	if _, err := namedProxy(all, "http://me:sekret@elsewhere:80"); !isUsage(err) || strings.Contains(err.Error(), "sekret") {
		t.Errorf("none: %v", err)
	}
}
