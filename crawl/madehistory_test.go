package crawl_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl"
	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

var (
	madeSeed      = flag.Uint64("madesite.seed", 0, "crawl the made site of this `seed` alone, and tell its story")
	madeHistories = flag.Int("madesite.histories", madeHistoriesByDefault, "crawl so `many` made sites, of the seeds from 1 on")
)

// fault is what a crawl of a made site did wrong.
type fault struct{ kind, text string }

// The kinds of faults.
const (
	closedShown  = "closed although the site shows it"
	saidComplete = "called read to its end although nobody can know"
	notComplete  = "not called read to its end although the site says so"
	notClosed    = "not closed although it is gone"
	askedTooMuch = "a page was asked for more than twice"
	storedWrong  = "stored under a search that does not have it"
	coverageOff  = "coverage does not agree"
	summaryOff   = "the summary does not agree"
	runEnded     = "a run ended with an error"
)

// history is the crawl of a made site in several passes.
type history struct {
	*world
	site   *madeSite
	began  [passes]time.Time
	faults []fault
	story  strings.Builder

	due     map[string]int       // verdicts that were due, by why, and faults, by the form of the pass
	targets []int64              // rows of the lists
	failing [passes]map[int]bool // lists that had failed as a pass began
}

// TestMadeSite: whatever a site's pagination is and becomes, no listing that it shows is closed, no
// list is called read to its end where nobody can know, and what is gone is closed where the site
// says where its lists end.
//
//	go test ./crawl -run TestMadeSite -madesite.histories=10000
//	go test ./crawl -run TestMadeSite -madesite.seed=17 -v
func TestMadeSite(t *testing.T) {
	t.Parallel()
	src := madeSources(t)
	if *madeSeed > 0 {
		h := crawlMade(t, *madeSeed, src)
		t.Logf("%s", h.story.String())
		h.tell(t)
		return
	}
	var all tally
	t.Run("histories", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for seed := 1 + shard; seed <= *madeHistories; seed += shards {
					all.add(t, crawlMade(t, uint64(seed), src)) //nolint:gosec // it is positive
				}
			})
		}
	})
	all.tell(t)
}

// shards are crawled beside one another.
const shards = 4

// tally counts the faults of all histories.
type tally struct {
	mu     sync.Mutex
	failed int
	told   int
	seeds  map[string][]uint64 // histories with such a fault
	counts map[string]int      // verdicts that were due
}

const mostStories = 3

func (a *tally) add(t *testing.T, h *history) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seeds == nil {
		a.seeds, a.counts = map[string][]uint64{}, map[string]int{}
	}
	for what, n := range h.due {
		a.counts[what] += n
	}
	if len(h.faults) == 0 {
		return
	}
	a.failed++
	kinds := map[string]bool{}
	for _, f := range h.faults {
		kinds[f.kind] = true
	}
	for kind := range kinds {
		a.seeds[kind] = append(a.seeds[kind], h.site.Seed)
	}
	if a.told++; a.told <= mostStories {
		t.Logf("%s", h.story.String())
		h.tell(t)
	}
}

func (a *tally) tell(t *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(a.counts)) {
		t.Logf("%6d × %s", a.counts[what], what)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.seeds)) {
		seeds := a.seeds[kind]
		slices.Sort(seeds)
		t.Errorf("%d histories: %s; seeds %v", len(seeds), kind, seeds[:min(len(seeds), 12)])
	}
	if a.failed > 0 {
		t.Errorf("%d of %d histories failed: tell one with -madesite.seed=N -v", a.failed, *madeHistories)
	}
}

func (h *history) tell(t *testing.T) {
	for _, f := range h.faults {
		t.Errorf("seed %d: %s: %s", h.site.Seed, f.kind, f.text)
	}
}

func (h *history) fault(kind, format string, args ...any) {
	f := fault{kind, fmt.Sprintf(format, args...)}
	h.faults = append(h.faults, f)
	h.due["WRONG: "+kind+": "+string(h.site.Looks[h.site.pass].Form)]++
	h.say("  WRONG: %s: %s", f.kind, f.text)
}

func (h *history) say(format string, args ...any) { fmt.Fprintf(&h.story, format+"\n", args...) }

// crawlMade crawls the made site of a seed, in a bubble.
func crawlMade(t *testing.T, seed uint64, src map[string]*site.Source) (h *history) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := drawSite(seed)
		h = newHistory(t, s, src[s.definition()])
		h.tellSite()
		for pass := range passes {
			h.crawlPass(pass)
			h.checkPass(pass)
			time.Sleep(8 * 24 * time.Hour)
		}
		h.checkGone()
	})
	return h
}

func newHistory(t *testing.T, s *madeSite, src *site.Source) *history {
	p := newPipes()
	d := &town{routes: map[string]http.HandlerFunc{}}
	d.Server = p.serve(t, s)
	db := storetest.OpenConfig(t, store.Config{Path: filepath.Join(t.TempDir(), "made.db"), Synchronous: unsafe})
	w := &world{town: d, t: t, db: db, keeper: checkpoint.New(db), walDir: t.TempDir(), fetch: fetch.Config{Dial: p.dial}, limit: ages, look: seldom}
	w.src = src
	w.plan(layout{cities: s.Cities, pages: s.MaxPages, categories: madeCategories[:s.Categories]})
	h := &history{world: w, site: s, due: map[string]int{}}
	for _, l := range s.Lists {
		h.targets = append(h.targets, h.number(`SELECT t.id FROM targets t JOIN cities c ON c.id = t.city_id JOIN categories k ON k.id = t.category_id
			WHERE c.name = ? AND k.name = ?`, fmt.Sprintf("City %d", l.City), madeCategories[l.Category]))
	}
	return h
}

// runsOfPass is how often a run is started in a pass while there is something to crawl.
const runsOfPass = 3

// crawlPass crawls what is due. Whoever runs it lets a source go on that an alarm has paused, and
// starts once more when what failed may be tried again.
func (h *history) crawlPass(pass int) {
	h.site.enter(pass)
	h.began[pass] = time.Now()
	h.failing[pass] = map[int]bool{}
	for _, l := range h.site.Lists {
		h.failing[pass][l.Number] = h.number(`SELECT status IN ('FAILED', 'PARKED', 'STUCK') OR status = 'PLANNED' AND page_current > 0 FROM targets WHERE id = ?`, h.targets[l.Number]) > 0
	}
	h.say("pass %d: %s", pass+1, h.site.Looks[pass].String())
	var sum crawl.Stats
	for range runsOfPass {
		sum.Add(h.runOnce(pass))
		if h.number(`SELECT count(*) FROM targets WHERE status IN ('PLANNED', 'FAILED')`) == 0 {
			break
		}
		time.Sleep(3 * time.Hour)
	}
	h.checkSummary(pass, sum)
}

func (h *history) runOnce(pass int) crawl.Stats {
	h.write(`UPDATE sources SET enabled = 1`)
	h.start()
	_, err := h.run.BeginPass(h.t.Context(), h.scope, nil)
	storetest.NoError(h.t, err)
	e := h.engine(func(c *crawl.Config) { c.LazyLogs = true })
	var blocked *crawl.BlockedError
	switch err := h.crawl(e); {
	case err == nil:
	case errors.Is(err, crawl.ErrLayout), errors.Is(err, crawl.ErrElsewhere) && h.site.resting(pass), errors.As(err, &blocked):
		h.say("  the run ended: %v", err)
	default:
		h.fault(runEnded, "%v", err)
	}
	storetest.NoError(h.t, h.run.Finish(context.Background(), checkpoint.OutcomeDone, 0))
	return e.Stats()
}

// enter lets the site become what it is in a pass.
func (s *madeSite) enter(pass int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass, s.hand, s.sent = pass, -1, -1
}

// complete reports whether a crawl of the list was called read to its end in a pass.
func (h *history) complete(pass, list int) bool {
	return h.number(`SELECT count(*) FROM targets WHERE id = ? AND complete_at >= ?`, h.targets[list], yp.FormatTime(h.began[pass])) > 0
}

func (h *history) tellSite() {
	s := h.site
	h.say("seed %d: %d cities, %d categories; structured data: %t; next: none: %t; pages asked for at most: %d (0 = all); words of an empty result on every page: %t",
		s.Seed, s.Cities, s.Categories, s.Data, s.NextNone, s.MaxPages, s.Words)
	for _, l := range h.site.Lists {
		h.say("  list %d, %s", l.Number, l)
		for p, st := range l.Passes {
			h.say("    pass %d: %d listings %v; ads %v%s", p+1, len(st.IDs), st.IDs, st.Ads, st.String())
		}
	}
}

func (st *state) String() (text string) {
	if len(st.Unreadable) > 0 {
		text += fmt.Sprintf("; unreadable %v", st.Unreadable)
	}
	if st.Sends >= 0 {
		text += fmt.Sprintf("; redirects to list %d", st.Sends)
	}
	if st.Alias {
		text += "; redirects to another writing of its address"
	}
	if st.Both != "" {
		text += fmt.Sprintf("; says by %s that nothing was found, and shows %v", st.Both, st.Others)
	}
	return text
}

func (lk *look) String() string {
	text := fmt.Sprintf("%s, %d a page, %s", lk.Form, lk.Size, lk.Sum)
	for _, part := range []struct {
		on   bool
		text string
	}{
		{lk.Form == formBlocks, fmt.Sprintf("blocks of %d", lk.Block)},
		{lk.Cap > 0, fmt.Sprintf("%d pages at most", lk.Cap)},
		{lk.Range && lk.Sum != sumNone, "with a range"},
		{lk.Bare, "no pagination on a last page"},
		{lk.Mark, "a mark on a last page"},
		{lk.Endless, "a next link on a last page, and behind it " + string(lk.Behind)},
		{lk.Anew, "in another order each time"},
		{lk.Promos > 0, fmt.Sprintf("%d promoted on every page", lk.Promos)},
	} {
		if part.on {
			text += ", " + part.text
		}
	}
	return text
}

func (v *view) String() string {
	text := v.uri + ": " + v.what
	if v.list != v.asked {
		text += fmt.Sprintf(" of list %d", v.list)
	}
	if v.cards > 0 {
		text += fmt.Sprintf(", %d cards %v", v.cards, v.ids)
	}
	if v.unreadable > 0 {
		text += fmt.Sprintf(", %d unreadable", v.unreadable)
	}
	if len(v.ads) > 0 {
		text += fmt.Sprintf(", ads %v", v.ads)
	}
	if v.total > 0 {
		text += fmt.Sprintf(", of %d", v.total)
	}
	return text + []string{"", ", leads on by no address", ", may lead on", ", leads on"}[v.leads]
}
