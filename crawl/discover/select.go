package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

// AllPages asks for every page that a source has.
const AllPages = -1

// Selection is what an operator asked for.
type Selection struct {
	States        []string // names or codes; empty = all
	Cities        []string // "Austin", "Austin TX" or "austin-tx"; empty = all of the states
	Categories    []string // empty = the source's, else DefaultCategories
	AnyCategory   bool     // take categories that are not known
	MinPopulation int
	MaxCities     int // the largest of each state; 0 = all
	MaxPages      int // pages of each target; 0 = by tier, AllPages = all
	MaxTargets    int // 0 = all
}

// Source is what a source says of its own extent.
type Source struct {
	Categories     []string // the only ones it has; empty = any
	PlacesPerState int      // its largest places; 0 = all
	PageCap        int      // pages of a target at most; 0 = no cap

	States  *yp.StateSet // nil = those of the USA
	Indexed bool         // its places come from its own index, which may not be read yet
	Whole   bool         // that is one index of all states
}

func (s *Source) states() *yp.StateSet {
	if s.States != nil {
		return s.States
	}
	return yp.StatesOf(yp.DefaultCountry)
}

// Resolved is a selection in exact terms.
type Resolved struct {
	States     []string // codes
	AllStates  bool     // none was named
	Whole      bool     // see Source
	Cities     []yp.City
	Categories []yp.Category
	TierPages  [4]int // by tier; 0 = all
	Explicit   bool   // pages were asked for, not taken from the tiers
	ByCity     bool   // not all of the states' cities are meant
	ByCategory bool   // categories were named
	// MinPopulation is the selection's.
	MinPopulation int
}

// Resolve finds the places and categories that sel means; g must have the places of its states.
func Resolve(g *gazetteer.Gazetteer, src Source, sel Selection) (*Resolved, error) {
	states, err := src.states().Parse(sel.States)
	if err != nil {
		return nil, fmt.Errorf("--states: %w", err)
	}
	all := len(states) == 0
	if all {
		states = src.states().Codes()
	}
	for _, p := range g.All() { // an index has shown states that nobody named
		if all && src.Indexed && !slices.Contains(states, p.State) {
			states = append(states, p.State)
		}
	}
	r := &Resolved{
		States: states, AllStates: all, Whole: src.Whole, ByCity: len(sel.Cities) > 0 || sel.MaxCities > 0, ByCategory: len(sel.Categories) > 0,
		Explicit: sel.MaxPages != 0, MinPopulation: sel.MinPopulation,
	}
	for tier := 1; tier <= 3; tier++ {
		r.TierPages[tier] = max(cmp.Or(sel.MaxPages, gazetteer.TierPages(tier)), 0)
	}
	if r.Categories, err = resolveCategories(sel.Categories, src.Categories, sel.AnyCategory); err != nil {
		return nil, err
	}
	places, err := pick(g, src, sel, states)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		r.Cities = append(r.Cities, p.City())
	}
	return r, nil
}

// Estimate is what a plan would cost from the start.
type Estimate struct {
	Targets    int           `json:"targets"`
	IndexPages int           `json:"index_pages"`   // of the source's indexes of cities; set by the caller
	Pages      int           `json:"results_pages"` // at most; -1 = unknown, all pages were asked for without a cap
	Details    int           `json:"detail_pages"`  // at most, with PageCards listings on each of them; -1 = unknown
	Requests   int           `json:"requests"`      // both, without retries; -1 = unknown
	Time       time.Duration `json:"-"`             // at the pace in force; 0 = as fast as the source answers
	Seconds    float64       `json:"seconds"`
	Bytes      int64         `json:"disk_bytes"` // database and logs; -1 = unknown
}

// What an estimate takes a page for. The bytes are those of the demo directory, rounded up
// (docs/sizing.md), with room for the journal: it has half the pages of the database at most.
const (
	PageCards   = 30     // listings on a results page of the Yellow Pages
	PageBytes   = 50_000 // of such a page in database and log, its listings new
	DetailBytes = 4_500  // of a listing's own page, where all are read for the first time
)

// Estimate counts the targets and the requests they need at most, those for the listings' own
// pages among them if they are wanted, how long those take at delay between two requests, and
// how much room they need.
func (r *Resolved) Estimate(src Source, maxTargets int, delay time.Duration, details bool) Estimate {
	e := Estimate{Targets: len(r.Cities) * len(r.Categories)}
	if maxTargets > 0 {
		e.Targets = min(e.Targets, maxTargets)
	}
	left := e.Targets
	for _, c := range r.Cities {
		n := min(left, len(r.Categories))
		pages := r.TierPages[c.Tier]
		if pages == 0 || src.PageCap > 0 && pages > src.PageCap {
			pages = src.PageCap
		}
		if pages == 0 {
			e.Pages, e.Requests, e.Bytes = -1, -1, -1
			if details {
				e.Details = -1
			}
			return e
		}
		e.Pages += n * pages
		left -= n
	}
	if details {
		e.Details = e.Pages * PageCards
	}
	e.Requests = e.Pages + e.Details
	e.Bytes = int64(e.Pages)*PageBytes + int64(e.Details)*DetailBytes
	e.Time = time.Duration(e.Requests) * delay
	e.Seconds = e.Time.Seconds()
	return e
}

// Plan is the resolved selection as targets of the source with that id.
func (r *Resolved) Plan(sourceID int64, maxTargets int) checkpoint.Plan {
	p := checkpoint.Plan{
		SourceID: sourceID, Cities: r.Cities, Categories: r.Categories,
		TierPages: r.TierPages, Explicit: r.Explicit, MaxTargets: maxTargets,
	}
	if !r.ByCity {
		p.Listed = &checkpoint.Listed{States: r.States, MinPopulation: r.MinPopulation}
		if p.Listed.Whole = r.Whole; r.Whole && r.AllStates {
			p.Listed.States = nil
		}
	}
	return p
}

// pick lists the places, largest first over all states.
func pick(g *gazetteer.Gazetteer, src Source, sel Selection, states []string) ([]gazetteer.Place, error) {
	var places []gazetteer.Place
	if len(sel.Cities) > 0 {
		for _, name := range sel.Cities {
			found := findCity(g, src.states(), name, states)
			if len(found) == 0 {
				return nil, unknownCity(g, &src, name, states)
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
		return cmp.Or(cmp.Compare(b.Population, a.Population), strings.Compare(a.Slug, b.Slug), strings.Compare(a.State, b.State))
	})
	return slices.CompactFunc(places, func(a, b gazetteer.Place) bool { return a.Slug == b.Slug && a.State == b.State }), nil
}

// findCity looks a name up in each of the states; a name that ends in a state
// ("Austin TX", "austin-tx", "Austin, Texas") is looked up in that one.
func findCity(g *gazetteer.Gazetteer, set *yp.StateSet, name string, states []string) []gazetteer.Place {
	var found []gazetteer.Place
	for _, st := range states {
		for _, try := range []string{name, withoutState(set, name, st)} {
			if places := g.Named(try, st); len(places) > 0 && try != "" {
				found = append(found, places...)
				break
			}
		}
	}
	return found
}

// withoutState returns what is before a state's code or name at the end of
// a city's name; "" when none does.
func withoutState(set *yp.StateSet, name, code string) string {
	for _, end := range []string{code, set.Name(code)} {
		if end == "" {
			continue
		}
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
func unknownCity(g *gazetteer.Gazetteer, src *Source, name string, states []string) error {
	where, bare := strings.Join(states, ", "), name
	if len(states) > 5 {
		where = fmt.Sprintf("%d states", len(states))
	}
	for _, st := range states {
		if city := withoutState(src.states(), name, st); city != "" {
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
	if g.Own() {
		hint = fmt.Sprintf(": the source has %s", yp.Plural(len(names), "city"))
		if where != "" {
			hint += " in " + where
		}
	}
	if where == "" {
		where = "the source's places"
	}
	if near, ok := yp.Nearest(bare, names); ok {
		hint = fmt.Sprintf(" in %s: did you mean %q?", where, near)
	}
	return fmt.Errorf("--cities: unknown city %q%s", name, hint)
}
