package demo_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ypcrawl/crawl/demo"
	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// The interfaces of the directory, as definitions of sources read them.
const (
	apiYAML = `
name: api
base_url: http://127.0.0.1
format: json
chrome: {json: [items]}
urls: {target: '/api/stores?city={city_slug}&category={category_slug}&from={offset}&n=25'}
paging: {offset: 0, step: 25}
total: [{json: total}]
cards: {items: items, sponsored: {json: ad}}
fields: {id: id, name: name, phone: phone, website: website}
`
	graphQLYAML = `
name: graphql
base_url: http://127.0.0.1
format: json
chrome: {json: [data]}
urls:
  target:
    url: /graphql
    body: {operationName: Stores, variables: {city: '{city_slug}', category: '{category_slug}', first: 25, after: '{cursor}'}}
  state_index: {url: /graphql, body: {operationName: Cities, variables: {state: '{state}'}}}
paging: {cursor: {json: data.stores.pageInfo.endCursor}}
last: {json: [{json: data.stores.pageInfo.hasNextPage, match: '^false$'}]}
total: [{json: data.stores.totalCount}]
index: {items: data.cities, city: name, slug: slug}
cards: {items: data.stores.edges}
fields: {id: node.id, name: node.name, phone: node.phone, website: node.website}
`
)

// ask sends a request of a source.
func ask(d http.Handler, r site.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(r.Method, r.URL, strings.NewReader(string(r.Body))))
	return w
}

// list reads all pages of a list, and returns what each organic listing says in its order.
func list(t *testing.T, d http.Handler, src *site.Source, place yp.Place) (all []string) {
	t.Helper()
	for at := (site.Position{Page: 1}); ; {
		r := src.TargetRequest(place, at)
		w := ask(d, r)
		final, err := url.Parse(r.URL)
		if err != nil {
			t.Fatal(err)
		}
		p, err := src.At(at).ParsePage(w.Body.Bytes(), final, w.Code)
		if err != nil || p.Outcome != site.OK || p.SiteTotal == 0 {
			t.Fatalf("%s %s: %v %v %s, total %d", r.URL, r.Body, err, p.Outcome, p.Reason, p.SiteTotal)
		}
		for _, l := range p.Listings {
			if !l.Sponsored {
				all = append(all, l.ID+" "+l.Name+" "+l.Phone+" "+l.Website)
			}
		}
		if p.NextURL == "" {
			return all
		}
		var ok bool
		if at, ok = site.ParsePosition(p.NextURL); !ok {
			at = site.Position{Page: number(t, p.NextURL)}
		}
	}
}

// number is the page that an address names.
func number(t *testing.T, address string) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(address[strings.LastIndexByte(address, '=')+1:], "%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestInterfaces: the interfaces tell the businesses of the pages, in every epoch.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	pages, err := site.Builtin("demo")
	if err != nil {
		t.Fatal(err)
	}
	api, err := site.Parse("api.yaml", []byte(apiYAML))
	if err != nil {
		t.Fatal(err)
	}
	graphQL, err := site.Parse("graphql.yaml", []byte(graphQLYAML))
	if err != nil {
		t.Fatal(err)
	}
	d, _ := setup(t, demo.Config{})
	place := yp.Place{City: "Austin", State: "TX", CitySlug: "austin-tx", Category: "Plumbers", CategorySlug: "plumbers"}
	for _, epoch := range []int{0, 7} {
		if err := d.SetEpoch(epoch); err != nil {
			t.Fatal(err)
		}
		want := list(t, d, pages, place)
		for _, src := range []*site.Source{api, graphQL} {
			if got := list(t, d, src, place); len(want) < 100 || !slices.Equal(distinct(got), distinct(want)) {
				t.Errorf("epoch %d, %s: %d listings, the pages have %d", epoch, src.Name(), len(got), len(want))
			}
		}
		w := ask(d, graphQL.IndexRequests("TX")[0])
		p, err := graphQL.ParseIndex(w.Body.Bytes(), nil, w.Code, "TX")
		if err != nil || len(p.Cities) != len(d.Cities("TX")) {
			t.Errorf("epoch %d: %v, %d cities, want %d: %s", epoch, err, len(p.Cities), len(d.Cities("TX")), p.Reason)
		}
	}
}

// distinct are texts, sorted and each once: a page lists a business once, and pages of other lengths divide a list otherwise.
func distinct(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

func TestInterfaceErrors(t *testing.T) {
	t.Parallel()
	d, _ := setup(t, demo.Config{})
	post := func(body string) site.Request {
		return site.Request{Method: http.MethodPost, URL: "/graphql", Body: []byte(body)}
	}
	stores := func(city, after string) site.Request {
		return post(`{"operationName":"Stores","variables":{"city":"` + city + `","category":"plumbers","after":"` + after + `"}}`)
	}
	at := func(uri string) site.Request { return site.Request{Method: http.MethodGet, URL: uri} }
	for name, c := range map[string]struct {
		ask    site.Request
		status int
		want   string
	}{
		"no such city":         {at("/api/stores?city=atlantis-tx&category=plumbers"), 404, `{"error":{"code":"not_found",`},
		"no such category":     {at("/api/stores?city=austin-tx&category=alchemists"), 404, `{"error":{"code":"not_found",`},
		"no number":            {at("/api/stores?city=austin-tx&category=plumbers&from=x"), 400, `{"error":{"code":"bad_request",`},
		"behind the last":      {at("/api/stores?city=austin-tx&category=plumbers&from=5000"), 200, `{"from":5000,"items":[],"total":793}`},
		"a page of GraphQL":    {at("/graphql"), 405, "only POST"},
		"a POST of a list":     {site.Request{Method: http.MethodPost, URL: "/api/stores"}, 405, "only GET and HEAD"},
		"no JSON":              {post("stores"), 400, `{"errors":[{"message":"the body is no request`},
		"no such operation":    {post(`{"operationName":"Mayors"}`), 200, `{"errors":[{"message":"unknown operation \"Mayors\""}]}`},
		"a city of GraphQL":    {stores("atlantis-tx", ""), 200, `{"errors":[{"message":"no city`},
		"no such cursor":       {stores("austin-tx", "x"), 200, `{"errors":[{"message":"no cursor`},
		"a state without any":  {post(`{"operationName":"Cities","variables":{"state":"ZZ"}}`), 200, `{"data":{"cities":[]}}`},
		"a search for nothing": {stores("austin-tx", "c09999"), 200, `"endCursor":null,"hasNextPage":false`},
	} {
		w := ask(d, c.ask)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: status %d, %s", name, w.Code, w.Body)
		}
		if w.Code != 405 && !json.Valid(w.Body.Bytes()) || w.Code != 405 && w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s is no JSON: %s", name, w.Header().Get("Content-Type"))
		}
	}
	var page struct{ Items []struct{ Ad bool } }
	w := get(d, "/api/stores?city=austin-tx&category=plumbers&n=999")
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	organic := 0
	for _, s := range page.Items {
		if !s.Ad {
			organic++
		}
	}
	if organic != 50 || organic == len(page.Items) {
		t.Errorf("%d results and %d ads, want 50 and some", organic, len(page.Items)-organic)
	}
}
