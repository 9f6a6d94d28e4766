package health

import (
	"math"
	"math/rand/v2"
	"slices"
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
