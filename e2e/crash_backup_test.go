//go:build unix

package e2e

import (
	"bytes"
	"errors"
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

	"ypcrawl/crawl"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// TestBackupBesideCrawl takes backups while a crawl runs, kills the crawl, and restores each
// backup in a place of its own: from there the crawl goes on to the truth, and its logs are whole.
func TestBackupBesideCrawl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.counter.latency.Store(int64(100 * time.Millisecond))
	cmd := command(w.dir, nil, w.crawlArgs()...)
	storetest.NoError(t, cmd.Start())
	times := []int{1, 2}
	for _, n := range times {
		w.counter.waitFor(t, w.truth.Pages/5) // more
		w.must("backup", fmt.Sprintf("b%d.db", n))
	}
	storetest.NoError(t, cmd.Process.Kill())
	if !killed(cmd.Wait()) {
		t.Fatal("the crawl had ended before the last backup: nothing was shown")
	}
	w.counter.latency.Store(0)
	for _, n := range times {
		there := w.elsewhere(t)
		there.must("restore", filepath.Join(w.dir, fmt.Sprintf("b%d.db", n)))
		if pages := there.pages(); pages == 0 || pages >= w.truth.Pages {
			t.Errorf("backup %d has %d pages: it is not of the middle of the crawl", n, pages)
		}
		there.checkLogsHold()
		if out := there.must("doctor"); strings.Contains(out, "warn  logs") {
			t.Errorf("doctor does not like a restored backup:\n%s", out)
		}
		there.finish()
		there.checkTruth()
		there.checkReplay()
	}
}

func (w *world) pages() (n int) {
	w.t.Helper()
	return w.count("SELECT sum(page_current) FROM targets")
}

// checkLogsHold: every listing and page of the database comes back from the logs alone.
func (w *world) checkLogsHold() {
	w.t.Helper()
	const ids = "SELECT listing_id FROM listings"
	rebuilt := w.open(w.rebuilt())
	have := storetest.Table(w.t, rebuilt, ids)
	for _, id := range storetest.Table(w.t, w.open(filepath.Join(w.dir, "ypcrawl.db")), ids) {
		if !slices.Contains(have, id) {
			w.t.Errorf("the logs do not have listing %s of the database", id)
		}
	}
	if n, err := strconv.Atoi(storetest.Table(w.t, rebuilt, "SELECT sum(page_current) FROM targets")[0]); err != nil || n < w.pages() {
		w.t.Errorf("the logs have %d pages, the database has %d (%v)", n, w.pages(), err)
	}
}

// cut crawls until some pages are there, and kills the crawl: a database with a -wal beside it.
func (w *world) cut(requests int) {
	w.t.Helper()
	if !w.killAfter(requests) {
		w.t.Fatal("the crawl ended before it was killed")
	}
	if info, err := os.Stat(filepath.Join(w.dir, "ypcrawl.db-wal")); err != nil || info.Size() == 0 {
		w.t.Fatalf("there is no -wal to be stale: %v", err)
	}
}

// TestBackupKilled kills backups at every step and at random, and looks at what is there: no
// copy, or a whole one; after the next backup nothing else.
func TestBackupKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.cut(12)
	rnd := rand.New(rand.NewPCG(4, 4))
	storetest.NoError(t, os.MkdirAll(filepath.Join(w.dir, "copies"), 0o700))
	args := []string{"backup", "copies/mine.db", "--overwrite"}
	w.must(args...)
	for i, step := range slices.Concat([]string{"backup_frozen", "backup_copied", "backup_named"}, make([]string, 20)) {
		if step != "" {
			w.dies(crawl.Point(step), 1, args...)
		} else {
			cmd := command(w.dir, nil, args...)
			storetest.NoError(t, cmd.Start())
			time.Sleep(time.Duration(rnd.IntN(120)) * time.Millisecond) // a random moment is what is tested
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		w.checkCopies(fmt.Sprintf("killed at %s (%d)", step, i))
	}
	w.must(args...)
	w.checkCopies("in the end")
	entries, err := os.ReadDir(filepath.Join(w.dir, "copies"))
	if err != nil || len(entries) != 1 {
		t.Errorf("want one copy, have %v (%v)", entries, err)
	}
}

// checkCopies: what has the name of a copy is one, and its logs are in it.
func (w *world) checkCopies(when string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "copies", "*.db"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("%s: no copy is left: %v", when, err)
	}
	for _, file := range files {
		s, err := store.TakeSnapshot(w.t.Context(), file, nil)
		if err != nil {
			w.t.Fatalf("%s: %v", when, err)
		}
		logs, err := store.Column[string](s.Reader(w.t.Context()), `SELECT DISTINCT name FROM backup_logs`)
		if err != nil || len(logs) == 0 {
			w.t.Errorf("%s: %s has no logs (%v)", when, file, err)
		}
		s.Close()
		if err := store.CheckCopy(w.t.Context(), file); err != nil {
			w.t.Errorf("%s: %v", when, err)
		}
	}
}

// TestRestoreKilled kills a restore at every step, over a database with a -wal, over one that is
// too damaged to be opened, and over a -wal that is there without its database. After that the
// old or the new database is there, or the next command refuses and says how to go on; the same
// restore comes to its end, what was there is kept, and database and logs are those that a restore into an empty
// folder brings: no page of the old -wal has come into them. From there the crawl goes on to the truth.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	early := newWorld(t, 2)
	early.cut(8)
	early.must("backup", "early.db")
	from := filepath.Join(early.dir, "early.db")
	calm, late := early.elsewhere(t), early.elsewhere(t)
	calm.must("restore", from)
	late.cut(30)
	for _, old := range []string{"with a -wal", "damaged", "only a -wal"} {
		for _, step := range []string{
			"restore_staged", "restore_marked", "restore_logs_aside", "restore_aside", "restore_replaced", "restore_logs_inside",
		} {
			t.Run(old+"/"+step, func(t *testing.T) {
				w := late.elsewhere(t)
				storetest.NoError(t, os.CopyFS(w.dir, os.DirFS(late.dir)))
				db := filepath.Join(w.dir, "ypcrawl.db")
				var err error
				switch old {
				case "damaged":
					err = os.WriteFile(db, bytes.Repeat([]byte("x"), 500_000), 0o600)
				case "only a -wal":
					err = os.Remove(db)
				}
				storetest.NoError(t, err)
				w.dies(crawl.Point(step), 1, "restore", "--yes", from)
				out, err := command(w.dir, nil, "progress").CombinedOutput()
				if untouched := step == "restore_staged"; !untouched && (err == nil || !strings.Contains(string(out), "restore "+from)) {
					t.Errorf("the next command does not tell of the restore that was cut off: %v\n%s", err, out)
				} else if untouched && strings.Contains(string(out), "cut off") {
					t.Errorf("nothing was changed, and yet:\n%s", out)
				}
				w.must("restore", "--yes", from)
				aside, err := filepath.Glob(db + ".before-restore*")
				if err != nil || len(aside) == 0 {
					t.Errorf("nothing is kept of what was there: %v", err)
				}
				if old == "with a -wal" { // folded into one file, whole
					if err := store.CheckCopy(t.Context(), aside[0]); err != nil || len(aside) != 1 {
						t.Errorf("%v is not the old database: %v", aside, err)
					}
				}
				left, err := filepath.Glob(filepath.Join(w.dir, ".*"))
				if more, _ := filepath.Glob(filepath.Join(w.dir, "logs/yp_wal/.*")); err != nil || len(left)+len(more) > 0 {
					t.Errorf("left behind: %v %v (%v)", left, more, err)
				}
				w.compare(filepath.Join(calm.dir, "ypcrawl.db"), db, "restored")
				if diff := cmp.Diff(calm.logs(), w.logs()); diff != "" {
					t.Errorf("the logs are not those of the backup (-want +got):\n%s", head(diff))
				}
			})
		}
	}
	calm.checkLogsHold()
	calm.finish()
	calm.checkTruth()
	calm.checkReplay()
}

// elsewhere is the same directory, to be crawled in a folder of its own.
func (w *world) elsewhere(t *testing.T) *world {
	t.Helper()
	there := *w
	there.t, there.dir = t, t.TempDir()
	return &there
}

// logs are the texts of the logs, by the names of their files.
func (w *world) logs() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	files, err := filepath.Glob(filepath.Join(w.dir, "logs/yp_wal/*.jsonl*"))
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		all[filepath.Base(file)], err = string(text), errors.Join(err, readErr)
	}
	if err != nil || len(all) == 0 {
		w.t.Fatalf("no logs in %s: %v", w.dir, err)
	}
	return all
}

// TestRestoreBringsBack: what was crawled after a backup comes back from the logs that a restore
// puts aside, by the command that it names; nothing of it is fetched again.
func TestRestoreBringsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.cut(15)
	w.must("backup", "b.db")
	w.finish()
	fetched := w.counter.all()
	out := w.must("restore", "--yes", "b.db")
	at := strings.Index(out, "wal replay ")
	if at < 0 || w.pages() >= w.truth.Pages {
		t.Fatalf("%d pages; no command is named:\n%s", w.pages(), out)
	}
	aside := strings.Fields(out[at:])[2]
	w.must("wal", "replay", aside)
	w.checkRows(filepath.Join(w.dir, "ypcrawl.db"))
	w.finish()
	w.checkTruth()
	if n := w.counter.all() - fetched; n > 2*w.workers {
		t.Errorf("%d pages were fetched again", n)
	}
	rebuilt := filepath.Join(t.TempDir(), "rebuilt.db")
	w.must("--db", rebuilt, "wal", "replay", "logs/yp_wal", aside)
	w.checkRows(rebuilt)
}

// TestRestoreEndsAlone: a restore that was cut off comes to its end though the backup is not there any more: the disk
// that it lay on was taken away, say.
func TestRestoreEndsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.cut(8)
	w.must("backup", "b.db")
	w.dies("restore_marked", 1, "restore", "--yes", "b.db")
	storetest.NoError(t, os.Remove(filepath.Join(w.dir, "b.db")))
	if out := w.must("restore", "b.db"); !strings.Contains(out, "this finished the interrupted restore") {
		t.Errorf("%s", out)
	}
	w.finish()
	w.checkTruth()
}

// TestRestoreRefuses: not while a run, or anybody else, has the database.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.cut(8)
	w.must("backup", "b.db")
	from := filepath.Join(w.dir, "b.db")
	refuses := func(w *world, why string) {
		t.Helper()
		if out, err := command(w.dir, nil, "restore", "--yes", from).CombinedOutput(); exitCode(t, err) != 11 || !strings.Contains(string(out), why) {
			t.Errorf("%v, want that it says %q\n%s", err, why, out)
		}
	}
	there := w.elsewhere(t) // nothing was crawled into it yet
	there.must("restore", from)
	for _, w := range []*world{w, there} {
		reader := w.open(filepath.Join(w.dir, "ypcrawl.db"))
		storetest.Table(t, reader, "SELECT count(*) FROM targets")
		refuses(w, "another process has this database open")
		storetest.NoError(t, reader.Close())
	}
	w.counter.latency.Store(int64(20 * time.Millisecond))
	cmd := command(w.dir, nil, w.crawlArgs()...)
	storetest.NoError(t, cmd.Start())
	w.counter.waitFor(t, 3)
	refuses(w, "a run is using this database")
	w.counter.latency.Store(0)
	storetest.Equal(t, exitCode(t, cmd.Wait()), 0, "exit code")
	w.checkTruth()
	if left, err := filepath.Glob(filepath.Join(w.dir, "*restor*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
