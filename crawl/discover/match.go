package discover

import (
	"cmp"
	"strings"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// How the gazetteer knew a city of a source's index.
const (
	MatchedSlug = "slug" // the source's slug is the gazetteer's
	MatchedName = "name" // its name is
	MatchedNone = "none" // not at all
)

// smallest is the tier of a city that the gazetteer does not know: it has fewer than
// 1,000 people, or is none.
const smallest = 3

// Matcher finds the cities of a source's index of one state in the gazetteer.
type Matcher struct {
	state  string
	bySlug map[string]gazetteer.Place
}

// NewMatcher returns a Matcher for a state, given by its code in upper case.
func NewMatcher(g *gazetteer.Gazetteer, state string) *Matcher {
	m := &Matcher{state: state, bySlug: map[string]gazetteer.Place{}}
	for _, p := range g.In(state) {
		m.bySlug[p.Slug] = p
	}
	return m
}

// Match finds a city by the slug that the source has for it, then by the slug that its name makes.
// A city that is not found is one of its own: without people or coordinates, of the last
// tier. ok is false when neither slug nor name holds a letter or a digit.
func (m *Matcher) Match(slug, name string) (c yp.FoundCity, ok bool) {
	c = yp.FoundCity{Address: slug, Shown: name, Matched: MatchedSlug}
	tidy, ofName := m.own(yp.Slug(slug)), m.own(yp.CitySlug(name, m.state))
	for _, s := range []string{slug, tidy, ofName} {
		if p, known := m.bySlug[s]; known {
			c.City = cityOf(p)
			return c, true
		}
		c.Matched = MatchedName
	}
	c.Matched = MatchedNone
	c.City = yp.City{Slug: cmp.Or(tidy, ofName), Name: name, State: m.state, Tier: smallest}
	return c, c.City.Slug != ""
}

// own is a slug that ends in the state, as all of ours do; "" = it does not.
func (m *Matcher) own(slug string) string {
	if end := "-" + strings.ToLower(m.state); len(slug) > len(end) && strings.HasSuffix(slug, end) {
		return slug
	}
	return ""
}

func cityOf(p gazetteer.Place) yp.City {
	return yp.City{Slug: p.Slug, Name: p.Name, State: p.State, Population: p.Population, Lat: p.Lat, Lon: p.Lon, Tier: p.Tier}
}
