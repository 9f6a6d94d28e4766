package crawl_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// lines is a log whose lines are read while it is written.
type lines struct {
	mu    sync.Mutex
	all   bytes.Buffer
	wrote func(line string) // may be nil
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrote != nil {
		l.wrote(string(p))
	}
	return l.all.Write(p)
}

// reported are the lines whose message has a text, with the fields named.
func (l *lines) reported(t *testing.T, text string, fields ...string) (out []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		var v map[string]any
		storetest.NoError(t, json.Unmarshal([]byte(line), &v))
		if message := fmt.Sprint(v["message"]); strings.Contains(message, text) {
			for _, f := range fields {
				message += fmt.Sprintf(" %s=%v", f, v[f])
			}
			out = append(out, message)
		}
	}
	return out
}

// TestSteps: the log says how many workers start for how many targets, and what they begin, but
// not more than a line a second, and nothing where it is for warnings.
func TestSteps(t *testing.T) {
	t.Parallel()
	const started = "starting 1 worker for 3 targets level=info component=crawl source=test due=3"
	for _, tt := range []struct {
		level zerolog.Level
		every time.Duration
		start []string
		begun int
	}{{zerolog.InfoLevel, time.Nanosecond, []string{started}, 3}, {zerolog.InfoLevel, time.Hour, []string{started}, 1}, {zerolog.WarnLevel, time.Nanosecond, nil, 0}} {
		w := setup(t, layout{cities: 3, pages: 1})
		log := &lines{}
		e := w.engine(func(c *crawl.Config) { c.Logger = zerolog.New(log).Level(tt.level) })
		e.SetStepEvery(tt.every)
		storetest.NoError(t, w.crawl(e))
		w.same("start", log.reported(t, "starting", "level", "component", "source", "due"), tt.start)
		got := log.reported(t, "crawling ", "level", "component", "source", "state")
		if len(got) != tt.begun || tt.begun > 0 && got[0] != "crawling Plumbers in City 0 level=info component=crawl source=test state=CA" {
			t.Errorf("%s, each %s: %q", tt.level, tt.every, got)
		}
	}
}

// TestClaimBusy: each try of a claim that finds the database busy is reported at debug, and counted.
func TestClaimBusy(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 2, pages: 1, busy: 20 * time.Millisecond})
	other := storetest.OpenConfig(t, store.Config{Path: w.db.Path()})
	release := make(chan struct{})
	var once, hold sync.Once
	log := &lines{wrote: func(line string) {
		if strings.Contains(line, "claim busy") {
			once.Do(func() { close(release) })
		}
	}}
	over := make(chan error, 1)
	st := w.done(func(c *crawl.Config) {
		c.Logger = zerolog.New(log)
		c.Reached = func(p crawl.Point) {
			if p != crawl.PointEnded {
				return
			}
			hold.Do(func() {
				held := make(chan struct{})
				go func() {
					over <- other.Write(t.Context(), func(*store.Tx) error { close(held); <-release; return nil })
				}()
				<-held
			})
		}
	})
	storetest.NoError(t, <-over)
	got := log.reported(t, "claim busy", "level", "component", "try", "tries")
	if len(got) == 0 || got[0] != "claim busy, try 1 of 3 level=debug component=crawl try=1 tries=3" {
		t.Errorf("got %q", got)
	}
	if st.Done != 2 || st.Claims != 2 || st.BusyTries != int64(len(got)) {
		t.Errorf("%d done, %d claims, %d tries more, %d reported", st.Done, st.Claims, st.BusyTries, len(got))
	}
	storetest.Equal(t, w.table("SELECT sum(claims), sum(claim_retries) FROM workers")[0], fmt.Sprintf("2 %d", len(got)), "stored")
}

// TestIndexSteps: each page of an index is reported with the cities so far.
func TestIndexSteps(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.indexes("az")
	log := &lines{}
	w.wantIndexes("az")
	e := w.engine(w.reads(), func(c *crawl.Config) { c.Logger = zerolog.New(log) })
	e.SetStepEvery(time.Nanosecond)
	storetest.NoError(t, w.crawl(e))
	got := log.reported(t, "of the index of", "level", "component", "state", "page", "pages", "cities")
	if len(got) != 27 || got[0] != "page 1 of the index of az, 2 cities so far level=info component=crawl state=az page=1 pages=27 cities=2" ||
		got[26] != "page 27 of the index of az, 2 cities so far level=info component=crawl state=az page=27 pages=27 cities=2" {
		t.Errorf("%d lines: %q", len(got), got)
	}
}
