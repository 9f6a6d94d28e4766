package demo_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/demo"
)

// walk is a reading of a state's indexes.
type walk struct {
	cities []demo.City
	others int // links of the lists that lead to no city
	empty  int // letters without a city
}

var citySlug = regexp.MustCompile(`^/([a-z0-9-]+)-([a-z]{2})$`)

func readIndexes(t *testing.T, d http.Handler, state string) (w walk) {
	t.Helper()
	for letter := 'a'; letter <= 'z'; letter++ {
		page := get(d, fmt.Sprintf("/state-%s?page=%c", strings.ToLower(state), letter))
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(between(page.Body.String(), `<div id="content">`, `<footer`)))
		if err != nil || page.Code != http.StatusOK {
			t.Fatalf("%s, %c: status %d, %v", state, letter, page.Code, err)
		}
		if !strings.Contains(page.Body.String(), `<header id="main-header"`) {
			t.Errorf("%s, %c: no chrome", state, letter)
		}
		found := 0
		doc.Find(".list-content a").Each(func(_ int, a *goquery.Selection) {
			m := citySlug.FindStringSubmatch(a.AttrOr("href", ""))
			if m == nil || m[1] == "state" || !strings.EqualFold(m[2], state) {
				w.others++
				return
			}
			found++
			w.cities = append(w.cities, demo.City{Slug: m[0][1:], Name: a.Text(), State: state})
		})
		if found == 0 {
			w.empty++
			if text := doc.Find("#content").Text(); !strings.Contains(text, "no city here") {
				t.Errorf("%s, %c: the page does not say that it is empty: %s", state, letter, text)
			}
		}
	}
	slices.SortFunc(w.cities, func(a, b demo.City) int { return strings.Compare(a.Slug, b.Slug) })
	return w
}

// TestCitiesEqualWalk: the letters of the indexes lead to exactly the cities
// that Cities tells, in every epoch, and the indexes are as untidy as real ones.
func TestCitiesEqualWalk(t *testing.T) {
	t.Parallel()
	d, g := setup(t, demo.Config{})
	counts := make(map[string]int)
	for _, epoch := range []int{0, 2} {
		if err := d.SetEpoch(epoch); err != nil {
			t.Fatal(err)
		}
		for _, code := range []string{"AZ", "CA", "DC", "FL", "ID", "IN", "MN", "MO", "NJ", "TX", "WA"} {
			w := readIndexes(t, d, code)
			if diff := cmp.Diff(d.Cities(code), w.cities); diff != "" {
				t.Errorf("epoch %d, %s: cities differ (-truth +walk):\n%s", epoch, code, diff)
			}
			if w.others < 3*26 {
				t.Errorf("epoch %d, %s: %d other links", epoch, code, w.others)
			}
			counts["empty"] += w.empty
			for _, c := range w.cities {
				if p, ok := g.Find(c.Name, code); !ok || p.Slug != c.Slug {
					t.Errorf("%+v: neither slug nor name is the gazetteer's", c)
				}
				if strings.Count(c.Slug, "-") > 2 {
					counts["many words"]++
				}
			}
		}
	}
	for _, what := range []string{"empty", "many words"} {
		if counts[what] == 0 {
			t.Errorf("no case of %q", what)
		}
	}
	t.Log(counts)
}
