package health

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	demosite "ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// directory makes pages as a directory does that does not change: categories have
// their own share of every field, targets their own markup, which may lack some
// fields, and deep pages may say less than the first ones.
type directory struct {
	rnd     *rand.Rand
	skins   []skin
	shares  map[int64]*[maxFields]int // in 64ths
	targets int64                     // made
	wide    int64                     // categories
	depth   int                       // pages of a target, at most
}

// skin is what some targets lack.
type skin struct {
	often float64        // part of the targets
	lacks [maxFields]int // from this page on; 0 = has it
}

// newDirectory makes up a directory; of its targets each of up to four skins has 5 to
// 50 %.
func newDirectory(seed uint64) *directory {
	rnd := rand.New(rand.NewPCG(seed, 1)) // #nosec: the same pages every time
	d := &directory{rnd: rnd, shares: map[int64]*[maxFields]int{}, wide: 1 + rnd.Int64N(30), depth: 1 + rnd.IntN(30)}
	for range rnd.IntN(5) {
		s := skin{often: 0.05 + 0.45*rnd.Float64()}
		deep := rnd.IntN(3) == 0
		for f := range fields {
			if rnd.IntN(2) == 0 {
				continue
			}
			s.lacks[f] = 1
			if deep {
				s.lacks[f] = 1 + rnd.IntN(d.depth)
			}
		}
		d.skins = append(d.skins, s)
	}
	return d
}

func (d *directory) share(category int64) *[maxFields]int {
	s := d.shares[category]
	if s == nil {
		s = &[maxFields]int{}
		for f := range fields {
			switch d.rnd.IntN(5) {
			case 0:
			case 1:
				s[f] = 63
			case 2:
				s[f] = d.rnd.IntN(20) // where chance has its say
			default:
				s[f] = d.rnd.IntN(64)
			}
		}
		d.shares[category] = s
	}
	return s
}

// walk is a target on its way.
type walk struct {
	target, category int64
	page, pages      int
	last             int // listings of the last page
	lacks            [maxFields]int
}

func (d *directory) walk() walk {
	d.targets++
	w := walk{target: d.targets, category: 1 + d.rnd.Int64N(d.wide), pages: 1 + d.rnd.IntN(d.depth), last: 1 + d.rnd.IntN(30)}
	r := d.rnd.Float64()
	for _, s := range d.skins {
		if r -= s.often; r < 0 {
			w.lacks = s.lacks
			break
		}
	}
	return w
}

// next is the next page of a target.
func (d *directory) next(w *walk) (listings int, h having) {
	w.page++
	listings = 30
	if w.page == w.pages {
		listings = w.last
	}
	for f, p := range d.share(w.category) {
		if w.lacks[f] == 0 || w.page < w.lacks[f] {
			h[f] = binomials.draw(d.rnd, p, listings)
		}
	}
	return listings, h
}

// crawl feeds pages to a window as workers read them, in step or each at its own
// pace. It returns the first alarm, and the pages and targets fed until then. change is
// what befalls each page on its way.
func (d *directory) crawl(w *window, workers, pages int, change func(*having)) (falls []fall, fed, targets int) {
	at, inStep, seen := make([]walk, workers), d.rnd.IntN(2) == 0, map[int64]bool{}
	for i := range pages {
		n := i % workers
		if !inStep {
			n = d.rnd.IntN(workers)
		}
		t := &at[n]
		if t.page == t.pages {
			*t = d.walk()
		}
		listings, h := d.next(t)
		change(&h)
		seen[t.target] = true
		if falls := w.add(t.target, t.category, listings, h); len(falls) > 0 {
			return falls, i + 1, len(seen)
		}
	}
	return nil, pages, len(seen)
}

func asEver(*having) {}

// binomials are the chances of at most k of n, by 64ths of p and by n.
var binomials = newBinomials()

type binomialTable [65][31][]float64

func newBinomials() *binomialTable {
	t := &binomialTable{}
	for i := range t {
		p := float64(i) / 64
		for n := range t[i] {
			sum := 0.0
			for k := range n + 1 {
				lg := func(x int) float64 { g, _ := math.Lgamma(float64(x + 1)); return g }
				sum += math.Exp(lg(n)-lg(k)-lg(n-k)) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
				t[i][n] = append(t[i][n], sum)
			}
		}
	}
	return t
}

// draw tosses n coins.
func (t *binomialTable) draw(rnd *rand.Rand, p, n int) int {
	r := rnd.Float64()
	k, _ := slices.BinarySearch(t[p][n], r)
	return min(k, n)
}

// copyOf is a window that may be tried on.
func copyOf(w *window) *window {
	c := newWindow()
	for id, s := range w.usual {
		*c.category(id) = *s
	}
	for f, t := range w.track {
		t.visits = slices.Clone(t.visits)
		c.track[f] = t
	}
	return c
}

// TestLayoutStationary: directories that do not change raise no alarm in 2,000,000
// pages: targets that lack fields, deep pages that do, new categories, rare fields,
// short pages, and 1 to 16 workers, from the first page on and after long.
func TestLayoutStationary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		seeds, pages int
	}{{"begun 2,000 times", 2000, 500}, {"some crawled for long", 20, 50_000}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(max(c.seeds/scale, 1)) {
				workers := 1 + int(seed%16)
				falls, page, _ := newDirectory(seed).crawl(newWindow(), workers, c.pages, asEver)
				if len(falls) > 0 {
					t.Errorf("seed %d, %d workers, page %d: %s", seed, workers, page, reason(falls))
				}
			}
		})
	}
}

// TestLayoutVanished: a field that many listings and nearly all targets have raises the
// alarm when it vanishes: with the fifth target where 161 are known of the category.
func TestLayoutVanished(t *testing.T) {
	t.Parallel()
	tried := 0
	for seed := range uint64(max(30/scale, 3)) {
		d, w, workers := newDirectory(seed), newWindow(), []int{1, 5, 16}[seed%3]
		d.wide = 1 + d.wide%3 // few categories are soon known
		if falls, page, _ := d.crawl(w, workers, 20_000, asEver); len(falls) > 0 {
			t.Errorf("seed %d, page %d: %s", seed, page, reason(falls))
		}
		for f := range fields {
			if d.known(w, f) {
				tried++
				d.vanish(t, w, workers, f)
			}
		}
	}
	if tried < 30/scale {
		t.Errorf("only %d fields vanished", tried)
	}
}

// known reports whether a field is usual in all categories and whether their targets
// are known to have it.
func (d *directory) known(w *window, f int) bool {
	for category := int64(1); category <= d.wide; category++ {
		s := w.category(category)[f]
		if d.share(category)[f] < 20 || s.usual() < 0.3 || s.targets < 161 || s.bare > 0.002*s.targets {
			return false
		}
	}
	return true
}

// vanish crawls on without a field. A target whose only page is short proves nothing:
// then a few more are needed.
func (d *directory) vanish(t *testing.T, w *window, workers, f int) {
	t.Helper()
	w = copyOf(w)
	proving := map[int64]bool{}
	at := make([]walk, workers)
	for page := 0; len(proving) < alarmTargets; page++ {
		walk := &at[page%workers]
		if walk.page == walk.pages {
			*walk = d.walk()
		}
		listings, h := d.next(walk)
		h[f] = 0
		if float64(listings)*w.category(walk.category)[f].usual() >= provingListings {
			proving[walk.target] = true
		}
		for _, fall := range w.add(walk.target, walk.category, listings, h) {
			if fall.field == f {
				return
			}
		}
	}
	t.Errorf("%s vanished unseen from %d targets", fields[f].Name, len(proving))
}

// TestLayoutTowns: cities come before towns, where directories have less to say of a
// business, and towns differ. That shares fall to a third is no alarm.
func TestLayoutTowns(t *testing.T) {
	t.Parallel()
	for seed := range uint64(max(200/scale, 1)) {
		rnd := rand.New(rand.NewPCG(seed, 2)) // #nosec: the same pages every time
		w, categories, towns := newWindow(), 1+rnd.IntN(10), []int{50, 200}[seed%2]
		var cities [maxFields]float64
		for f := range cities {
			cities[f] = rnd.Float64()
		}
		for town := range 2 * towns {
			size := max(1-float64(town)/float64(towns), 0)
			var share [maxFields]float64
			for f := range fields {
				share[f] = 64 * cities[f] * max(size, 1.0/3) * (1 - 0.6*rnd.Float64())
			}
			for c := range categories {
				for left := int(150*size) + 5 + rnd.IntN(25); left > 0; left -= 30 {
					var h having
					for f := range fields {
						h[f] = binomials.draw(rnd, int(share[f]), min(left, 30))
					}
					if falls := w.add(int64(town*categories+c), int64(c), min(left, 30), h); len(falls) > 0 {
						t.Errorf("seed %d, town %d of %d: %s", seed, town, towns, reason(falls))
					}
				}
			}
		}
	}
}

// demoPage is what a page of the demo directory has.
type demoPage struct {
	listings int
	have     having
}

// demoTarget is a target of the demo directory with its pages.
type demoTarget struct {
	target, category int64
	pages            []demoPage
}

// demoCrawl reads what a crawl of some states reads, in the order in which it claims
// targets: all categories of a city, then the next city. Of each target at most some
// pages; 0 = as many as a crawl reads by itself.
func demoCrawl(t *testing.T, seed int64, pages int, states ...string) (all []demoTarget) {
	t.Helper()
	g, err := gazetteer.Load()
	ok(t, err)
	d, err := demosite.New(demosite.Config{Seed: seed}, g)
	ok(t, err)
	src, err := site.Builtin("demo")
	ok(t, err)
	for _, state := range states {
		for _, p := range g.In(state)[:src.PlacesPerState()] {
			limit := pages
			if limit == 0 {
				limit = gazetteer.TierPages(p.Tier)
			}
			for c, name := range src.Categories() {
				place := yp.Place{City: p.Name, CitySlug: p.Slug, State: state, Category: name, CategorySlug: yp.CategorySlug(name)}
				all = append(all, demoTarget{int64(len(all) + 1), int64(c + 1), demoPages(t, d, src, place, limit)})
			}
		}
	}
	return all
}

func demoPages(t *testing.T, d *demosite.Directory, src *site.Source, place yp.Place, limit int) (pages []demoPage) {
	t.Helper()
	for next := src.TargetURL(place, 1); next != "" && len(pages) < limit; {
		u, err := url.Parse(next)
		ok(t, err)
		res := httptest.NewRecorder()
		d.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), "GET", next, nil))
		p, err := src.ParsePage(res.Body.Bytes(), u, res.Code)
		ok(t, err)
		pages = append(pages, demoPage{len(p.Listings), count(p.Listings)})
		next = p.NextURL
	}
	return pages
}

// feedDemo gives the targets to a window, as workers do that read a page each in
// turn, and returns the first alarm and the pages and targets fed until then.
func feedDemo(w *window, targets []demoTarget, workers int, change func(*having)) (falls []fall, pages, seen int) {
	at := make([]demoTarget, workers)
	for left := workers; left > 0; {
		left = workers
		for i := range at {
			for len(at[i].pages) == 0 && seen < len(targets) {
				at[i] = targets[seen]
				seen++
			}
			if len(at[i].pages) == 0 {
				left--
				continue
			}
			p := at[i].pages[0]
			at[i].pages = at[i].pages[1:]
			pages++
			change(&p.have)
			if falls := w.add(at[i].target, at[i].category, p.listings, p.have); len(falls) > 0 {
				return falls, pages, seen
			}
		}
	}
	return nil, pages, seen
}

// TestLayoutDemo: the demo directory, whose targets are of several generations of
// markup, raises no alarm wherever a crawl begins, and a field that vanishes from it does.
func TestLayoutDemo(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		seed   int64
		pages  int
		states []string
	}{
		{0, 0, []string{"CA", "TX"}}, {1, 0, []string{"NY"}}, {2, 0, []string{"WY", "VT"}}, {3, 5, []string{"FL"}},
	} {
		if i > 0 && scale > 1 {
			break
		}
		t.Run(fmt.Sprint(c.states, " of seed ", c.seed), func(t *testing.T) {
			t.Parallel()
			targets := demoCrawl(t, c.seed, c.pages, c.states...)
			for _, workers := range []int{1, 2, 5, 16} {
				for from := 0; from < len(targets); from += 7 {
					noAlarm(t, newWindow(), targets[from:], workers)
				}
				w := newWindow()
				for range 3 { // and again every week
					noAlarm(t, w, targets, workers)
				}
				for f := range fields {
					demoVanish(t, w, targets, workers, f)
				}
			}
		})
	}
}

func noAlarm(t *testing.T, w *window, targets []demoTarget, workers int) {
	t.Helper()
	if falls, pages, _ := feedDemo(w, targets, workers, asEver); len(falls) > 0 {
		t.Errorf("%d workers, page %d of %d targets: %s", workers, pages, len(targets), reason(falls))
	}
}

// demoVanish lets a field vanish. One that targets rarely lack is missed after some five
// of them; one that older markup lacks, after so many as tell the two apart.
func demoVanish(t *testing.T, w *window, targets []demoTarget, workers, f int) {
	t.Helper()
	var known share
	for _, s := range w.usual {
		known.targets, known.bare = known.targets+s[f].targets, known.bare+s[f].bare
	}
	if known.targets < 150 {
		return // prices, in one state: only restaurants have them
	}
	within := 7
	if known.bare > 0.01*known.targets {
		within = 20
	}
	if f == prices {
		within *= 5
	}
	falls, pages, seen := feedDemo(copyOf(w), targets, workers, func(h *having) { h[f] = 0 })
	if len(falls) == 0 || falls[0].field != f || seen > within {
		t.Errorf("%d workers: %s, which %.0f of %.0f targets lack, vanished from %d pages of %d targets: %v, want an alarm within %d targets",
			workers, fields[f].Name, known.bare, known.targets, pages, seen, falls, within)
	}
}
