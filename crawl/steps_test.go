package crawl_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSteps: the log says how many workers start for how many targets, and each city once, as
// it is begun.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 3, categories: []string{"Plumbers", "Dentists"}, pages: 1})
	shopsEverywhere(w, 3)
	log := &lines{}
	e := w.engine(func(c *crawl.Config) { c.Logger, c.Workers = zerolog.New(log).Level(zerolog.InfoLevel), 2 })
	e.SetStepEvery(0)
	w.write(`UPDATE targets SET page_current = 1, next_page_url = '/city-0-ca/plumbers?page=2', max_pages = 2, total_attempts = 1 WHERE id = 1`)
	storetest.NoError(t, w.crawl(e))
	same(t, "start", log.reported(t, "starting", "level", "component", "source", "due", "new", "resumed"),
		"starting 2 workers for 6 targets level=info component=crawl source=test due=6 new=5 resumed=1")
	if got := log.reported(t, "city ", "level", "component", "source", "state"); len(got) != 3 || !strings.HasPrefix(got[0], "city 1 of 3: City ") ||
		!strings.HasPrefix(got[2], "city 3 of 3: City ") || !strings.HasSuffix(got[1], " level=info component=crawl source=test state=CA") {
		t.Errorf("cities: %q", got)
	}
}

// TestStepsAreFew: a fast crawl does not flood the log, and one whose log is for warnings counts
// nothing.
func TestStepsAreFew(t *testing.T) {
	t.Parallel()
	for level, want := range map[zerolog.Level]int{zerolog.InfoLevel: 1, zerolog.WarnLevel: 0} {
		w := setup(t, layout{cities: 5, pages: 1})
		shopsEverywhere(w, 5)
		log := &lines{}
		e := w.engine(func(c *crawl.Config) { c.Logger = zerolog.New(log).Level(level) })
		e.SetStepEvery(time.Hour)
		storetest.NoError(t, w.crawl(e))
		if got := len(log.reported(t, "city ")); got != want {
			t.Errorf("%s: %d lines, want %d", level, got, want)
		}
	}
}

// TestClaimBusy: each try of a claim that finds the database busy is reported at debug, and counted.
func TestClaimBusy(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{cities: 2, pages: 1, busy: 20 * time.Millisecond})
	shopsEverywhere(w, 2)
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
	if want := fmt.Sprintf("2 %d", len(got)); w.table("SELECT sum(claims), sum(claim_retries) FROM workers")[0] != want {
		t.Errorf("stored otherwise than %s", want)
	}
}

// TestBusyWarning: too many tries are warned of, by what has come since the last look.
func TestBusyWarning(t *testing.T) {
	t.Parallel()
	log := &lines{}
	w := setup(t, layout{})
	e := w.engine(func(c *crawl.Config) { c.Logger = zerolog.New(io.Writer(log)) })
	look := func(claims, tries int64, want int) {
		t.Helper()
		e.Claimed(claims, tries)
		e.WarnBusy()
		if got := len(log.reported(t, "the database is often busy")); got != want {
			t.Errorf("%d warnings after %d of %d, want %d", got, tries, claims, want)
		}
	}
	look(19, 19, 0) // too few
	look(1, 0, 1)   // now they count: 19 of 20
	look(100, 20, 1)
	look(100, 21, 2)
	look(0, 0, 2)
	same(t, "the last", log.reported(t, "21 % more tries", "level", "component", "claims", "retries"),
		"the database is often busy when a target is claimed: 21 % more tries; use fewer --workers or fewer programs on the file level=warn component=crawl claims=100 retries=21")
}

// TestIndexSteps: each page of an index is reported with the cities so far.
func TestIndexSteps(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.indexes("az")
	log := &lines{}
	w.wantIndexes("az")
	e := w.engine(w.reads(), func(c *crawl.Config) { c.Logger = zerolog.New(log) })
	e.SetStepEvery(0)
	storetest.NoError(t, w.crawl(e))
	got := log.reported(t, "of the index of", "level", "component", "state", "page", "pages", "cities")
	if len(got) != 27 || got[0] != "page 1 of the index of az, 2 cities so far level=info component=crawl state=az page=1 pages=27 cities=2" ||
		got[26] != "page 27 of the index of az, 2 cities so far level=info component=crawl state=az page=27 pages=27 cities=2" {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

// shopsEverywhere serves a page of listings for every search of a world with so many cities.
func shopsEverywhere(w *world, cities int) {
	for i := range cities {
		for _, category := range []string{"plumbers", "dentists"} {
			w.on(fmt.Sprintf("/city-%d-ca/%s*", i, category), ok(page("", shops(1, 3)...)))
		}
	}
}
