package gazetteer

import (
	_ "embed"
	"slices"
	"strings"

	"ypcrawl/yp"
)

//go:embed places.zst
var places string

// Place is a city, town or other populated place.
type Place struct {
	Name       string  // "Saint Louis", in UTF-8 as GeoNames has it
	State      string  // two letters
	Slug       string  // with the state: "saint-louis-mo"
	Population int     //
	Lat, Lon   float64 // degrees, WGS 84, to five places
	Tier       int     // 1 to 3 by national population: the top 10 %, the next 40 %, the rest
}

// TierPages returns how many pages of a category are worth reading in a place
// of the given tier.
func TierPages(tier int) int {
	switch tier {
	case 1:
		return 3
	case 2:
		return 2
	}
	return 1
}

// Gazetteer holds the places of some states, or of all. It never changes.
type Gazetteer struct {
	all     []Place
	byState map[string][]int32 // indexes into all, in its order
}

// Load decodes the embedded places of the states with these codes (as yp.States has them); of all
// when there are none. A crawl keeps them in memory to its end: those of all states are 2 MB.
func Load(states ...string) (*Gazetteer, error) { return Decode([]byte(places), states...) }

// All returns every place that was loaded, sorted by population, largest first, then by state
// and name.
func (g *Gazetteer) All() []Place { return slices.Clone(g.all) }

// In returns the places of a state, given by its code in any letter case, the
// largest first; none if there is no such state.
func (g *Gazetteer) In(state string) []Place {
	indexes := g.indexes(state)
	in := make([]Place, len(indexes))
	for i, index := range indexes {
		in[i] = g.all[index]
	}
	return in
}

// Find returns the place of the given name in a state; letter case, accents
// and punctuation count for nothing, and neither does the state's code after
// the name or a final "City" that the place goes without ("Washington, D.C.",
// "New York City").
func (g *Gazetteer) Find(name, state string) (Place, bool) {
	slug := yp.CitySlug(name, state)
	if p, ok := g.bySlug(slug, state); ok {
		return p, true
	}
	end := "-" + yp.Slug(state)
	city := strings.TrimSuffix(slug, end)
	if p, ok := g.bySlug(strings.TrimSuffix(city, end)+end, state); ok {
		return p, true
	}
	return g.bySlug(strings.TrimSuffix(city, "-city")+end, state)
}

// bySlug looks through one state: at most some 1,200 comparisons of mostly
// different lengths, cheaper than an index that every run would have to build.
func (g *Gazetteer) bySlug(slug, state string) (Place, bool) {
	for _, index := range g.indexes(state) {
		if g.all[index].Slug == slug {
			return g.all[index], true
		}
	}
	return Place{}, false
}

func (g *Gazetteer) indexes(state string) []int32 {
	if in, ok := g.byState[state]; ok {
		return in
	}
	return g.byState[strings.ToUpper(strings.TrimSpace(state))]
}
