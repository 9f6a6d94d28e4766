package demo_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// database is the plainest one that follows the rules of change, fed from
// served pages.
type database struct {
	t     *testing.T
	src   *site.Source
	sel   demo.Selection
	known map[string]*kept
	tell  demo.Changes
}

type kept struct {
	fields  map[string]string
	targets []string // that ever saw it
	ads     []string // targets that ever showed an ad of it, which is not kept
	gone    bool
}

// crawled is what one crawl saw: by target and id what the target's pages show.
type crawled struct {
	shown map[string]map[string]yp.Listing
	ads   map[string][]string // targets that showed an ad of it, by id
	whole map[string]bool     // the targets read, true when to their ends
}

// crawl reads the targets of the given cities.
func (db *database) crawl(d http.Handler, cities []yp.Place, limit func(yp.Place) int) {
	c := crawled{shown: make(map[string]map[string]yp.Listing), ads: make(map[string][]string), whole: make(map[string]bool)}
	for _, city := range cities {
		for _, cat := range db.sel.Categories {
			p := city
			p.Category, p.CategorySlug = cat, yp.CategorySlug(cat)
			db.target(&c, d, p, limit(p))
		}
	}
	db.take(&c)
}

func (db *database) target(c *crawled, d http.Handler, p yp.Place, limit int) {
	at, next := p.CitySlug+"/"+p.CategorySlug, db.src.TargetURL(p, 1)
	c.shown[at] = make(map[string]yp.Listing)
	for n := 1; next != "" && (limit < 0 || n <= limit); n++ {
		page := parse(db.t, d, db.src, pathOf(db.t, next))
		if page.Outcome != site.OK && page.Outcome != site.NoListings || page.Bad > 0 {
			db.t.Fatalf("%s: outcome %v (%s), %d bad cards", next, page.Outcome, page.Reason, page.Bad)
		}
		if page.NotFound && n == 1 {
			return // that it has no page says nothing of who was on it
		}
		for _, l := range page.Listings {
			if l.Sponsored && !db.sel.IncludeSponsored {
				c.ads[l.ID] = append(c.ads[l.ID], at)
				continue
			}
			if old, again := c.shown[at][l.ID]; again {
				l = union(old, l)
			}
			c.shown[at][l.ID] = l
		}
		next = page.NextURL
	}
	c.whole[at] = next == ""
}

func pathOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.RequestURI()
}

// take applies a crawl and notes what it tells.
func (db *database) take(c *crawled) {
	db.tell = demo.Changes{New: []string{}, Changed: []string{}, Dropped: []string{}, Restored: []string{}, Unconfirmed: []string{}, Retired: []string{}, Ads: []string{}}
	seen := make(map[string][]string)
	for at, listings := range c.shown {
		for id := range listings {
			seen[id] = append(seen[id], at)
		}
	}
	for id, k := range db.known {
		if k.ads = append(k.ads, c.ads[id]...); seen[id] != nil {
			continue
		}
		if c.ads[id] == nil {
			if !k.gone {
				db.missed(c, id, k)
			}
			continue
		}
		if db.tell.Ads = append(db.tell.Ads, id); k.gone {
			db.tell.Restored, k.gone = append(db.tell.Restored, id), false
		}
	}
	for id, targets := range seen {
		db.met(c, id, targets)
	}
	for _, ids := range [][]string{db.tell.New, db.tell.Changed, db.tell.Dropped, db.tell.Restored, db.tell.Unconfirmed, db.tell.Retired, db.tell.Ads} {
		slices.Sort(ids)
	}
}

func (db *database) missed(c *crawled, id string, k *kept) {
	asked := 0
	list := &db.tell.Dropped
	for _, at := range slices.Concat(k.targets, k.ads) {
		whole, stands := c.whole[at]
		if stands {
			asked++
		}
		if stands && !whole {
			list = &db.tell.Unconfirmed
			break
		} else if !stands && db.sel.Planned {
			list = &db.tell.Retired
		}
	}
	if asked == 0 {
		list = &db.tell.Retired
	}
	*list = append(*list, id)
	k.gone = list == &db.tell.Dropped
}

func (db *database) met(c *crawled, id string, targets []string) {
	k := db.known[id]
	if k == nil {
		db.tell.New = append(db.tell.New, id)
		k = &kept{fields: make(map[string]string)}
		db.known[id] = k
	} else if k.gone {
		db.tell.Restored = append(db.tell.Restored, id)
	}
	old := make(map[string]string)
	for _, at := range targets {
		for field, text := range fieldsOf(c.shown[at][id]) {
			if _, noted := old[field]; !noted {
				old[field] = k.fields[field]
			}
			k.fields[field] = text
		}
	}
	changed := false
	for field, was := range old {
		again := slices.ContainsFunc(targets, func(at string) bool {
			return slices.Contains(k.targets, at) && fieldsOf(c.shown[at][id])[field] != ""
		})
		changed = changed || k.targets != nil && was != k.fields[field] && (was != "" || again)
	}
	if changed {
		db.tell.Changed = append(db.tell.Changed, id)
	}
	for _, at := range targets {
		if !slices.Contains(k.targets, at) {
			k.targets = append(k.targets, at)
		}
	}
	k.gone = false
}

// fieldsOf returns the fields that count, as texts, those with nothing left out.
func fieldsOf(l yp.Listing) map[string]string {
	m := map[string]string{
		"name": l.Name, "phone": l.Phone, "street": l.Street, "city": l.City, "state": l.State, "postal_code": l.PostalCode,
		"service_area": l.ServiceArea, "website": l.Website, "categories": jsonOf(l.Categories), "price_range": l.PriceRange,
		"snippet": l.Snippet, "hours": jsonOf(l.Hours), "review_count": strconv.Itoa(l.ReviewCount),
		"years_in_business": strconv.Itoa(l.YearsInBusiness), "rating": strconv.FormatFloat(l.Rating, 'g', -1, 64),
	}
	if l.Claimed != nil {
		m["claimed"] = strconv.FormatBool(*l.Claimed)
	}
	for field, text := range m {
		if text == "" || text == "0" || text == "null" {
			delete(m, field)
		}
	}
	return m
}

func jsonOf(list []string) string {
	b, err := json.Marshal(list)
	if err != nil {
		return err.Error()
	}
	return strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(b))
}

// listed returns the cities of the indexes.
func listed(d *demo.Directory, states []string) (all []yp.Place) {
	for _, c := range d.Cities(states...) {
		all = append(all, yp.Place{City: c.Name, CitySlug: c.Slug, State: c.State})
	}
	return all
}

// planned returns the cities of the gazetteer, and their tiers' page limits.
func planned(g *gazetteer.Gazetteer, sel demo.Selection) (all []yp.Place, limits map[string]int) {
	limits = make(map[string]int)
	for _, p := range places(g, sel) {
		all = append(all, yp.Place{City: p.Name, CitySlug: p.Slug, State: p.State})
		limits[p.Slug] = gazetteer.TierPages(p.Tier)
	}
	return all, limits
}

// TestChangesEqualReading: what Changes computes is what the served pages of
// the epochs tell a database, one after the other.
func TestChangesEqualReading(t *testing.T) {
	t.Parallel()
	some := demo.Categories()[1:3]
	for name, c := range map[string]struct {
		sel    demo.Selection
		epochs []int
	}{
		"all pages":           {demo.Selection{Categories: some, States: []string{"VT", "DC"}, MaxPages: -1}, []int{0, 1}},
		"cut by the limit":    {demo.Selection{Categories: some, States: []string{"NM"}, MaxPages: 1}, []int{1, 3}},
		"with sponsored":      {demo.Selection{Categories: some, States: []string{"RI"}, MaxPages: 2, IncludeSponsored: true}, []int{0, 2}},
		"three epochs":        {demo.Selection{Categories: some, States: []string{"WY"}, MaxPages: -1}, []int{0, 1, 2}},
		"never discovered":    {demo.Selection{Categories: some[:1], States: []string{"ME"}, Planned: true}, []int{0, 1}},
		"the same epoch":      {demo.Selection{Categories: some, States: []string{"DE"}, MaxPages: 2}, []int{2, 2}},
		"back to an earlier":  {demo.Selection{Categories: some, States: []string{"DE"}, MaxPages: -1}, []int{2, 1}},
		"gone and back again": {demo.Selection{Categories: some, States: []string{"AK"}, MaxPages: -1, IncludeSponsored: true}, []int{0, 1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := demo.Config{Seed: 7, Places: 12}
			if c.sel.Planned {
				cfg.Places = 40 // as places has it
			}
			d, g := setup(t, cfg)
			compareChanges(t, d, g, c.sel, c.epochs)
		})
	}
}

func compareChanges(t *testing.T, d *demo.Directory, g *gazetteer.Gazetteer, sel demo.Selection, epochs []int) {
	t.Helper()
	src, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	db := &database{t: t, src: src, sel: sel, known: make(map[string]*kept)}
	for _, epoch := range epochs {
		if err := d.SetEpoch(epoch); err != nil {
			t.Fatal(err)
		}
		cities, limit := listed(d, sel.States), func(yp.Place) int { return sel.MaxPages }
		if sel.Planned {
			all, limits := planned(g, sel)
			cities, limit = all, func(p yp.Place) int { return limits[p.CitySlug] }
		}
		db.crawl(d, cities, limit)
	}
	got, err := d.Changes(sel, epochs[:len(epochs)-1]...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(db.tell, got); diff != "" {
		t.Errorf("changes differ (-read +computed):\n%.6000s", diff)
	}
	t.Logf("%d new, %d changed, %d gone, %d restored, %d unconfirmed, %d retired",
		len(got.New), len(got.Changed), len(got.Dropped), len(got.Restored), len(got.Unconfirmed), len(got.Retired))
	if same := epochs[0] == epochs[len(epochs)-1]; same != (len(got.New)+len(got.Changed)+len(got.Dropped) == 0) {
		t.Errorf("the comparison says little")
	}
}

// TestTruthOfLaterEpochs: Truth follows the directory from epoch to epoch.
func TestTruthOfLaterEpochs(t *testing.T) {
	t.Parallel()
	src, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, sponsors := range []bool{false, true} {
		d := moved(t, demo.Config{Seed: 7, Places: 15}, 2)
		sel := demo.Selection{States: []string{"AZ"}, MaxPages: 2, IncludeSponsored: sponsors}
		truth := d.Truth(src.BaseURL(), sel)
		r := &reader{t: t, d: d, src: src, sponsors: sponsors, listings: make(map[string]yp.Listing)}
		for _, p := range listed(d, sel.States) {
			for _, cat := range demo.Categories() {
				p.Category, p.CategorySlug = cat, yp.CategorySlug(cat)
				r.target(p, sel.MaxPages)
			}
		}
		if r.pages != truth.Pages || r.empty != truth.Empty {
			t.Errorf("read %d pages, %d empty; truth says %d, %d", r.pages, r.empty, truth.Pages, truth.Empty)
		}
		if diff := gocmp.Diff(truth.Listings, r.sorted()); diff != "" {
			t.Errorf("listings differ (-truth +read):\n%.4000s", diff)
		}
	}
}

// TestChangeCensus: the default selection of two states, and Arizona, have
// plenty of every kind of change.
func TestChangeCensus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seed int64
		sel  demo.Selection
	}{
		{0, demo.Selection{States: []string{"CA", "TX"}}},
		{1, demo.Selection{States: []string{"CO"}, MaxPages: -1, Planned: true}},
		{0, demo.Selection{States: []string{"AZ"}, MaxPages: -1}},
	} {
		d, _ := setup(t, demo.Config{Seed: c.seed})
		first := d.Truth(&url.URL{}, c.sel).Listings
		if err := d.SetEpoch(1); err != nil {
			t.Fatal(err)
		}
		counts, second := make(map[string]int), d.Truth(&url.URL{}, c.sel).Listings
		count(t, d, c.sel, first, counts, "", 0)
		if err := d.SetEpoch(2); err != nil {
			t.Fatal(err)
		}
		count(t, d, c.sel, second, counts, "later ", 0, 1)
		for _, what := range []string{
			"new", "gone", "name", "phone", "street", "postal_code", "rating", "review_count", "website", "website from nothing",
			"phone from nothing", "rating from nothing", "later new", "later gone", "later restored", "later name",
		} {
			least := 24
			if strings.HasPrefix(what, "later ") && c.sel.MaxPages == 0 {
				least = 1 // what the page limit cuts is not gone, and so never restored
			}
			if counts[what] < least {
				t.Errorf("seed %d, %v: only %d of %q", c.seed, c.sel.States, counts[what], what)
			}
		}
		if (counts["unconfirmed"] > 24) != (c.sel.MaxPages == 0) || counts["retired"] == 0 {
			t.Errorf("seed %d, %v: %d unconfirmed, %d retired", c.seed, c.sel.States, counts["unconfirmed"], counts["retired"])
		}
		for _, never := range []string{"city", "state", "categories", "snippet", "hours", "claimed", "price_range", "years_in_business", "service_area"} {
			if counts[never] > 0 {
				t.Errorf("seed %d, %v: %d changes of %q", c.seed, c.sel.States, counts[never], never)
			}
		}
		t.Logf("seed %d, %v: %v", c.seed, c.sel.States, counts)
	}
}

// count counts what a crawl tells, and how often each field of a listing that has changed differs from what it was before.
func count(t *testing.T, d *demo.Directory, sel demo.Selection, before []yp.Listing, counts map[string]int, prefix string, since ...int) {
	t.Helper()
	all, err := d.Changes(sel, since...)
	if err != nil {
		t.Fatal(err)
	}
	counts[prefix+"new"], counts[prefix+"gone"], counts[prefix+"restored"] = len(all.New), len(all.Dropped), len(all.Restored)
	counts[prefix+"unconfirmed"], counts[prefix+"retired"] = len(all.Unconfirmed), len(all.Retired)
	changed := make(map[string]bool)
	for _, id := range all.Changed {
		changed[id] = true
	}
	old := make(map[string]map[string]string)
	for _, l := range before {
		old[l.ID] = fieldsOf(l)
	}
	for _, l := range d.Truth(&url.URL{}, sel).Listings {
		now, was := fieldsOf(l), old[l.ID]
		if !changed[l.ID] || was == nil {
			continue
		}
		for field, text := range now {
			if was[field] != text {
				counts[prefix+field]++
			}
			if was[field] == "" {
				counts[prefix+field+" from nothing"]++
			}
		}
	}
}
