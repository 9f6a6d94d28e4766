package crawl_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/yp"
)

// indexPage is a page of a state's index with the cities of these slugs.
func indexPage(state string, slugs ...string) string {
	var b strings.Builder
	for _, s := range slugs {
		fmt.Fprintf(&b, `<li><a href="/%s">%s</a></li>`, s, strings.TrimSuffix(s, "-"+state))
	}
	letters := ""
	for _, l := range "abcdefghijklmnopqrstuvwxyz" {
		letters += fmt.Sprintf(`<a href="/state-%s?page=%c">%c</a>`, state, l, l)
	}
	return shell(`<div class="alphabet">` + letters + `</div><section class="column list-content"><ul>` + b.String() + `</ul></section>`)
}

// indexes serves the indexes of states: one page with cities, and letters without.
func (w *world) indexes(states ...string) {
	for _, s := range states {
		w.on("/state-"+s, ok(indexPage(s, "alpha-"+s, "beta-"+s)))
		w.on("/state-"+s+"*", ok(indexPage(s)))
	}
}

func (w *world) tour(states ...string) crawl.Tour {
	return crawl.Tour{
		States: states, Gazetteer: places(w.t),
		Plan: checkpoint.Plan{TierPages: [4]int{0, 3, 2, 1}, Categories: []checkpoint.Category{{Slug: "plumbers", Name: "Plumbers"}}},
	}
}

// walk walks states with an engine of its own and returns how each fared.
func (w *world) walk(t crawl.Tour, change ...func(*crawl.Config)) ([]crawl.Leg, error) {
	w.t.Helper()
	var legs []crawl.Leg
	e, done := w.engine(change...), make(chan error, 1)
	go func() {
		var err error
		legs, err = e.Walk(w.t.Context(), t)
		done <- err
	}()
	return legs, w.wait(done)
}

func fared(legs []crawl.Leg) (all []string) {
	for _, l := range legs {
		all = append(all, fmt.Sprintf("%s %s %d/%d %d %s", l.State, l.Status, l.PagesDone, l.Pages, l.Cities, l.Code))
	}
	return all
}

func (w *world) expectLegs(legs []crawl.Leg, want ...string) {
	w.t.Helper()
	if got := fared(legs); !slices.Equal(got, want) {
		w.t.Errorf("the legs fared\n%q, want\n%q", got, want)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	t.Run("every page once, its requests on record, the targets planned", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{})
		w.indexes("az")
		legs, err := w.walk(w.tour("AZ"))
		if err != nil {
			t.Fatal(err)
		}
		w.expectLegs(legs, "AZ done 27/27 2 ")
		if n := w.number(`SELECT count(*) FROM requests WHERE type = 'state_index' AND outcome = 'success'`); n != 27 {
			t.Errorf("%d requests on record, want 27", n)
		}
		if n := w.number(`SELECT count(DISTINCT correlation_id) FROM requests WHERE type = 'state_index'`); n != 27 {
			t.Errorf("%d page fetches, want 27", n)
		}
		if n := w.number(`SELECT count(*) FROM targets WHERE state = 'AZ'`); n != 2 || legs[0].Planned != 2 {
			t.Errorf("%d targets, %d told, want 2", n, legs[0].Planned)
		}
		if seen := w.asked(); len(seen) != 27 || seen[0] != "/state-az" || seen[26] != "/state-az?page=z" {
			t.Errorf("asked %q", seen)
		}
	})
	t.Run("a letter that does not exist has no cities", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{})
		w.indexes("az")
		w.on("/state-az?page=q", status(http.StatusNotFound, shell("No such page")))
		legs, err := w.walk(w.tour("AZ"))
		if err != nil {
			t.Fatal(err)
		}
		w.expectLegs(legs, "AZ done 27/27 2 ")
	})
	t.Run("a page that comes at the second try", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{})
		w.indexes("az")
		w.on("/state-az?page=q", inTurn(status(http.StatusServiceUnavailable, shell("down")), ok(indexPage("az", "quebec-az"))))
		legs, err := w.walk(w.tour("AZ"))
		if err != nil {
			t.Fatal(err)
		}
		w.expectLegs(legs, "AZ done 27/27 3 ")
		if n := w.number(`SELECT count(*) FROM requests WHERE type = 'state_index' AND page = 18`); n != 2 {
			t.Errorf("%d requests for the page on record, want 2", n)
		}
	})
	t.Run("a state that the source does not have", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{})
		w.indexes("nv")
		legs, err := w.walk(w.tour("AZ", "NV"))
		if err != nil {
			t.Fatal(err)
		}
		w.expectLegs(legs, "AZ failed 0/27 0 NO_LISTINGS", "NV done 27/27 2 ")
	})
}

func TestWalkFailures(t *testing.T) {
	t.Parallel()
	home := func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/", http.StatusFound) }
	for name, tt := range map[string]struct {
		page http.HandlerFunc
		code yp.ErrorCode
		asks int // for the page
	}{
		"a page that can't be read":      {ok(shell(strings.Repeat("<div>", 600))), yp.CodeParseError, 1},
		"a page of another layout":       {ok(shell(`<p>Welcome to our new look.</p>`)), yp.CodeHTMLChanged, 1},
		"the homepage is no empty index": {home, yp.CodeBlockedProxy, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, layout{})
			w.indexes("az", "nv")
			w.on("/", ok(shell("Home")))
			if _, err := w.walk(w.tour("AZ")); err != nil { // what there was before
				t.Fatal(err)
			}
			before := len(w.asked())
			w.on("/state-az?page=c", tt.page)
			legs, err := w.walk(w.tour("AZ", "NV"), func(c *crawl.Config) { c.Fetch = unheld{c.Fetch} })
			if err != nil {
				t.Fatal(err)
			}
			w.expectLegs(legs, fmt.Sprintf("AZ failed 3/27 2 %s", tt.code), "NV done 27/27 2 ")
			asks := 0
			for _, uri := range w.asked()[before:] {
				if uri == "/state-az?page=c" {
					asks++
				}
			}
			if asks != tt.asks {
				t.Errorf("the page was asked for %d times, want %d", asks, tt.asks)
			}
			if n := w.number(`SELECT count(*) FROM source_cities WHERE gone_at IS NOT NULL`) + w.number(`SELECT count(*) FROM targets WHERE retired_at IS NOT NULL`); n != 0 {
				t.Errorf("%d cities or targets are gone after a walk that failed", n)
			}
			if n := w.number(`SELECT count(*) FROM sources WHERE paused_until IS NOT NULL OR auto_disabled = 1`); n != 0 {
				t.Error("an index page closed the source")
			}
			w.on("/state-az?page=c", ok(indexPage("az")))
			before = len(w.asked())
			legs, err = w.walk(w.tour("AZ"))
			if err != nil {
				t.Fatal(err)
			}
			w.expectLegs(legs, "AZ done 27/27 2 ")
			if again := w.asked()[before:]; len(again) != 24 || again[0] != "/state-az?page=c" {
				t.Errorf("the walk went on with %q", again)
			}
		})
	}
}

// unheld forgets the penalties of a host: a test has no ten minutes.
type unheld struct{ crawl.Fetcher }

func (unheld) Hold(string, time.Duration, string) {}

// TestWalkFlood: an index without end makes no targets without end.
func TestWalkFlood(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.on("/state-az*", func(rw http.ResponseWriter, r *http.Request) {
		var slugs []string
		for i := range 4000 {
			slugs = append(slugs, fmt.Sprintf("town%s%d-az", r.URL.Query().Get("page"), i))
		}
		ok(indexPage("az", slugs...))(rw, r)
	})
	legs, err := w.walk(w.tour("AZ"))
	if err != nil {
		t.Fatal(err)
	}
	w.expectLegs(legs, "AZ failed 2/27 8000 HTML_CHANGED")
	if n := w.number(`SELECT count(*) FROM targets WHERE state = 'AZ'`); n != 0 {
		t.Errorf("%d targets were planned", n)
	}
}

func TestWalkRobots(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.indexes("az", "nv")
	w.robots = "User-agent: *\nDisallow: /state-az\n"
	legs, err := w.walk(w.tour("AZ", "NV"))
	if err != nil {
		t.Fatal(err)
	}
	w.expectLegs(legs, "AZ failed 0/27 0 UNKNOWN_ERROR", "NV done 27/27 2 ")
	if !strings.Contains(legs[0].Reason, "robots.txt") {
		t.Errorf("reason %q", legs[0].Reason)
	}
	for _, uri := range w.asked() {
		if strings.HasPrefix(uri, "/state-az") {
			t.Errorf("asked for %s", uri)
		}
	}
}

func TestWalkGate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"disabled":    `UPDATE sources SET enabled = 0`,
		"paused":      `UPDATE sources SET paused_until = '2999-01-01T00:00:00.000Z', paused_code = 'AUTH_FAILED', paused_reason = 'test'`,
		"quarantined": `INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, cooldown_minutes, updated_at) SELECT id, 'quarantined', 'timeout', created_at, '2999-01-01T00:00:00.000Z', 30, created_at FROM sources`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, layout{})
			w.indexes("az")
			w.write(change)
			_, err := w.walk(w.tour("AZ"))
			var blocked *crawl.BlockedError
			if !errors.As(err, &blocked) {
				t.Fatalf("ended with %v", err)
			}
			if seen := w.asked(); len(seen) != 0 {
				t.Errorf("asked %q", seen)
			}
			if n := w.number(`SELECT count(*) FROM discoveries WHERE status = 'PLANNED'`); n != 1 {
				t.Error("the walk was not handed back")
			}
		})
	}
	t.Run("closed in the middle", func(t *testing.T) {
		t.Parallel()
		w := setup(t, layout{})
		w.indexes("az")
		w.on("/state-az?page=d", func(rw http.ResponseWriter, _ *http.Request) {
			w.write(`UPDATE sources SET enabled = 0`)
			ok(indexPage("az"))(rw, nil)
		})
		legs, err := w.walk(w.tour("AZ"))
		if !errors.As(err, new(*crawl.BlockedError)) {
			t.Fatalf("ended with %v", err)
		}
		if len(legs) != 1 || legs[0].Status != crawl.LegPaused || legs[0].PagesDone != 5 {
			t.Errorf("%+v", legs)
		}
	})
}

// TestWalkProbes: a source whose quarantine is over is probed by a walk as by a crawl: with
// a page that is due, and with the index where nothing is planned. One answer opens the
// source, another one closes it for longer.
func TestWalkProbes(t *testing.T) {
	quarantine := func(w *world) {
		now := time.Now()
		w.write(`INSERT INTO connectivity_profiles (source_id, status, error_class, failing_since, quarantine_until, updated_at)
			VALUES (?, 'quarantined', 'timeout', ?, ?, ?)`, w.scope.SourceID, yp.FormatTime(now.Add(-time.Hour)), yp.FormatTime(now.Add(time.Minute)), yp.FormatTime(now))
	}
	for _, tc := range []struct {
		name    string
		planned bool
		asked   string // by the probe
		answer  http.HandlerFunc
		opens   bool
	}{
		{"a page that is due answers", true, target, ok(page("", shops(1, 3)...)), true},
		{"the index answers, and nothing is planned", false, "/state-az", nil, true},
		{"a page that is due is refused", true, target, status(http.StatusForbidden, "<html>no</html>"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := setupInBubble(t, layout{})
				w.indexes("az")
				if tc.answer != nil {
					w.on(target, tc.answer)
				}
				if !tc.planned {
					w.write("DELETE FROM targets")
				}
				quarantine(w)
				w.start()
				legs, err := w.walk(w.tour("AZ"))
				first := w.table("SELECT type, outcome FROM requests WHERE type <> 'robots' ORDER BY id LIMIT 1")
				if tc.opens {
					if err != nil {
						t.Fatal(err)
					}
					w.expectLegs(legs, "AZ done 27/27 2 ")
					w.same("the first request", first, []string{"probe success"})
				} else {
					if !errors.As(err, new(*crawl.BlockedError)) {
						t.Fatalf("ended with %v", err)
					}
					w.same("the first request", first, []string{"probe failure"})
					w.same("the source", w.table("SELECT status, cooldown_minutes FROM connectivity_profiles"), []string{"quarantined 60"})
				}
				if seen := w.asked(); len(seen) == 0 || seen[0] != tc.asked {
					t.Errorf("asked %q, want %s first", seen, tc.asked)
				}
			})
		})
	}
}

func TestWalkStop(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.indexes("az")
	var e *crawl.Engine
	w.on("/state-az?page=b", func(rw http.ResponseWriter, _ *http.Request) {
		e.Stop(crawl.ErrInterrupted)
		ok(indexPage("az", "bravo-az"))(rw, nil)
	})
	e = w.engine()
	legs, err := e.Walk(t.Context(), w.tour("AZ"))
	if !errors.Is(err, crawl.ErrInterrupted) {
		t.Fatalf("ended with %v", err)
	}
	w.expectLegs(legs, "AZ paused 3/27 3 ") // the page in hand was carried through
	w.on("/state-az?page=b", ok(indexPage("az", "bravo-az")))
	if legs, err = w.walk(w.tour("AZ")); err != nil {
		t.Fatal(err)
	}
	w.expectLegs(legs, "AZ done 27/27 3 ")
	if legs[0].Fetched != 24 || len(w.asked()) != 27 {
		t.Errorf("%d pages more, %d requests in all", legs[0].Fetched, len(w.asked()))
	}
}

// TestWalkTaken: a walk that was taken away writes nothing more, and what was asked for
// it stands on record.
func TestWalkTaken(t *testing.T) {
	t.Parallel()
	w := setup(t, layout{})
	w.indexes("az", "nv")
	w.on("/state-az?page=b", func(rw http.ResponseWriter, _ *http.Request) {
		w.write(`UPDATE discoveries SET claim_token = claim_token + 1 WHERE state = 'AZ'`)
		ok(indexPage("az", "bravo-az"))(rw, nil)
	})
	legs, err := w.walk(w.tour("AZ", "NV"))
	if err != nil {
		t.Fatal(err)
	}
	w.expectLegs(legs, "AZ skipped 2/27 2 ", "NV done 27/27 2 ")
	if n := w.number(`SELECT count(*) FROM cities WHERE slug = 'bravo-az'`); n != 0 {
		t.Error("the late page was written")
	}
	if n := w.number(`SELECT count(*) FROM requests WHERE type = 'state_index'`); n != 30 {
		t.Errorf("%d requests on record, want 30", n)
	}
}
