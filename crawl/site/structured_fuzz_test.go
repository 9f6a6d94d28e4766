package site

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/crawl/site/region/regiontest"
	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// FuzzStructured checks that any page is read without a panic, the same way
// twice, and that its listings have ids and names, each id once, within their
// bounds.
func FuzzStructured(f *testing.F) {
	for _, page := range regiontest.Golden(f, structuredDir) {
		f.Add([]byte(page))
	}
	s, final := prairie(f), urlOf(f, prairieList)
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := s.ParsePage(body, final, 200)
		if err != nil {
			return
		}
		checkStructured(t, p)
		again, err := s.ParsePage(body, final, 200)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("the second reading differs: %v\n%s", err, cmp.Diff(p.Listings, again.Listings))
		}
	})
}

func checkStructured(t *testing.T, p *Page) {
	t.Helper()
	if p.Reason == "" || len(p.Listings) > structured.MaxBusinesses || p.Raw < p.Bad+len(p.Listings) || (p.Outcome == OK) != (len(p.Listings) > 0) {
		t.Fatalf("%v (%q), %d listings, raw %d, bad %d", p.Outcome, p.Reason, len(p.Listings), p.Raw, p.Bad)
	}
	seen := map[string]bool{}
	for _, l := range p.Listings {
		if l.ID == "" || l.Name == "" || seen[l.ID] || len(l.ID) > yp.MaxPathID || len(l.Name) > yp.MaxName {
			t.Fatalf("id %q, name %q", l.ID, l.Name)
		}
		seen[l.ID] = true
		for _, text := range []string{l.Street, l.City, l.Phone, l.ServiceArea} {
			if len(text) > maxLine {
				t.Fatalf("a text of %d bytes", len(text))
			}
		}
		if strings.ContainsAny(l.ID+l.Name+l.Street+l.City+l.Phone+l.ProfileURL+l.WebsiteURL+l.Snippet, "\x00\x1b\n\r\u202e") {
			t.Fatalf("control characters in %+v", l)
		}
		if len(l.Hours) > yp.MaxHours || len(l.Categories) > yp.MaxCategories || len(l.ProfileURL) > 2*maxURL {
			t.Fatalf("beyond the bounds: %+v", l)
		}
	}
}
