package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// The directory answers two interfaces in JSON, too, from the same businesses as its pages: a list by offset at apiPath, and
// GraphQL at graphQLPath. They are what directories have behind their pages, in the least that shows how such are read.
const (
	apiPath     = "/api/stores"
	graphQLPath = "/graphql"
)

const (
	jsonType   = "application/json"
	apiPerPage = 20 // of an answer that is not asked for a number
	apiMost    = 50 // whatever is asked for: a caller who counts on its own number would skip some
	maxBody    = 64 << 10
)

// answersJSON reports whether a path is that of an interface.
func answersJSON(path string) bool { return path == apiPath || path == graphQLPath }

// store is a business as the interfaces tell it.
type store struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Phone   string   `json:"phone,omitempty"`
	Website string   `json:"website,omitempty"`
	Path    string   `json:"path"` // of its own page
	Tags    []string `json:"tags"`
	Address struct {
		Street string `json:"street,omitempty"`
		City   string `json:"city,omitempty"`
		State  string `json:"state,omitempty"`
		Zip    string `json:"zip,omitempty"`
	} `json:"address"`
	Score   int  `json:"score,omitempty"` // of 100
	Reviews int  `json:"reviews,omitempty"`
	Ad      bool `json:"ad,omitempty"`
}

func (d *edition) store(k key, ad bool) store {
	b := d.business(k)
	s := store{
		ID: k.text(), Name: b.Name, Phone: b.Phone, Website: b.Website, Path: b.Path, Tags: b.Labels,
		Score: 10 * b.Stars, Reviews: b.Reviews, Ad: ad,
	}
	s.Address.Street, s.Address.City, s.Address.State, s.Address.Zip = b.Address.Street, b.Address.City, b.Address.State, b.Address.Zip
	return s
}

// stores returns n of the results of a target, from the one at a place, from 0.
func (d *edition) stores(t *target, from, n int) (all []store) {
	all = []store{}
	for i := from; i < min(from+n, t.total); i++ {
		all = append(all, d.store(d.onPage(t, i/perPage+1)[i%perPage], false))
	}
	return all
}

// targetOf finds a target by the slugs of its city and category; ok is false where there is none.
func (d *edition) targetOf(city, category string) (t target, ok bool) {
	p, cat := d.bySlug[city], 0
	if cat, ok = d.cats[category]; p == nil || !ok {
		return target{}, false
	}
	return d.target(p, cat), true
}

// failure is an error as interfaces tell it.
type failure struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// object is an object of JSON.
type object = map[string]any

func jsonOf(status int, v any) (int, []byte) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // what we have made can be written
	}
	return status, text
}

// apiStores answers /api/stores?city=austin-tx&category=plumbers&from=40&n=20. The ads are before the results, as on pages.
func (d *edition) apiStores(q url.Values) (status int, body []byte) {
	t, ok := d.targetOf(q.Get("city"), q.Get("category"))
	from, n := 0, apiPerPage
	if q.Has("from") {
		from = number(q.Get("from"))
	}
	if q.Has("n") {
		n = number(q.Get("n"))
	}
	switch {
	case from < 0 || n < 1:
		return jsonOf(http.StatusBadRequest, object{"error": failure{"bad_request", "from and n must be numbers"}})
	case !ok:
		return jsonOf(http.StatusNotFound, object{"error": failure{"not_found", "no such city or category"}})
	}
	items := d.stores(&t, from, min(n, apiMost))
	if len(items) > 0 {
		var ads []store
		for _, k := range d.ads(&t, from/perPage+1) {
			ads = append(ads, d.store(k, true))
		}
		items = append(ads, items...)
	}
	return jsonOf(http.StatusOK, object{"total": t.total, "from": from, "items": items})
}

// graphQL answers the operations Cities(state) and Stores(city, category, first, after) by their names, as servers do that
// know their callers' documents: what is under query is not read. As everywhere with GraphQL, errors have status 200.
func (d *edition) graphQL(r *http.Request) (status int, body []byte) {
	var asked struct {
		OperationName string
		Variables     struct {
			State, City, Category, After string
			First                        int
		}
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(text, &asked)
	}
	if err != nil {
		return jsonOf(http.StatusBadRequest, object{"errors": []failure{{Message: "the body is no request of GraphQL"}}})
	}
	wrong := func(format string, args ...any) (int, []byte) {
		return jsonOf(http.StatusOK, object{"errors": []failure{{Message: fmt.Sprintf(format, args...)}}})
	}
	v := asked.Variables
	switch asked.OperationName {
	case "Cities":
		cities := []object{}
		for _, p := range d.byState[strings.ToUpper(v.State)] {
			cities = append(cities, object{"name": p.Name, "slug": p.Slug})
		}
		return jsonOf(http.StatusOK, object{"data": object{"cities": cities}})
	case "Stores":
		t, ok := d.targetOf(v.City, v.Category)
		from, known := 0, true
		if v.After != "" {
			from, known = afterCursor(v.After)
		}
		switch {
		case !ok:
			return wrong("no city %q, or no category %q", v.City, v.Category)
		case !known:
			return wrong("no cursor %q", v.After)
		}
		return jsonOf(http.StatusOK, object{"data": object{"stores": d.connection(&t, from, v.First)}})
	}
	return wrong("unknown operation %q", asked.OperationName)
}

// connection is a part of a target's results, by the GraphQL Cursor Connections Specification.
func (d *edition) connection(t *target, from, first int) object {
	if first < 1 {
		first = apiPerPage
	}
	edges := []object{}
	for i, s := range d.stores(t, from, min(first, apiMost)) {
		edges = append(edges, object{"cursor": cursorOf(from + i + 1), "node": s})
	}
	info := object{"hasNextPage": from+len(edges) < t.total, "endCursor": nil}
	if len(edges) > 0 {
		info["endCursor"] = edges[len(edges)-1]["cursor"]
	}
	return object{"totalCount": t.total, "edges": edges, "pageInfo": info}
}

// cursorOf names the place behind the n-th result; to callers it means nothing.
func cursorOf(n int) string { return "c" + pad(n, 5) }

func afterCursor(cursor string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(cursor, "c")
	n = number(digits)
	return n, ok && n >= 0
}
