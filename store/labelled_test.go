package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"ypcrawl/yp"
)

// The labelled set is testdata/companies.jsonl: what directories show of some hundred
// businesses, one sighting a line, as a page has it. "business" says which sightings
// are one business in truth. What counts as one:
//
//   - a chain whose places show one site: one business, in whatever city; a franchise
//     of that kind looks the same to a directory, and counts the same;
//   - a place with a page of its own on its brand's site: a business of its own;
//   - an agent under the site of a brand, a tenant under that of a mall: its own;
//   - a practice and its practitioner with one site: one.
//
// Some of it nobody could tell from the sightings alone: it is there to be missed.
type sighting struct {
	Case     string `json:"case"`
	Business string `json:"business"`
	Source   string `json:"source"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	Phone    string `json:"phone"`
	Street   string `json:"street"`
	City     string `json:"city"`
	State    string `json:"state"`
	Zip      string `json:"zip"`
	Website  string `json:"website"`
}

func (s *sighting) key() string { return s.Source + "/" + s.ID }

// listing makes of it what a parser makes of a card.
func (s *sighting) listing() yp.Listing {
	l := yp.Listing{
		ID: s.ID, Name: yp.Clean(s.Name), Phone: yp.Clean(s.Phone), Street: yp.Clean(s.Street), City: yp.Clean(s.City),
		State: s.State, PostalCode: yp.Clean(s.Zip), WebsiteURL: yp.Clean(s.Website),
	}
	l.PhoneE164, _ = yp.CanonicalPhone(s.Phone)
	if w, ok := yp.CanonicalWebsite(s.Website); ok {
		l.Website, l.Domain = w.URL, w.Domain
	}
	return l
}

func labelled(t *testing.T, file string) []sighting {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	noErr(t, err)
	var all []sighting
	for n, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var s sighting
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		if yp.Clean(s.Name) != "" { // a parser drops a card without a name
			all = append(all, s)
		}
	}
	return all
}

// savePages saves the sightings as pages of at most 30, each of one source and without
// a listing twice, in the order given.
func savePages(t *testing.T, w *world, all []sighting) {
	t.Helper()
	target := map[string]int{"one": 1, "two": 2}
	for page := 1; len(all) > 0; page++ {
		var listings []yp.Listing
		on, seen, rest := all[0].Source, map[string]bool{}, []sighting(nil)
		for _, s := range all {
			if s.Source != on || seen[s.ID] || len(listings) == 30 {
				seen[s.ID] = true // a later sighting must not overtake
				rest = append(rest, s)
				continue
			}
			seen[s.ID] = true
			listings = append(listings, s.listing())
		}
		if saved, err := w.save(target[on], page, 0, listings...); err != nil || saved.Kept() != len(listings) {
			t.Fatalf("page %d: %+v, %v", page, saved, err)
		}
		all = rest
	}
}

// judge compares the companies with the labels, pair by pair: of the pairs that are joined this part at least must
// belong together, and of those that belong together this part be joined.
func (w *world) judge(t *testing.T, all []sighting, leastPrecision, leastRecall float64) {
	t.Helper()
	var right, wrong, missed float64
	var misjudged []string
	first, company := map[string]sighting{}, w.companyOfEach(t)
	for _, s := range all {
		first[s.key()] = s
	}
	keys := slices.Sorted(maps.Keys(first))
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			x, y := first[a], first[b]
			same, joined := x.Business == y.Business, company[a] == company[b]
			switch {
			case same && joined:
				right++
			case joined:
				wrong++
				misjudged = append(misjudged, fmt.Sprintf("wrongly joined: %s %q and %s %q (%s)", a, x.Name, b, y.Name, x.Case))
			case same:
				missed++
				misjudged = append(misjudged, fmt.Sprintf("missed: %s %q and %s %q (%s)", a, x.Name, b, y.Name, x.Case))
			}
		}
	}
	precision, recall := right/(right+wrong), right/(right+missed)
	t.Logf("%d sightings of %d listings: precision %.4f, recall %.4f (%g pairs right, %g wrong, %g missed), misjudged:\n%s",
		len(all), len(company), precision, recall, right, wrong, missed, strings.Join(misjudged, "\n"))
	if precision < leastPrecision || recall < leastRecall {
		t.Errorf("precision %.4f, recall %.4f, want %g and %g at least", precision, recall, leastPrecision, leastRecall)
	}
}

// companyOfEach maps "source/id" of each listing to its company.
func (w *world) companyOfEach(t *testing.T) map[string]string {
	t.Helper()
	company := map[string]string{}
	for _, r := range rows(t, w.DB, `SELECT s.name, l.listing_id, l.company_id FROM listings l JOIN sources s ON s.id = l.source_id`) {
		f := strings.Split(r, "|")
		company[f[0]+"/"+f[1]] = f[2]
	}
	return company
}

// TestLabelledCompanies holds the way from a card to a company to the labelled set:
// of the pairs that it joins at least 99 % belong together, of those that belong
// together it joins at least 95 %, in whatever order pages come. The rules were made
// with this set in view, so these are no figures of what they do elsewhere: see
// TestUnseenCompanies.
func TestLabelledCompanies(t *testing.T) {
	t.Parallel()
	all := labelled(t, "companies.jsonl")
	w := newWorld(t)
	var before []string
	for round := range 5 {
		w.empty(t)
		order := slices.Clone(all)
		switch r := rand.New(rand.NewPCG(uint64(round), 1)); round { // #nosec: an order, no secret
		case 0:
		case 1:
			slices.Reverse(order)
		default:
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		savePages(t, w, order)
		w.judge(t, all, 0.99, 0.95)
		got := w.partition(t)
		if before != nil && !slices.Equal(got, before) {
			t.Errorf("round %d: the companies depend on the order of pages", round)
		}
		before = got
	}
}

// TestUnseenCompanies reports how the rules fare on listings that they were not made
// for. The set is small, and was written when the rules stood: do not tune rules by it,
// write another one then. The floors only keep them from getting worse unseen.
func TestUnseenCompanies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := labelled(t, "companies_unseen.jsonl")
	savePages(t, w, all)
	w.judge(t, all, 0.9, 0.5)
}
