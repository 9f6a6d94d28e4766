package wal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/yp"
)

func TestReadStats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := create(t, Config{Dir: dir, WorkerID: "worker_0_pid_1", MaxBytes: 2000})
	page := samplePage(2)
	page.Page.Raw, page.Page.Bad = 5, 1
	for _, e := range []*Event{
		{Type: TargetStart},
		page, samplePage(1),
		{Type: TargetComplete},
		{Type: TargetError, ErrorCode: yp.CodeTimeout},
		{Type: TargetError},
		{Type: Stop, Timestamp: noon.Add(-time.Hour)},
	} {
		if err := a.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	waitPacked(a)
	b := "worker_1_pid_1"
	writeLines(t, dir, b+".jsonl", textLine(b, 1, 100, Heartbeat), "bad\n", textLine(b, 2, 200, Heartbeat), "torn")
	stats, err := ReadStats(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for i := range stats.Workers {
		bytes += stats.Workers[i].Bytes
		stats.Workers[i].Bytes = 0
	}
	if bytes == 0 || stats.Total.Bytes != bytes {
		t.Fatalf("%d bytes, workers %d", stats.Total.Bytes, bytes)
	}
	stats.Total.Bytes = 0
	first := Summary{
		Files: 3, Compressed: 2, Events: 7, Pages: 2, ListingsRaw: 6, ListingsAccepted: 3, ListingsBad: 1,
		ByType:       map[EventType]int64{TargetStart: 1, PageComplete: 2, TargetComplete: 1, TargetError: 2, Stop: 1},
		ErrorsByCode: map[yp.ErrorCode]int64{yp.CodeTimeout: 1, yp.CodeUnknown: 1},
		First:        Stamp{noon.Add(-time.Hour)}, Last: Stamp{noon.Add(6 * time.Second)},
	}
	second := Summary{
		Files: 1, Events: 2, ByType: map[EventType]int64{Heartbeat: 2}, ErrorsByCode: map[yp.ErrorCode]int64{},
		First: Stamp{noon.Add(100 * time.Second)}, Last: Stamp{noon.Add(200 * time.Second)}, CorruptLines: 1, TornTails: 1,
	}
	total := first
	total.Files, total.Events, total.Last, total.CorruptLines, total.TornTails = 4, 9, second.Last, 1, 1
	total.ByType = map[EventType]int64{TargetStart: 1, PageComplete: 2, TargetComplete: 1, TargetError: 2, Stop: 1, Heartbeat: 2}
	want := &Stats{Path: dir, Total: total, Workers: []WorkerStats{{"worker_0_pid_1", first}, {b, second}}}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Fatal(diff)
	}
}

func TestStatsJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLines(t, dir, "w.jsonl", textLine("w", 1, 0, Stop))
	stats, err := ReadStats(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(stats.Workers)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"worker_id":"w","files":1,"compressed_files":0,"bytes":94,"events":1,"events_by_type":{"stop":1},"pages":0,` +
		`"listings_raw":0,"listings_accepted":0,"listings_bad":0,"errors_by_code":{},"first":"2026-11-20T12:00:00.000Z",` +
		`"last":"2026-11-20T12:00:00.000Z","corrupt_lines":0,"torn_tails":0}]`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Fatal(diff)
	}
	if _, err := ReadStats(filepath.Join(dir, "none"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
