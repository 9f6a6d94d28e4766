package demo

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// defaultPlaces is how many of a state's places the directory has.
const defaultPlaces = 40

// place is a city of the directory. Slug is the site's own; what a gazetteer
// would make of the name is known.
type place struct {
	gazetteer.Place
	known  string   // the gazetteer's slug
	listed string   // the name as the indexes write it
	index  int      // in the gazetteer's order: part of every id, whatever Config.Places says
	near   []*place // the nearest others of its state in epoch 0, nearest first
	zone   zone
}

// maxNear is how many neighbours lend businesses to a city's results.
const maxNear = 5

// takePlaces returns the n largest places of every state (all when n < 0).
// Where two have one slug only the larger can be reached, so the other is left out.
func takePlaces(all []gazetteer.Place, n int) []*place {
	byState := make(map[string]int)
	seen := make(map[string]bool)
	var places []*place
	for i, g := range all {
		if n >= 0 && byState[g.State] >= n || seen[g.Slug] {
			continue
		}
		byState[g.State]++
		seen[g.Slug] = true
		places = append(places, newPlace(g, i))
	}
	return places
}

func newPlace(g gazetteer.Place, index int) *place {
	p := &place{Place: g, known: g.Slug, index: index, zone: words().Zones[g.State]}
	p.listed = p.indexName()
	return p
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
	byKnown map[string]*place // by the gazetteer's slug, as a search finds them
	byIndex map[int]*place
	byState map[string][]*place
}

func newAtlas(places []*place) *atlas {
	a := &atlas{places: places, bySlug: make(map[string]*place), byKnown: make(map[string]*place), byIndex: make(map[int]*place), byState: make(map[string][]*place)}
	for _, p := range places {
		a.bySlug[p.Slug], a.byKnown[p.known], a.byIndex[p.index] = p, p, p
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
func (a *atlas) after(seed int64, epoch int, spares map[string]*place) *atlas {
	if epoch == 0 {
		return a
	}
	var places []*place
	for _, p := range a.places {
		if !a.leaves(p, seed, epoch) {
			places = append(places, p)
		}
	}
	var come []*place
	for _, p := range spares {
		if happened(placeDice(seed, p), tagEnters, enterPct, epoch) {
			come = append(come, p)
		}
	}
	slices.SortFunc(come, func(p, q *place) int { return p.index - q.index })
	return newAtlas(append(places, come...))
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

// takeSpares returns the places of every state that come next in size after
// those of the first atlas. The slugs of some are the site's own.
func takeSpares(all []gazetteer.Place, first *atlas) map[string]*place {
	spares, byState := make(map[string]*place), make(map[string]int)
	taken := make(map[string]bool, len(all))
	for i := range all {
		taken[all[i].Slug] = true
	}
	for i, g := range all {
		if first.bySlug[g.Slug] != nil || byState[g.State] >= numSpares || spares[g.Slug] != nil {
			continue
		}
		byState[g.State]++
		p := newPlace(g, i)
		if own := ownSlug(p); !taken[own] && yp.CitySlug(p.listed, p.State) == p.known { // by one of both it can be told
			p.Slug = own
		}
		p.near = nearest(p, first.byState[p.State])
		spares[p.Slug] = p
	}
	return spares
}

// ownSlug writes some names of several words as one: "sunlakes-az".
func ownSlug(p *place) string {
	if newDice(5, uint64(p.index)).pct(1) >= 40 {
		return p.Slug
	}
	i := strings.LastIndexByte(p.Slug, '-')
	return strings.ReplaceAll(p.Slug[:i], "-", "") + p.Slug[i:]
}

// indexName writes the name as the indexes do: some words short, now and then.
func (p *place) indexName() string {
	if newDice(5, uint64(p.index)).pct(2) >= 60 {
		return p.Name
	}
	for _, w := range [][2]string{{"Saint ", "St "}, {"St. ", "St "}, {"Fort ", "Ft "}, {"Mount ", "Mt "}} {
		if rest, ok := strings.CutPrefix(p.Name, w[0]); ok {
			return w[1] + rest
		}
	}
	for _, w := range [][2]string{{" Heights", " Hts"}, {" Junction", " Jct"}, {" Springs", " Spgs"}, {" Township", " Twp"}} {
		if rest, ok := strings.CutSuffix(p.Name, w[0]); ok {
			return rest + w[1]
		}
	}
	return p.Name
}

// number reads a decimal number without a sign; -1 when s is none.
func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 40)
	if err != nil {
		return -1
	}
	return int(n)
}
