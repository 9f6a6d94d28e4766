package checkpoint_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// olderFile makes a file as the program of schema version 1 left it, with targets of
// every status.
func olderFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "one.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{"PRAGMA application_id = 0x79706372", "PRAGMA user_version = 1"}
	for _, name := range []string{"schema-1.sql", "rows-1.sql"} {
		text, err := os.ReadFile(filepath.Join("..", "store", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, string(text))
	}
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCrawlAfterUpgrade: on a file that an older program made, everything goes on
// where it was.
func TestCrawlAfterUpgrade(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b := &bundle{Keeper: checkpoint.New(storetest.OpenConfig(t, store.Config{Path: olderFile(t), Now: clock.now}))}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := b.Progress(bg, checkpoint.Scope{})
	must(err)
	if o := p.Overall; o.Targets != 10 || o.Planned != 3 || o.InProgress != 1 || o.Done != 1 || o.Failed != 3 || o.Stuck != 1 || o.Parked != 1 || o.Pages != 6 || o.Listings != 3 || o.Companies != 2 {
		t.Errorf("progress: %+v", o)
	}
	// The run of the older program is dead: what it held is taken back.
	clock.move(time.Hour)
	rec, err := b.RecoverDead(bg, checkpoint.Scope{})
	must(err)
	if rec != (checkpoint.Recovered{Planned: 1, Dead: 1}) {
		t.Errorf("recovered %+v", rec)
	}
	b.scope = checkpoint.Scope{SourceID: 1, States: []string{"CA", "TX"}}
	b.run, err = b.StartRun(bg, 1, "after", false)
	must(err)
	must(b.run.Enlist(bg, someWorkerID, "Ada", 0))
	n, err := b.Wake(bg, b.scope)
	must(err)
	if n != 4 { // two whose rest is over, one that is due, and one whose rest ends in 2099: no rest that there is
		t.Errorf("woke %d, want 4", n)
	}
	order := []int64{}
	for {
		c, err := b.Claim(bg, b.worker(0), b.scope, 100)
		if errors.Is(err, checkpoint.ErrNothing) {
			break
		}
		must(err)
		order = append(order, c.TargetID)
		switch c.TargetID {
		case 2: // goes on behind its second page
			if c.PageCurrent != 2 || c.NextPageURL != "/la?page=3" || c.Token != 5 {
				t.Errorf("target 2: %+v", c)
			}
			c.Requests = append(c.Requests, b.asks(c, 0, ""))
			if _, err := b.CommitPage(bg, c, page(3, true, "l1", "new")); err != nil {
				t.Error(err)
			}
		case 6: // three failures before: the fourth
			if set, err := b.Fail(bg, c, yp.CodeTimeout, "slow"); err != nil || set.Level != 4 || set.Event != yp.EventFail {
				t.Errorf("target 6: %+v (%v)", set, err)
			}
		case 7: // at level 5
			if set, err := b.Fail(bg, c, yp.CodeTimeout, "slow"); err != nil || set.Event != yp.EventPark {
				t.Errorf("target 7: %+v (%v)", set, err)
			}
		default:
			must(b.Complete(bg, c, yp.CodeNoListings, "none", true))
		}
	}
	same(t, "targets", table(t, b.DB(), `SELECT id, status, crawl_status, auto_disabled FROM targets ORDER BY id`), []string{
		"1|DONE|active|0", "2|DONE|active|0", "3|DONE|active|0", "4|DONE|active|0", "5|DONE|active|0", "6|FAILED|degraded|0", "7|PARKED|failed|1",
		"8|STUCK|active|0", "9|PARKED|failed|0", "10|PLANNED|active|0",
	})
	if len(order) != 7 {
		t.Errorf("claimed %v", order)
	}
	same(t, "attempts", table(t, b.DB(), `SELECT ended, count(*) FROM crawl_attempts GROUP BY 1`), []string{"done|5", "failed|1", "parked|1"})
	recount(t, b.DB())
	must(b.run.Finish(bg, checkpoint.OutcomeDone, 0))
	must(b.DB().IntegrityCheck(bg))
}
