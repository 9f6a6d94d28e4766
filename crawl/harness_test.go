package crawl_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/health"
	"ypcrawl/crawl/kept"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what a broken engine may cost a test.
const patience = time.Minute

// layout is what is planned in a world.
type layout struct {
	states     []string // default CA
	cities     int      // of each state; default 1
	pages      int      // of each target; 0 = all
	yaml       string   // more of the source's definition
	categories []string // default Plumbers
	now        func() time.Time
	path       string // of the database

	beforeCommit func()        // in every write transaction
	synchronous  string        // of the database; "" = FULL
	busy         time.Duration // of the database: how long it waits for others
}

// world is a database with planned targets, a directory, and what an engine
// needs to crawl it.
type world struct {
	*town
	t      testing.TB
	db     *store.DB
	keeper *checkpoint.Keeper
	run    *checkpoint.Run
	src    *site.Source
	scope  store.Scope
	walDir string
	pages  *kept.Writer
	fetch  fetch.Config
	limit  time.Duration // of a run; default patience
	look   time.Duration // how often idle workers look and the holds of others are read; 0 = as ever
}

// parallel is a subtest that runs beside others.
func parallel(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		f(t)
	})
}

// target is the address of the first target's first page, and search what is
// asked when that is empty.
const (
	target = "/city-0-ca/plumbers"
	search = "/search?search_terms=Plumbers&geo_location_terms=City+0%2C+CA"
)

// setup plans targets, each of which has one page of three shops until a test says something else.
func setup(t testing.TB, l layout) *world {
	t.Helper()
	return newWorld(t, newTown(t), l)
}

func newWorld(t testing.TB, d *town, l layout) *world {
	t.Helper()
	path := cmp.Or(l.path, filepath.Join(t.TempDir(), "test.db"))
	db := storetest.OpenConfig(t, store.Config{Path: path, Now: l.now, BeforeCommit: l.beforeCommit, Synchronous: l.synchronous, BusyTimeout: l.busy})
	w := &world{town: d, t: t, db: db, keeper: checkpoint.New(db), walDir: t.TempDir()}
	w.src = source(t, d.URL, l.yaml)
	w.keepPages()
	w.plan(l)
	w.start()
	return w
}

// keepPages lets the engines keep the pages whose layout is not known.
func (w *world) keepPages() {
	w.t.Helper()
	pages, err := kept.Open(kept.Config{Path: w.db.Path() + ".pages", MaxBytes: 1 << 30})
	storetest.NoError(w.t, err)
	w.t.Cleanup(func() { _ = pages.Close() })
	w.pages = pages
}

// unknown is how many pages were kept whose layout is not known.
func (w *world) unknown() (n int) {
	w.t.Helper()
	r, err := kept.OpenReader(w.db.Path() + ".pages")
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	storetest.NoError(w.t, err)
	defer func() { _ = r.Close() }()
	for id := int64(1); ; id++ {
		switch p, _, err := r.Read(w.t.Context(), id); {
		case errors.Is(err, kept.ErrRemoved):
			return n
		case err != nil || p.Unknown == "":
			w.t.Fatalf("page %d: %+v, %v", id, p, err)
		}
		n++
	}
}

// source is the demo's definition at another place, with changes.
func source(t testing.TB, base, yaml string) *site.Source {
	t.Helper()
	src, err := site.Parse("test.yaml", []byte("extends: yellowpages\nname: test\ndelay: 0s\n"+yaml))
	storetest.NoError(t, err)
	u, err := url.Parse(base)
	storetest.NoError(t, err)
	return src.WithBaseURL(u)
}

func (w *world) plan(l layout) {
	w.t.Helper()
	if len(l.states) == 0 {
		l.states = []string{"CA"}
	}
	if len(l.categories) == 0 {
		l.categories = []string{"Plumbers"}
	}
	p := storetest.World{
		Sources: []storetest.Source{{Name: "test", BaseURL: w.URL}}, Cities: storetest.Cities(max(l.cities, 1), l.states...),
		Categories: storetest.Categories(l.categories...), Pages: [4]int{0, l.pages, l.pages, l.pages},
	}
	for i := range p.Cities {
		p.Cities[i].Tier = 1
	}
	w.scope = p.Plant(w.t, w.db)
	usual := map[string]http.HandlerFunc{}
	for i, c := range p.Cities {
		usual["/"+c.Slug+"/plumbers"] = ok(page("", shops(10*(i/len(l.states))+1, 3)...))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.usual = usual
}

// start registers a run of the world's keeper.
func (w *world) start() {
	w.t.Helper()
	run, err := w.keeper.StartRun(w.t.Context(), w.scope.SourceID, "test", false)
	storetest.NoError(w.t, err)
	w.run = run
	w.t.Cleanup(func() { _ = run.Finish(context.Background(), checkpoint.OutcomeDone, 0) })
}

// peer is another process on the same database: its own connections, run and logs.
func (w *world) peer() *world {
	w.t.Helper()
	db := storetest.OpenConfig(w.t, store.Config{Path: w.db.Path()})
	p := &world{town: w.town, t: w.t, db: db, keeper: checkpoint.New(db), src: w.src, scope: w.scope, walDir: w.t.TempDir(), pages: w.pages, fetch: w.fetch, limit: w.limit, look: w.look}
	p.start()
	return p
}

func (w *world) openLog(id string) (crawl.Log, error) {
	return wal.Create(wal.Config{Dir: w.walDir, WorkerID: id})
}

// engine returns an engine with one worker, real parts and no patience with
// waits.
func (w *world) engine(change ...func(*crawl.Config)) *crawl.Engine {
	w.t.Helper()
	var e *crawl.Engine
	fc := w.fetch
	fc.ConcurrencyPerHost = cmp.Or(fc.ConcurrencyPerHost, 32)
	fc.Observe = func(o fetch.Observation) { e.Observed(o) }
	client := fetch.New(fc)
	w.t.Cleanup(client.Close)
	cfg := crawl.Config{
		Keeper: w.keeper, Monitor: health.New(w.db), Run: w.run, Source: w.src, Scope: w.scope, Fetch: client, OpenLog: w.openLog,
		Workers: 1, RetryBase: time.Microsecond, Heartbeat: time.Hour,
	}
	if w.pages != nil {
		cfg.Pages = w.pages
	}
	for _, f := range change {
		f(&cfg)
	}
	e = crawl.New(cfg)
	if w.look > 0 {
		e.SetLook(w.look)
		e.SetRefresh(w.look)
	}
	return e
}

// crawl runs an engine to its end and returns how it ended.
func (w *world) crawl(e *crawl.Engine) error {
	w.t.Helper()
	return w.wait(w.begin(w.t.Context(), e))
}

// begin runs an engine, or one for each of several sources, beside the test.
func (w *world) begin(ctx context.Context, e interface{ Run(context.Context) error }) <-chan error {
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	return done
}

func (w *world) wait(done <-chan error) error {
	w.t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(cmp.Or(w.limit, patience)):
		w.t.Fatal("the engine does not end")
		return nil
	}
}

// done runs an engine that must come to its end undisturbed.
func (w *world) done(change ...func(*crawl.Config)) crawl.Stats {
	w.t.Helper()
	e := w.engine(change...)
	if err := w.crawl(e); err != nil {
		w.t.Fatalf("the run ended with %v", err)
	}
	return e.Stats()
}

func signalled(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Errorf("%s never came", what) // it may be a server's goroutine that waits
	}
}

// row is a target as it stands.
type row struct {
	Status                yp.Status
	Pages                 int
	Next                  string
	Raw, Accepted, Bad    int
	Code, Error, Backoff  string
	Failures, Attempts    int
	Token                 int64
	Heartbeat, ClaimedAt  string
	ClaimedBy, LastSeenID string
}

// waiting is how a row shows a target that is PLANNED again after a first failure and
// waits for its short backoff.
const waiting = yp.Planned + ", waiting"

const rowQuery = `SELECT status || iif(status = 'PLANNED' AND not_before IS NOT NULL, ', waiting', ''), page_current, ifnull(next_page_url, ''), raw_count, accepted_count, bad_count,
	ifnull(last_error_code, ''), ifnull(last_error, ''), iif(wait_reason = 'backoff', not_before, ''), consecutive_failures, total_attempts,
	claim_token, ifnull(heartbeat_at, ''), ifnull(claimed_at, ''), ifnull(claimed_by, ''), ifnull(last_listing_id, '')
	FROM targets WHERE id = ?`

func (w *world) row(id int64) (r row) {
	w.t.Helper()
	err := w.db.Read().QueryRowContext(context.Background(), rowQuery, id).Scan(&r.Status, &r.Pages, &r.Next, &r.Raw, &r.Accepted, &r.Bad,
		&r.Code, &r.Error, &r.Backoff, &r.Failures, &r.Attempts, &r.Token, &r.Heartbeat, &r.ClaimedAt, &r.ClaimedBy, &r.LastSeenID)
	if err != nil {
		w.t.Error(err)
	}
	return r
}

// is compares the part of a row that every outcome has.
func (w *world) is(id int64, st yp.Status, pages int, code yp.ErrorCode) row {
	w.t.Helper()
	r := w.row(id)
	if r.Status != st || r.Pages != pages || r.Code != string(code) {
		w.t.Errorf("target %d is %s, %d pages, code %q (%s); want %s, %d, %q", id, r.Status, r.Pages, r.Code, r.Error, st, pages, code)
	}
	return r
}

func (w *world) number(query string, args ...any) (n int64) {
	w.t.Helper()
	if err := w.db.Read().QueryRowContext(context.Background(), query, args...).Scan(&n); err != nil {
		w.t.Error(err)
	}
	return n
}

// counts compares what a query counts.
func (w *world) counts(what string, want int64, query string, args ...any) {
	w.t.Helper()
	if n := w.number(query, args...); n != want {
		w.t.Errorf("%s: %d, want %d", what, n, want)
	}
}

// askedTimes compares how often the directory was asked for a page.
func (w *world) askedTimes(want int) {
	w.t.Helper()
	if got := w.asked(); len(got) != want {
		w.t.Errorf("asked %d times, want %d: %q", len(got), want, got)
	}
}

// stored compares the ids of the listings stored, and logged what the logs tell.
func (w *world) stored(want string) {
	w.t.Helper()
	storetest.Equal(w.t, w.ids(), want, "stored")
}

func (w *world) logged(want string) {
	w.t.Helper()
	storetest.Equal(w.t, w.story(), want, "the log tells")
}

func (w *world) write(query string, args ...any) {
	w.t.Helper()
	err := w.db.Write(context.Background(), func(tx *store.Tx) error { _, err := tx.Exec(query, args...); return err })
	if err != nil {
		w.t.Error(err)
	}
}

// unpaced is the pace of a Fetcher that has none.
type unpaced struct{}

func (unpaced) SetDelay(string, time.Duration, string)     {}
func (unpaced) Release(string)                             {}
func (unpaced) Hold(string, time.Duration, string)         {}
func (unpaced) HeldUntil(string) (t time.Time, why string) { return t, "" }

// requested compares what the directory was asked for.
func (w *world) requested(want ...string) {
	w.t.Helper()
	if got := w.asked(); !slices.Equal(got, want) {
		w.t.Errorf("asked for\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// ids lists the ids of the listings stored, in their order.
func (w *world) ids() string {
	w.t.Helper()
	return strings.Join(w.table(`SELECT listing_id FROM listings ORDER BY cast(listing_id AS integer)`), " ")
}

// events reads the logs of all workers.
func (w *world) events() []*wal.Event {
	w.t.Helper()
	r, err := wal.OpenReader(w.walDir, wal.Options{})
	storetest.NoError(w.t, err)
	defer r.Close()
	var out []*wal.Event
	for e, err := range r.Events() {
		storetest.NoError(w.t, err)
		out = append(out, e)
	}
	return out
}

// replayLogs replays the logs of all workers.
func (w *world) replayLogs(db *store.DB) checkpoint.Replayed {
	w.t.Helper()
	r, err := wal.OpenReader(w.walDir, wal.Options{ByCommit: true})
	storetest.NoError(w.t, err)
	defer r.Close()
	return w.replay(db, r.Events())
}

// replay brings into a database what logs tell, all of which must be readable.
func (w *world) replay(db *store.DB, events iter.Seq2[*wal.Event, error]) checkpoint.Replayed {
	w.t.Helper()
	out, err := checkpoint.New(db).Replay(w.t.Context(), events, checkpoint.ReplayConfig{
		BaseURL: func(string) string { return w.URL }, Damaged: func(err error) { w.t.Error(err) },
		City: func(string, string, string) (yp.City, bool) { return yp.City{}, false },
	})
	storetest.NoError(w.t, err)
	return out
}

// story is the logs as a list of words: "start page:1 page:2 complete".
func (w *world) story() string {
	w.t.Helper()
	var words []string
	for _, e := range w.events() {
		word := strings.TrimPrefix(string(e.Type), "target_")
		if e.Page != nil {
			word = fmt.Sprintf("page:%d", e.Page.Number)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func workers(n int) func(*crawl.Config) { return func(c *crawl.Config) { c.Workers = n } }

func reached(f func(crawl.Point)) func(*crawl.Config) {
	return func(c *crawl.Config) { c.Reached = f }
}

// endedBy fails the test unless the run ended with cause, and says so in these words.
func endedBy(t testing.TB, got, cause error, words ...string) {
	t.Helper()
	if !errors.Is(got, cause) {
		t.Errorf("the run ended with %v, want %v", got, cause)
	}
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(got), w) {
			t.Errorf("it says %v, and not %q", got, w)
		}
	}
}

// newClock is at the present: the network's clock can't be set, and what it
// stamps is compared with the database's.
func newClock() *storetest.Clock {
	return storetest.ClockAt(time.Now().UTC().Truncate(time.Millisecond))
}
