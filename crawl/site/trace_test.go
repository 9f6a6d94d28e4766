package site

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ypcrawl/yp"
)

// TestReadGolden checks over all golden pages that a trace of the rules changes nothing, and that each value of
// each listing has something that gave it.
func TestReadGolden(t *testing.T) {
	t.Parallel()
	sources := map[string]*Source{pagesDir: builtin(t, "yellowpages"), structuredDir: prairie(t)}
	for dir, s := range sources {
		files, err := filepath.Glob(filepath.Join(dir, "*.html"))
		if err != nil || len(files) < 15 {
			t.Fatalf("found %d pages: %v", len(files), err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			final, _ := answer(t, strings.TrimSuffix(filepath.Base(file), ".html"))
			if dir == structuredDir {
				final = prairieURL(t)
			}
			got := checkRead(t, s, body, final, false)
			listed := map[string]bool{}
			for _, c := range got.Cards {
				for _, v := range c.Values {
					if v.Rule == nil && v.From == "" {
						t.Errorf("%s: nothing gave %s %q", file, v.Field, v.Text)
					}
				}
				if c.Unread == "" {
					listed[c.Listing.ID] = true
				}
			}
			if len(listed) != len(got.Listings) {
				t.Errorf("%s: %d cards are listings, the page has %d", file, len(listed), len(got.Listings))
			}
		}
	}
}

// checkRead checks that a page is read alike with a trace of the rules and without one.
func checkRead(t *testing.T, s *Source, body []byte, final *url.URL, detail bool) *Reading {
	t.Helper()
	parse := s.ParsePage
	if detail {
		parse = s.ParseDetail
	}
	want, err := parse(body, final, 200)
	got, failed := s.Read(body, final, 200, detail)
	if err != nil || failed != nil {
		if err == nil || failed == nil {
			t.Fatalf("parsed: %v, read: %v", err, failed)
		}
		return &Reading{Page: &Page{}}
	}
	if diff := cmp.Diff(want, got.Page, cmpopts.IgnoreUnexported(Page{})); diff != "" {
		t.Fatalf("(-parsed +read)\n%s", diff)
	}
	return got
}

// TestRead tells what gave what, in a sentence for each field.
func TestRead(t *testing.T) {
	t.Parallel()
	said := func(values []Value) string {
		var parts []string
		for _, v := range values {
			by := v.From
			if v.Rule != nil {
				by = v.Rule.Key
			}
			parts = append(parts, v.Field+" "+v.Text+" by "+by)
		}
		return strings.Join(parts, "\n")
	}
	read := func(t *testing.T, s *Source, page string, detail bool) *Reading {
		t.Helper()
		r, err := s.Read([]byte(page), finalURL(t), 200, detail)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const one = `<div class="result" data-ypid="1"><a class="business-name" href="/a-il/mip/acme-1">Acme</a>
<div class="phone">Fax: 217-555-0100</div><p class="adr"><span class="locality">Springfield, IL 62701</span></p></div>`
	yellow := builtin(t, "yellowpages")
	t.Run("Card", func(t *testing.T) {
		t.Parallel()
		r := read(t, yellow, siteHTML(one), false)
		want := "id 1 by fields.id[0]\nname Acme by fields.name[1]\nprofile_url https://www.yellowpages.com/a-il/mip/acme-1 by fields.profile_url[0]\n" +
			"city Springfield by fields.locality[0]\nstate IL by fields.locality[0]\npostal_code 62701 by fields.locality[0]"
		if got := said(r.Cards[0].Values); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if r.Cards[0].Rule.Key != "cards.organic[1]" || !slices.Contains(r.Cards[0].Empty, "phone") || r.Cards[0].Rule.Line == 0 {
			t.Errorf("card: %+v, empty %v", r.Cards[0].Rule, r.Cards[0].Empty)
		}
	})
	t.Run("JSONLD", func(t *testing.T) {
		t.Parallel()
		ld := `<script type="application/ld+json">{"@type":"Plumber","name":"Acme","url":"/a-il/mip/acme-1","telephone":"(217) 555-0101"}</script>`
		r := read(t, yellow, siteHTML(one+ld), false)
		if got := said(r.Cards[0].Values); !strings.Contains(got, "phone (217) 555-0101 by JSON-LD telephone") {
			t.Errorf("got\n%s", got)
		}
	})
	t.Run("RejectedAndUnread", func(t *testing.T) {
		t.Parallel()
		page := siteHTML(one + `<div class="result" data-ypid="1"><a class="business-name">Again</a></div><div class="result" data-ypid="2"></div>` +
			`<div class="result" data-ypid="x3"><a class="business-name">Bad id</a><a class="track-visit-website" href="/own">w</a></div>`)
		r := read(t, yellow, page, false)
		if len(r.Cards) != 4 || r.Cards[1].Unread != "another card has its id" || r.Cards[2].Unread != "it has no name" {
			t.Fatalf("got %+v", r.Cards)
		}
		if got := r.Cards[3]; len(got.Reasons) != 1 || !strings.Contains(said(got.Values), "website  by fields.website[0]") {
			t.Errorf("rejected: %v\n%s", got.Reasons, said(got.Values))
		}
	})
	t.Run("ExtendedDefinition", func(t *testing.T) {
		t.Parallel()
		s, err := Parse("mine.yaml", []byte("extends: yellowpages\nname: mine\nfields:\n  name: .business-name\n"))
		if err != nil {
			t.Fatal(err)
		}
		values := read(t, s, siteHTML(one), false).Cards[0].Values
		if id := values[0].Rule; id.File != "yellowpages.yaml" || id.Key != "fields.id[0]" || id.Line == 0 {
			t.Errorf("id: %+v", id)
		}
		if name := values[1].Rule; *name != (Rule{Key: "fields.name", File: "mine.yaml", Line: 4, Text: ".business-name"}) {
			t.Errorf("name: %+v", name)
		}
	})
	t.Run("Hints", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct{ fields, want string }{
			"typo":      {"phone: .phones", "fields.phone:8 finds nothing on any card: there is no .phones; did you mean .phone?"},
			"attribute": {"snippet: {css: .phone, attr: title}", "fields.snippet:8 takes nothing on 1 card: the element has no such attribute: it has class"},
			"match":     {"phone: {css: .phone, match: '^(\\d+)$'}", `fields.phone:8 takes nothing on 1 card: match does not fit "Fax: 217-555-0100"`},
			"no value":  {"website: {css: a, attr: href}", "fields.website:8 gives a text on 1 card, but not in the form of this field"},
		} {
			s, err := Parse("mine.yaml", []byte("name: mine\nbase_url: https://www.yellowpages.com\nurls: {target: '/{city_slug}/{category_slug}?page={page}'}\n"+
				"chrome: {selectors: ['#main-header']}\ncards: {organic: [.result]}\nfields:\n  {id: {attr: data-ypid}, name: .business-name,\n  "+c.fields+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range read(t, s, siteHTML(one), false).Hints {
				got = append(got, h.Key+":"+strconv.Itoa(h.Line)+" "+h.Text)
			}
			if !slices.Contains(got, c.want) {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
	})
	t.Run("PageReadTwice", func(t *testing.T) {
		t.Parallel()
		page := siteHTML(`<div class="search-results"><div class="result" data-ypid="1"><a class="business-name">A</a><i class="phone">none</i>` +
			`<div class="result" data-ypid="2"><a class="business-name">B</a><i class="phone">none</i></div></div></div>`)
		r := read(t, yellow, page, false)
		const want = "gives a text on 2 cards, but not in the form of this field"
		if len(r.Cards) != 2 || !slices.ContainsFunc(r.Hints, func(h Hint) bool { return h.Key == "fields.phone[1]" && h.Text == want }) {
			t.Errorf("%d cards, hints %+v", len(r.Cards), r.Hints)
		}
	})
	t.Run("NoCards", func(t *testing.T) {
		t.Parallel()
		page := siteHTML(strings.Repeat(`<li class="firm"><h2><a href="/x/mip/a-1">A</a></h2><p>(217) 555-0101</p><p>b</p></li>`, 4))
		r := read(t, yellow, page, false)
		if r.Outcome != HTMLChanged || len(r.Hints) != 2 || !strings.Contains(r.Hints[1].Text, "repeated most on the page: li.firm (4 times)") {
			t.Errorf("got %v, %+v", r.Outcome, r.Hints)
		}
		if len(r.Signs) == 0 || r.Signs[0].Key != "chrome.titles[0]" {
			t.Errorf("signs: %+v", r.Signs)
		}
	})
	t.Run("Detail", func(t *testing.T) {
		t.Parallel()
		body, err := os.ReadFile(filepath.Join(pagesDir, "detail", "current.html"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := yellow.ParseDetail(body, nil, 200)
		if err != nil {
			t.Fatal(err)
		}
		r, err := yellow.Read(body, nil, 200, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Detail, r.Page.Detail); diff != "" {
			t.Errorf("(-parsed +read)\n%s", diff)
		}
		got := said(r.Detail)
		for _, part := range []string{" by detail.fields.name[0]", " by detail.labels.payment", "JSON-LD geo.latitude"} {
			if !strings.Contains(got, part) {
				t.Errorf("no %q in\n%s", part, got)
			}
		}
	})
	t.Run("NextAndTotal", func(t *testing.T) {
		t.Parallel()
		r := read(t, yellow, resultsPage(30, 95), false)
		if got := said(r.Around); !strings.Contains(got, "next https://") || !strings.Contains(got, " by next[") || !strings.Contains(got, "total 1108 by total[") {
			t.Errorf("got\n%s", got)
		}
	})
	t.Run("EveryDefinedField", func(t *testing.T) {
		t.Parallel()
		for i := range yp.ListingFields {
			if f := &yp.ListingFields[i]; properties[f.Name] == "" && f.Name != "years_in_business" && f.Name != "claimed" && f.Name != "sponsored" {
				t.Errorf("%s: properties does not say where structured data has it", f.Name)
			}
		}
	})
}
