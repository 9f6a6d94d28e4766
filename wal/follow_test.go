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

// following is a Follow in a goroutine of its own, whose looks the test orders. look returns when one is over, with
// all that was given so far: "worker seq" of an event, "damage" of an error.
func following(t *testing.T, path string, opts Options) (look func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan error, 1)
	var mu sync.Mutex
	var given []string
	go func() {
		done <- Follow(ctx, path, opts, ticks, func(e *Event, err error) error {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				given = append(given, "damage")
			} else {
				given = append(given, fmt.Sprint(e.WorkerID, " ", e.Seq))
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("follow: %v", err)
		}
	})
	look = func() []string {
		t.Helper()
		for range 2 { // a tick is taken only between two looks: the second one behind the look that the first began
			select {
			case ticks <- noon:
			case err := <-done:
				done <- err
				t.Fatalf("the follow ended: %v", err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(given)
	}
	look()
	return look
}

// gives fails the test unless a look gives these events: of worker 0, by seq.
func gives(t *testing.T, got []string, seqs ...int) {
	t.Helper()
	var want []string
	for _, n := range seqs {
		want = append(want, fmt.Sprint("worker_0_pid_1 ", n))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func upTo(n int) (seqs []int) {
	for i := range n {
		seqs = append(seqs, i+1)
	}
	return seqs
}

func TestFollow(t *testing.T) {
	t.Parallel()
	const w = "worker_0_pid_1"
	for name, test := range map[string]func(t *testing.T, dir string){
		"what is there, and what comes": func(t *testing.T, dir string) {
			log := create(t, Config{Dir: dir})
			appendN(t, log, 3)
			look := following(t, dir, Options{})
			appendN(t, log, 2)
			gives(t, look(), 1, 2, 3, 4, 5)
			gives(t, look(), 1, 2, 3, 4, 5)
		},
		"workers that appear later": func(t *testing.T, dir string) {
			look := following(t, dir, Options{})
			appendN(t, create(t, Config{Dir: dir}), 2)
			gives(t, look(), 1, 2)
			appendN(t, create(t, Config{Dir: dir, WorkerID: "worker_1_pid_1"}), 1)
			if got := look(); len(got) != 3 || got[2] != "worker_1_pid_1 1" {
				t.Fatal(got)
			}
		},
		"a line under way is given once it is whole": func(t *testing.T, dir string) {
			one, two := textLine(w, 1, 1, Stop), textLine(w, 2, 2, Stop)
			path := writeLines(t, dir, w+".jsonl", one)
			look := following(t, dir, Options{})
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			for i, piece := range []string{two[:1], two[1:50], two[50 : len(two)-1], "\n"} {
				if _, err := file.WriteString(piece); err != nil {
					t.Fatal(err)
				}
				gives(t, look(), upTo(1+i/3)...)
			}
		},
		"one file stands for its worker": func(t *testing.T, dir string) {
			log := create(t, Config{Dir: dir, MaxBytes: 1500})
			path := log.Path()
			appendN(t, log, 1)
			look := following(t, path, Options{})
			appendN(t, create(t, Config{Dir: dir, WorkerID: "worker_9_pid_1"}), 1)
			appendN(t, log, 4)
			if _, err := os.Stat(path); err == nil {
				t.Fatal("the first file should be compressed by now")
			}
			gives(t, look(), 1, 2, 3, 4, 5)
		},
		"damage is given once and passed": func(t *testing.T, dir string) {
			writeLines(t, dir, w+".jsonl", "bad\n", textLine(w, 1, 1, Stop))
			look := following(t, dir, Options{})
			if got := look(); !slices.Equal(got, []string{"damage", w + " 1"}) {
				t.Fatal(got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, t.TempDir())
		})
	}
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	if err := Follow(t.Context(), filepath.Join(t.TempDir(), "none"), Options{}, nil, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	dir, enough := t.TempDir(), errors.New("enough")
	writeLines(t, dir, "w.jsonl", textLine("w", 1, 1, Stop))
	if err := Follow(t.Context(), dir, Options{}, nil, func(*Event, error) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("an error of fn: %v", err)
	}
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
				look := following(t, dir, Options{})
				for i := range 6 {
					appendN(t, log, burst)
					gives(t, look(), upTo(burst*(i+1))...)
				}
				closeLog(t, log)
				look()
				if _, err := CompressClosed(t.Context(), dir, nil); err != nil {
					t.Fatal(err)
				}
				gives(t, look(), upTo(6*burst)...)
			})
		}
	}
}

// A follower beside writers that rotate and compress at full speed.
func TestFollowWhileWriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const workers, each = 3, 200
	var logs sync.WaitGroup
	for i := range workers {
		log := create(t, Config{Dir: dir, WorkerID: fmt.Sprintf("worker_%d_pid_1", i), MaxBytes: 5000})
		logs.Go(func() { appendN(t, log, each) })
	}
	look := following(t, dir, Options{})
	finished := make(chan struct{})
	go func() { logs.Wait(); close(finished) }()
	for writing := true; writing; {
		look()
		select {
		case <-finished:
			writing = false
		default:
		}
	}
	next := map[string]int{}
	for _, line := range look() {
		var worker string
		var seq int
		if n, _ := fmt.Sscan(line, &worker, &seq); n != 2 || seq != next[worker]+1 {
			t.Fatalf("%s behind %d", line, next[worker])
		}
		next[worker] = seq
	}
	for worker, n := range next {
		if n != each || len(next) != workers {
			t.Errorf("%d events of %s, %d workers", n, worker, len(next))
		}
	}
}
