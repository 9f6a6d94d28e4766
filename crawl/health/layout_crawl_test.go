package health

import (
	"math/rand/v2"
	"testing"
)

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
	for seed := range uint64(max(60/scale, 3)) {
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
	if tried < 60/scale {
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
