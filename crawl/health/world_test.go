package health

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var table, must, ok = storetest.Table, storetest.Execute, storetest.NoError

// noon is when every test begins.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is a database with two sources, some categories and a target of the first.
type world struct {
	*Monitor
	path  string
	clock *storetest.Clock
}

const (
	demo  = int64(1)
	other = int64(2)
)

func setup(t testing.TB) *world {
	t.Helper()
	w := &world{path: filepath.Join(t.TempDir(), "test.db"), clock: &storetest.Clock{}}
	w.Monitor = w.open(t)
	storetest.World{
		Sources:    []storetest.Source{{Name: "demo", BaseURL: "http://one"}, {Name: "other", BaseURL: "http://two"}},
		Cities:     []yp.City{{Slug: "city", Name: "City", State: "CA", Population: 1000, Tier: 1}},
		Categories: storetest.Categories("Plumbers", "Restaurants", "Lawyers"),
		Planned:    func(_, category, source int) bool { return category == 0 && source == 0 },
	}.Plant(t, w.db)
	return w
}

// inWorld is a subtest with a world of its own, beside others.
func inWorld(t *testing.T, name string, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t, setup(t))
	})
}

// open opens the world's file once more, as another process does.
func (w *world) open(t testing.TB) *Monitor {
	t.Helper()
	return New(storetest.OpenConfig(t, store.Config{Path: w.path, Now: w.clock.Now, Synchronous: "OFF"}))
}

// again is the same world, as another process has it.
func (w *world) again(t testing.TB) *world {
	return &world{Monitor: w.open(t), path: w.path, clock: w.clock}
}

// restart is a new process after this one has ended.
func (w *world) restart(t testing.TB) {
	t.Helper()
	ok(t, w.db.Close())
	w.Monitor = w.open(t)
}

// enable is an operator who enables the first source.
func (w *world) enable(t testing.TB) {
	t.Helper()
	_, err := w.SetEnabled(t.Context(), "demo", true)
	ok(t, err)
}

func wantRows(t testing.TB, db *store.DB, query string, want ...string) {
	t.Helper()
	storetest.Same(t, query, table(t, db, query), want)
}

// req is n requests that ended some time ago.
type req struct {
	n       int           // default 1
	class   yp.ErrorClass // "" = success
	ago     time.Duration // negative = in the future
	source  int64         // default demo
	kind    string        // default listing
	latency int           // milliseconds
	unread  bool          // the page could not be parsed
	proxy   bool          // its proxy failed
}

const insertRequests = `
	WITH RECURSIVE s (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM s WHERE v < ?)
	INSERT INTO requests (source_id, correlation_id, type, url, started_at, finished_at, outcome, error_class, latency_ms, parse_ok, result_count, proxy_failed)
	SELECT ?, 'c', ?, 'http://x', ?, ?, ?, ?, ?, ?, ?, ? FROM s`

func (w *world) requests(t testing.TB, all ...req) {
	t.Helper()
	ok(t, w.db.Write(t.Context(), func(tx *store.Tx) error {
		for _, r := range all {
			at := yp.FormatTime(tx.At.Add(-r.ago))
			outcome, parsed, results := "success", any(flag(!r.unread)), any(0)
			if r.class != "" {
				outcome, parsed, results = "failure", nil, nil
			}
			if err := tx.Run(insertRequests, max(r.n, 1), max(r.source, demo), cmp.Or(r.kind, "listing"), at, at, outcome,
				store.Text(string(r.class)), r.latency, parsed, results, flag(r.proxy)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// rollUp rolls up and returns the profile of a source.
func (w *world) rollUp(t testing.TB, source int64) Profile {
	t.Helper()
	all, err := w.RollUp(t.Context())
	ok(t, err)
	return all[slices.IndexFunc(all, func(p Profile) bool { return p.SourceID == source })]
}

// rolls rolls up and checks status and class of the first source.
func (w *world) rolls(t testing.TB, status Status, class yp.ErrorClass) {
	t.Helper()
	if p := w.rollUp(t, demo); p.Status != status || p.Class != class {
		t.Errorf("%s (%s), want %s (%s)", p.Status, p.Class, status, class)
	}
}
