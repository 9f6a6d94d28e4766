package discover

import (
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
	byName map[string]string // folded name → slug; "" = several places
}

// NewMatcher returns a Matcher for a state, given by its code in upper case.
func NewMatcher(g *gazetteer.Gazetteer, state string) *Matcher {
	m := &Matcher{state: state, bySlug: map[string]gazetteer.Place{}, byName: map[string]string{}}
	for _, p := range g.In(state) {
		m.bySlug[p.Slug] = p
		folded, slug := foldName(p.Name), p.Slug
		if _, taken := m.byName[folded]; taken {
			slug = ""
		}
		m.byName[folded] = slug
	}
	return m
}

// Match finds a city by the slug that the source has for it, then by its name. A city
// that is not found is one of its own: without people or coordinates, of the last
// tier. ok is false when neither slug nor name holds a letter or a digit.
func (m *Matcher) Match(slug, name string) (c yp.FoundCity, ok bool) {
	c = yp.FoundCity{Address: slug, Shown: name, Matched: MatchedSlug}
	p, known := m.bySlug[slug]
	if !known {
		c.Matched = MatchedName
		p, known = m.named(slug, name)
	}
	if known {
		c.City = cityOf(p)
		return c, true
	}
	c.Matched = MatchedNone
	c.City = yp.City{Slug: m.ownSlug(slug, name), Name: name, State: m.state, Tier: smallest}
	return c, c.City.Slug != ""
}

// named finds a place by its name: as it is written, then folded. A slug in another
// spelling ("phoenix--az") is a name, too.
func (m *Matcher) named(slug, name string) (gazetteer.Place, bool) {
	for _, s := range []string{yp.Slug(slug), yp.CitySlug(name, m.state), m.byName[foldName(name)]} {
		if p, ok := m.bySlug[s]; ok {
			return p, true
		}
	}
	return gazetteer.Place{}, false
}

// ownSlug is what a city that the gazetteer does not know is called here: as the
// source calls it, if that ends in the state as all slugs do.
func (m *Matcher) ownSlug(slug, name string) string {
	end := "-" + strings.ToLower(m.state)
	if s := yp.Slug(slug); len(s) > len(end) && strings.HasSuffix(s, end) {
		return s
	}
	if s := yp.CitySlug(name, m.state); len(s) > len(end) {
		return s
	}
	return ""
}

// foldName brings the spellings of a name together: words in full, no spaces, "Sun
// Lakes" is "Sunlakes" and "Prescott Vly" is "Prescott Valley". The abbreviations
// are the Postal Service's (Publication 28, appendix C) that occur in names of places.
func foldName(name string) string {
	words := strings.Split(yp.CitySlug(name, ""), "-")
	for i, w := range words {
		if full, ok := shortWords[w]; ok && (i > 0 || len(words) > 2) { // the last one is empty
			words[i] = full
		}
	}
	return strings.Join(words, "")
}

// shortWords has the words of the abbreviations.
var shortWords = map[string]string{
	"bch": "beach", "bnd": "bend", "crk": "creek", "ctr": "center", "fls": "falls", "grv": "grove", "hbr": "harbor", "hl": "hill",
	"hls": "hills", "hts": "heights", "is": "island", "jct": "junction", "lk": "lake", "lks": "lakes", "mtn": "mountain", "pt": "point",
	"rdg": "ridge", "spg": "spring", "spgs": "springs", "twp": "township", "vlg": "village", "vly": "valley",
}

func cityOf(p gazetteer.Place) yp.City {
	return yp.City{Slug: p.Slug, Name: p.Name, State: p.State, Population: p.Population, Lat: p.Lat, Lon: p.Lon, Tier: p.Tier}
}
