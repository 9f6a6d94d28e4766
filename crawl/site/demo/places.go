package demo

import (
	"math"
	"slices"

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
	byState, zones := make(map[string]int), zones()
	seen := make(map[string]bool)
	var places []*place
	for i, g := range all {
		if n >= 0 && byState[g.State] >= n || seen[g.Slug] {
			continue
		}
		byState[g.State]++
		seen[g.Slug] = true
		places = append(places, newPlace(g, i, zones))
	}
	return places
}

func newPlace(g gazetteer.Place, index int, zones map[string]zone) *place {
	p := &place{Place: g, known: g.Slug, index: index, zone: zones[g.State]}
	p.listed = p.indexName()
	return p
}

// meet finds the neighbours of every place.
func meet(byState map[string][]*place) {
	for _, places := range byState {
		for _, p := range places {
			p.near = nearest(p, places)
		}
	}
}

func nearest(p *place, among []*place) []*place {
	var near [maxNear]*place
	var far [maxNear]float64
	n := 0
	for _, q := range among {
		if q == p {
			continue
		}
		d := distance(p, q)
		if n == maxNear && d >= far[n-1] {
			continue
		}
		i := min(n, maxNear-1)
		for ; i > 0 && far[i-1] > d; i-- {
			near[i], far[i] = near[i-1], far[i-1]
		}
		near[i], far[i] = q, d
		n = min(n+1, maxNear)
	}
	return slices.Clone(near[:n])
}

// distance orders places by how far apart they are; its unit means nothing.
func distance(p, q *place) float64 {
	x := (p.Lon - q.Lon) * math.Cos(p.Lat*math.Pi/180)
	y := p.Lat - q.Lat
	return float64(x*x) + float64(y*y) // not fused: the same on every machine
}
