package wal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var noErr = storetest.NoError

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// clock is a fake clock that steps one second with every look.
func clock() func() time.Time {
	t := noon
	return func() time.Time { t = t.Add(time.Second); return t }
}

func create(t testing.TB, cfg Config) *Log {
	t.Helper()
	if cfg.WorkerID == "" {
		cfg.WorkerID = "worker_0_pid_1"
	}
	if cfg.Now == nil {
		cfg.Now = clock()
	}
	log, err := Create(cfg)
	noErr(t, err)
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func appendN(t testing.TB, log *Log, n int) {
	t.Helper()
	for range n {
		noErr(t, log.Append(samplePage(1)))
	}
}

// logOf writes a log of n pages and closes it.
func logOf(t testing.TB, cfg Config, n int) *Log {
	t.Helper()
	log := create(t, cfg)
	appendN(t, log, n)
	noErr(t, log.Close())
	return log
}

// readAll reads path to its end; errors are the damage met.
func readAll(t testing.TB, path string, opts Options) (events []*Event, damage []error, torn []TornTail) {
	t.Helper()
	r, err := OpenReader(path, opts)
	noErr(t, err)
	defer func() { _ = r.Close() }()
	for e, err := range r.Events() {
		if err != nil {
			damage = append(damage, err)
		} else {
			events = append(events, e)
		}
	}
	return events, damage, r.Torn()
}

// wantSeqs checks that path holds the events 1..n of one worker, undamaged.
func wantSeqs(t testing.TB, path string, n int) {
	t.Helper()
	events, damage, _ := readAll(t, path, Options{})
	if len(damage) > 0 {
		t.Fatalf("damage: %v", damage)
	}
	wantConsecutive(t, events, n)
}

func wantConsecutive(t testing.TB, events []*Event, n int) {
	t.Helper()
	if len(events) != n {
		t.Fatalf("%d events, want %d", len(events), n)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i, e.Seq)
		}
	}
}

// compress compresses all that is closed in a folder.
func compress(t testing.TB, dir string) {
	t.Helper()
	_, err := CompressClosed(t.Context(), dir, nil)
	noErr(t, err)
}

// wantFiles checks what a folder holds.
func wantFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	storetest.Same(t, "files", names(t, dir), want)
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	noErr(t, err)
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Name()
	}
	return list
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	noErr(t, err)
	return b
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	noErr(t, os.MkdirAll(filepath.Dir(path), 0o755))
	noErr(t, os.WriteFile(path, data, 0o644))
}

// samplePage is a page_complete event with n full listings.
func samplePage(n int) *Event {
	e := &Event{
		Type: PageComplete, Run: "run-20261120-120000",
		Target: &Target{
			ID: 4711, ClaimToken: 3, Kind: yp.KindSearch, Source: "demo", Priority: 1, MaxPages: 3,
			Place: yp.Place{City: "Los Angeles", CitySlug: "los-angeles-ca", State: "CA", Category: "Plumbers", CategorySlug: "plumbers"},
		},
		Page: &yp.Page{Number: 2, NextURL: "https://directory.example/los-angeles-ca/plumbers?page=3", Raw: n, Accepted: n},
	}
	for i := range n {
		e.Page.Listings = append(e.Page.Listings, sampleListing(i))
	}
	return e
}

func sampleListing(i int) yp.Listing {
	claimed := i%2 == 0
	return yp.Listing{
		ID: fmt.Sprint(100000 + i), Name: fmt.Sprintf("Müller & Sons \"Rooter\" Plumbing %d", i), Rank: i + 1,
		ProfileURL: fmt.Sprintf("https://directory.example/los-angeles-ca/mip/muller-sons-%d", 100000+i),
		Phone:      "(310) 555-0123", PhoneE164: "+13105550123", Street: "1200 W Main St Ste 4", City: "Los Angeles",
		State: "CA", PostalCode: "90210", ServiceArea: "Serving the Los Angeles Area",
		WebsiteURL: "http://www.muller-sons.example/?utm_source=dir", Website: "https://muller-sons.example",
		Domain: "muller-sons.example", Categories: []string{"Plumbers", "Water Heaters", "Sewer Contractors"},
		Rating: 4.5, ReviewCount: 17 + i, YearsInBusiness: 12, PriceRange: "$$",
		Snippet:  "From Business: family owned since 1998 — we fix leaks, drains and water heaters, day and night.",
		ImageURL: "https://i1.directory.example/blob/abcdef0123456789_400x260_crop.jpg",
		Hours:    []string{"Mo-Fr 08:00-18:00", "Sa 09:00-13:00"}, Claimed: &claimed, Sponsored: i%7 == 6,
	}
}

// lineOf is an event's line without its end.
func lineOf(e *Event) []byte {
	b, err := e.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return b
}
