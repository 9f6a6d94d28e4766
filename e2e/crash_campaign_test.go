//go:build unix

package e2e

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/store/storetest"
)

// TestCrashCampaign kills whatever an operator may run on one file, in any order: crawls, details, exports under a name, backups, compressions,
// restores, reparses. In the end the file is as if nobody had been killed.
func TestCrashCampaign(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.only("Plumbers", "Dentists")
	storetest.NoError(t, os.MkdirAll(filepath.Join(w.dir, "copies"), 0o700))
	restore := []string{"restore", "copies/mine.db", "--yes"}
	export := []string{"export", "-o", "week.csv", "--as", "boss", "--since", "last-export", "--overwrite"}
	others := [][]string{w.detailArgs(), export, {"backup", "copies/mine.db", "--overwrite"}, {"reparse"}, restore, {"wal", "compress"}}
	w.killAfter(8, "--keep-pages", "30")
	w.must(others[2]...)
	rnd := rand.New(rand.NewPCG(6, 6))
	times := orLong(campaignKills)
	for kills, tries := 0, 0; kills < times; tries++ {
		if tries > 20*times {
			t.Fatalf("%d kills in %d tries", kills, tries)
		}
		i := rnd.IntN(2 * len(others))
		if i >= len(others) {
			if w.killAfter(rnd.IntN(25)+1, "--details", "--keep-pages", "30") {
				kills++
			}
			continue
		}
		cmd := command(w.dir, nil, others[i]...)
		storetest.NoError(t, cmd.Start())
		time.Sleep(time.Duration(rnd.IntN(250)) * time.Millisecond) // a random moment is what is tested
		_ = cmd.Process.Kill()
		if killed(cmd.Wait()) {
			kills++
		}
		if others[i][0] == "restore" { // which is typed again until it ends, as every command says then
			w.restored(restore)
		}
	}
	w.finish()
	w.must("reset", "--kind", "detail", "--status", "STUCK", "--yes") // those that were killed too often
	w.must(w.detailArgs()...)
	w.truth.Details = w.site.Details(w.base(), w.sel)
	w.checkTruth()
	w.checkReplay()
	w.must(export...)
	if has, open := w.count(`SELECT count(*) FROM delivered WHERE name = 'boss' AND state = 'open'`), w.count(`SELECT count(*) FROM listings WHERE dropped_at IS NULL`); has != open || open == 0 {
		t.Errorf("boss has %d open listings of %d", has, open)
	}
	t.Logf("%d kills", times)
}

// restored brings a restore that was begun to its end, and removes what it set aside.
func (w *world) restored(args []string) {
	w.t.Helper()
	if _, err := os.Stat(filepath.Join(w.dir, "ypcrawl.db.restoring")); err == nil {
		w.must(args...)
	}
	for _, in := range []string{"", "logs", "logs/yp_wal"} {
		aside, err := filepath.Glob(filepath.Join(w.dir, in, "*.before-restore*"))
		for _, path := range aside {
			err = errors.Join(err, os.RemoveAll(path))
		}
		storetest.NoError(w.t, err)
	}
}

// detailArgs fetches the listings' own pages alone.
func (w *world) detailArgs() []string {
	return []string{"details", "--source", "demo", "--base-url", w.url, "--states", "CA", "TX", "--delay", "0", "--log-level", "warn"}
}
