package checkpoint_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/wal"
	"ypcrawl/yp"
)

// editLog puts edits into the log of a crawl.
type editLog struct {
	*logged
	synced int
	err    error
}

func (l *editLog) Append(e *wal.Event) error {
	const worker = "worker_0_pid_99"
	l.seqs[worker]++
	e.WorkerID, e.Seq = worker, l.seqs[worker]
	l.events = append(l.events, e)
	return nil
}

func (l *editLog) Sync() error {
	l.synced++
	return l.err
}

// place is a listing with what companies are found by.
func place(id, name, phone, website, state string) yp.Listing {
	l := yp.Listing{ID: id, Name: name, PhoneE164: phone, Phone: phone, State: state}
	if w, ok := yp.CanonicalWebsite(website); ok {
		l.Website, l.WebsiteURL, l.Domain = w.URL, w.URL, w.Domain
	}
	return l
}

// businesses are listings of which many share a website, or phone and name.
func businesses(rnd *rand.Rand) (ls []yp.Listing) {
	for range 1 + rnd.IntN(4) {
		id := rnd.IntN(40)
		ls = append(ls, place(fmt.Sprint(id), fmt.Sprint("N", id%3), fmt.Sprintf("+1310555%04d", 1000+id%7), []string{"", fmt.Sprintf("https://w%d.com", rnd.IntN(6))}[rnd.IntN(2)], "CA"))
	}
	return ls
}

// company is what a database says of companies; times are left out, for a page is logged
// before it is committed.
var companyRows = []string{
	`SELECT id, name, website, domain, phone_e164, street, city, state, postal_code, lead_source, lead_listing FROM companies ORDER BY id`,
	`SELECT id, listing_id, name, website, company_id FROM listings ORDER BY id`,
	`SELECT id, kept, absorbed, by, key, listings, keys, company ->> 'name', undone_at IS NOT NULL FROM company_merges ORDER BY id`,
	`SELECT a, b FROM company_apart ORDER BY a, b`,
	`SELECT hash, company_id, key FROM company_keys ORDER BY hash`,
	`SELECT id FROM company_edits ORDER BY id`,
	`SELECT state, companies FROM company_totals WHERE companies <> 0 ORDER BY state`,
}

// TestReplayOfEdits: merges and splits by hand stand in the logs, and a replay makes them
// again between the pages, once.
func TestReplayOfEdits(t *testing.T) {
	t.Parallel()
	kinds := map[wal.EventType]int{}
	for seed := range uint64(12) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		g := logOfOne(t)
		log := &editLog{logged: g}
		c := g.anew(t)
		for range 60 {
			g.clock.Move(time.Second)
			if rnd.IntN(2) == 0 {
				ls := businesses(rnd)
				p := yp.Page{Number: c.PageCurrent + 1, Raw: 100, NextURL: "/x", Listings: ls}
				g.log(wal.PageComplete, c, &p, "", yp.InProgress)
				if _, err := g.CommitPage(t.Context(), c, p); err != nil {
					t.Fatal(err)
				}
				continue
			}
			g.editAtRandom(t, log, rnd)
		}
		k := checkpoint.New(storetest.Open(t))
		for what, k := range map[string]*checkpoint.Keeper{"a new file": k, "the file that was crawled": g.Keeper} {
			for round := range 2 {
				if out := g.replay(t, k, g.events); out.Damaged > 0 {
					t.Fatalf("%s: %+v", what, out)
				}
				for _, q := range companyRows {
					same(t, fmt.Sprint("seed ", seed, ", ", what, ", reading ", round+1, ": ", q), table(t, k.DB(), q), table(t, g.DB(), q))
				}
			}
			if t.Failed() {
				return
			}
		}
		for _, e := range g.events {
			kinds[e.Type]++
			if held, err := k.Holds(t.Context(), e); e.Edit != nil && (err != nil || !held) {
				t.Errorf("the edit %+v is not held: %v", e.Edit, err)
			}
			if e.Edit != nil && e.Edit.Merge != nil {
				kinds["undone"]++
			}
		}
	}
	if kinds[wal.CompanyMerge] < 20 || kinds[wal.CompanySplit] < 20 || kinds["undone"] < 10 {
		t.Errorf("too few edits: %v", kinds)
	}
}

// editAtRandom merges or divides companies, where that means something.
func (g *logged) editAtRandom(t *testing.T, log *editLog, rnd *rand.Rand) {
	t.Helper()
	before := len(g.events)
	number := func(query string) (n int64) {
		if ids := table(t, g.DB(), query); len(ids) > 0 {
			_, _ = fmt.Sscan(ids[rnd.IntN(len(ids))], &n)
		}
		return n
	}
	var err error
	switch rnd.IntN(3) {
	case 0:
		const any = `SELECT id FROM companies`
		_, err = g.MergeCompanies(t.Context(), log, number(any), []int64{number(any)})
	case 1:
		from := number(`SELECT company_id FROM listings GROUP BY 1 HAVING count(*) > 1`)
		_, err = g.SplitCompany(t.Context(), log, from, []int64{number(fmt.Sprint(`SELECT id FROM listings WHERE company_id = `, from))})
	case 2:
		_, err = g.UndoMerge(t.Context(), log, number(`SELECT id FROM company_merges WHERE undone_at IS NULL`))
	}
	var refused *store.RefusedError
	switch {
	case errors.As(err, &refused):
		if len(g.events) != before {
			t.Errorf("what was refused is logged: %v", err)
		}
	case err != nil:
		t.Fatal(err)
	case len(g.events) != before+1 || log.synced == 0:
		t.Errorf("%d events for an edit", len(g.events)-before)
	}
}

// TestReplayOfAnEarlyEdit: a clock that was set back may put an edit before the pages that
// its listings stand on; it waits for them, and those behind it wait, too.
func TestReplayOfAnEarlyEdit(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	log := &editLog{logged: g}
	c := g.anew(t)
	for _, ids := range [][]string{{"a", "b"}, {"c"}} {
		g.brings(t, c, yp.Page{NextURL: "/x"}, ids...)
	}
	if _, err := g.MergeCompanies(t.Context(), log, 1, []int64{2, 3}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.SplitCompany(t.Context(), log, 1, []int64{2}); err != nil {
		t.Fatal(err)
	}
	edits, pages := g.events[len(g.events)-2:], g.events[:len(g.events)-2]
	k := checkpoint.New(storetest.Open(t))
	out := g.replay(t, k, slices.Concat(edits, pages))
	if out.Edits != 2 || out.Damaged > 0 {
		t.Errorf("%+v", out)
	}
	const rows = `SELECT listing_id, company_id FROM listings ORDER BY 1`
	same(t, rows, table(t, k.DB(), rows), table(t, g.DB(), rows))

	lost := checkpoint.New(storetest.Open(t)) // the pages are gone
	out, err := lost.Replay(t.Context(), seq(edits), g.replayConfig(func(error) {}))
	if err != nil || out.Damaged != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestEditNotLogged: an edit that can't be logged is not made.
func TestEditNotLogged(t *testing.T) {
	t.Parallel()
	g := logOfOne(t)
	g.brings(t, g.anew(t), yp.Page{NextURL: "/x"}, "a", "b")
	full := errors.New("no space left")
	if _, err := g.MergeCompanies(t.Context(), &editLog{logged: g, err: full}, 1, []int64{2}); !errors.Is(err, full) {
		t.Error(err)
	}
	same(t, "companies", table(t, g.DB(), `SELECT id FROM companies`), []string{"1", "2"})
}
