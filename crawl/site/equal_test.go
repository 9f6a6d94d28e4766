package site

import (
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ypcrawl/crawl/site/region"
	"ypcrawl/crawl/site/region/regiontest"
)

// finalURL is where the test pages are said to come from.
func finalURL(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://www.yellowpages.com/springfield-il/plumbers")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func builtin(t testing.TB, name string) *Source {
	t.Helper()
	s, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkResults compares what is read of a page's regions with what is read of the same
// regions in the tree of the whole page. It tells whether the page was read so at all.
func checkResults(t testing.TB, s *Source, page []byte) (read bool) {
	t.Helper()
	final := finalURL(t)
	got := s.parseRegions(page, final)
	if got == nil {
		return false
	}
	doc, end, err := region.Parse(page)
	if err == nil {
		err = s.cut(OK, end, final)
	}
	if err != nil {
		t.Fatalf("regions parsed, the whole page not: %v", err)
	}
	scripts := region.Scripts(doc)
	regions, _ := region.Graft(s.regions.Find(doc))
	whole := s.extract(s.workspace(), regions, scripts, final, false)
	opts := cmp.Options{cmpopts.IgnoreFields(Page{}, "Via"), cmp.AllowUnexported(Page{})}
	if diff := cmp.Diff(whole, got, opts); diff != "" {
		t.Fatalf("results differ (-whole +region):\n%s", diff)
	}
	return true
}

// TestResultsRegionEqualsWhole reads the pages on which package region compares trees.
func TestResultsRegionEqualsWhole(t *testing.T) {
	t.Parallel()
	s, pages := builtin(t, "yellowpages"), seedPages(t)
	for _, page := range pages {
		checkResults(t, s, []byte(page))
	}
	names := slices.Sorted(maps.Keys(pages))
	read := 0
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(what string, most int) int { return rapid.IntRange(0, most).Draw(rt, what) }
		if checkResults(t, s, []byte(regiontest.Mutate(pages[names[pick("page", len(names)-1)]], pick))) {
			read++
		}
	})
	if t.Logf("%d pages were read from their regions", read); read == 0 {
		t.Error("no page was read from its regions: the test proves nothing")
	}
	for _, a := range regiontest.Fragments {
		for _, b := range regiontest.Fragments {
			checkResults(t, s, []byte(regiontest.Shell(a+b+"x")))
			checkResults(t, s, []byte(regiontest.Shell(a+`<div id="main-content">`+b+`y</div>z`)))
		}
	}
}

func FuzzResultsRegionEqualsWhole(f *testing.F) {
	s := builtin(f, "yellowpages")
	for _, page := range seedPages(f) {
		f.Add([]byte(page))
	}
	for _, fragment := range regiontest.Fragments {
		f.Add([]byte(regiontest.Shell(fragment)))
	}
	final := finalURL(f)
	f.Fuzz(func(t *testing.T, page []byte) {
		checkResults(t, s, page)
		checkRead(t, s, page, final, false)
	})
}
