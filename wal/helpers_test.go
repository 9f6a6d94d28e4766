package wal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/yp"
)

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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func appendN(t testing.TB, log *Log, n int) {
	t.Helper()
	for range n {
		if err := log.Append(samplePage(1)); err != nil {
			t.Fatal(err)
		}
	}
}

func closeLog(t testing.TB, log *Log) {
	t.Helper()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// readAll reads path to its end; errors are the damage met.
func readAll(t testing.TB, path string, opts Options) (events []*Event, damage []error, torn []TornTail) {
	t.Helper()
	r, err := OpenReader(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for e, err := range r.Events() {
		if err != nil {
			damage = append(damage, err)
			continue
		}
		events = append(events, e)
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

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]string, 0, len(entries))
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
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
