package main

import (
	"cmp"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// minPopulation is the smallest place that is worth a search of its own.
const minPopulation = 1000

// picked is the outcome of pick with what it left out, for the operator.
type picked struct {
	cities             []city
	sameName, sameSlug int // left out as the smaller of two
}

// pick keeps the places to crawl: in the fifty states or DC, populated, no
// part of another place, of at least minPopulation; of places in one state
// with the same name the largest, and again of places whose common names give
// the same slug. The result is sorted by population, largest first, then state
// and name, so that the same data always gives the same file.
func pick(all []city) picked {
	var p picked
	for _, c := range all {
		if wanted(c) {
			p.cities = append(p.cities, c)
		}
	}
	slices.SortFunc(p.cities, largestFirst)
	p.sameName = p.keepFirst(func(c city) string { return c.admin + "|" + c.name })
	for i := range p.cities {
		p.cities[i].name = commonName(p.cities[i].name)
	}
	slices.SortFunc(p.cities, largestFirst) // names have changed
	p.sameSlug = p.keepFirst(func(c city) string { return yp.CitySlug(c.name, c.admin) })
	return p
}

func largestFirst(a, b city) int {
	return cmp.Or(cmp.Compare(b.population, a.population), cmp.Compare(a.admin, b.admin),
		cmp.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
}

// commonName returns the name under which directories know a place where
// GeoNames has an official or annotated one: "City of Milford (balance)" →
// "Milford".
func commonName(name string) string {
	switch name {
	case "New York City":
		return "New York"
	case "Washington, D.C.":
		return "Washington"
	case "Lexington-Fayette":
		return "Lexington"
	}
	name, _, _ = strings.Cut(name, " (")
	return strings.TrimPrefix(name, "City of ")
}

// wanted applies the rules that look at one place alone. The feature codes
// left out are sections of a place (PPLX), abandoned places (PPLQ), localities
// (PPLL) and groups of places (PPLS): http://www.geonames.org/export/codes.html.
func wanted(c city) bool {
	if c.country != "US" || c.population < minPopulation || c.name == "" {
		return false
	}
	switch c.feature {
	case "PPLX", "PPLQ", "PPLL", "PPLS":
		return false
	}
	_, ok := yp.LookupState(c.admin)
	return ok
}

// keepFirst drops every city whose key an earlier one has, and returns how
// many.
func (p *picked) keepFirst(key func(city) string) int {
	seen := make(map[string]bool, len(p.cities))
	before := len(p.cities)
	p.cities = slices.DeleteFunc(p.cities, func(c city) bool {
		k := key(c)
		if seen[k] {
			return true
		}
		seen[k] = true
		return false
	})
	return before - len(p.cities)
}
