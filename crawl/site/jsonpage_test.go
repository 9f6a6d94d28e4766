package site

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ypcrawl/yp"
)

// storesYAML is a directory whose pages are JSON, asked for by offset.
const storesYAML = `
name: stores
base_url: https://api.stores.example
format: json
chrome: {json: [data]}
refused: {json: [error.code]}
empty: {json: [{json: data.stores.total, match: '^0$'}]}
last: {json: [{json: data.more, match: '^false$'}]}
urls:
  target: /stores?city={city_slug}&category={category_slug}&from={offset}
paging: {offset: 0, step: 3}
cards: {items: data.stores.nodes, sponsored: {json: isAd}}
total: [{json: data.stores.total}, {json: data.stores.count}, {header: X-Total}]
detail:
  url: /stores/{id}
  fields: {id: {json: store.id}, name: store.name, email: {json: store.contact.email}, lat: store.at.0, lon: store.at.1}
fields:
  id: id
  name: name
  phone: phone
  website: {json: web, steps: [{decode: base64}]}
  rating: {json: score, steps: [{scale: 0.05}]}
  categories: {json: tags.#.name, all: true}
  street: address.street
  city: address.city
  state: address.state
  postal_code: address.zip
  email: mail
  lat: at.0
  lon: at.1
`

func stores(t *testing.T) *Source {
	t.Helper()
	s, err := Parse("stores.yaml", []byte(storesYAML))
	noError(t, err)
	return s
}

const storeJSON = `{"id":17,"name":"Acme &amp; Sons","phone":"(217) 555-0134","web":"aHR0cHM6Ly9hY21lLmV4YW1wbGUv","score":90,
	"tags":[{"name":"Plumbers"},{"name":"Heating"}],"address":{"street":"12 Main St","city":"Springfield","state":"IL","zip":"62701"},
	"mail":"info@acme.example","at":[39.8,-89.64],"isAd":false}`

func TestJSONPage(t *testing.T) {
	s := stores(t)
	at := urlOf(t, "https://api.stores.example/stores?city=springfield-il&category=plumbers&from=0")
	body := `{"data":{"stores":{"total":7,"nodes":[` + storeJSON + `,{"id":"a/b","name":"Bolt","isAd":true},{"id":17,"name":"again"},{"name":"no id"}]}}}`
	p, err := s.At(Position{Page: 1}).ParsePage([]byte(body), at, 200)
	noError(t, err)
	if p.Outcome != OK || len(p.Listings) != 2 || p.Raw != 4 || p.Organic != 3 || p.Bad != 1 || p.SiteTotal != 7 || p.NextURL != "@offset=3&page=2" {
		t.Errorf("got %v %q: %d listings of %d, %d organic, %d bad, total %d, next %q",
			p.Outcome, p.Reason, len(p.Listings), p.Raw, p.Organic, p.Bad, p.SiteTotal, p.NextURL)
	}
	l := p.Listings[0]
	want := yp.Listing{
		ID: "17", Name: "Acme & Sons", Phone: "(217) 555-0134", PhoneE164: "+12175550134", Website: "https://acme.example",
		WebsiteURL: "https://acme.example/", Domain: "acme.example", Rating: 4.5, Categories: []string{"Plumbers", "Heating"},
		Street: "12 Main St", City: "Springfield", State: "IL", PostalCode: "62701", Email: "info@acme.example", Lat: 39.8, Lon: -89.64,
	}
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.Text(&l) != f.Text(&want) {
			t.Errorf("%s: got %q, want %q", f.Name, f.Text(&l), f.Text(&want))
		}
	}
	if !p.Listings[1].Sponsored || p.Listings[1].ID != "a/b" {
		t.Errorf("got ad %+v", p.Listings[1])
	}
}

// TestJSONOutcomes: what an answer in JSON turns out to be. No error is empty, and no empty list is the end by itself.
func TestJSONOutcomes(t *testing.T) {
	at := urlOf(t, "https://api.stores.example/stores?city=springfield-il&category=plumbers&from=0")
	for name, c := range map[string]struct {
		body   string
		status int
		page   int
		want   Outcome
		reason string
	}{
		"errors, naive chrome and empty": {
			body: `{"errors":[{"message":"internal"}],"data":{"stores":{"nodes":[],"total":0}}}`, want: Failed, reason: `errors "internal"`,
		},
		"errors as an object": {body: `{"errors":{"x":1},"data":{"stores":{"nodes":[],"total":0}}}`, want: Failed},
		"errors as a text":    {body: `{"errors":"oops","data":null}`, want: Failed, reason: `"oops"`},
		"no errors": {
			body: `{"errors":[],"data":{"stores":{"nodes":[],"total":0}}}`, want: NoListings, reason: `data.stores.total "0"`,
		},
		"errors null":           {body: `{"errors":null,"data":{"stores":{"nodes":[],"total":0}}}`, want: NoListings},
		"an error beside":       {body: `{"error":{"message":"down"},"data":{"stores":{"nodes":[],"total":0}}}`, want: Failed, reason: `error "down"`},
		"an error as a text":    {body: `{"Error":"down","data":{"stores":{"nodes":[],"total":0}}}`, want: Failed, reason: `Error "down"`},
		"no error":              {body: `{"error":"","Errors":[],"success":true,"data":{"stores":{"nodes":[],"total":0}}}`, want: NoListings},
		"no success":            {body: `{"success":false,"data":{"stores":{"nodes":[],"total":0}}}`, want: Failed, reason: "success"},
		"a problem":             {body: `{"title":"Out of order","status":503,"data":{"stores":{"nodes":[],"total":0}}}`, want: Failed, reason: "503"},
		"errors: true":          {body: `{"errors":true,"data":{"stores":{"nodes":[],"total":0}}}`, want: Failed},
		"a status that is none": {body: `{"status":404,"data":{"stores":{"nodes":[],"total":0}}}`, want: NoListings},
		"several answers":       {body: `[{"errors":[{"message":"x"}],"data":{"stores":{"nodes":[],"total":0}}}]`, want: Failed},
		"refused":               {body: `{"error":{"code":"E17"},"data":{"stores":{"nodes":[` + storeJSON + `],"total":1}}}`, want: Failed, reason: `error.code "E17"`},
		"refused is null":       {body: `{"error":{"code":null},"data":{"stores":{"nodes":[` + storeJSON + `],"total":1}}}`, want: OK},
		"refused is false":      {body: `{"error":{"code":false},"data":{"stores":{"nodes":[` + storeJSON + `],"total":1}}}`, want: OK},
		"rate limit":            {body: `{"errors":[{"message":"Rate limit exceeded"}]}`, want: Throttled, reason: "too many requests"},
		"throttled by code":     {body: `{"errors":[{"message":"no","extensions":{"code":"THROTTLED"}}]}`, want: Throttled},
		"429 as a code":         {body: `{"error":{"code":429}}`, want: Throttled},
		"empty list alone":      {body: `{"data":{"stores":{"nodes":[]}}}`, want: HTMLChanged, reason: "empty list"},
		"empty list and last":   {body: `{"data":{"more":false,"stores":{"nodes":[]}}}`, want: NoListings, reason: `data.more "false"`},
		"empty behind a total": {
			body: `{"data":{"stores":{"nodes":[],"total":7}}}`, page: 3, want: NoListings, reason: "after all 7 listings",
		},
		"empty with a total on page 1":    {body: `{"data":{"stores":{"nodes":[],"total":7}}}`, page: 1, want: HTMLChanged},
		"items missing":                   {body: `{"data":{"stores":{"total":7}}}`, want: HTMLChanged, reason: "data.stores.nodes"},
		"items null":                      {body: `{"data":{"stores":{"nodes":null,"total":7}}}`, want: HTMLChanged},
		"items missing, and a total of 0": {body: `{"data":{"stores":{"count":0}}}`, want: HTMLChanged, reason: "data.stores.nodes"},
		"items null, and a total of 0":    {body: `{"data":{"stores":{"nodes":null,"count":0}}}`, want: HTMLChanged, reason: "data.stores.nodes"},
		"no items, and a total of 0":      {body: `{"data":{"stores":{"nodes":[],"count":0}}}`, want: NoListings},
		"items a text":                    {body: `{"data":{"stores":{"nodes":"none","total":7}}}`, want: HTMLChanged},
		"items an object":                 {body: `{"data":{"stores":{"nodes":{"a":` + storeJSON + `}}}}`, want: OK},
		"no chrome":                       {body: `{"hello":"world"}`, want: Unrecognised, reason: "chrome"},
		"a challenge in JSON":             {body: `{"message":"Please verify you are human to go on"}`, want: Unrecognised, reason: "verify you are human"},
		"HTML":                            {body: `<html><title>Welcome</title></html>`, want: Unrecognised, reason: `HTML where JSON was expected: "Welcome"`},
		"a challenge in HTML":             {body: `<html><title>x</title><body>Verify you are human</body></html>`, want: Unrecognised, reason: "verify you are human"},
		"nothing":                         {body: ` `, want: Unrecognised, reason: "empty body"},
		"404 with chrome":                 {body: `{"data":null,"errors":[{"message":"not found"}]}`, status: 404, want: NoListings},
		"404 of another":                  {body: `{"message":"no route"}`, status: 404, want: Missing},
		"404 of HTML":                     {body: `<html><title>gone</title></html>`, status: 404, want: Missing},
		"items without names":             {body: `{"data":{"stores":{"nodes":[{"id":1},{"id":2}]}}}`, want: HTMLChanged, reason: "2 items"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := stores(t).At(Position{Page: c.page}).ParsePage([]byte(c.body), at, max(c.status, 200))
			noError(t, err)
			if p.Outcome != c.want || !strings.Contains(p.Reason, c.reason) {
				t.Errorf("got %v %q, want %v with %q", p.Outcome, p.Reason, c.want, c.reason)
			}
			if c.want != OK && len(p.Listings) > 0 {
				t.Errorf("%d listings of a page that is %v", len(p.Listings), c.want)
			}
		})
	}
}

// TestErrorThatIsEmpty: what the definition takes for the sign of an empty result is no error.
func TestErrorThatIsEmpty(t *testing.T) {
	s, err := Parse("stores.yaml", []byte(strings.Replace(storesYAML, "empty: {json: [", "empty: {json: [{json: error.code, match: '^NO_RESULTS$'}, ", 1)+""))
	noError(t, err)
	s, err = Parse("stores.yaml", []byte(strings.Replace(string(s.YAML()), "refused: {json: [error.code]}\n", "", 1)))
	noError(t, err)
	for body, want := range map[string]Outcome{
		`{"error":{"code":"NO_RESULTS"},"data":{"stores":{"nodes":[]}}}`: NoListings,
		`{"error":{"code":"E17"},"data":{"stores":{"nodes":[]}}}`:        Failed,
	} {
		p, err := s.ParsePage([]byte(body), nil, 200)
		noError(t, err)
		if p.Outcome != want {
			t.Errorf("%s: got %v %q, want %v", body, p.Outcome, p.Reason, want)
		}
	}
}

// TestJSONPartly: errors beside listings are GraphQL's answer in part. The listings are there, and the page is no end.
func TestJSONPartly(t *testing.T) {
	body := `{"errors":[{"message":"one shard is down"}],"data":{"more":false,"stores":{"nodes":[` + storeJSON + `],"total":1}}}`
	p, err := stores(t).ParsePage([]byte(body), nil, 200)
	noError(t, err)
	if p.Outcome != OK || len(p.Listings) != 1 || p.Bad != 1 || p.Unread[InPart] != 1 || p.LastMark != "" {
		t.Errorf("got %v, %d listings, %d bad, last %q", p.Outcome, len(p.Listings), p.Bad, p.LastMark)
	}
}

// TestBrokenJSON: nothing is read of JSON that is not whole, and what was cut short may be asked for again.
func TestBrokenJSON(t *testing.T) {
	whole := `{"data":{"stores":{"total":1,"nodes":[` + storeJSON + `]}}}`
	s := stores(t)
	for i := 1; i < len(whole); i++ {
		p, err := s.ParsePage([]byte(whole[:i]), nil, 200)
		if !errors.Is(err, ErrCut) {
			t.Fatalf("cut to %d bytes: got %+v, %v", i, p, err)
		}
	}
	_, err := s.ParsePage([]byte(strings.Replace(whole, `"total":1`, `"total":01`, 1)), nil, 200)
	if err == nil || errors.Is(err, ErrCut) || !strings.Contains(err.Error(), "line 1, column 29") {
		t.Errorf("got %v", err)
	}
}

func TestTotalsOfJSON(t *testing.T) {
	at := Position{Page: 1}
	for name, c := range map[string]struct {
		body   string
		header http.Header
		want   int
	}{
		"a number": {body: `{"data":{"stores":{"total":1108,"nodes":[` + storeJSON + `]}}}`, want: 1108},
		"a text":   {body: `{"data":{"stores":{"total":"1,108","nodes":[` + storeJSON + `]}}}`, want: 1108},
		"about":    {body: `{"data":{"stores":{"total":"1000+","nodes":[` + storeJSON + `]}}}`},
		"at least": {body: `{"data":{"stores":{"relation":"gte","total":10000,"nodes":[` + storeJSON + `]}}}`},
		"exact":    {body: `{"data":{"stores":{"relation":"eq","total":10000,"nodes":[` + storeJSON + `]}}}`, want: 10000},
		"a header": {body: `{"data":{"stores":{"nodes":[` + storeJSON + `]}}}`, header: http.Header{"X-Total": {"93"}}, want: 93},
	} {
		p, err := stores(t).At(at).WithHeader(c.header).ParsePage([]byte(c.body), nil, 200)
		noError(t, err)
		if p.SiteTotal != c.want {
			t.Errorf("%s: got %d, want %d", name, p.SiteTotal, c.want)
		}
	}
}

// TestListAlone: the items of an answer that is a list itself are at #, and a # behind the path to a list changes nothing.
func TestListAlone(t *testing.T) {
	for path, body := range map[string]string{
		"'#'": `[` + storeJSON + `,{"id":18,"name":"Bolt"}]`, "data.#": `{"data":[` + storeJSON + `,{"id":18,"name":"Bolt"}]}`,
	} {
		s, err := Parse("list.yaml", []byte(`
name: list
base_url: https://www.list.example
format: json
chrome: {json: [{header: X-WP-Total}]}
urls: {target: '/wp-json/wp/v2/member?city={city_slug}&category={category_slug}&page={page}'}
cards: {items: `+path+`}
next: [{header: Link}]
total: [{header: X-WP-Total}]
refused: {json: [data.status]}
fields: {id: id, name: name}
`))
		noError(t, err)
		s = s.WithHeader(http.Header{"X-Wp-Total": {"2"}})
		p, err := s.ParsePage([]byte(body), nil, 200)
		noError(t, err)
		if p.Outcome != OK || len(p.Listings) != 2 || p.Listings[1].ID != "18" || p.SiteTotal != 2 {
			t.Errorf("%s: got %v %q, %d listings, total %d", path, p.Outcome, p.Reason, len(p.Listings), p.SiteTotal)
		}
		p, err = s.ParsePage([]byte(`{"code":"internal","data":{"status":500}}`), nil, 200)
		noError(t, err)
		if p.Outcome != Failed {
			t.Errorf("%s: got %v %q of an error", path, p.Outcome, p.Reason)
		}
	}
}

func TestLinkHeader(t *testing.T) {
	for value, want := range map[string]string{
		`<https://x.example/?page=2>; rel="next", <https://x.example/?page=9>; rel="last"`: "https://x.example/?page=2",
		`<https://x.example/?page=1>; rel="prev", </a?b=c,d>; title="a, b"; REL=next`:      "/a?b=c,d",
		`<https://x.example/?page=2>; title="x; rel=next"; rel=prev`:                       "",
		`<https://x.example/?page=9>; rel="last"`:                                          "",
		`<https://x.example/?page=3>; rel="prefetch Next"`:                                 "https://x.example/?page=3",
		`nothing`: "", `<open`: "", "": "",
	} {
		if got := linkOf("Link", value); got != want {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
}

// TestPositions: how pages of lists without links follow each other.
func TestPositions(t *testing.T) {
	s := stores(t)
	page := func(n int) []byte {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.Replace(storeJSON, "17", "17"+strings.Repeat("0", i), 1)
		}
		return []byte(`{"data":{"stores":{"nodes":[` + strings.Join(items, ",") + `]}}}`)
	}
	for name, c := range map[string]struct {
		at    Position
		given int
		want  Position
	}{
		"a full page":        {Position{Page: 1}, 3, Position{Page: 2, Offset: 3}},
		"a short one":        {Position{Page: 1}, 2, Position{Page: 2, Offset: 2, Short: true}},
		"behind a short one": {Position{Page: 2, Offset: 2, Short: true}, 3, Position{Page: 3, Offset: 5}},
		"more than a step":   {Position{Page: 2, Offset: 3}, 5, Position{Page: 3, Offset: 8}},
		"by its window":      {Position{Page: 2, Offset: 3, Window: 3}, 1, Position{Page: 3, Offset: 6, Window: 3}},
		"by a short window":  {Position{Page: 2, Offset: 3, Window: 2}, 1, Position{Page: 3, Offset: 5, Window: 2, Short: true}},
	} {
		p, err := s.At(c.at).ParsePage(page(c.given), nil, 200)
		noError(t, err)
		got, ok := ParsePosition(p.NextURL)
		if !ok || got != c.want {
			t.Errorf("%s: got %q %+v, want %+v", name, p.NextURL, got, c.want)
		}
	}
	for _, p := range []Position{{}, {Page: 3}, {Offset: 40, Short: true, Window: 20}, {Cursor: "a b&c=@é\n"}} {
		if got, ok := ParsePosition(p.String()); !ok || got != p {
			t.Errorf("%+v comes back as %+v from %q", p, got, p.String())
		}
	}
	if _, ok := ParsePosition("/stores?from=3"); ok {
		t.Error("an address is a position")
	}
}

// TestSignOfNothingBesideATotal: a first page that counts listings and shows none is no empty result, whatever the sign of one says.
func TestSignOfNothingBesideATotal(t *testing.T) {
	s, err := Parse("api.yaml", []byte(`
name: api
base_url: https://api.example
urls: {target: '/stores?city={city_slug}&page={page}'}
paging: {page: 1}
format: json
chrome: {json: [stores]}
empty: {json: [{json: 'stores.#', match: '^0$'}]}
total: [total]
cards: {items: stores}
fields: {id: id, name: name}
`))
	noError(t, err)
	for page, want := range map[int]Outcome{1: HTMLChanged, 2: NoListings} {
		p, err := s.At(Position{Page: page}).ParsePage([]byte(`{"stores":[],"total":50}`), nil, 200)
		noError(t, err)
		if p.Outcome != want || page == 1 && !strings.Contains(p.Reason, "total is 50 listings, but it contains none") {
			t.Errorf("page %d: got %v %q", page, p.Outcome, p.Reason)
		}
	}
	p, err := s.At(Position{Page: 1}).ParsePage([]byte(`{"stores":[],"total":0}`), nil, 200)
	noError(t, err)
	if p.Outcome != NoListings {
		t.Errorf("with a total of 0: got %v %q", p.Outcome, p.Reason)
	}
}

// TestNoCursor: what stands in the place of a cursor where no page follows.
func TestNoCursor(t *testing.T) {
	s, err := Parse("api.yaml", []byte(`
name: api
base_url: https://api.example
urls: {target: '/stores?city={city_slug}&after={cursor}'}
paging: {cursor: {json: next}}
format: json
chrome: {json: [stores]}
total: [total]
cards: {items: stores}
fields: {id: id, name: name}
`))
	noError(t, err)
	for next, want := range map[string]string{
		`null`: "", `""`: "", `false`: "", `0`: "", `"0"`: "", `"c1"`: "", `"c2"`: "c2", `17`: "17", `{"a":1}`: "", `"` + strings.Repeat("x", 2049) + `"`: "",
	} {
		p, err := s.At(Position{Page: 2, Cursor: "c1"}).ParsePage([]byte(`{"stores":[{"id":1,"name":"A"}],"next":`+next+`}`), nil, 200)
		noError(t, err)
		if at, _ := ParsePosition(p.NextURL); at.Cursor != want || (p.NextURL != "") != (want != "") {
			t.Errorf("%.20s: got %q", next, p.NextURL)
		}
	}
}

// scriptYAML is a directory whose pages hold their listings in a script.
const scriptYAML = `
name: next
base_url: https://www.next.example
urls: {target: '/{city_slug}/{category_slug}?page={page}'}
chrome: {json: [props.site]}
empty: {json: [{json: props.total, match: '^0$'}]}
next: [{json: props.next}]
total: [{json: props.total}]
`

// TestScript: JSON within a page of HTML is its listings, or says more of those that cards show.
func TestScript(t *testing.T) {
	data := `{"props":{"site":"next","total":2,"next":"/springfield-il/plumbers?page=2","items":[
		{"id":"a1","name":"Acme","phone":"(217) 555-0134","url":"/biz/acme"},{"id":"b2","name":"Bolt","url":"/biz/bolt"}]}}`
	fields := "cards: {items: props.items}\nfields: {id: {json: id}, name: {json: name}, phone: {json: phone}, profile_url: {json: url}}\n"
	at := urlOf(t, "https://www.next.example/springfield-il/plumbers")
	literal := `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`, "\t", "").Replace(data) + `"`
	for name, c := range map[string]struct{ script, html string }{
		"by a selector": {`'script#__NEXT_DATA__'`, `<script id="__NEXT_DATA__" type="application/json">` + data + `</script>`},
		"behind a text": {`{after: 'window.__STATE__ ='}`, `<script>var a=1; window.__STATE__=` + data + `; go()</script>`},
		"parsed":        {`{after: 'window.__STATE__ ='}`, `<script>window.__STATE__ = JSON.parse(` + literal + `);</script>`},
		"in single quotes": {`{after: 'window.__STATE__ ='}`, `<script>window.__STATE__ = JSON.parse('` +
			strings.NewReplacer("\n", `\x0a`, "\t", "").Replace(data) + `');</script>`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("next.yaml", []byte(scriptYAML+"script: "+c.script+"\n"+fields))
			noError(t, err)
			p, err := s.ParsePage([]byte(`<html><body>`+c.html+`</body></html>`), at, 200)
			noError(t, err)
			if p.Outcome != OK || len(p.Listings) != 2 || p.SiteTotal != 2 || p.NextURL != "https://www.next.example/springfield-il/plumbers?page=2" {
				t.Fatalf("got %v %q, %d listings, total %d, next %q", p.Outcome, p.Reason, len(p.Listings), p.SiteTotal, p.NextURL)
			}
			if p.Listings[0].Phone != "(217) 555-0134" || p.Listings[1].ProfileURL != "https://www.next.example/biz/bolt" {
				t.Errorf("got %+v", p.Listings)
			}
			p, err = s.ParsePage([]byte(`<html><body>hello</body></html>`), at, 200)
			noError(t, err)
			if p.Outcome != Unrecognised {
				t.Errorf("without the script: got %v %q", p.Outcome, p.Reason)
			}
		})
	}
	t.Run("beside cards", func(t *testing.T) {
		s, err := Parse("next.yaml", []byte(scriptYAML+`
script: 'script#__NEXT_DATA__'
cards: {organic: [.card], items: props.items}
fields:
  id: [{attr: data-id}, {json: id}]
  name: [h2, {json: name}]
  phone: {json: phone}
  profile_url: [{css: a, attr: href}, {json: url}]
`))
		noError(t, err)
		p, err := s.ParsePage([]byte(`<html><body><div class=card data-id=a1><h2>Acme Inc.</h2></div>
			<div class=card data-id=other><h2>Bolt</h2><a href="/biz/bolt">x</a></div>
			<div class=card data-id=c3><h2>Cog</h2></div>
			<script id="__NEXT_DATA__">`+strings.Replace(data, `"items":[`, `"items":[{"id":"z9","name":"Nobody's"},`, 1)+`</script></body></html>`), at, 200)
		noError(t, err)
		var got []string
		for _, l := range p.Listings {
			got = append(got, l.ID+" "+l.Name+" "+l.Phone)
		}
		if want := "a1 Acme Inc. (217) 555-0134|other Bolt |c3 Cog "; strings.Join(got, "|") != want || p.Unjoined != 1 {
			t.Errorf("got %q, %d on no card", got, p.Unjoined)
		}
	})
}

// TestJoinedByOneAddress: an address that several items or cards have joins none of them. Their query, which is no part of an own
// page's address, may be all that tells them apart.
func TestJoinedByOneAddress(t *testing.T) {
	s, err := Parse("next.yaml", []byte(scriptYAML+`
script: 'script#__NEXT_DATA__'
cards: {organic: [.card], items: props.items}
fields:
  id: [{attr: data-id}, {json: id}]
  name: [h2, {json: name}]
  phone: {json: phone}
  profile_url: [{css: a, attr: href}, {json: url}]
`))
	noError(t, err)
	const card = `<div class=card data-id=%s><h2>%s</h2><a href="%s">x</a></div>`
	const item = `{"id":%d,"name":"x","phone":"(217) 555-013%d","url":"%s"}`
	html := fmt.Sprintf(card, "x1", "Acme", "/store?id=1") + fmt.Sprintf(card, "x2", "Bolt", "/store?id=2") +
		fmt.Sprintf(card, "x3", "Cog", "/shop?id=3") + fmt.Sprintf(card, "x4", "Dot", "/shop?id=4") + fmt.Sprintf(card, "x5", "Elm", "/elm")
	items := fmt.Sprintf(item, 1, 1, "/store?id=1") + "," + fmt.Sprintf(item, 2, 2, "/store?id=2") + "," +
		fmt.Sprintf(item, 3, 3, "/shop?id=3") + "," + fmt.Sprintf(item, 5, 5, "/elm")
	p, err := s.ParsePage([]byte(`<html><body>`+html+`<script id="__NEXT_DATA__">{"props":{"site":"next","items":[`+items+`]}}</script></body></html>`),
		urlOf(t, "https://www.next.example/springfield-il/plumbers"), 200)
	noError(t, err)
	var got []string
	for _, l := range p.Listings {
		got = append(got, l.Name+" "+l.Phone)
	}
	if want := "Acme |Bolt |Cog |Dot |Elm (217) 555-0135"; strings.Join(got, "|") != want || p.Unjoined != 3 {
		t.Errorf("got %q, %d on no card", got, p.Unjoined)
	}
}

// TestJSONOfHTML: JSON where HTML was expected is told as what it is.
func TestJSONOfHTML(t *testing.T) {
	p, err := builtin(t, "demo").ParsePage([]byte(`{"error":"no"}`), nil, 200)
	noError(t, err)
	if p.Outcome != Unrecognised || !strings.Contains(p.Reason, "JSON instead of HTML") {
		t.Errorf("got %v %q", p.Outcome, p.Reason)
	}
}

func TestJSONDetail(t *testing.T) {
	s := stores(t)
	at := urlOf(t, "https://api.stores.example/stores/17")
	for body, want := range map[string]string{
		`{"data":1,"store":{"id":17,"name":"Acme","contact":{"email":"a@acme.example"},"at":["39.8","-89.6"]}}`: "ok a@acme.example 39.8",
		`{"data":1,"store":{"id":17}}`:                                 "html_changed",
		`{"errors":[{"message":"x"}],"store":null}`:                    "failed",
		`{"errors":[{"message":"x"}],"store":{"id":17,"name":"Acme"}}`: "failed",
		`{"hello":1}`: "unrecognised",
	} {
		p, err := s.ParseDetail([]byte(body), at, 200)
		noError(t, err)
		got := p.Outcome.String()
		if l := p.OwnListing(); l != nil {
			got += " " + l.Email + " 39.8"[:5*min(1, int(l.Lat))]
		}
		if got != want {
			t.Errorf("%s: got %q (%s), want %q", body, got, p.Reason, want)
		}
	}
	p, err := s.ParseDetail([]byte(`{"data":null}`), at, 404)
	noError(t, err)
	if p.Outcome != Missing {
		t.Errorf("404 without a sign: %v", p.Outcome)
	}
}

// TestJSONDefinitions: what a definition of JSON lacks, or says of elements, is told by its line.
func TestJSONDefinitions(t *testing.T) {
	base := storesYAML
	for name, c := range map[string]struct{ from, to, want string }{
		"no items":        {"cards: {items: data.stores.nodes, sponsored: {json: isAd}}", "cards: {sponsored: {json: isAd}}", "cards.items is missing"},
		"organic":         {"cards: {items:", "cards: {organic: [.a], items:", "cards.organic: JSON pages have no elements: use cards.items"},
		"css":             {"  id: id\n", "  id: {css: .id}\n", "want a path in the JSON"},
		"a wildcard":      {"  id: id\n", "  id: 'a.*'\n", "have no meaning here"},
		"a header":        {"  id: id\n", "  id: {header: X-Id}\n", "says nothing about a single listing"},
		"two kinds":       {"  id: id\n", "  id: {json: id, attr: x, css: b}\n", "want a path in the JSON"},
		"another format":  {"format: json", "format: jsonl", `did you mean "json"?`},
		"selectors":       {"chrome: {json: [data]}", "chrome: {json: [data], selectors: [.a]}", "chrome.selectors: JSON pages have no elements"},
		"two pagings":     {"paging: {offset: 0, step: 3}", "paging: {offset: 0, page: 1}", "want page, or offset with step, or cursor"},
		"no step":         {"paging: {offset: 0, step: 3}", "paging: {offset: 0}", "paging.step: want the number"},
		"paging and next": {"paging: {offset: 0, step: 3}", "paging: {offset: 0, step: 3}\nnext: [data.next]", "remove next or paging"},
		"a path":          {"  fields: {id: {json: store.id}", "  path: '/stores/(\\d+)'\n  fields: {id: {json: store.id}", "use detail.url"},
		"no id":           {"  fields: {id: {json: store.id}, ", "  fields: {", "detail.fields.id is missing"},
	} {
		if !strings.Contains(base, c.from) {
			t.Fatalf("%s: no %q", name, c.from)
		}
		_, err := Parse("stores.yaml", []byte(strings.Replace(base, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestJSONIndex: the cities of an index of JSON, of one state or of all.
func TestJSONIndex(t *testing.T) {
	index := func(url, more string) *Source {
		s, err := Parse("stores.yaml", []byte(strings.Replace(storesYAML, "urls:\n", "urls:\n  state_index: "+url+"\n", 1)+more))
		noError(t, err)
		return s
	}
	const rules = "index: {items: data.cities, city: name, slug: slug"
	s := index("'/cities?state={state}'", rules+", frame: {json: [data.state]}}\n")
	at := urlOf(t, "https://api.stores.example/cities?state=IL")
	for body, want := range map[string]string{
		`{"data":{"cities":[{"name":"Springfield","slug":"spr-1"},{"name":"Peoria"},{"name":"Peoria"},{"slug":"x"}]}}`: "ok IL/spr-1=Springfield IL/peoria-il=Peoria",
		`{"data":{"state":"IL","cities":[]}}`:                           "no_listings",
		`{"data":{"cities":[]}}`:                                        "html_changed",
		`{"data":{"state":"IL"}}`:                                       "html_changed",
		`{"errors":[{"message":"x"}],"data":{"cities":[{"name":"A"}]}}`: "failed",
		`{"cities":[]}`:                                                 "unrecognised",
	} {
		p, err := s.ParseIndex([]byte(body), at, 200, "IL")
		noError(t, err)
		if got := citiesOf(p); got != want {
			t.Errorf("%s: got %q (%s), want %q", body, got, p.Reason, want)
		}
	}
	s = index("/cities", "country: AU\ncategories: [Plumbers]\n"+rules+", state: region}\n")
	p, err := s.ParseIndex([]byte(`{"data":{"cities":[{"name":"Perth","slug":"perth","region":"Western Australia"},{"name":"Perth","slug":"perth","region":"TAS"},{"name":"Nowhere","region":"XX"}]}}`),
		urlOf(t, "https://api.stores.example/cities"), 200, "")
	noError(t, err)
	if got := citiesOf(p); got != "ok WA/perth=Perth TAS/perth=Perth" {
		t.Errorf("got %q", got)
	}
}

// TestScriptIndex: the cities of an index may be in a script of its page.
func TestScriptIndex(t *testing.T) {
	s, err := Parse("next.yaml", []byte(strings.Replace(scriptYAML, "urls: {", "urls: {state_index: '/{state}', ", 1)+`
script: 'script#d'
cards: {items: props.items}
fields: {id: {json: id}, name: {json: name}}
index: {items: props.cities, city: {json: name}, slug: {json: slug}}
`))
	noError(t, err)
	at := urlOf(t, "https://www.next.example/IL")
	for body, want := range map[string]string{
		`<script id=d>{"props":{"site":1,"cities":[{"name":"Peoria","slug":"p"},{"slug":"q"}]}}</script>`: "ok IL/p=Peoria",
		`<script id=d>{"props":{"site":1}}</script>`:                                                      "html_changed",
		`hello`: "unrecognised",
	} {
		p, err := s.ParseIndex([]byte("<html><body>"+body+"</body></html>"), at, 200, "IL")
		noError(t, err)
		if got := citiesOf(p); got != want {
			t.Errorf("%s: got %q (%s), want %q", body, got, p.Reason, want)
		}
	}
}

// citiesOf is the outcome of an index page with its cities.
func citiesOf(p *Page) string {
	out := p.Outcome.String()
	for _, c := range p.Cities {
		out += " " + c.State + "/" + c.Address + "=" + c.Shown
	}
	return out
}

// TestOneRule: a rule may stand for a list of rules, wherever one is wanted.
func TestOneRule(t *testing.T) {
	s, err := Parse("stores.yaml", []byte(strings.Replace(storesYAML, "total: [{json: data.stores.total}, {json: data.stores.count}, {header: X-Total}]", "total: data.stores.total\nshown: {json: data.range}", 1)))
	noError(t, err)
	p, err := s.ParsePage([]byte(`{"data":{"range":"1-1","stores":{"total":7,"nodes":[`+storeJSON+`]}}}`), nil, 200)
	noError(t, err)
	if p.SiteTotal != 7 || p.RangeEnd != 1 {
		t.Errorf("got total %d, range to %d", p.SiteTotal, p.RangeEnd)
	}
}
