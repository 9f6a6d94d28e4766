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

// NewMatcher returns a Matcher for a state of the USA, given by its code in upper case.
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
			c.City = p.City()
			return c, true
		}
		c.Matched = MatchedName
	}
	c.Matched = MatchedNone
	c.City = yp.City{Slug: cmp.Or(tidy, ofName), Name: name, State: m.state, Tier: smallest}
	return c, c.City.Slug != ""
}

// MatchOwn finds a city of a source's index in the source's own places, by its slug, then by its name. One that they lack is of
// the last tier, and where there are none, of the first.
func MatchOwn(g *gazetteer.Gazetteer, country string, found yp.FoundCity) yp.FoundCity {
	for _, try := range [...]struct{ word, how string }{{found.Address, MatchedSlug}, {found.Shown, MatchedName}} {
		if places := g.Named(try.word, found.State); len(places) == 1 && (try.how == MatchedName || places[0].Slug == try.word) {
			found.City, found.Matched = places[0].City(), try.how
			return found
		}
	}
	found.Matched = MatchedNone
	found.City = yp.City{Slug: found.Address, Name: found.Shown, State: found.State, Tier: 1, Country: country}
	if len(g.All()) > 0 {
		found.Tier = smallest
	}
	return found
}

// own is a slug that ends in the state, as all of ours do; "" = it does not.
func (m *Matcher) own(slug string) string {
	if end := "-" + strings.ToLower(m.state); len(slug) > len(end) && strings.HasSuffix(slug, end) {
		return slug
	}
	return ""
}
