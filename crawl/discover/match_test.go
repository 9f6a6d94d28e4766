package discover_test

import (
	"strings"
	"testing"

	"ypcrawl/crawl/discover"
	"ypcrawl/yp"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	g := load(t)
	for name, tt := range map[string]struct {
		state, slug, shown string
		want               string // slug of the city here
		matched            string
	}{
		"by slug":                        {"AZ", "phoenix-az", "Phoenix", "phoenix-az", discover.MatchedSlug},
		"the slug decides, not the name": {"AZ", "phoenix-az", "Tempe", "phoenix-az", discover.MatchedSlug},
		"another slug, the same name":    {"MO", "st-louis-mo", "St. Louis", "saint-louis-mo", discover.MatchedName},
		"a slug of one word":             {"AZ", "sunlakes-az", "Sun Lakes", "sun-lakes-az", discover.MatchedName},
		"a slug in another spelling":     {"AZ", "Casa--Grande-AZ", "CG", "casa-grande-az", discover.MatchedName},
		"accents":                        {"CA", "canada-flintridge-ca", "La Cañada Flintridge", "la-canada-flintridge-ca", discover.MatchedName},
		"another state's":                {"AZ", "austin-az", "Austin", "austin-az", discover.MatchedNone},
		"not in the gazetteer":           {"AZ", "nowhere-az", "Nowhere", "nowhere-az", discover.MatchedNone},
		"a name alone":                   {"AZ", "c/12", "Nowhere", "nowhere-az", discover.MatchedNone},
		"no final City is dropped":       {"AZ", "phoenix-city-az", "Phoenix City", "phoenix-city-az", discover.MatchedNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := discover.NewMatcher(g, tt.state).Match(tt.slug, tt.shown)
			if !ok || c.Slug != tt.want || c.Matched != tt.matched {
				t.Fatalf("got %q by %q (%t), want %q by %q", c.Slug, c.Matched, ok, tt.want, tt.matched)
			}
			if c.Address != tt.slug || c.Shown != tt.shown || c.State != tt.state {
				t.Errorf("the source's own words were not kept: %+v", c)
			}
			if known := c.Matched != discover.MatchedNone; known != (c.Population > 0) || known != (c.Lat != 0) {
				t.Errorf("population %d at %f, known %t", c.Population, c.Lat, known)
			}
			if c.Tier < 1 || c.Tier > 3 {
				t.Errorf("tier %d", c.Tier)
			}
		})
	}
}

// TestMatchAll: every place of the gazetteer is found by its own slug, and none by its
// name as somebody else.
func TestMatchAll(t *testing.T) {
	t.Parallel()
	g := load(t)
	if c, ok := discover.NewMatcher(g, "AZ").Match("/", "…"); ok {
		t.Errorf("a city was made of nothing: %+v", c)
	}
	for _, state := range []string{"AZ", "TX", "PA"} {
		m := discover.NewMatcher(g, state)
		lost := 0
		for _, p := range g.In(state) {
			if c, ok := m.Match(p.Slug, p.Name); !ok || c.Slug != p.Slug || c.Matched != discover.MatchedSlug {
				t.Errorf("%s: %q by %q", p.Slug, c.Slug, c.Matched)
			}
			c, _ := m.Match("x-"+strings.ToLower(state), p.Name)
			switch {
			case c.Slug == p.Slug:
			case c.Matched == discover.MatchedName && c.Name == p.Name:
			case c.Matched == discover.MatchedNone:
				lost++
			default:
				t.Errorf("%s is taken for %s", p.Slug, c.Slug)
			}
		}
		if all := len(g.In(state)); lost*100 > all {
			t.Errorf("%s: %d of %d places are not found by their names", state, lost, all)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("phoenix-az", "Phoenix")
	f.Add("st--george-az", "St. George")
	f.Add("", "\x00")
	m := discover.NewMatcher(load(f), "AZ")
	f.Fuzz(func(t *testing.T, slug, name string) {
		c, ok := m.Match(slug, name)
		if ok && (yp.Slug(c.Slug) != c.Slug || !strings.HasSuffix(c.Slug, "-az") || c.Slug == "-az") {
			t.Errorf("%q, %q: slug %q", slug, name, c.Slug)
		}
	})
}
