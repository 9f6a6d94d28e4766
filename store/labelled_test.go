package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// verdicts compares a partition with the labels, pair by pair.
type verdicts struct {
	right, wrong, missed int
	pairs                []string // the misjudged ones
}

func (v *verdicts) precision() float64 { return float64(v.right) / float64(v.right+v.wrong) }
func (v *verdicts) recall() float64    { return float64(v.right) / float64(v.right+v.missed) }

func judge(all []sighting, company map[string]string) verdicts {
	var v verdicts
	first := map[string]sighting{}
	for _, s := range all {
		first[s.key()] = s
	}
	var keys []string
	for k := range first {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			x, y := first[a], first[b]
			same, joined := x.Business == y.Business, company[a] == company[b]
			switch {
			case same && joined:
				v.right++
			case joined:
				v.wrong++
				v.pairs = append(v.pairs, fmt.Sprintf("wrongly joined: %s %q and %s %q (%s)", a, x.Name, b, y.Name, x.Case))
			case same:
				v.missed++
				v.pairs = append(v.pairs, fmt.Sprintf("missed: %s %q and %s %q (%s)", a, x.Name, b, y.Name, x.Case))
			}
		}
	}
	return v
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
		company := w.companyOfEach(t)
		v := judge(all, company)
		if round == 0 {
			t.Logf("%d sightings of %d listings: precision %.4f, recall %.4f (%d pairs right, %d wrong, %d missed)",
				len(all), len(company), v.precision(), v.recall(), v.right, v.wrong, v.missed)
			t.Logf("misjudged:\n%s", strings.Join(v.pairs, "\n"))
		}
		if v.precision() < 0.99 || v.recall() < 0.95 {
			t.Errorf("round %d: precision %.4f, recall %.4f, want 0.99 and 0.95 at least; misjudged:\n%s",
				round, v.precision(), v.recall(), strings.Join(v.pairs, "\n"))
		}
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
	all := labelled(t, "companies_unseen.jsonl")
	w := newWorld(t)
	savePages(t, w, all)
	v := judge(all, w.companyOfEach(t))
	t.Logf("%d sightings: precision %.3f, recall %.3f (%d pairs right, %d wrong, %d missed); misjudged:\n%s",
		len(all), v.precision(), v.recall(), v.right, v.wrong, v.missed, strings.Join(v.pairs, "\n"))
	if v.precision() < 0.9 || v.recall() < 0.5 {
		t.Errorf("precision %.3f, recall %.3f, want 0.9 and 0.5 at least", v.precision(), v.recall())
	}
}
