package site

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ypcrawl/yp"
)

// ownPageOf is a listing's own page of the directory of listPage.
func ownPageOf(head, main string) string {
	return `<!DOCTYPE html><html><head><title>Business 3 | Prairie Directory</title>` + head + `</head><body>
<header id="pd-header"><a href="mailto:ads@prairie-media.com">Advertise</a><a href="https://www.facebook.com/prairiedirectory">f</a></header>
<main id="content">` + main + `</main><footer><a href="mailto:help@prairie-media.com">Help</a></footer></body></html>`
}

// ldOf wraps JSON-LD.
func ldOf(text string) string { return `<script type="application/ld+json">` + text + `</script>` }

const (
	ownURL      = "https://dir.example.com/biz/business-3-400003"
	ownBusiness = `{"@type":"Plumber","name":"Business 3","url":"/biz/business-3-400003","telephone":"(217) 555-0103",
"email":"mailto:info@Business3.com","foundingDate":"1998-04-01","paymentAccepted":"Visa, Cash","description":"Pipes since 1998.",
"knowsLanguage":["English",{"@type":"Language","name":"Spanish"}],
"hasOfferCatalog":{"@type":"OfferCatalog","name":"All","itemListElement":[{"@type":"Offer","itemOffered":{"@type":"Service","name":"Drain Cleaning"}},{"@type":"Offer","name":"Boilers"}]},
"identifier":"LIC-77","geo":{"@type":"GeoCoordinates","latitude":39.8,"longitude":-89.6},
"sameAs":["https://www.facebook.com/business3","https://www.business3.com/"],
"openingHoursSpecification":[{"dayOfWeek":["Monday","Tuesday"],"opens":"08:00","closes":"17:00"},
{"dayOfWeek":"Sunday","opens":"00:00","closes":"00:00","validFrom":"2026-12-25","validThrough":"2026-12-25"}]}`
	neighbour = `{"@type":"Plumber","name":"Neighbour","url":"/biz/neighbour-400009","telephone":"(217) 555-0199","email":"n@neighbour.com"}`
	directory = `{"@type":"Organization","name":"Prairie Directory","url":"/","telephone":"(217) 555-0000","email":"x@prairie-media.com"}`
)

// prairieSource reads listings and their own pages by structured data.
func prairieSource(t testing.TB) *Source { return prairieIDs(t, "url") }

func prairieIDs(t testing.TB, ids string) *Source {
	t.Helper()
	s, err := Parse("prairie.yaml", []byte(prairieDef+"detail:\n  ids: "+ids+"\n"))
	noError(t, err)
	return s
}

func TestOwnPages(t *testing.T) {
	s := prairieSource(t)
	full := yp.Listing{
		ID: "400003", Name: "Business 3", Email: "info@business3.com", Phone: "(217) 555-0103", PhoneE164: "+12175550103",
		WebsiteURL: "https://www.business3.com/", Website: "https://business3.com", Domain: "business3.com", Hours: []string{"Mo-Tu 08:00-17:00"},
		Lat: 39.8, Lon: -89.6, Payment: []string{"visa", "cash"}, Social: []string{"https://www.facebook.com/business3"},
		Founded: 1998, About: "Pipes since 1998.", Languages: []string{"English", "Spanish"}, Services: []string{"Drain Cleaning", "Boilers"},
	}
	t.Run("EverythingAndNothingOfOthers", func(t *testing.T) {
		body := ownPageOf(ldOf("["+directory+","+neighbour+","+ownBusiness+"]"), "<h1>Business 3</h1>")
		p := parseDetail(t, s, body, ownURL, 200)
		if diff := cmp.Diff(&full, p.OwnListing()); p.Outcome != OK || diff != "" {
			t.Errorf("%v (%s): %s", p.Outcome, p.Reason, diff)
		}
	})
	t.Run("TheIDIsTheOneOfTheList", func(t *testing.T) {
		list := parse(t, s, listPage(30, 30, ""), prairieList, 200)
		has := slices.ContainsFunc(list.Listings, func(l yp.Listing) bool { return l.ID == full.ID && l.ProfileURL == ownURL })
		if !has {
			t.Errorf("no listing %s of %s", full.ID, ownURL)
		}
	})
	bare := `{"@type":"Plumber","name":"Business 3","telephone":"(217) 555-0103"}`
	hidden := `<a href="/cdn-cgi/l/email-protection#` + hide("info@business3.com", 0x4b) + `">mail</a>`
	for name, c := range map[string]struct{ head, main, email string }{
		"mailto":                   {ldOf(bare), `<h1>Business 3</h1><a href="mailto:info@business3.com?subject=x">mail</a>`, "info@business3.com"},
		"hidden link":              {ldOf(bare), `<h1>Business 3</h1>` + hidden, "info@business3.com"},
		"hidden text":              {ldOf(bare), `<span data-cfemail="` + hide("info@business3.com", 0x4b) + `">x</span>`, "info@business3.com"},
		"of two, neither":          {ldOf(bare), `<a href="mailto:a@business3.com">a</a><a href="mailto:b@other.com">b</a>`, ""},
		"the frame's is nobody's":  {ldOf(bare), `<h1>Business 3</h1>`, ""},
		"microdata":                {"", `<div itemscope itemtype="https://schema.org/Plumber"><h1 itemprop="name">Business 3</h1><b itemprop="telephone">217-555-0103</b><a itemprop="email" href="mailto:info@business3.com">m</a></div>`, "info@business3.com"},
		"named by its title alone": {`<meta property="og:title" content="Business 3 | Prairie Directory">` + ldOf(`{"@type":"Plumber","telephone":"(217) 555-0103","email":"info@business3.com"}`), "", "info@business3.com"},
	} {
		p := parseDetail(t, s, ownPageOf(c.head, c.main), ownURL, 200)
		if p.Outcome != OK || p.OwnListing().Email != c.email || p.OwnListing().Name != "Business 3" || p.OwnListing().ID != "400003" || p.OwnListing().Social != nil {
			t.Errorf("%s: %v (%s): %+v", name, p.Outcome, p.Reason, p.OwnListing())
		}
	}
}

// TestOwnPagesWithoutData: a page without data of its own business.
func TestOwnPagesWithoutData(t *testing.T) {
	s := prairieSource(t)
	contacts := `<h1>Business 3</h1><a href="mailto:info@business3.com">m</a> (217) 555-0103`
	for name, c := range map[string]struct {
		body   string
		at     string
		status int
		want   Outcome
	}{
		"no data":                        {ownPageOf("", contacts), ownURL, 200, HTMLChanged},
		"data of others":                 {ownPageOf(ldOf("["+directory+","+neighbour+"]"), contacts), ownURL, 200, HTMLChanged},
		"neighbours alone":               {ownPageOf(ldOf("["+neighbour+","+strings.ReplaceAll(neighbour, "400009", "400010")+","+strings.ReplaceAll(neighbour, "400009", "400011")+"]"), contacts), ownURL, 200, HTMLChanged},
		"neighbours, no number":          {ownPageOf(ldOf("["+neighbour+","+strings.ReplaceAll(neighbour, "400009", "400010")+"]"), contacts), "https://dir.example.com/biz/business-three", 200, HTMLChanged},
		"another business's name":        {ownPageOf(ldOf(`{"@type":"Plumber","name":"Zeta","telephone":"(217) 555-0103"}`), contacts), ownURL, 200, HTMLChanged},
		"foreign page":                   {"<html><body>" + contacts + "</body></html>", ownURL, 200, Unrecognised},
		"empty":                          {"", ownURL, 200, Unrecognised},
		"gone":                           {ownPageOf("", "gone"), ownURL, 404, NoListings},
		"gone without chrome":            {"gone", ownURL, 404, Missing},
		"gone without chrome, with data": {ldOf(ownBusiness), ownURL, 410, Missing},
		"homepage":                       {ownPageOf(ldOf(directory), ""), "https://dir.example.com/", 200, Redirected},
		"another host":                   {ownPageOf(ldOf(ownBusiness), ""), "https://other.example.org/biz/business-3-400003", 200, Redirected},
		"a list":                         {listPage(9, 9, ""), prairieList, 200, Redirected},
	} {
		if p := parseDetail(t, s, c.body, c.at, c.status); p.Outcome != c.want || p.OwnListing() != nil {
			t.Errorf("%s: %v (%s): %+v, want %v", name, p.Outcome, p.Reason, p.OwnListing(), c.want)
		}
	}
}

func TestDetailIDs(t *testing.T) {
	if p := parseDetail(t, prairieIDs(t, "page"), ownPageOf(ldOf(ownBusiness), ""), ownURL, 200); p.Outcome != OK || p.OwnListing().ID != "LIC-77" {
		t.Errorf("%v (%s): %+v", p.Outcome, p.Reason, p.OwnListing())
	}
	const head = "name: x\nbase_url: https://x.example\nurls: {target: '/{city_slug}?p={page}'}\nchrome: {texts: [x]}\n"
	for text, ok := range map[string]bool{
		"structured: true": true, "structured: true\ndetail: {ids: page}": true, "structured: true\ndetail: {ids: url}": true,
		"structured: true\ndetail: {ids: name}": false, "structured: true\ndetail: {ids: url, path: '/(\\d+)', fields: {name: h1}}": false,
	} {
		s, err := Parse("x.yaml", []byte(head+text))
		if (err == nil) != ok || ok && !s.HasDetails() {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzOwnPage(f *testing.F) {
	f.Add(ownPageOf(ldOf(ownBusiness), "<h1>Business 3</h1>"), ownURL)
	f.Add(`<div itemscope itemtype=Plumber><b itemprop=name>x</b></div>`, "https://dir.example.com/x?id=3")
	s := prairieSource(f)
	f.Fuzz(func(t *testing.T, body, at string) {
		u, err := url.Parse(at)
		if err != nil {
			return
		}
		p, err := s.ParseDetail([]byte(body), u, 200)
		if err == nil && p.Outcome == OK && (p.OwnListing().ID == "" || p.OwnListing().Name == "") {
			t.Errorf("%+v", p.OwnListing())
		}
	})
}
