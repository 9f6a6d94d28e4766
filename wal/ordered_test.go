package wal

import (
	"slices"
	"testing"
	"time"
)

// logAt writes a log of one worker: each event with its own time.
func logAt(t *testing.T, dir, worker, database string, run int64, events ...*Event) {
	t.Helper()
	var at time.Time
	log := create(t, Config{Dir: dir, WorkerID: worker, Database: database, RunNumber: run, Now: func() time.Time { return at }})
	for _, e := range events {
		at = e.Timestamp
		if err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	closeLog(t, log)
}

func pageAt(second int, token int64, id string) *Event {
	e := samplePage(1)
	e.Timestamp, e.Target.ClaimToken, e.Target.CitySlug = noon.Add(time.Duration(second)*time.Second), token, id
	return e
}

// inOrder reads a folder as a replay does, and returns the workers of its events.
func inOrder(t *testing.T, dir string, databases ...string) (workers []string) {
	t.Helper()
	opts := Options{Filter: Filter{Databases: databases}}
	x, err := ReadIndex(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.OpenOrdered(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, e.WorkerID)
	}
	return workers
}

// TestRunsInOrder: between the runs of one database their numbers decide, not a clock that
// went back. Numbers of two databases say nothing
// of each other.
func TestRunsInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logAt(t, dir, "worker_0_pid_2", "id", 1, pageAt(200, 1, "b"), pageAt(210, 2, "b"))
	logAt(t, dir, "worker_0_pid_3", "id", 2, pageAt(100, 1, "c"), pageAt(400, 2, "c"))
	want := []string{"worker_0_pid_2", "worker_0_pid_2", "worker_0_pid_3", "worker_0_pid_3"}
	if got := inOrder(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	logAt(t, dir, "worker_0_pid_4", "other", 9, pageAt(1, 1, "d"))
	if got := inOrder(t, dir, "id"); !slices.Equal(got, want) {
		t.Errorf("of one alone: %q, want %q", got, want)
	}
	if got := inOrder(t, dir); got[0] != "worker_0_pid_4" {
		t.Errorf("mixed: %q", got)
	}
}

// commit is of the page with the number seq, so many seconds after noon.
func commit(seq int64, second, nth int) *Commit {
	return &Commit{Seq: seq, At: Stamp{noon.Add(time.Duration(second) * time.Second)}, Nth: int64(nth)}
}

// after is a line that tells of a commit.
func after(second int, c *Commit) *Event {
	return &Event{Type: Stop, Timestamp: noon.Add(time.Duration(second) * time.Second), Before: c}
}

// TestPagesByCommit: the log has pages as they were read, and the lines after them tell in which
// order they were committed: also within one millisecond, and across a heartbeat. A page whose
// commit no line tells stands at its own time.
func TestPagesByCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	beat := &Event{Type: Heartbeat, Timestamp: noon.Add(2 * time.Second)}
	logAt(t, dir, "worker_0_pid_1", "id", 1, pageAt(1, 1, "a"), beat, after(9, commit(1, 5, 8)))
	logAt(t, dir, "worker_1_pid_1", "id", 1, pageAt(2, 1, "b"), after(9, commit(1, 5, 7)))
	logAt(t, dir, "worker_2_pid_1", "id", 1, pageAt(4, 1, "c"))
	logAt(t, dir, "worker_3_pid_1", "id", 1, pageAt(3, 1, "d"), after(9, commit(77, 1, 1)))
	x, err := ReadIndex(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, filter := range map[string]Filter{"all": {}, "pages": {Types: []EventType{PageComplete}}} {
		r, err := x.OpenOrdered(dir, Options{Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		got := cities(t, r)
		if err := r.Close(); err != nil || got != "dcba" {
			t.Errorf("%s: got %s (%v), want dcba", name, got, err)
		}
	}
}

// TestBeatBehindCommit: a heartbeat long after a page's commit does not hold that page back behind
// what other workers committed in between.
func TestBeatBehindCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	beat := &Event{Type: Heartbeat, Timestamp: noon.Add(30 * time.Second)}
	logAt(t, dir, "worker_0_pid_1", "id", 1, pageAt(1, 1, "a"), beat, after(40, commit(1, 2, 1)))
	logAt(t, dir, "worker_1_pid_1", "id", 1, pageAt(20, 1, "b"), after(29, commit(1, 21, 2)))
	x, err := ReadIndex(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.OpenOrdered(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := cities(t, r)
	if got != "ab" {
		t.Errorf("got %s, want ab (a was committed at 2 s, b at 21 s)", got)
	}
}

// cities joins the cities of the pages in their order.
func cities(t *testing.T, r *Reader) (all string) {
	t.Helper()
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == PageComplete {
			all += e.CitySlug
		}
	}
	return all
}
