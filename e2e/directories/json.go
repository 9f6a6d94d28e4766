package directories

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// object is JSON that a directory answers.
type object = map[string]any

// inJSON writes a value as an answer.
func inJSON(v any) Answer {
	return Answer{Header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, Body: jsonText(v, "  ")}
}

// jsonText writes a value without escaping what HTML would read.
func jsonText(v any, indent string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return out.String()
}

// number reads a parameter.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// newOffset is a directory over a search engine, whose answers it hands on: hits with their sources, a total with its
// relation, one ad on each page.
func newOffset() *Directory {
	d := &Directory{Name: "offset", Country: "US", Step: 20, Cities: illinois(), categories: trades()}
	d.asks = func(r *http.Request, _ []byte) (query, bool) {
		v := r.URL.Query()
		from, size := number(v.Get("from")), number(v.Get("size"))
		q := query{city: v.Get("city"), category: v.Get("category"), from: max(from, 0), most: max(size, 0)}
		return q, r.URL.Path == "/api/v1/search" && from >= 0 && size > 0
	}
	d.page = func(w window) Answer {
		hits := []object{}
		if w.total > 0 {
			hits = append(hits, object{
				"_index": "ads", "_id": "ad-" + w.query.city, "_score": nil, "_source": object{"name": "Always First " + w.trade.name, "sponsored": true},
			})
		}
		for _, b := range w.items {
			from := object{
				"name": b.Name, "sponsored": false, "phone": b.usPhone(), "score": 2 * b.Rating, "reviews": b.Reviews, "tags": b.Categories,
				"address":  object{"line1": b.Street, "city": b.City.Name, "region": b.City.State, "zip": b.Postal},
				"location": object{"lat": b.Lat, "lon": b.Lon}, "mail": fmt.Sprintf("Info@Shop%d.example", b.N),
			}
			if b.Site != "" {
				from["url"] = b.Site
			}
			hits = append(hits, object{"_index": "businesses", "_id": b.N + 1000, "_score": 1.5, "_source": from})
		}
		return inJSON(object{
			"took": 3, "timed_out": false, "_shards": object{"total": 5, "failed": 0},
			"hits": object{"total": object{"value": w.total, "relation": "eq"}, "max_score": 1.5, "hits": hits},
		})
	}
	d.fails = func() Answer {
		return inJSON(object{
			"took": 30000, "timed_out": true, "_shards": object{"total": 5, "failed": 5},
			"error": object{"type": "search_phase_execution_exception", "reason": "all shards failed"},
			"hits":  object{"total": object{"value": 0, "relation": "eq"}, "hits": []object{}},
		})
	}
	d.listing = func(b *Business) yp.Listing {
		l := b.at(b.rated(b.listing(strconv.Itoa(b.N+1000), b.usPhone())))
		l.Categories, l.Email = b.Categories, fmt.Sprintf("Info@shop%d.example", b.N)
		return l
	}
	d.at = func(from, number int) Position { return Position{Page: number, Offset: from} }
	return d.fill()
}

// newGraphQL is a directory by GraphQL: a connection, whose cursors are good for one page each.
func newGraphQL() *Directory {
	d := &Directory{Name: "graphql", Country: "US", Step: 4, Cities: illinois(), categories: trades()}
	cursor := func(era, to int) string {
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "era:%d?>offset:%d", era, to))
	}
	id := func(b *Business) string { return base64.StdEncoding.EncodeToString([]byte(fmt.Sprint("Store:", b.N))) }
	d.asks = func(r *http.Request, body []byte) (query, bool) {
		var asked struct {
			OperationName, Query string
			Variables            struct {
				City, State, Category string
				First                 int
				After                 *string
			}
		}
		err := json.Unmarshal(body, &asked)
		v := asked.Variables
		q := query{city: strings.ToLower(v.City + "-" + v.State), category: v.Category, most: v.First}
		if v.After != nil {
			text, err := base64.StdEncoding.DecodeString(*v.After)
			n, _ := fmt.Sscanf(string(text), "era:%d?>offset:%d", &q.era, &q.from)
			q.bad = err != nil || n != 2
		}
		return q, err == nil && r.Method == http.MethodPost && r.URL.Path == "/graphql" && asked.OperationName == "Stores" &&
			strings.HasPrefix(asked.Query, "query Stores(") && r.Header.Get("X-Client") == "web"
	}
	d.page = func(w window) Answer {
		edges := []object{}
		for i, b := range w.items {
			var web any
			if b.Site != "" {
				web = b.Site
			}
			edges = append(edges, object{"cursor": cursor(w.mint, w.from+i+1), "node": object{
				"__typename": "Store", "id": id(b), "name": b.Name, "phone": b.usPhone(), "website": web, "rating": float64(b.Rating) / 10, "reviewCount": b.Reviews,
				"address": object{"street": b.Street, "city": b.City.Name, "state": b.City.State, "postalCode": b.Postal},
			}})
		}
		info := object{"hasNextPage": !w.last(), "endCursor": nil}
		if len(edges) > 0 {
			info["endCursor"] = cursor(w.mint, w.to)
		}
		return inJSON(object{"data": object{"stores": object{"totalCount": w.total, "edges": edges, "pageInfo": info}}})
	}
	d.behind = func(query) Answer {
		return inJSON(object{"data": nil, "errors": []object{{"message": "Invalid cursor", "path": []string{"stores"}}}})
	}
	d.fails = func() Answer {
		return inJSON(object{
			"errors": []object{{"message": "Internal server error", "path": []string{"stores"}, "extensions": object{"code": "INTERNAL_SERVER_ERROR"}}},
			"data":   object{"stores": object{"totalCount": 0, "edges": []object{}, "pageInfo": object{"hasNextPage": false, "endCursor": nil}}},
		})
	}
	d.listing = func(b *Business) yp.Listing { return b.rated(b.listing(id(b), b.usPhone())) }
	d.at = func(from, number int) Position { return Position{Page: number, Cursor: cursor(0, from)} }
	return d.fill()
}

// newWordPress is the directory of a chamber of commerce by the REST interface of WordPress: an answer is a list, what is
// said of it stands in its header, and texts are HTML.
func newWordPress() *Directory {
	d := &Directory{Name: "wordpress", Country: "US", Step: 4, Cities: illinois(), categories: trades()}
	const path = "/wp-json/wp/v2/member"
	d.asks = func(r *http.Request, _ []byte) (query, bool) {
		v := r.URL.Query()
		page, size := number(v.Get("page")), number(v.Get("per_page"))
		if !v.Has("page") {
			page = 1
		}
		return query{city: v.Get("city"), category: v.Get("category"), from: (page - 1) * size, most: size}, r.URL.Path == path && page > 0 && size > 0
	}
	d.page = func(w window) Answer {
		members := []object{}
		for _, b := range w.items {
			members = append(members, object{
				"id": b.N, "slug": fmt.Sprint("member-", b.N), "status": "publish", "type": "member", "link": fmt.Sprintf("%s/member/member-%d/", Base, b.N),
				"title": object{"rendered": wpTexturize.Replace(b.Name)}, "acf": object{
					"phone": b.usPhone(), "website": b.Site, "street": b.Street, "city": b.City.Name, "state": "Illinois", "zip": b.Postal,
				},
			})
		}
		a := inJSON(members)
		pages := (w.total + d.Step - 1) / d.Step
		a.Header["X-WP-Total"], a.Header["X-WP-TotalPages"] = []string{strconv.Itoa(w.total)}, []string{strconv.Itoa(pages)}
		link := func(page int, rel string) string {
			return fmt.Sprintf(`<%s%s?category=%s&city=%s&per_page=%d&page=%d>; rel="%s"`, w.base, path, w.category, w.city, d.Step, page, rel)
		}
		var links []string
		if w.number > 1 {
			links = append(links, link(w.number-1, "prev"))
		}
		if w.number < pages {
			links = append(links, link(w.number+1, "next"))
		}
		if len(links) > 0 {
			a.Header["Link"] = []string{strings.Join(links, ", ")}
		}
		return a
	}
	d.behind = func(query) Answer {
		a := inJSON(object{
			"code": "rest_post_invalid_page_number", "message": "The page number requested is larger than the number of pages available.",
			"data": object{"status": 400},
		})
		a.Status = http.StatusBadRequest
		return a
	}
	d.fails = func() Answer {
		return inJSON(object{
			"code": "internal_server_error", "message": "<p>There has been a critical error on this website.</p>", "data": object{"status": 500},
			"additional_errors": []string{},
		})
	}
	d.listing = func(b *Business) yp.Listing {
		l := b.listing(strconv.Itoa(b.N), b.usPhone())
		l.ProfileURL = fmt.Sprintf("%s/member/member-%d/", Base, b.N)
		return l
	}
	d.at = func(_, number int) Position { return Position{Page: number} }
	return d.fill()
}

// wpTexturize writes a title as WordPress renders it.
var wpTexturize = strings.NewReplacer("&", "&#038;", "’", "&#8217;", "“", "&#8220;", "”", "&#8221;")

// newFinder finds the stores around a point: they are the members of an object.
func newFinder() *Directory {
	d := &Directory{Name: "finder", Country: "US", Step: 4, Cities: illinois(), categories: trades()}
	d.asks = func(r *http.Request, _ []byte) (query, bool) {
		v := r.URL.Query()
		page := number(v.Get("page"))
		q := query{category: v.Get("filter"), from: page * d.Step}
		for _, c := range d.Cities {
			if v.Get("lat") == fmt.Sprint(c.Lat) && v.Get("lng") == fmt.Sprint(c.Lon) {
				q.city = c.Slug
			}
		}
		return q, r.URL.Path == "/stores/near" && page >= 0 && v.Get("radius") == "40"
	}
	id := func(b *Business) string { return fmt.Sprintf("%s-%04d", b.City.State, b.N) }
	d.page = func(w window) Answer {
		stores := object{}
		for _, b := range w.items {
			stores[id(b)] = object{
				"storeNumber": id(b), "storeName": b.Name, "tel": "tel:" + b.Phone.E164(), "web": b.Site, "distance": 1.5,
				"addressLine1": b.Street, "city": b.City.Name, "stateCode": b.City.State, "zip": b.Postal,
				"position": fmt.Sprintf("%g,%g", b.Lat, b.Lon),
			}
		}
		return inJSON(object{"ok": true, "count": w.total, "page": w.number - 1, "stores": stores})
	}
	d.fails = func() Answer {
		return inJSON(object{"ok": false, "error": "Query timed out", "count": 0, "page": 0, "stores": object{}})
	}
	d.listing = func(b *Business) yp.Listing { return b.at(b.listing(id(b), b.Phone.E164())) }
	d.at = func(_, number int) Position { return Position{Page: number} }
	return d.fill()
}

// newSeeds is a directory by GraphQL alone: the cities of a state, the stores of a city, a store.
func newSeeds() *Directory {
	d := &Directory{
		Name: "seeds", Country: "US", Step: 4, categories: []category{{"Stores", "stores"}},
		Cities: append(illinois(),
			&City{Name: "Phoenix", Slug: "phoenix-az", State: "AZ", Lat: 33.4, Lon: -112.1, area: "602", line: line("234", "345"), postal: zip("850")},
			&City{Name: "Zzyzx Flats", Slug: "zzyzx-flats-az", State: "AZ", Lat: 34, Lon: -111, area: "602", line: line("234", "345"), postal: zip("863")}),
	}
	type variables struct {
		State, City, ID string
		From            int
	}
	read := func(r *http.Request, body []byte) (operation string, v variables) {
		var asked struct {
			OperationName, Query string
			Variables            variables
		}
		if r.Method == http.MethodPost && r.URL.Path == "/api/graphql" && json.Unmarshal(body, &asked) == nil && asked.Query != "" {
			return asked.OperationName, asked.Variables
		}
		return "", v
	}
	cityID := func(c *City) string { return "city_" + c.Slug }
	id := func(b *Business) string { return fmt.Sprintf("store_%05d", b.N) }
	d.asks = func(r *http.Request, body []byte) (query, bool) {
		operation, v := read(r, body)
		return query{city: strings.TrimPrefix(v.City, "city_"), category: "stores", from: v.From}, operation == "StoresByCity"
	}
	d.other = func(r *http.Request, body []byte, epoch int) (Answer, bool) {
		switch operation, v := read(r, body); operation {
		case "CitiesByState":
			cities := []object{}
			for _, c := range d.Cities {
				if c.State == v.State {
					cities = append(cities, object{"id": cityID(c), "displayName": c.Name, "stateCode": c.State, "storeCount": 1})
				}
			}
			return inJSON(object{"data": object{"state": object{"code": v.State, "cities": cities}}}), true
		case "Store":
			for _, b := range shown(d.all, epoch) {
				if id(b) == v.ID {
					return inJSON(object{"data": object{"store": object{
						"__typename": "Store", "id": id(b), "name": b.Name, "contact": object{"email": fmt.Sprintf("hello@shop%d.example", b.N), "url": b.Site},
						"coordinates": object{"latitude": b.Lat, "longitude": b.Lon}, "spoken": []string{"English", "Español"},
					}}}), true
				}
			}
			a := inJSON(object{"data": object{"store": nil}, "errors": []object{{"message": "Store not found"}}})
			a.Status = http.StatusNotFound
			return a, true
		}
		return Answer{}, false
	}
	d.page = func(w window) Answer {
		stores := []object{}
		for _, b := range w.items {
			stores = append(stores, object{
				"id": id(b), "name": b.Name, "tel": b.usPhone(), "address": object{"line1": b.Street, "city": b.City.Name, "state": b.City.State, "zip": b.Postal},
				"rating": object{"average": float64(b.Rating) / 10, "count": b.Reviews},
			})
		}
		return inJSON(object{"data": object{"city": object{"id": cityID(w.place), "stores": object{"total": w.total, "nodes": stores}}}})
	}
	d.fails = func() Answer {
		return inJSON(object{
			"errors": []object{{"message": "Timeout of a subgraph", "extensions": object{"code": "DOWNSTREAM_SERVICE_ERROR"}}},
			"data":   object{"city": object{"stores": object{"total": 0, "nodes": []object{}}}, "state": object{"cities": []object{}}, "store": nil},
		})
	}
	d.listing = func(b *Business) yp.Listing {
		l := b.at(b.rated(b.listing(id(b), b.usPhone())))
		l.Email, l.Languages = fmt.Sprintf("hello@shop%d.example", b.N), []string{"English", "Español"}
		return l
	}
	d.at = func(from, number int) Position { return Position{Page: number, Offset: from} }
	return d.fill()
}
