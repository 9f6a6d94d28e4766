//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/e2e/directories"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// directoryWorkers crawl a directory of another form.
const directoryWorkers = 3

// formWorld is a directory of another form, served, and a folder in which it is crawled by its definition.
type formWorld struct {
	*world
	of    *directories.Directory
	serve *directories.Server
	file  string // definition
	step  int    // listings that a page gives
}

// newFormWorld serves a directory. most is how many listings a page gives at most, 0 = as many as are asked for.
func newFormWorld(t *testing.T, of *directories.Directory, most int) *formWorld {
	t.Helper()
	server := &directories.Server{Of: of, Most: most, Latency: 15 * time.Millisecond}
	w := &formWorld{world: &world{t: t, dir: t.TempDir(), workers: directoryWorkers, files: 1}, of: of, serve: server, step: of.Step}
	w.url = serveSite(t, server)
	file, err := filepath.Abs(filepath.Join("testdata", "directories", of.Name+".yaml"))
	storetest.NoError(t, err)
	w.file = file
	w.crawls()
	return w
}

// crawls sets the command that crawls.
func (w *formWorld) crawls() {
	states, cities, categories := w.of.Selection()
	w.args = slices.Concat([]string{
		"run", "--source-file", w.file, "--base-url", w.url, "--delay", "0", "--workers", strconv.Itoa(w.workers), "--max-pages", "all",
		"--any-category", "--linger", "0", "--log-level", "warn", "--keep-pages", "30", "--categories",
	}, categories)
	if w.of.Own() { // the cities are those of the indexes
		w.args = append(w.args, "--discover", "--details")
	} else {
		w.args = append(append(w.args, "--cities"), cities...)
	}
	if len(states) > 0 {
		w.args = append(append(w.args, "--states"), states...)
	}
}

// TestCrashDirectories crawls directories of the forms that other systems have, by definitions alone: killed at random moments, at a
// site whose every third answer is an error with status 200, and when listings left and came.
func TestCrashDirectories(t *testing.T) {
	t.Parallel()
	for _, of := range directories.All() {
		t.Run(of.Name, func(t *testing.T) {
			t.Parallel()
			w := newFormWorld(t, of, 0)
			w.serve.Sticky = of.Own() // an index, lists and own pages fail until the trouble is over
			w.killed(orLong(formKills))
		})
	}
}

// TestCrashCapped kills the crawl of a site that gives 20 listings however many are asked for.
func TestCrashCapped(t *testing.T) {
	t.Parallel()
	of := directories.Named("offset")
	w := newFormWorld(t, of, 20)
	text, err := os.ReadFile(w.file)
	storetest.NoError(t, err)
	w.file = filepath.Join(w.dir, "capped.yaml")
	wants50 := strings.NewReplacer("step: 20", "step: 50", "size=20", "size=50").Replace(string(text))
	storetest.NoError(t, os.WriteFile(w.file, []byte(wants50), 0o600))
	w.crawls()
	w.killed(orLong(formKills))
}

// TestCrashStaleCursors kills the crawl of a site whose cursors are good no more after each kill: lists that were begun are read from
// their first page on.
func TestCrashStaleCursors(t *testing.T) {
	t.Parallel()
	w := newFormWorld(t, directories.Named("graphql"), 0)
	rnd := rand.New(rand.NewPCG(9, 9))
	w.serve.Serve(0, 0)
	kills := 0
	for kills < orLong(formKills) && w.killLater(rnd) {
		kills++
		w.serve.Expire()
	}
	w.finishAll()
	w.checkListings(0)
	w.checkEnds()
	_, again, failed := w.serve.Asked()
	if longest := 5; again > kills*w.workers*longest || kills < 2 {
		t.Errorf("%d pages were asked for again, %d failed, after %d kills", again, failed, kills)
	}
	t.Logf("%d kills, %d pages asked for again", kills, again)
}

// killed is the test of one directory.
func (w *formWorld) killed(times int) {
	rnd := rand.New(rand.NewPCG(8, uint64(times)))
	w.serve.Serve(0, 0)
	for kills := 0; kills < times; {
		if !w.killLater(rnd) {
			w.anew()
			continue
		}
		kills++
		w.kills++
	}
	w.checkFirst()
	w.reparse()
	w.inTrouble()

	w.serve.Serve(1, 0)
	w.recrawl() // the first that misses what left
	w.recrawl()
	w.checkListings(1)
	w.checkEnds()
	w.t.Logf("%d kills, %d files, %d searches stuck and reset", times, w.files, w.stuck)
}

// killLater starts the crawl and kills it at a random moment behind a request; false when it ended by itself before.
func (w *formWorld) killLater(rnd *rand.Rand) bool {
	w.t.Helper()
	reached := w.serve.After(1 + rnd.IntN(5))
	cmd := command(w.dir, nil, w.args...)
	var out strings.Builder
	cmd.Stderr = &out
	storetest.NoError(w.t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		w.checkEnd(err, out.String())
		return false
	case <-reached:
	}
	time.Sleep(time.Duration(rnd.IntN(30)) * time.Millisecond) // a random moment is what is tested
	_ = cmd.Process.Kill()
	return killed(<-done)
}

// anew checks what a crawl has found that was killed on its way, and goes on with an empty file.
func (w *formWorld) anew() {
	w.t.Helper()
	w.checkFirst()
	w.files++
	w.kills = 0
	for _, name := range []string{"ypcrawl.db", "ypcrawl.db-wal", "ypcrawl.db-shm", "ypcrawl.db.locks", "logs"} {
		storetest.NoError(w.t, os.RemoveAll(filepath.Join(w.dir, name)))
	}
	w.serve.Serve(0, 0)
}

// checkFirst brings a crawl to its end and compares it with the directory: what it found, what the logs have of it, and what it asked for.
func (w *formWorld) checkFirst() {
	w.t.Helper()
	w.finishAll()
	w.checkListings(0)
	w.checkEnds()
	storetest.Diff(w.t, w.rows(w.rebuilt()), w.rows(filepath.Join(w.dir, "ypcrawl.db")), "what the logs alone have")
	pages, again, _ := w.serve.Asked()
	most := w.of.Pages(0, w.step) + w.of.Lists()
	if states, _, _ := w.of.Selection(); w.of.Own() {
		most += len(states) + len(w.of.Listings(0))
	}
	if pages > most || again > w.kills*w.workers {
		w.t.Errorf("%d pages were asked for, %d times one again, after %d kills of %d workers: want %d at most", pages, again, w.kills, w.workers, most)
	}
}

// finishAll takes back what too many kills in a row made STUCK, of each kind, and crawls to the end.
func (w *formWorld) finishAll() {
	w.t.Helper()
	for range 3 {
		out, err := command(w.dir, nil, w.args...).CombinedOutput()
		if w.checkEnd(err, string(out)); err == nil {
			return
		}
		w.stuck += w.countStatus("STUCK")
		for _, kind := range []string{"search", "index", "detail"} {
			w.must("reset", "--yes", "--kind", kind, "--status", "STUCK")
		}
	}
	w.t.Fatal("the crawl does not come to its end")
}

// reparse reads the kept pages again: they bring back what the database has lost.
func (w *formWorld) reparse() {
	w.t.Helper()
	before := w.rows(filepath.Join(w.dir, "ypcrawl.db"))
	w.alter(`UPDATE listings SET phone = NULL, phone_e164 = NULL, fingerprint = fingerprint + 1`)
	out := w.must("reparse", "--source-file", w.file)
	if diff := cmp.Diff(before, w.rows(filepath.Join(w.dir, "ypcrawl.db"))); diff != "" {
		w.t.Errorf("%safter kept pages were read again (-want +got):\n%s", out, head(diff))
	}
}

// inTrouble crawls once more, while every third answer is an error: what was found stays as it is.
func (w *formWorld) inTrouble() {
	w.t.Helper()
	before := w.rows(filepath.Join(w.dir, "ypcrawl.db"))
	w.serve.Serve(0, 3)
	w.age("-8 days") // indexes are read again
	again := append(slices.Clone(w.args), "--recrawl", "0")
	if !w.serve.Sticky { // a run that asks for so little does not slow down, and the next goes on
		again = append(again, "--max-requests", "9")
	}
	out, err := command(w.dir, nil, again...).CombinedOutput()
	for range 20 {
		if exitCode(w.t, err) == 4 {
			out, err = command(w.dir, nil, again...).CombinedOutput()
		}
	}
	w.checkEnd(err, string(out))
	if _, _, failed := w.serve.Asked(); failed < 3 {
		w.t.Errorf("only %d requests failed", failed)
	}
	storetest.Diff(w.t, w.rows(filepath.Join(w.dir, "ypcrawl.db")), before, "after a crawl in trouble")
	storetest.Equal(w.t, w.count(`SELECT count(*) FROM sightings WHERE missed > 0`), 0, "what counts as missed")
	storetest.Equal(w.t, w.count(`SELECT count(*) FROM targets WHERE kind = 'search' AND status IN ('STUCK', 'PARKED')`), 0, "targets that no run tries again")
	if w.serve.Serve(0, 0); err != nil { // what failed is for later: no other pass begins before
		w.recrawl()
	}
}

// recrawl crawls all once more, as an hour later.
func (w *formWorld) recrawl() {
	w.t.Helper()
	w.age("-3 hours")
	w.must(append(slices.Clone(w.args), "--recrawl", "0")...)
}

// age lets time pass for the targets, and the host is asked as fast as at first.
func (w *formWorld) age(by string) {
	w.t.Helper()
	w.alter(`DELETE FROM hosts`)
	w.alter(`
	UPDATE targets SET crawl_started_at = strftime('%Y-%m-%dT%H:%M:%fZ', crawl_started_at, ?1),
		not_before = strftime('%Y-%m-%dT%H:%M:%fZ', not_before, ?1)`, by)
}

// alter runs a statement on the database.
func (w *formWorld) alter(statement string, args ...any) {
	w.t.Helper()
	db, err := store.Open(w.t.Context(), store.Config{Path: filepath.Join(w.dir, "ypcrawl.db"), Schema: schema})
	storetest.NoError(w.t, err)
	storetest.NoError(w.t, db.Write(w.t.Context(), func(tx *store.Tx) error { return tx.Run(statement, args...) }))
	storetest.NoError(w.t, db.Close())
}

// checkEnds: every list was read to an end that the site confirmed.
func (w *formWorld) checkEnds() {
	w.t.Helper()
	storetest.Equal(w.t, w.count(`SELECT count(*) FROM targets WHERE kind = 'search' AND status = 'DONE' AND ending IN ('total', 'said')`), w.of.Lists(),
		"lists that were read to their end")
}

// checkListings: the listings are exactly those of an epoch, field by field, and those that left are dropped.
func (w *formWorld) checkListings(epoch int) {
	w.t.Helper()
	got, gone := w.listings()
	want := w.of.Listings(epoch)
	for i := range want {
		want[i].ProfileURL = strings.Replace(want[i].ProfileURL, directories.Base, w.url, 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("listings in epoch %d (-want +got):\n%s", epoch, head(diff))
	}
	if diff := cmp.Diff(w.of.Gone(epoch), gone); diff != "" {
		w.t.Errorf("closed listings in epoch %d (-want +got):\n%s", epoch, head(diff))
	}
}

// listings are those of the database, by id, and the ids of those that were dropped.
func (w *formWorld) listings() (open []yp.Listing, gone []string) {
	w.t.Helper()
	for _, row := range w.rows(filepath.Join(w.dir, "ypcrawl.db")) {
		var l struct {
			yp.Listing
			Dropped bool `json:"dropped"`
		}
		if err := json.Unmarshal([]byte(row), &l); err != nil {
			w.t.Fatalf("%s: %v", row, err)
		}
		if l.Dropped {
			gone = append(gone, l.ID)
		} else {
			open = append(open, l.Listing)
		}
	}
	return open, gone
}

// rows are the listings of a database as JSON, by id, with what says that they were dropped.
func (w *formWorld) rows(path string) []string {
	w.t.Helper()
	var members []string
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		value := f.ColumnName()
		switch f.At(&yp.Listing{}).(type) {
		case *bool, **bool:
			value = fmt.Sprintf("json(CASE %s WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)", value)
		case *[]string:
			value = "json(" + value + ")"
		}
		if f.Table != yp.NoTable {
			members = append(members, fmt.Sprintf("'%s', %s", f.Name, value))
		}
	}
	return storetest.Table(w.t, w.open(path), `
	SELECT json_object(`+strings.Join(members, ", ")+`, 'dropped', json(iif(dropped_at IS NULL, 'false', 'true')))
	FROM listings l LEFT JOIN listing_texts m ON m.listing = l.id ORDER BY listing_id`)
}
