package site

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func addStructuredSeeds(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(structuredDir, "*.html"))
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
}

// FuzzStructured checks that any page is read without a panic, the same way
// twice, and that its listings have ids and names, each id once, within their
// bounds.
func FuzzStructured(f *testing.F) {
	addStructuredSeeds(f)
	s, final := prairie(f), prairieURL(f)
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
	if p.Reason == "" || len(p.Listings) > maxBusinesses || p.Raw < p.Bad+len(p.Listings) || (p.Outcome == OK) != (len(p.Listings) > 0) {
		t.Fatalf("%v (%q), %d listings, raw %d, bad %d", p.Outcome, p.Reason, len(p.Listings), p.Raw, p.Bad)
	}
	seen := map[string]bool{}
	for _, l := range p.Listings {
		if l.ID == "" || l.Name == "" || seen[l.ID] || len(l.ID) > maxPathID || len(l.Name) > maxName {
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
		if len(l.Hours) > maxHours || len(l.Categories) > maxCategories || len(l.ProfileURL) > 2*maxURL {
			t.Fatalf("beyond the bounds: %+v", l)
		}
	}
}

// FuzzTidyJSON checks that tidying takes bounded time and keeps what is JSON
// already.
func FuzzTidyJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":"// no comment","b":[1,2,],}`, "//<![CDATA[\n{}\n//]]>", `<!-- {} -->`, `{"a":"\\"}`, `{"a":"it\'s"}`, "/*", "\"\\", `[1,/*x*/]`, "{}<!-- a -->{}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain, strict := decodeStrict(s)
		roots, err := decodeRoots(s)
		if strict && err == nil && !reflect.DeepEqual(plain, roots[0]) {
			t.Errorf("got %v, want %v", roots, plain)
		}
	})
}

// decodeStrict decodes a text that is JSON as it stands.
func decodeStrict(s string) (v any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	err := dec.Decode(&v)
	return v, err == nil && json.Valid([]byte(s))
}

// FuzzGuess checks that any page and URL yield a candidate that keeps its
// promises: see checkCandidate.
func FuzzGuess(f *testing.F) {
	f.Add("/springfield-il/plumbers", "?page=2", []byte(listPage(6, 6, `<a rel="next" href="?page=2">Next</a>`)))
	f.Add("/search?q=Plumbers&where=Springfield%2C+IL", "/search?q=Plumbers&where=Springfield%2C+IL&pg=2", []byte(listPage(1, 0, "")))
	f.Add("/plumbers-in-springfield-il.html", "/x/page/2/", []byte(listPage(1, 0, "")))
	f.Add("/il/springfield/%7Bcity%7D/plumbers", "?{page}=2", []byte(listPage(1, 0, "<a href='/portland-or/plumbers'>")))
	f.Fuzz(func(t *testing.T, at, next string, body []byte) {
		u, err := prairieURL(t).Parse(at)
		if err != nil {
			return
		}
		body = append(body, `<a rel="next" href="`+next+`">Next</a>`...)
		c := guess(t, Sample{URL: u, Status: 200, Body: body}, Sample{URL: u, Status: 404})
		for _, r := range c.Reasons {
			if len(r) > 10_000 || strings.ContainsAny(r, "\x1b\x00\n") {
				t.Errorf("reason %q", r)
			}
		}
	})
}
