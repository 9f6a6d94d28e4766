package directories

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"

	"ypcrawl/yp"
)

// newGerman is a German directory whose list grows by a button: each press is a POST that says how many listings are there.
// Websites are in base64, so that the press of a link is counted first.
func newGerman() *Directory {
	d := &Directory{
		Name: "german", Country: "DE", Step: 4,
		Cities: []*City{
			{Name: "München", Slug: "muenchen", State: "BY", area: "89", line: line("234", "345"), postal: func(n int) string { return fmt.Sprintf("803%02d", 31+n%9) }},
			{Name: "Dresden", Slug: "dresden", State: "SN", area: "351", line: line("234", "345"), postal: func(n int) string { return fmt.Sprintf("010%02d", 67+n%9) }},
		},
		categories: []category{{"Klempner", "klempner"}, {"Bäckereien", "baeckereien"}, {"Zahnärzte", "zahnaerzte"}},
	}
	states := map[string]string{"BY": "Bayern", "SN": "Sachsen"}
	d.asks = func(r *http.Request, body []byte) (query, bool) {
		v, err := url.ParseQuery(string(body))
		q := query{from: number(v.Get("ab")), most: number(v.Get("anzahl"))}
		for _, c := range d.categories {
			if c.name == v.Get("was") {
				q.category = c.slug
			}
		}
		for _, c := range d.Cities {
			if c.Name == v.Get("wo") {
				q.city = c.Slug
			}
		}
		return q, err == nil && r.Method == http.MethodPost && r.URL.Path == "/suche/mehr" && q.from >= 0 && q.most > 0
	}
	id := func(b *Business) string { return fmt.Sprintf("bäckerei-müller-%d", b.N) }
	shown := func(b *Business) string {
		p := b.Phone
		return []string{"0" + p.Area + " / " + p.Line, "+49 " + p.Area + " " + p.Line, "(0" + p.Area + ") " + p.Line[:3] + "-" + p.Line[3:], "0049 " + p.Area + " " + p.Line}[b.N%4]
	}
	d.page = func(w window) Answer {
		out := `<section id="trefferliste">` + "\n"
		for _, b := range w.items {
			out += fmt.Sprintf(`<article class="treffer" data-id="%s"><h2>%s</h2>`, id(b), html.EscapeString(b.Name))
			if b.Rating > 0 {
				out += fmt.Sprintf(`<span class="note">%d,%d</span> <span class="anzahl">(%d Bewertungen)</span>`, b.Rating/10, b.Rating%10, b.Reviews)
			}
			if b.Site != "" {
				out += fmt.Sprintf(`<span class="web" data-webseite="%s">Webseite</span>`, base64.StdEncoding.EncodeToString([]byte(b.Site)))
			}
			out += fmt.Sprintf(`<address><span class="str">%s</span>, <span class="plz">D-%s</span> <span class="ort">%s</span> <i>%s</i></address><span class="tel">Tel. %s</span></article>`+"\n",
				html.EscapeString(b.Street), b.Postal, b.City.Name, states[b.City.State], shown(b))
		}
		switch {
		case w.total == 0:
			out += `<p class="leer">Leider keine Treffer.</p>` + "\n"
		case w.last():
			out += `<p class="ende">Keine weiteren Treffer</p>` + "\n"
		default:
			out += `<button id="mehr">Mehr Treffer anzeigen</button>` + "\n"
		}
		return inPart(out + "</section>\n")
	}
	d.fails = func() Answer {
		return inPart(`<section id="trefferliste">` + "\n" + `<p class="leer">Leider keine Treffer.</p><p class="fehler">Es ist ein Fehler aufgetreten.</p></section>` + "\n")
	}
	d.listing = func(b *Business) yp.Listing { return b.rated(b.listing(id(b), shown(b))) }
	d.at = func(from, number int) Position { return Position{Page: number, Offset: from} }
	return d.fill()
}

// inPart is a part of a page of HTML, which a script puts into another.
func inPart(body string) Answer {
	return Answer{Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: body}
}

// newAustralian is an Australian directory, whose pages hold the state of their script.
func newAustralian() *Directory {
	d := &Directory{
		Name: "australian", Country: "AU", Step: 4, categories: trades(),
		Cities: []*City{
			{Name: "Perth", Slug: "perth-wa", State: "WA", area: "8", line: line("9234", "9245"), postal: func(n int) string { return fmt.Sprintf("60%02d", n%9) }},
			{Name: "Darwin", Slug: "darwin-nt", State: "NT", area: "8", line: line("8934", "8945"), postal: func(n int) string { return fmt.Sprintf("08%02d", n%9) }},
		},
	}
	d.asks = func(r *http.Request, _ []byte) (query, bool) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		page := number(r.URL.Query().Get("pageNumber"))
		if len(parts) != 3 || parts[0] != "find" || page < 1 {
			return query{}, false
		}
		return query{category: parts[1], city: parts[2], from: (page - 1) * d.Step}, true
	}
	shell := func(state object) Answer {
		return inHTML("Find a business", `<div id="root"></div><script>window.__CONFIG__ = {"env":"prod"};
window.__INITIAL_STATE__ = `+strings.ReplaceAll(strings.TrimSpace(jsonText(state, "")), "<", `\u003c`)+";</script>\n")
	}
	shown := func(b *Business) string {
		p := b.Phone
		a, c := p.Line[:4], p.Line[4:]
		return []string{"(08) " + a + " " + c, "08 " + a + " " + c, "+61 8 " + a + " " + c, "08" + p.Line}[b.N%4]
	}
	d.page = func(w window) Answer {
		results := []object{}
		for _, b := range w.items {
			results = append(results, object{
				"listing": object{
					"abn": abn(b.N), "name": b.Name, "phone": object{"display": shown(b)}, "website": b.Site,
					"address": object{"line": b.Street, "suburb": b.City.Name, "state": b.City.State, "postcode": b.Postal}, "score": float64(b.Rating) / 5, "votes": b.Reviews,
				},
			})
		}
		return shell(object{"brand": "find", "error": nil, "search": object{"results": results, "pagination": object{"currentPage": w.number, "totalCount": w.total}}})
	}
	d.fails = func() Answer {
		return shell(object{
			"brand": "find", "error": object{"status": 500, "message": "upstream"}, "search": object{"results": []object{}, "pagination": object{"totalCount": 0}},
		})
	}
	d.listing = func(b *Business) yp.Listing { return b.rated(b.listing(abn(b.N), shown(b))) }
	d.at = func(_, number int) Position { return Position{Page: number} }
	return d.fill()
}

// abn is a business number of Australia, with blanks as people write it.
func abn(n int) string { return fmt.Sprintf("51 824 75%d %03d", n/1000, n%1000) }

// newBritish is a British directory, whose cards have their address in one line, with postcodes as their businesses typed them.
func newBritish() *Directory {
	d := &Directory{
		Name: "british", Country: "GB", Step: 4, categories: trades(),
		Cities: []*City{
			{
				Name: "Leeds", Slug: "leeds", area: "113", line: line("234", "345"),
				postal: func(n int) string { return fmt.Sprintf("LS%d %dAP", 1+n%17, n%10) },
			},
			{
				Name: "Kingston upon Hull", Slug: "kingston-upon-hull", area: "1482", line: line("23", "34"),
				postal: func(n int) string { return fmt.Sprintf("HU%d %dQF", 1+n%13, n%10) },
			},
		},
	}
	d.asks = func(r *http.Request, _ []byte) (query, bool) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		page := 1
		if v := r.URL.Query(); v.Has("page") {
			page = number(v.Get("page"))
		}
		if len(parts) != 3 || parts[0] != "search" || page < 1 {
			return query{}, false
		}
		return query{category: parts[1], city: parts[2], from: (page - 1) * d.Step}, true
	}
	shown := func(b *Business) string {
		p := b.Phone
		return []string{"0" + p.Area + " " + p.Line[:3] + " " + p.Line[3:], "(0" + p.Area + ") " + p.Line, "+44 (0)" + p.Area + " " + p.Line, "0" + p.Area + p.Line}[b.N%4]
	}
	d.page = func(w window) Answer {
		out := fmt.Sprintf(`<p class="count">%d results for %s in %s</p>`+"\n", w.total, w.trade.name, w.place.Name)
		if w.total == 0 {
			out = `<p class="none">Sorry, we found nothing for that search.</p>` + "\n"
		}
		for _, b := range w.items {
			code := []string{b.Postal, strings.ReplaceAll(b.Postal, " ", "")}[b.N%2]
			out += fmt.Sprintf(`<li class="biz" id="GB#%d"><h3><a href="/business/%d/">%s</a></h3><p class="addr">%s, %s %s</p><p class="tel">%s</p></li>`+"\n",
				b.N, b.N, html.EscapeString(b.Name), html.EscapeString(b.Street), b.City.Name, code, shown(b))
		}
		if !w.last() {
			out += fmt.Sprintf(`<nav class="pages"><a rel="next" href="?page=%d">Next</a></nav>`+"\n", w.number+1)
		}
		return britishPage(out)
	}
	d.fails = func() Answer {
		return britishPage(`<p class="none">Sorry, we found nothing for that search.</p><p class="oops">Something went wrong at our end.</p>` + "\n")
	}
	d.listing = func(b *Business) yp.Listing {
		b.Site = ""
		l := b.listing(fmt.Sprintf("GB#%d", b.N), shown(b))
		l.ProfileURL = fmt.Sprintf("%s/business/%d/", Base, b.N)
		return l
	}
	d.at = func(_, number int) Position { return Position{Page: number} }
	return d.fill()
}

func britishPage(body string) Answer {
	return inHTML("Local search", `<header id="masthead">Local search</header><main><ul class="results">`+"\n"+body+"</ul></main>\n")
}
