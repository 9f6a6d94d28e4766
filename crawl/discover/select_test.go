package discover_test

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/crawl/discover"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

func load(t testing.TB) *gazetteer.Gazetteer {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func resolve(t testing.TB, src discover.Source, sel discover.Selection) *discover.Resolved {
	t.Helper()
	r, err := discover.Resolve(load(t), src, sel)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func slugs(r *discover.Resolved) []string {
	var out []string
	for _, c := range r.Cities {
		out = append(out, c.Slug)
	}
	return out
}

func names(r *discover.Resolved) []string {
	var out []string
	for _, c := range r.Categories {
		out = append(out, c.Name)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// unknown checks that a selection is refused, with these words.
func unknown(t *testing.T, src discover.Source, sel discover.Selection, words ...string) {
	t.Helper()
	_, err := discover.Resolve(load(t), src, sel)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	r := resolve(t, discover.Source{}, discover.Selection{States: []string{"new york,TX"}, MaxCities: 1})
	same(t, "states", r.States, []string{"NY", "TX"})
	same(t, "cities", len(r.Cities), 2)
	r = resolve(t, discover.Source{}, discover.Selection{})
	same(t, "none is all: states", len(r.States), 51)
	same(t, "none is all: cities", len(r.Cities), len(load(t).All()))
	if r.ByCity || r.ByCategory {
		t.Errorf("nothing was named, but ByCity %v, ByCategory %v", r.ByCity, r.ByCategory)
	}
	unknown(t, discover.Source{}, discover.Selection{States: []string{"Califronia"}}, "Califronia", "California")
}

func TestCities(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		states []string
		cities []string
		want   []string
	}{
		{"a name", []string{"TX"}, []string{"Austin"}, []string{"austin-tx"}},
		{"with its state", []string{"TX"}, []string{"Austin TX"}, []string{"austin-tx"}},
		{"with its state's name", []string{"TX"}, []string{"Austin, Texas"}, []string{"austin-tx"}},
		{"with a state's name of two words", nil, []string{"Buffalo New York"}, []string{"buffalo-ny"}},
		{"a slug in no state", nil, []string{"austin-tx"}, []string{"austin-tx"}},
		{"several words with the state", nil, []string{"san luis obispo ca"}, []string{"san-luis-obispo-ca"}},
		{"an abbreviation", []string{"MO"}, []string{"St. Louis"}, []string{"saint-louis-mo"}},
		{"punctuation", []string{"ID"}, []string{"coeur dalene", "Coeur d'Alene"}, nil},
		{"the name of a state", []string{"NY"}, []string{"New York"}, []string{"new-york-ny"}},
		{"the same in several states, largest first", []string{"OR", "ME"}, []string{"Portland"}, []string{"portland-or", "portland-me"}},
		{"in one of several states", []string{"OR", "ME"}, []string{"Portland ME"}, []string{"portland-me"}},
		{"twice", []string{"TX"}, []string{"Austin", "austin-tx", "Austin TX"}, []string{"austin-tx"}},
		{"a name that ends like a state", []string{"FL"}, []string{"Boca Raton"}, []string{"boca-raton-fl"}},
		{"the largest first, whatever the order", []string{"TX"}, []string{"Waco", "Houston", "Austin"}, []string{"houston-tx", "austin-tx", "waco-tx"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == nil {
				unknown(t, discover.Source{}, discover.Selection{States: tt.states, Cities: tt.cities}, tt.cities[0])
				return
			}
			r := resolve(t, discover.Source{}, discover.Selection{States: tt.states, Cities: tt.cities})
			same(t, "cities", slugs(r), tt.want)
			if !r.ByCity {
				t.Error("ByCity is not set")
			}
		})
	}
	for _, tt := range []struct {
		name   string
		states []string
		city   string
		says   []string
	}{
		{"a slip", []string{"TX"}, "Hoston", []string{`"Hoston"`, `did you mean "Houston"?`, "in TX"}},
		{"a slip before the state, anywhere", nil, "Hoston, TX", []string{`did you mean "Houston"?`}},
		{"another state's city", []string{"TX"}, "Portland OR", []string{`"Portland OR"`, "in TX"}},
		{"nothing like it", []string{"TX"}, "Xyzzyville", []string{"1,000 people", "in TX"}},
		{"many states", nil, "Xyzzyville", []string{"51 states"}},
		{"only a state", []string{"TX"}, "TX", []string{`"TX"`}},
	} {
		t.Run("unknown: "+tt.name, func(t *testing.T) {
			t.Parallel()
			sel := discover.Selection{States: tt.states, Cities: []string{tt.city}}
			unknown(t, discover.Source{}, sel, append(tt.says, "unknown city", strconv.Quote(tt.city))...)
		})
	}
}

func TestLargest(t *testing.T) {
	t.Parallel()
	t.Run("over all states, the largest first", func(t *testing.T) {
		t.Parallel()
		r := resolve(t, discover.Source{}, discover.Selection{States: []string{"TX", "CA"}, MaxCities: 3})
		same(t, "cities", slugs(r), []string{"los-angeles-ca", "houston-tx", "san-antonio-tx", "san-diego-ca", "dallas-tx", "san-jose-ca"})
		if !r.ByCity {
			t.Error("ByCity is not set")
		}
	})
	t.Run("of a source with a limit of its own", func(t *testing.T) {
		t.Parallel()
		r := resolve(t, discover.Source{PlacesPerState: 2}, discover.Selection{States: []string{"TX"}, MaxCities: 3})
		same(t, "cities", slugs(r), []string{"houston-tx", "san-antonio-tx"})
	})
	t.Run("named cities are beyond the source's limit", func(t *testing.T) {
		t.Parallel()
		r := resolve(t, discover.Source{PlacesPerState: 2}, discover.Selection{States: []string{"TX"}, Cities: []string{"Waco"}})
		same(t, "cities", slugs(r), []string{"waco-tx"})
	})
	t.Run("by population", func(t *testing.T) {
		t.Parallel()
		g, n := load(t), 0
		for _, p := range g.In("TX") {
			if p.Population >= 100_000 {
				n++
			}
		}
		r := resolve(t, discover.Source{}, discover.Selection{States: []string{"TX"}, MinPopulation: 100_000})
		same(t, "cities", len(r.Cities), n)
		if last := r.Cities[len(r.Cities)-1]; last.Population < 100_000 || n == len(g.In("TX")) {
			t.Errorf("%s has %d people", last.Name, last.Population)
		}
	})
	t.Run("every city once, in order", func(t *testing.T) {
		t.Parallel()
		r := resolve(t, discover.Source{}, discover.Selection{})
		seen := map[string]bool{}
		for i, c := range r.Cities {
			if seen[c.Slug] {
				t.Errorf("%s twice", c.Slug)
			}
			seen[c.Slug] = true
			if i > 0 && c.Population > r.Cities[i-1].Population {
				t.Errorf("%s stands behind the smaller %s", c.Slug, r.Cities[i-1].Slug)
			}
		}
	})
}

func TestCategories(t *testing.T) {
	t.Parallel()
	own := discover.Source{Categories: []string{"Plumbers", "Auto Repair & Service"}}
	for _, tt := range []struct {
		name string
		src  discover.Source
		in   []string
		any  bool
		want []string
	}{
		{"none is the default", discover.Source{}, nil, false, discover.DefaultCategories()},
		{"none is the source's own", own, nil, false, own.Categories},
		{"a name in any letter case", discover.Source{}, []string{"pLUMBERS"}, false, []string{"Plumbers"}},
		{"a slug", discover.Source{}, []string{"auto-repair-service"}, false, []string{"Auto Repair & Service"}},
		{"the same twice", discover.Source{}, []string{"Plumbers", "plumbers"}, false, []string{"Plumbers"}},
		{"order is kept", discover.Source{}, []string{"Taxis", "Bakeries"}, false, []string{"Taxis", "Bakeries"}},
		{"any, as it is typed", discover.Source{}, []string{"Didgeridoo Repair"}, true, []string{"Didgeridoo Repair"}},
		{"any, the same in two spellings", discover.Source{}, []string{"Didgeridoo Repair", "didgeridoo-repair"}, true, []string{"Didgeridoo Repair"}},
		{"any, of a source with its own", own, []string{"Bakeries"}, true, []string{"Bakeries"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, tt.src, discover.Selection{States: []string{"TX"}, MaxCities: 1, Categories: tt.in, AnyCategory: tt.any})
			same(t, "categories", names(r), tt.want)
			same(t, "ByCategory", r.ByCategory, len(tt.in) > 0)
			for _, c := range r.Categories {
				same(t, "slug", c.Slug, yp.CategorySlug(c.Name))
			}
		})
	}
	for _, tt := range []struct {
		name string
		src  discover.Source
		in   string
		any  bool
		says []string
	}{
		{"a slip", discover.Source{}, "Plumers", false, []string{`did you mean "Plumbers"?`, "--any-category"}},
		{"nothing like it", discover.Source{}, "Didgeridoo Repair", false, []string{"Didgeridoo Repair", "--any-category"}},
		{"not the source's", own, "Bakeries", false, []string{"Bakeries"}},
		{"empty", discover.Source{}, "", false, []string{`category ""`}},
		{"empty, any", discover.Source{}, " & ", true, []string{"category"}},
	} {
		t.Run("unknown: "+tt.name, func(t *testing.T) {
			t.Parallel()
			unknown(t, tt.src, discover.Selection{Categories: []string{tt.in}, AnyCategory: tt.any}, tt.says...)
		})
	}
	t.Run("every default is known, and no two share a slug", func(t *testing.T) {
		t.Parallel()
		defaults := discover.DefaultCategories()
		same(t, "defaults", len(defaults), 10)
		r := resolve(t, discover.Source{}, discover.Selection{States: []string{"TX"}, MaxCities: 1, Categories: defaults})
		same(t, "categories", names(r), defaults)
		seen := map[string]bool{}
		for _, name := range discover.KnownCategories() {
			if slug := yp.CategorySlug(name); seen[slug] || slug == "" {
				t.Errorf("%q has the slug %q of another", name, slug)
			}
			seen[yp.CategorySlug(name)] = true
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		in       int
		want     [4]int
		explicit bool
	}{
		{"by tier", 0, [4]int{0, 3, 2, 1}, false},
		{"a number for all", 7, [4]int{0, 7, 7, 7}, true},
		{"all", discover.AllPages, [4]int{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, discover.Source{}, discover.Selection{States: []string{"TX"}, MaxPages: tt.in, MaxCities: 1})
			same(t, "pages", r.TierPages, tt.want)
			same(t, "explicit", r.Explicit, tt.explicit)
		})
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	// Houston and Waco are tier 1; the smallest place of the state is tier 3.
	g := load(t)
	in := g.In("TX")
	small := in[len(in)-1]
	if small.Tier != 3 || in[0].Tier != 1 {
		t.Fatalf("tiers %d and %d", in[0].Tier, small.Tier)
	}
	sel := discover.Selection{States: []string{"TX"}, Cities: []string{"Houston", small.Name}, Categories: []string{"Plumbers", "Dentists"}}
	for _, tt := range []struct {
		name              string
		pages, cap        int
		maxTargets        int
		targets, requests int
	}{
		{"by tier", 0, 0, 0, 4, 2*3 + 2*1},
		{"a number", 5, 0, 0, 4, 20},
		{"all, without a cap", discover.AllPages, 0, 0, 4, -1},
		{"all, with a cap", discover.AllPages, 100, 0, 4, 400},
		{"the first targets only", 0, 0, 3, 3, 2*3 + 1},
		{"all, without a cap, of one target", discover.AllPages, 0, 1, 1, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := sel
			s.MaxPages = tt.pages
			e := resolve(t, discover.Source{}, s).Estimate(discover.Source{PageCap: tt.cap}, tt.maxTargets, 2*time.Second, false)
			same(t, "targets", e.Targets, tt.targets)
			same(t, "pages", e.Pages, tt.requests)
			same(t, "details", e.Details, 0)
			same(t, "requests", e.Requests, tt.requests)
			want := time.Duration(max(tt.requests, 0)) * 2 * time.Second
			same(t, "time", e.Time, want)
			same(t, "seconds", e.Seconds, want.Seconds())
			d := resolve(t, discover.Source{}, s).Estimate(discover.Source{PageCap: tt.cap}, tt.maxTargets, 2*time.Second, true)
			same(t, "targets with details", d.Targets, tt.targets)
			if tt.requests < 0 {
				same(t, "unknown", [4]int64{int64(d.Pages), int64(d.Details), int64(d.Requests), d.Bytes}, [4]int64{-1, -1, -1, -1})
				return
			}
			same(t, "pages with details", d.Pages, tt.requests)
			same(t, "details", d.Details, 30*tt.requests)
			same(t, "requests with details", d.Requests, 31*tt.requests)
			same(t, "time with details", d.Time, 31*want)
			same(t, "room", d.Bytes, int64(tt.requests)*(50_000+30*4_500))
			same(t, "room without details", e.Bytes, int64(tt.requests)*50_000)
		})
	}
	t.Run("of nothing", func(t *testing.T) {
		t.Parallel()
		s := sel
		s.MinPopulation, s.MaxPages = math.MaxInt, discover.AllPages
		same(t, "estimate", resolve(t, discover.Source{}, s).Estimate(discover.Source{}, 0, time.Second, true), discover.Estimate{})
	})
}

func TestPlan(t *testing.T) {
	t.Parallel()
	sel := discover.Selection{States: []string{"TX", "CA"}, MaxCities: 20, MaxPages: 4}
	r := resolve(t, discover.Source{}, sel)
	p := r.Plan(7, 9)
	same(t, "plan", p, checkpoint.Plan{
		SourceID: 7, Cities: r.Cities, Categories: r.Categories, TierPages: [4]int{0, 4, 4, 4}, Explicit: true, MaxTargets: 9,
	})
	for range 3 {
		same(t, "the same again", resolve(t, discover.Source{}, sel).Plan(7, 9), p)
	}
	sel.States = []string{"CA", "TX"}
	same(t, "cities in another order of states", resolve(t, discover.Source{}, sel).Cities, r.Cities)
	la := r.Cities[0]
	if la.Name != "Los Angeles" || la.State != "CA" || la.Tier != 1 || la.Population < 3_000_000 || la.Lat < 33 || la.Lon > -117 {
		t.Errorf("the first city is %+v", la)
	}
}
