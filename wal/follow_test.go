package wal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

// tailing is a Follow in a goroutine of its own, whose looks the test orders.
type tailing struct {
	ticks  chan time.Time
	done   chan error
	cancel context.CancelFunc

	mu    sync.Mutex
	given []*Event
	bad   []error
}

func (f *tailing) take(e *Event, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.bad = append(f.bad, err)
	} else {
		f.given = append(f.given, e)
	}
	return nil
}

// got is what the looks ordered so far have given.
func (f *tailing) got() ([]*Event, []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.given), slices.Clone(f.bad)
}

func follow(t *testing.T, path string, opts Options) *tailing {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &tailing{ticks: make(chan time.Time), done: make(chan error, 1), cancel: cancel}
	go func() { f.done <- Follow(ctx, path, opts, f.ticks, f.take) }()
	t.Cleanup(func() { f.stop(t) })
	f.look(t)
	return f
}

// look orders a look and returns when it is over: a tick is taken only between
// two looks, so the second one is taken behind the look that the first began.
func (f *tailing) look(t *testing.T) {
	t.Helper()
	for range 2 {
		select {
		case f.ticks <- noon:
		case err := <-f.done:
			f.done <- err
			t.Fatalf("the follow ended: %v", err)
		}
	}
}

func (f *tailing) stop(t *testing.T) {
	t.Helper()
	f.cancel()
	if err := <-f.done; err != nil {
		t.Errorf("follow: %v", err)
	}
	f.done <- nil
}

func (f *tailing) want(t *testing.T, seqs ...int64) {
	t.Helper()
	f.look(t)
	events, damage := f.got()
	var list []int64
	for _, e := range events {
		list = append(list, e.Seq)
	}
	if !slices.Equal(list, seqs) || len(damage) > 0 {
		t.Fatalf("got %v, want %v, damage %v", list, seqs, damage)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	t.Run("what is there, and what comes", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		log := create(t, Config{Dir: dir})
		appendN(t, log, 3)
		f := follow(t, dir, Options{})
		appendN(t, log, 2)
		f.want(t, 1, 2, 3, 4, 5)
		f.want(t, 1, 2, 3, 4, 5)
	})
	t.Run("workers that appear later", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		f := follow(t, dir, Options{})
		appendN(t, create(t, Config{Dir: dir}), 2)
		f.want(t, 1, 2)
		appendN(t, create(t, Config{Dir: dir, WorkerID: "worker_1_pid_1"}), 1)
		f.want(t, 1, 2, 1)
	})
	t.Run("a line under way is given once it is whole", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		one, two := textLine("w", 1, 1, Stop), textLine("w", 2, 2, Stop)
		path := writeLines(t, dir, "w.jsonl", one)
		f := follow(t, dir, Options{})
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		for _, piece := range []string{two[:1], two[1:50], two[50 : len(two)-1]} {
			if _, err := file.WriteString(piece); err != nil {
				t.Fatal(err)
			}
			f.want(t, 1)
		}
		if _, err := file.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		f.want(t, 1, 2)
	})
	t.Run("a filter", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		f := follow(t, dir, Options{Filter: Filter{Types: []EventType{Stop}}})
		log := create(t, Config{Dir: dir})
		appendN(t, log, 1)
		if err := log.Append(&Event{Type: Stop}); err != nil {
			t.Fatal(err)
		}
		f.want(t, 2)
	})
	t.Run("one file stands for its worker", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		log := create(t, Config{Dir: dir, MaxBytes: 1500})
		path := log.Path()
		appendN(t, log, 1)
		f := follow(t, path, Options{})
		appendN(t, create(t, Config{Dir: dir, WorkerID: "worker_9_pid_1"}), 1)
		appendN(t, log, 4)
		waitPacked(log)
		if _, err := os.Stat(path); err == nil {
			t.Fatal("the first file should be compressed by now")
		}
		f.want(t, 1, 2, 3, 4, 5)
	})
	t.Run("damage is given and passed", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		writeLines(t, dir, "w.jsonl", "bad\n", textLine("w", 1, 1, Stop))
		f := follow(t, dir, Options{})
		f.look(t)
		if events, damage := f.got(); len(damage) != 1 || len(events) != 1 {
			t.Fatal(damage, events)
		}
	})
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	t.Run("a missing folder", func(t *testing.T) {
		t.Parallel()
		err := Follow(t.Context(), filepath.Join(t.TempDir(), "none"), Options{}, nil, nil)
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	})
	t.Run("an error of fn", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		writeLines(t, dir, "w.jsonl", textLine("w", 1, 1, Stop))
		enough := errors.New("enough")
		err := Follow(t.Context(), dir, Options{}, nil, func(*Event, error) error { return enough })
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
	})
}

// Rotation and compression at every moment between two looks: nothing is lost
// or doubled.
func TestFollowAcrossRotation(t *testing.T) {
	t.Parallel()
	for _, packing := range []bool{false, true} {
		for burst := 1; burst <= 7; burst++ {
			t.Run(fmt.Sprintf("compress %v, %d events a look", packing, burst), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				log := create(t, Config{Dir: dir, MaxBytes: 3000, NoCompress: !packing})
				f := follow(t, dir, Options{})
				for range 6 {
					appendN(t, log, burst)
					if burst%2 == 0 {
						waitPacked(log)
					}
					f.look(t)
				}
				closeLog(t, log)
				f.look(t)
				if _, err := CompressClosed(t.Context(), dir, nil); err != nil {
					t.Fatal(err)
				}
				f.look(t)
				events, damage := f.got()
				if wantConsecutive(t, events, 6*burst); len(damage) > 0 {
					t.Fatal(damage)
				}
			})
		}
	}
}

// A follower beside a writer that rotates and compresses at full speed.
func TestFollowWhileWriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const workers, each = 3, 200
	logs := make([]*Log, workers)
	for i := range logs {
		logs[i] = create(t, Config{Dir: dir, WorkerID: fmt.Sprintf("worker_%d_pid_1", i), MaxBytes: 5000})
	}
	f := follow(t, dir, Options{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for range each {
			for _, log := range logs {
				appendN(t, log, 1)
			}
		}
	}()
	for writing := true; writing; {
		f.look(t)
		select {
		case <-finished:
			writing = false
		default:
		}
	}
	f.look(t)
	events, damage := f.got()
	if len(damage) > 0 {
		t.Fatal(damage)
	}
	for i := range logs {
		var own []*Event
		for _, e := range events {
			if e.WorkerID == fmt.Sprintf("worker_%d_pid_1", i) {
				own = append(own, e)
			}
		}
		wantConsecutive(t, own, each)
	}
}
