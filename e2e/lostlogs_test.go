//go:build unix

package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestLostLogs does to the logs of a crawl what a hand or a script may do, and expects that the crawl notices, goes on,
// and that whoever asks is told how many pages can't be rebuilt: as many as a replay misses.
func TestLostLogs(t *testing.T) {
	t.Parallel()
	for name, happen := range map[string]func(t *testing.T, dir string){
		"removed": func(t *testing.T, dir string) {
			for _, file := range plainLogs(t, dir) {
				storetest.NoError(t, os.Remove(file))
			}
		},
		"folder moved": func(t *testing.T, dir string) {
			storetest.NoError(t, os.Rename(dir, filepath.Join(filepath.Dir(dir), "old")))
		},
		"emptied": func(t *testing.T, dir string) {
			for _, file := range plainLogs(t, dir) {
				storetest.NoError(t, os.Truncate(file, 0))
			}
		},
		"moved into place": func(t *testing.T, dir string) {
			for _, file := range plainLogs(t, dir) {
				storetest.NoError(t, os.Rename(file, file+".old"))
				storetest.NoError(t, os.WriteFile(file, nil, 0o600))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			dir := filepath.Join(w.dir, "logs", "yp_wal")
			var out bytes.Buffer
			crawl := command(w.dir, nil, w.crawlArgs("--workers", "2")...)
			crawl.Stdout, crawl.Stderr = &out, &out
			storetest.NoError(t, crawl.Start())
			w.counter.waitFor(t, 20)
			happen(t, dir)
			if code := exitCode(t, crawl.Wait()); code != 0 || !strings.Contains(out.String(), "while it was written; it continues in a new file") {
				t.Fatalf("exit code %d\n%s", code, &out)
			}
			w.checkTruth()
			w.expectLost(w.missed(dir))
		})
	}
}

func plainLogs(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	storetest.NoError(t, err)
	if len(files) == 0 {
		t.Fatal("no log is there")
	}
	return files
}

// missed is how many pages the logs of a finished crawl miss, by a replay.
func (w *world) missed(dir string) (pages int) {
	w.t.Helper()
	cmd := command(w.dir, nil, "--db", "rebuilt.db", "wal", "replay", dir, "--json")
	text, _ := cmd.Output() // 1: a log of the test's own has no lines
	var got struct{ Pages, Uncommitted int }
	storetest.NoError(w.t, json.Unmarshal(text, &got))
	return w.count(`SELECT sum(page_current) FROM targets`) - (got.Pages - got.Uncommitted) // a page that is in two files is one
}

// expectLost expects that every command which may tells how many pages are lost.
func (w *world) expectLost(pages int) {
	w.t.Helper()
	if pages < 5 {
		w.t.Errorf("%d pages are lost", pages)
	}
	want := regexp.MustCompile(fmt.Sprintf(`(they|the logs) lack %d pages with [0-9,]+ listings`, pages))
	for _, args := range [][]string{{"doctor"}, {"status", "--check"}, {"backup", "copy.db"}} {
		out, err := command(w.dir, nil, args...).CombinedOutput()
		if !want.Match(out) || exitCode(w.t, err) != map[string]int{"status": 1}[args[0]] {
			w.t.Errorf("%v: %v\n%s\nwant %s", args, err, out, want)
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "ypcrawl.db"))
	storetest.NoError(w.t, err)
	_, err = db.ExecContext(w.t.Context(), `UPDATE targets SET wait_reason = 'recrawl', not_before = '1999-01-01T00:00:00.000Z' WHERE status = 'DONE'`)
	storetest.NoError(w.t, errors.Join(err, db.Close()))
	w.must(w.crawlArgs("--workers", "2")...)
	if out, err := command(w.dir, nil, "doctor").CombinedOutput(); err != nil || bytes.Contains(out, []byte("they lack")) {
		w.t.Errorf("when all was crawled again: %v\n%s", err, out)
	}
}
