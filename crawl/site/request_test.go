package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// asking is a definition that asks as its keys say.
func asking(t *testing.T, keys string) *Source {
	t.Helper()
	switch {
	case strings.Contains(keys, "{cursor}"):
		keys += "\npaging: {cursor: {css: a, attr: data-next}}"
	case strings.Contains(keys, "{offset}"):
		keys += "\npaging: {offset: 0, step: 50}"
	}
	text := strings.Replace(smallDef, "urls:\n  target: /c/{category_slug}/{page}/{city_slug}?p={page}&s=1\n", keys+"\n", 1)
	s, err := Parse("my.yaml", []byte(text))
	noError(t, err)
	return s
}

var portland = yp.Place{City: `O'Neil "&" \`, CitySlug: "o-neil-or", State: "OR", Category: "Bar & Grill", CategorySlug: "bar-grill"}

// TestRequest: what a definition asks for, with its placeholders escaped for where they stand.
func TestRequest(t *testing.T) {
	t.Parallel()
	const post = "urls: {target: {url: /q, method: POST, body: "
	for name, c := range map[string]struct {
		keys string
		at   Position
		want string
	}{
		"path and query": {
			"urls: {target: '/a/{city}?c={city}&k={category}&p={page}'}",
			Position{Page: 2},
			`GET /a/O%27Neil%20%22&%22%20%5C?c=O%27Neil+%22%26%22+%5C&k=Bar+%26+Grill&p=2`,
		},
		"the first page":         {"urls: {target: '/a?p={page}'}", Position{Page: 1}, "GET /a"},
		"an offset, always":      {"urls: {target: '/a?from={offset}'}", Position{Page: 1}, "GET /a?from=0"},
		"an empty cursor":        {"urls: {target: '/a?n=5&after={cursor}'}", Position{Page: 1}, "GET /a?n=5"},
		"a cursor":               {"urls: {target: '/a?n=5&after={cursor}'}", Position{Page: 2, Cursor: "a=/+"}, "GET /a?n=5&after=a%3D%2F%2B"},
		"a method alone":         {"urls: {target: {url: '/a/{page}', method: post}}", Position{Page: 3}, "POST /a/3"},
		"a form":                 {post + "'c={city}&p={page}&after={cursor}'}}", Position{Page: 1}, `POST /q c=O%27Neil+%22%26%22+%5C&p=1`},
		"a form in the middle":   {post + "'a=1&after={cursor}&b={{2'}}", Position{Page: 2, Cursor: "x y"}, `POST /q a=1&after=x+y&b={2`},
		"JSON":                   {post + `{city: "{city}", both: "{state}/{page}", page: "{page}"}}}`, Position{Page: 2}, `POST /q {"city":"O'Neil \"&\" \\","both":"OR/2","page":2}`},
		"numbers as written":     {post + `{a: 1.10, b: 1e3, c: -0, d: "{offset}", e: "7", f: 0x10}}}`, Position{Offset: 50}, `POST /q {"a":1.10,"b":1e3,"c":-0,"d":50,"e":"7","f":16}`},
		"other values":           {post + `{a: [true, null, "{offset}", ~], b: {}, c: [], d: 2026-01-02}}}`, Position{}, `POST /q {"a":[true,null,0,null],"b":{},"c":[],"d":"2026-01-02"}`},
		"a member without value": {post + `{after: "{cursor}", a: ["{cursor}", "{page}"]}}}`, Position{}, `POST /q {"a":[1]}`},
		"a member with one":      {post + `{after: "{cursor}", a: 1}}}`, Position{Cursor: "x\"\n"}, `POST /q {"after":"x\"\u000a","a":1}`},
		"GraphQL": {
			post + `{query: "query Q($c: String) { stores(city: $c) { id } }", variables: {c: "{city_slug}", n: "{page}"}}}}`,
			Position{Page: 4},
			`POST /q {"query":"query Q($c: String) { stores(city: $c) { id } }","variables":{"c":"o-neil-or","n":4}}`,
		},
		"GraphQL without a word": {post + `{query: "{ stores { id } }", n: "{page}"}}}`, Position{}, `POST /q {"query":"{ stores { id } }","n":1}`},
		"another query":          {post + `{query: "{category} in {city_slug} {page}"}}}`, Position{}, `POST /q {"query":"Bar & Grill in o-neil-or 1"}`},
		"a brace":                {post + `{a: "{{{state}}", p: "{page}"}}}`, Position{}, `POST /q {"a":"{OR}","p":1}`},
		"a text of JSON": {
			"headers: {content-type: application/json}\n" + post + `'{{"c":"{city}","p":{page}}'}}`,
			Position{},
			`POST /q {"c":"O'Neil \"&\" \\","p":1}`,
		},
		"a text of XML": {
			"headers: {content-type: text/xml}\n" + post + `'<c>{city}</c>{page}'}}`,
			Position{},
			`POST /q <c>O&apos;Neil &quot;&amp;&quot; \</c>1`,
		},
		"secrets": {
			"headers: {x-key: '${key}'}\nurls: {target: {url: '/q?k=${Key}&p={page}', body: {t: '${TOKEN2}', query: '{a(k: \"${TOKEN}\")}'}}}",
			Position{Page: 2},
			`POST /q?k=${KEY}&p=2 {"t":"${TOKEN2}","query":"{a(k: \"${TOKEN}\")}"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := asking(t, c.keys)
			r := s.TargetRequest(portland, c.at)
			got := strings.TrimSpace(r.Method + " " + strings.TrimPrefix(r.URL, "https://dir.example.com/us") + " " + string(r.Body))
			storetest.Equal(t, got, c.want)
			noError(t, r.Err())
		})
	}
}

// TestRequestTypes: a body says what it is, and a source of JSON what it wants.
func TestRequestTypes(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		"urls: {target: '/a/{page}'}":                                                                 "map[]",
		"urls: {target: {url: /a, body: 'p={page}'}}":                                                 "map[Content-Type:[application/x-www-form-urlencoded]]",
		"urls: {target: {url: /a, body: {p: '{page}'}}}":                                              "map[Content-Type:[application/json]]",
		"urls: {target: {url: /a, body: ['{page}'], headers: {content-type: application/x+json}}}":    "map[Content-Type:[application/x+json]]",
		"headers: {x-a: 1, x-b: 2}\nurls: {target: {url: '/a/{page}', headers: {X-B: 3, X-C: '4 '}}}": "map[X-A:[1] X-B:[3] X-C:[4]]",
	} {
		storetest.Equal(t, fmt.Sprint(asking(t, keys).TargetRequest(portland, Position{}).Header), want, keys)
	}
	storetest.Equal(t, fmt.Sprint(stores(t).TargetRequest(portland, Position{}).Header), "map[Accept:[application/json]]", "JSON")
	api, err := Parse("stores.yaml", []byte(storesYAML+"headers: {accept: x/y}\n"))
	noError(t, err)
	storetest.Equal(t, fmt.Sprint(api.TargetRequest(portland, Position{}).Header), "map[Accept:[x/y]]", "JSON of another type")
	s := asking(t, "headers: {x-a: 1}\nurls: {target: {url: '/a/{page}', headers: {x-b: 2}}}")
	storetest.Equal(t, fmt.Sprint(s.LinkRequest("https://x.example/").Header), "map[X-A:[1]]", "of a link")
}

// TestRequestFaults: what no request can be made of is told with its line.
func TestRequestFaults(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		"urls: {target: {url: '/a/{page}', metod: POST}}":                                                               `my.yaml:3:35: urls.target.metod: unknown key "metod": did you mean "method"?`,
		"urls: {target: {url: '/a/{page}', method: PUT}}":                                                               `my.yaml:3:43: urls.target.method: "PUT": want GET or POST`,
		"urls: {target: {url: '/a/{pag}'}}":                                                                             `my.yaml:3:22: urls.target.url: unknown placeholder {pag}: did you mean {page}?`,
		"urls: {target: {url: /a, body: {p: '{pag}'}}}":                                                                 `my.yaml:3:36: urls.target.body: unknown placeholder {pag}`,
		"urls: {target: {url: /a, body: {p: '{page'}}}":                                                                 `urls.target.body: a brace is not closed in "{page": write {{ for a brace`,
		"urls: {target: {url: /a, body: {p: 1}}}":                                                                       `urls.target: must hold {page}`,
		"urls: {target: {url: /a, body: {p: '{page}', p: 1}}}":                                                          `my.yaml:3:46: urls.target.body: the key "p" is there twice`,
		"urls: {target: {url: /a, body: {p: '{page}', q: .nan}}}":                                                       `my.yaml:3:49: urls.target.body: ".nan" is not a JSON number`,
		"urls: {target: {url: '/${TOKEN}/{page}'}}":                                                                     `my.yaml:3:22: urls.target.url: ${TOKEN} in a path`,
		"urls: {target: '/a?${TOKEN}=1&p={page}'}":                                                                      `${TOKEN} in a parameter's name`,
		"urls: {target: '/a?k=${A-B}&p={page}'}":                                                                        `${A-B}: want only letters and digits`,
		"urls: {target: '/a/../{page}'}":                                                                                `must not have . or .. as a segment`,
		"headers: {host: x}\nurls: {target: '/a/{page}'}":                                                               `my.yaml:3:17: headers.host: ypcrawl itself sets the header Host: remove it`,
		"headers: {te: x, if-match: x, proxy-x: x}\nurls: {target: '/{page}'}":                                          `ypcrawl itself sets the header Proxy-X`,
		"headers: {'a b': x}\nurls: {target: '/a/{page}'}":                                                              `"a b" can't be a header's name`,
		"headers: {a: \"x\\ny\"}\nurls: {target: '/a/{page}'}":                                                          `the value holds control characters`,
		"headers: {A: x, a: y}\nurls: {target: '/a/{page}'}":                                                            `the header A is there twice`,
		"headers: {authorization: Bearer abc}\nurls: {target: '/{page}'}":                                               "headers.authorization: definitions are stored, so keep secrets out of them: write \"Bearer ${TOKEN}\" here, and put the value into the environment variable YPCRAWL_SECRET_NAME_TOKEN",
		"headers: {x-api-key: abc}\nurls: {target: '/{page}'}":                                                          "headers.x-api-key: definitions are stored",
		"headers: {content-type: application/json}\nurls: {target: {url: /a, body: 'p={page}'}}":                        "the text is not JSON",
		"headers: {content-type: application/json}\nurls: {target: {url: /a, body: '{{\"p\": {page}, \"c\": {city}}'}}": "the text is not JSON: put placeholders for texts in quotes",
		"urls: {target: {url: /a, body: {p: '{page}', zip: 02134}}}":                                                    `my.yaml:3:51: urls.target.body: 02134 begins with 0: put it in quotes`,
		"urls: {target: {url: '/a/{page}', headers: {x-a: 's={state}'}}}":                                               `urls.target.headers.x-a: {state} in a header: a placeholder may only be in the address or the body`,
		"detail: {url: /stores/x}\nurls: {target: '/{page}'}":                                                           "detail.url: must hold {id}, such as /stores/{id}",
	} {
		text := strings.Replace(smallDef, "urls:\n  target: /c/{category_slug}/{page}/{city_slug}?p={page}&s=1\n", keys+"\n", 1)
		if _, err := Parse("my.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", keys, err, want)
		}
	}
	asking(t, "headers: {x-api-key: {value: abc, public: true}}\nurls: {target: '/{page}'}")
}

// TestRequestLabel: two bodies at one address are told apart, and an address alone is its own name.
func TestRequestLabel(t *testing.T) {
	t.Parallel()
	s := asking(t, "urls: {target: {url: '/q', body: {p: '{page}'}}, search: '/s?p={page}'}")
	one, two := s.TargetRequest(portland, Position{Page: 1}), s.TargetRequest(portland, Position{Page: 2})
	storetest.Equal(t, one.Label(), "POST https://dir.example.com/us/q ["+one.Digest()+"]")
	storetest.Equal(t, len(one.Digest()), 12)
	if one.Label() == two.Label() || one.Within() == two.Within() {
		t.Errorf("two bodies have one name: %s", one.Label())
	}
	search, _ := s.SearchRequest(portland, Position{Page: 2})
	storetest.Equal(t, search.Label()+" "+search.Within(), "https://dir.example.com/us/s?p=2 /us/s?p=2")
}

// TestDetailRequest: by the id, where the definition says so; a value that would leave its folder is refused.
func TestDetailRequest(t *testing.T) {
	t.Parallel()
	plain := asking(t, "urls: {target: '/{page}'}")
	r, ok := plain.DetailRequest("7", "https://dir.example.com/us/x/7")
	storetest.Equal(t, fmt.Sprint(ok, r.URL, plain.OwnByID()), "truehttps://dir.example.com/us/x/7false")
	if r, ok = plain.DetailRequest("7", ""); ok || !errors.Is(r.Err(), ErrNoOwnPage) {
		t.Errorf("%v %v", ok, r.Err())
	}
	byID := asking(t, "urls: {target: '/{page}'}\ndetail: {url: '/stores/{id}?x={id}'}")
	r, ok = byID.DetailRequest("a/b?", "")
	storetest.Equal(t, fmt.Sprint(ok, r.URL, byID.OwnByID()), "truehttps://dir.example.com/us/stores/a%2Fb%3F?x=a%2Fb%3Ftrue")
	for _, id := range []string{".", "..", "%2e%2e"} {
		r, _ = byID.DetailRequest(id, "")
		if escaped := id[0] == '%'; errors.Is(r.Err(), ErrDotSegment) == escaped {
			t.Errorf("%s: %v at %s", id, r.Err(), r.URL)
		}
	}
}

// TestIndexByBody: indexes at one address, told apart by what is asked.
func TestIndexByBody(t *testing.T) {
	t.Parallel()
	s := yellowWith(t, "base_url: https://x.example\nurls: {state_index: {url: /q, body: {s: '{state}', l: '{letter}'}}}\nindex: {letters: ab}")
	var got []string
	for _, r := range s.IndexRequests("AZ") {
		got = append(got, r.Method+" "+string(r.Body))
	}
	storetest.Equal(t, strings.Join(got, " "), `POST {"s":"AZ"} POST {"s":"AZ","l":"a"} POST {"s":"AZ","l":"b"}`)
	page := column(`<a href="/phoenix-az">Phoenix, AZ</a>`)
	if x := parseIndex(t, s, page, "https://x.example/q", 200, "AZ"); x.Outcome != OK || slugs(x) != "phoenix-az" {
		t.Errorf("%v %s", x.Outcome, x.Reason)
	}
}

// TestSecretNames: the variables of a source's secrets.
func TestSecretNames(t *testing.T) {
	t.Parallel()
	s := asking(t, "headers: {a: '${one}'}\nurls: {target: {url: '/q?k=${TWO}', body: 'p={page}&${THREE}', headers: {b: 'x${one}y'}}}\ndetail: {url: '/{id}?k=${FOUR}'}")
	storetest.Equal(t, fmt.Sprint(s.Secrets()), "[{FOUR YPCRAWL_SECRET_SMALL_FOUR} {ONE YPCRAWL_SECRET_SMALL_ONE} {THREE YPCRAWL_SECRET_SMALL_THREE} {TWO YPCRAWL_SECRET_SMALL_TWO}]")
	s = asking(t, "headers: {a: '{\"x\": {y}}'}\nurls: {target: {url: '/q', body: {k: '${ONE}:{cursor}', of: ['${TWO}']}}}")
	storetest.Equal(t, fmt.Sprint(s.Secrets()), "[{ONE YPCRAWL_SECRET_SMALL_ONE} {TWO YPCRAWL_SECRET_SMALL_TWO}]", "beside what is left out on the first page")
	storetest.Equal(t, SecretName("a-b_c"), "A_B_C")
	moved := s.WithBaseURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
	storetest.Equal(t, moved.SecretOrigin().Host, "dir.example.com")
}

// TestDifferencesOfPositions: a position, and the name of a secret, are no difference.
func TestDifferencesOfPositions(t *testing.T) {
	t.Parallel()
	s := asking(t, "urls: {target: '/{city_slug}?from={offset}&k=${TOKEN}'}")
	u := urlOf(t, "https://dir.example.com/us/o-neil-or?from=50&k=${TOKEN}")
	storetest.Equal(t, fmt.Sprint(s.Differences(u, portland)), "[]")
	u = urlOf(t, "https://dir.example.com/us/salem-or?from=50")
	storetest.Equal(t, fmt.Sprint(s.Differences(u, portland)), "[{city_slug salem-or}]")
}

// FuzzRequest: whatever stands for the placeholders, it stays where it stands: in its segment, its parameter, its member.
func FuzzRequest(f *testing.F) {
	s, err := Parse("f.yaml", []byte(strings.Replace(smallDef, "urls:\n  target: /c/{category_slug}/{page}/{city_slug}?p={page}&s=1\n",
		"urls: {target: {url: '/a/x{city}/b?c={city}&d=1&p={page}', body: {a: {b: 'x{city}y'}, p: '{page}'}}, search: {url: /s, body: 'c={city}&d=1&p={page}'}}\n", 1)))
	if err != nil {
		f.Fatal(err)
	}
	for _, city := range []string{"St. Louis", `a"b\c`, "../..", "a&b=c#d?e/f", "\x00\xff\u2028", "${TOKEN}", "{page}"} {
		f.Add(city)
	}
	f.Fuzz(func(t *testing.T, city string) {
		place := yp.Place{City: city}
		r := s.TargetRequest(place, Position{Page: 2})
		u, err := url.Parse(r.URL)
		if err != nil || r.Err() != nil || u.Path != "/us/a/x"+city+"/b" || u.Query().Get("c") != city || len(u.Query()) != 3 {
			t.Fatalf("%q: %s: %v %v", city, r.URL, err, r.Err())
		}
		var body struct {
			A struct{ B string }
			P int
		}
		valid := strings.ToValidUTF8(city, "\ufffd")
		if err := json.Unmarshal(r.Body, &body); err != nil || body.P != 2 || strings.ToValidUTF8(body.A.B, "\ufffd") != body.A.B {
			t.Fatalf("%q: %s: %v", city, r.Body, err)
		}
		if valid == city && body.A.B != "x"+city+"y" {
			t.Fatalf("%q: %s", city, r.Body)
		}
		search, _ := s.SearchRequest(place, Position{Page: 1})
		form, err := url.ParseQuery(string(search.Body))
		if err != nil || form.Get("c") != city || form.Get("d") != "1" || len(form) != 3 || search.Method != http.MethodPost {
			t.Fatalf("%q: %s: %v", city, search.Body, err)
		}
	})
}
