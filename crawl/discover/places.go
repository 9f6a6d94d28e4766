package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// pick lists the places, largest first over all states.
func pick(g *gazetteer.Gazetteer, src Source, sel Selection, states []string) ([]gazetteer.Place, error) {
	var places []gazetteer.Place
	if len(sel.Cities) > 0 {
		for _, name := range sel.Cities {
			found := findCity(g, name, states)
			if len(found) == 0 {
				return nil, unknownCity(g, name, states)
			}
			places = append(places, found...)
		}
	} else {
		for _, st := range states {
			in := g.In(st)
			for _, limit := range []int{src.PlacesPerState, sel.MaxCities} {
				if limit > 0 && len(in) > limit {
					in = in[:limit]
				}
			}
			places = append(places, in...)
		}
	}
	places = slices.DeleteFunc(places, func(p gazetteer.Place) bool { return p.Population < sel.MinPopulation })
	slices.SortStableFunc(places, func(a, b gazetteer.Place) int {
		return cmp.Or(cmp.Compare(b.Population, a.Population), strings.Compare(a.Slug, b.Slug))
	})
	return slices.CompactFunc(places, func(a, b gazetteer.Place) bool { return a.Slug == b.Slug }), nil
}

// findCity looks a name up in each of the states; a name that ends in a state
// ("Austin TX", "austin-tx", "Austin, Texas") is looked up in that one.
func findCity(g *gazetteer.Gazetteer, name string, states []string) []gazetteer.Place {
	var found []gazetteer.Place
	for _, st := range states {
		for _, try := range []string{name, withoutState(name, st)} {
			if p, ok := g.Find(try, st); ok && try != "" {
				found = append(found, p)
				break
			}
		}
	}
	return found
}

// withoutState returns what stands before a state's code or name at the end of
// a city's name; "" when none does.
func withoutState(name, code string) string {
	state, _ := yp.LookupState(code)
	for _, end := range []string{code, state.Name} {
		cut := len(strings.TrimRight(name, " ")) - len(end)
		if cut < 1 || !strings.EqualFold(strings.TrimRight(name, " ")[cut:], end) {
			continue
		}
		if rest := strings.TrimRight(name[:cut], " ,-"); rest != name[:cut] { // "Boca" ends in no state
			return rest
		}
	}
	return ""
}

// unknownCity says so, with the nearest name: in the state that the name ends
// in, if it does.
func unknownCity(g *gazetteer.Gazetteer, name string, states []string) error {
	where, bare := strings.Join(states, ", "), name
	if len(states) > 5 {
		where = fmt.Sprintf("%d states", len(states))
	}
	for _, st := range states {
		if city := withoutState(name, st); city != "" {
			bare, states, where = city, []string{st}, st
			break
		}
	}
	var names []string
	for _, st := range states {
		for _, p := range g.In(st) {
			names = append(names, p.Name)
		}
	}
	hint := fmt.Sprintf(" in %s (places of at least 1,000 people are known)", where)
	if near, ok := yp.Nearest(bare, names); ok {
		hint = fmt.Sprintf(" in %s: did you mean %q?", where, near)
	}
	return &UnknownError{What: "city", Name: name, Hint: hint}
}
