package site_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"ypcrawl/crawl/site"
)

const tracedHTML = `
name: traced
base_url: http://dir.example
country: DE
states: {BY: Bayern}
categories: [Klempner]
urls: {target: "/{city_slug}/{category_slug}/{page}"}
chrome: {selectors: ["#head"]}
cards: {organic: [.firm]}
detail: {path: '^/firm/(\d+)', marks: {selectors: [.own]}, fields: {name: h1, phone: [.tel, .fon]}}
fields:
  id: {css: a, attr: href, match: '(\d+)$'}
  name: h2
  phone: [.phone, .tel, {css: .call, attr: href}]
  postal_code: .zip
  state: .land
  locality: .place
  categories: .tag
  snippet: .none
  profile_url: {css: a, attr: href}
`

// summary is what a trace says, a rule a line.
func summary(tr *site.Trace, p *site.Page) string {
	var out strings.Builder
	for _, f := range tr.Fields(p) {
		for _, r := range f.Rules {
			fmt.Fprintf(&out, "%s %d/%d %d:%s %d %t", f.Name, f.Listings, tr.Read(), r.Number, r.Rule, r.Cards, r.Needed)
			for _, v := range r.Values {
				fmt.Fprintf(&out, " [%s>%s>%s]", v.Raw, v.Value, v.Why)
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func traced(t *testing.T, definition, at, body string, read func(*site.Source) (*site.Page, error)) string {
	t.Helper()
	src, err := site.Parse("traced.yaml", []byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	src, tr := src.Tracing()
	if read == nil {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		read = func(s *site.Source) (*site.Page, error) { return s.ParseAny([]byte(body), u, 200) }
	}
	p, err := read(src)
	if err != nil {
		t.Fatal(err)
	}
	return summary(tr, p)
}

// TestTraceHTML: the rule that gave a field, on how many cards, and what the country made of it.
func TestTraceHTML(t *testing.T) {
	t.Parallel()
	body := `<html><body><div id=head></div>
<div class=firm><a href="/firm/1">x</a><h2>Eins</h2><p class=phone>(030) 123456</p><p class=tel>030 123457</p>
<p class=zip>10115</p><p class=land>Bayern</p><b class=tag>Rohre</b><b class=tag>Gas</b></div>
<div class=firm><a href="/firm/2">x</a><h2>Zwei</h2><p class=tel>call us</p><p class=zip>1011</p><p class=land>Texas</p></div>
<div class=firm><a href="/firm/3">x</a><h2>Drei</h2><p class=place>80331 München</p></div>
<div class=firm><h2>No id</h2></div>
<script type="application/ld+json">{"@type":"LocalBusiness","name":"Drei","url":"/firm/3","telephone":"030 123458"}</script></body></html>`
	got := traced(t, tracedHTML, "http://dir.example/muenchen/klempner/1", body, nil)
	for _, line := range []string{
		`id 3/4 1:{css: a, attr: href, match: '(\d+)$'} 3 true [/firm/1>1>] [/firm/2>2>]`,
		`name 3/4 1:h2 4 true [Eins>Eins>] [Zwei>Zwei>]`,
		`phone 2/4 1:.phone 1 true [(030) 123456>+4930123456>]`,
		`phone 2/4 2:.tel 1 true [call us>>not a phone number of DE]`,
		`phone 2/4 3:{css: .call, attr: href} 0 true`,
		`phone 2/4 0:JSON-LD 1 true [+4930123458>+4930123458>]`,
		`locality 1/4 1:.place 1 true [80331 München>München, 80331>]`,
		`state 2/4 1:.land 2 true [Bayern>BY>] [Texas>Texas>not a state of DE]`,
		`postal_code 2/4 1:.zip 2 true [10115>10115>] [1011>>not a postal code of DE (#####)]`,
		`postal_code 2/4 0:locality 1 true [80331 München>80331>]`,
		`categories 1/4 1:.tag 1 true [Rohre>Rohre; Gas>]`,
		`snippet 0/4 1:.none 0 true`,
		`profile_url 3/4 1:{css: a, attr: href} 3 true [/firm/1>http://dir.example/firm/1>] [/firm/2>http://dir.example/firm/2>]`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
	own := traced(t, tracedHTML, "http://dir.example/firm/7",
		`<html><body><div id=head></div><div class=own><h1>Sieben</h1><p class=tel>none</p><p class=fon>030 123459</p></div></body></html>`, nil)
	if want := "phone 1/1 2:.fon 1 true [030 123459>+4930123459>]\n"; !strings.Contains(own, want) || !strings.Contains(own, "id 1/1 0:the address 1 true [7>7>]\n") {
		t.Errorf("want %sin\n%s", want, own)
	}
}

// TestTraceUnneeded: a rule that never gave a text where another did is told as such.
func TestTraceUnneeded(t *testing.T) {
	t.Parallel()
	got := traced(t, tracedHTML, "http://dir.example/muenchen/klempner/1", `<html><body><div id=head></div>
<div class=firm><a href="/firm/1">x</a><h2>Eins</h2><p class=phone>(030) 123456</p><p class=tel>030 123457</p></div></body></html>`, nil)
	if want := "phone 1/1 2:.tel 0 false\n"; !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

// TestTraceJSON: items of JSON are traced as cards are, with the steps of their rules.
func TestTraceJSON(t *testing.T) {
	t.Parallel()
	const definition = `
name: traced
base_url: http://dir.example
format: json
chrome: {json: items}
urls: {target: "/{city_slug}/{category_slug}?page={page}"}
paging: {page: 1}
cards: {items: items}
detail: {url: "/own/{id}", fields: {id: {json: id}, name: {json: name}, email: {json: mail}}}
fields:
  id: id
  name: [title, name]
  website: {json: web, steps: [{decode: base64}, {replace: ['x', '']}]}
  state: st
`
	got := traced(t, definition, "http://dir.example/austin-tx/plumbers?page=1",
		`{"items":[{"id":1,"name":"One","web":"aHR0cDovL29uZS54ZXhhbXBsZQ==","st":"Texas"},{"id":2,"name":"Two","st":"Nowhere"}]}`, nil)
	for _, line := range []string{
		`id 2/2 1:id 2 true [1>1>] [2>2>]`,
		`name 2/2 1:title 0 true`,
		`name 2/2 2:name 2 true [One>One>] [Two>Two>]`,
		`website 1/2 1:{json: web, steps: [{decode: base64}, {replace: [x, '']}]} 1 true [aHR0cDovL29uZS54ZXhhbXBsZQ==>https://one.eample>]`,
		`state 1/2 1:st 2 true [Texas>TX>] [Nowhere>>not a state of US]`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
	own := traced(t, definition, "", "", func(s *site.Source) (*site.Page, error) {
		return s.ParseDetail([]byte(`{"items":true,"id":5,"name":"Five","mail":"a@five.example"}`), nil, 200)
	})
	if want := "email 1/1 1:{json: mail} 1 true [a@five.example>a@five.example>]\n"; !strings.Contains(own, want) {
		t.Errorf("no %s in\n%s", want, own)
	}
}

// TestEndsUnsaid: of lists without pagination something in the definition has to prove the end.
func TestEndsUnsaid(t *testing.T) {
	t.Parallel()
	const base = "name: a\nbase_url: http://dir.example\nformat: json\nchrome: {json: items}\ncards: {items: items}\nfields: {id: id, name: name}\n" +
		"urls: {target: '/{city_slug}?p={%s}'}\npaging: %s\n"
	for text, want := range map[string]bool{
		fmt.Sprintf(base, "page", "{page: 1}"):                                true,
		fmt.Sprintf(base, "page", "{page: 1}") + "total: [{json: n}]":         false,
		fmt.Sprintf(base, "page", "{page: 1}") + "empty: {json: [none]}":      false,
		fmt.Sprintf(base, "page", "{page: 1}") + "last: {json: [end]}":        false,
		fmt.Sprintf(base, "cursor", "{cursor: next}") + "empty: {json: [no]}": true, // no page is asked for behind the last
		tracedHTML: false,
	} {
		src, err := site.Parse("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := src.EndsUnsaid() != ""; got != want {
			t.Errorf("%t for %s", got, text)
		}
	}
}
