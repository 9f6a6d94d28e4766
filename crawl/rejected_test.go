package crawl_test

import (
	"slices"
	"strings"
	"testing"

	"ypcrawl/crawl"
	"ypcrawl/yp"
)

// TestDivide: listings that break a rule are set apart, the others keep their order, and
// none of the page is lost or there twice: the layout alarm counts them afterwards.
func TestDivide(t *testing.T) {
	t.Parallel()
	check := func(l *yp.Listing) []string {
		if strings.HasPrefix(l.ID, "bad") {
			return []string{"id: " + l.ID}
		}
		return nil
	}
	for _, c := range []struct{ page, good, bad string }{
		{"", "", ""}, {"a b", "a b", ""}, {"bad1", "", "bad1"}, {"bad1 a b", "a b", "bad1"}, {"a bad1 b bad2 c", "a b c", "bad1 bad2"}, {"a b bad1", "a b", "bad1"},
	} {
		var page []yp.Listing
		for _, id := range strings.Fields(c.page) {
			page = append(page, yp.Listing{ID: id})
		}
		good, rejected := crawl.Divide(page, check)
		var bad []string
		for _, r := range rejected {
			bad = append(bad, r.Listing.ID)
			if !slices.Equal(r.Reasons, []string{"id: " + r.Listing.ID}) {
				t.Errorf("%q: %s was rejected for %q", c.page, r.Listing.ID, r.Reasons)
			}
		}
		if got := ids(good); got != c.good || strings.Join(bad, " ") != c.bad {
			t.Errorf("%q: good %q, rejected %q", c.page, got, bad)
		}
		all, want := strings.Fields(ids(page)), strings.Fields(c.page)
		slices.Sort(all)
		slices.Sort(want)
		if !slices.Equal(all, want) {
			t.Errorf("%q: the page is %q afterwards", c.page, all)
		}
	}
}

func ids(listings []yp.Listing) string {
	var out []string
	for i := range listings {
		out = append(out, listings[i].ID)
	}
	return strings.Join(out, " ")
}
