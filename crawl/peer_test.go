package crawl_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// held gives targets to another process of this machine, which lives until the
// returned function ends it.
func (w *world) held(ids ...int64) (die func()) {
	w.t.Helper()
	host, err := os.Hostname()
	storetest.NoError(w.t, err)
	lock, err := store.TakeLock(w.db.Path(), "other", false)
	storetest.NoError(w.t, err)
	now := yp.FormatTime(time.Now())
	w.write("INSERT INTO runs (uuid, host, pid, source_id, command, started_at, heartbeat_at) VALUES ('other', ?, 1, ?, 'test', ?, ?)",
		host, w.scope.SourceID, now, now)
	for _, id := range ids {
		w.write(`UPDATE targets SET status = 'IN_PROGRESS', claimed_by = 'worker_0_pid_1', claimed_at = ?, heartbeat_at = ?, claim_token = 1,
			run_id = (SELECT id FROM runs WHERE uuid = 'other') WHERE id = ?`, now, now, id)
	}
	var once sync.Once
	die = func() { once.Do(func() { _ = lock.Release() }) }
	w.t.Cleanup(die)
	return die
}

func TestDeadPeer(t *testing.T) {
	t.Parallel()
	good := ok(page("", shops(1, 3)...))
	parallel(t, "that dies during the run is succeeded", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		die := w.held(2)
		w.on(target, after(die, good))
		w.done()
		w.is(2, yp.Done, 1, "")
		w.requested(target, city(1))
	})
	parallel(t, "that fills a state is succeeded", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		die := w.held(2)
		e := w.engine(func(c *crawl.Config) { c.MaxPerState = 1 })
		e.SetLook(time.Millisecond)
		done := w.begin(t.Context(), e)
		waitFor(t, func() bool { return e.Looked() > 3 })
		w.requested()
		die()
		storetest.NoError(t, w.wait(done))
		w.is(1, yp.Done, 1, "")
		w.is(2, yp.Done, 1, "")
	})
	parallel(t, "that held several is succeeded by as many workers at once", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		die := w.held(1, 2)
		meet := after(meeting(t, 2), good)
		w.on(target, meet)
		w.on(city(1), meet)
		w.write("INSERT INTO categories (slug, name) VALUES ('dentists', 'Dentists')") // one more target, so that the workers stay
		w.write(`INSERT INTO targets (source_id, city_id, category_id, state, population, priority, max_pages, created_at)
			SELECT source_id, city_id, 2, state, population, 9, max_pages, created_at FROM targets WHERE id = 1`)
		w.on("/city-0-ca/dentists", good)
		e := w.engine(workers(2), func(c *crawl.Config) { c.MaxPerState, c.Heartbeat = 2, time.Millisecond })
		e.SetLook(time.Hour)
		done := w.begin(t.Context(), e)
		waitFor(t, func() bool { return e.Looked() > 5 })
		w.requested()
		die()
		storetest.NoError(t, w.wait(done))
		storetest.Equal(t, e.Stats().Done, 3, "targets done")
	})
	parallel(t, "is succeeded at a heartbeat while all workers are busy", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		w.held(2)()
		w.on(target, after(func() {
			waitFor(t, func() bool { return w.row(2).Status == yp.Planned })
		}, good))
		w.done(func(c *crawl.Config) { c.Heartbeat = time.Millisecond })
		w.is(2, yp.Done, 1, "")
	})
	parallel(t, "is never the run itself, though its lock file is gone", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		w.look = time.Millisecond
		var once sync.Once
		both := make(chan struct{})
		w.on(target, after(func() {
			storetest.NoError(t, os.RemoveAll(store.LockDir(w.db.Path())))
			once.Do(func() { close(both) })
			waitFor(t, func() bool { return w.row(2).Status == yp.Done })
			for n := 0; n < 50 && len(w.asked()) < 3; n++ { // meanwhile the other worker looks for work
				time.Sleep(time.Millisecond)
			}
		}, good))
		w.on(city(1), after(func() { signalled(t, "the first request", both) }, good))
		endedBy(t, w.crawl(w.engine(workers(2))), store.ErrReplaced)
		w.askedTimes(2)
	})
}
