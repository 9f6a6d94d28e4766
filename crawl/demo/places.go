package demo

import (
	"math"
	"slices"
	"strconv"

	"ypcrawl/yp/gazetteer"
)

// defaultPlaces is how many of a state's places the directory has.
const defaultPlaces = 40

// place is a city of the directory.
type place struct {
	gazetteer.Place
	index int      // in the gazetteer's order: part of every id, whatever Config.Places says
	near  []*place // the nearest others of its state in epoch 0, nearest first
	zone  zone
}

// maxNear is how many neighbours lend businesses to a city's results.
const maxNear = 5

// takePlaces returns the n largest places of every state (all when n < 0) but for those whose slugs are taken.
// Where two have one slug only the larger can be reached, so the other is left out.
func takePlaces(all []gazetteer.Place, n int, taken map[string]*place) []*place {
	byState, seen := make(map[string]int), make(map[string]bool)
	var places []*place
	for i, g := range all {
		if n >= 0 && byState[g.State] >= n || seen[g.Slug] || taken[g.Slug] != nil {
			continue
		}
		byState[g.State]++
		seen[g.Slug] = true
		places = append(places, &place{Place: g, index: i, zone: words().Zones[g.State]})
	}
	return places
}

// nearest returns the nearest others of a place, nearest first.
func nearest(p *place, among []*place) []*place {
	near, far := make([]*place, 0, maxNear+1), make([]float64, 0, maxNear+1)
	for _, q := range among {
		d := distance(p, q)
		i := len(near)
		for i > 0 && far[i-1] > d {
			i--
		}
		if q != p && i < maxNear {
			near, far = slices.Insert(near, i, q), slices.Insert(far, i, d)
			near, far = near[:min(len(near), maxNear)], far[:min(len(far), maxNear)]
		}
	}
	return slices.Clip(near)
}

// distance orders places by how far apart they are; its unit means nothing.
func distance(p, q *place) float64 {
	x := (p.Lon - q.Lon) * math.Cos(p.Lat*math.Pi/180)
	y := p.Lat - q.Lat
	return float64(x*x) + float64(y*y) // not fused: the same on every machine
}

// atlas holds the places of an epoch.
type atlas struct {
	places  []*place
	bySlug  map[string]*place
	byIndex map[int]*place
	byState map[string][]*place
}

func newAtlas(places []*place) *atlas {
	a := &atlas{places: places, bySlug: make(map[string]*place), byIndex: make(map[int]*place), byState: make(map[string][]*place)}
	for _, p := range places {
		a.bySlug[p.Slug], a.byIndex[p.index] = p, p
		a.byState[p.State] = append(a.byState[p.State], p)
	}
	return a
}

// The questions asked of a place's dice, one for every epoch.
const (
	tagLeaves = 1_000 // + epoch
	tagEnters = 2_000 // + epoch
)

const (
	leavePct  = 4       // of the smaller cities leave the directory in an epoch
	enterPct  = 8       // of the spare ones enter it
	leaveSize = 250_000 // larger cities stay
	numSpares = 15      // per state
)

// after returns the places of an epoch: those of a that have not left since,
// then the spare ones that have come. A city that left never comes back.
func (a *atlas) after(seed int64, epoch int, spares []*place) *atlas {
	if epoch == 0 {
		return a
	}
	var places []*place
	for _, p := range a.places {
		if !a.leaves(p, seed, epoch) {
			places = append(places, p)
		}
	}
	for _, p := range spares {
		if happened(placeDice(seed, p), tagEnters, enterPct, epoch) {
			places = append(places, p)
		}
	}
	return newAtlas(places)
}

func (a *atlas) leaves(p *place, seed int64, epoch int) bool {
	return p.Population < leaveSize && p != a.byState[p.State][0] && happened(placeDice(seed, p), tagLeaves, leavePct, epoch)
}

func placeDice(seed int64, p *place) dice { return newDice(seed, 0xc17, uint64(p.index)) }

// happened reports whether what happens in pct of a hundred epochs has
// happened by an epoch.
func happened(d dice, tag, pct, epoch int) bool {
	for e := 1; e <= epoch; e++ {
		if d.pct(tag+e) < pct {
			return true
		}
	}
	return false
}

// number reads a decimal number without a sign; -1 when s is none.
func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 40)
	if err != nil {
		return -1
	}
	return int(n)
}
