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
	Country    string  // ISO 3166; "" = the USA
}

// City is the place as targets have it.
func (p *Place) City() yp.City {
	return yp.City{
		Slug: p.Slug, Name: p.Name, State: p.State, Population: p.Population, Lat: p.Lat, Lon: p.Lon, Tier: p.Tier, Country: p.Country,
	}
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
	own     bool // of a source, see New
	all     []Place
	byState map[string][]int32 // indexes into all, in its order
}

// Load decodes the embedded places of the states with these codes (as yp.States has them); of all
// when there are none. A crawl keeps them in memory to its end: those of all states are 2 MB.
func Load(states ...string) (*Gazetteer, error) { return Decode([]byte(places), states...) }

// New returns a gazetteer of a source's own places, which are sorted by population, the largest first. A slug may be of any form, and that
// of several places in different states.
func New(cities []yp.City) *Gazetteer {
	g := &Gazetteer{own: true, byState: map[string][]int32{}}
	for i, c := range cities {
		g.all = append(g.all, Place{c.Name, c.State, c.Slug, c.Population, c.Lat, c.Lon, c.Tier, c.Country})
		g.byState[c.State] = append(g.byState[c.State], int32(i)) // #nosec G115: a file has less than 10 million rows
	}
	return g
}

// Own reports whether the places are a source's own, see New.
func (g *Gazetteer) Own() bool { return g.own }

// Named returns the places of the given name in a state, see Find. Of a source's own places those count that have it as their slug, else
// those that have it as their name: several may.
func (g *Gazetteer) Named(name, state string) (found []Place) {
	if !g.own {
		if p, ok := g.Find(name, state); ok {
			found = append(found, p)
		}
		return found
	}
	for _, same := range []func(p *Place) bool{
		func(p *Place) bool { return p.Slug == name },
		func(p *Place) bool { return strings.EqualFold(p.Name, name) },
		func(p *Place) bool { return yp.Slug(name) != "" && yp.Slug(p.Name) == yp.Slug(name) },
	} {
		for _, i := range g.byState[state] {
			if p := &g.all[i]; same(p) {
				found = append(found, *p)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

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
