package directories

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"ypcrawl/yp"
)

// inHTML is a page of HTML.
func inHTML(title, body string) Answer {
	return Answer{
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:   "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>" + html.EscapeString(title) + "</title></head>\n<body>\n" + body + "</body></html>\n",
	}
}

// newNext is a site made with Next.js, whose pages hold what they show in a script of JSON; the cards are drawn in the browser.
func newNext() *Directory {
	d := &Directory{Name: "next", Country: "US", Step: 4, Cities: illinois(), categories: trades()}
	d.asks = func(r *http.Request, _ []byte) (query, bool) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		page := number(r.URL.Query().Get("page"))
		if len(parts) != 3 || page < 1 {
			return query{}, false
		}
		return query{city: parts[1] + "-" + parts[0], category: parts[2], from: (page - 1) * d.Step}, true
	}
	shell := func(data object) Answer {
		text := strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace(strings.TrimSpace(jsonText(data, "")))
		return inHTML("Find a pro", `<div id="__next"><header class="top"><a href="/">Find a pro</a></header><main><div class="skeleton"></div></main></div>
<script id="__NEXT_DATA__" type="application/json">`+text+"</script>\n"+`<script src="/_next/static/chunks/main-0af1.js" defer></script>`+"\n")
	}
	id := func(b *Business) string { return fmt.Sprintf("%s/pro-%d", b.City.Slug, b.N) }
	d.page = func(w window) Answer {
		pros := []object{}
		for _, b := range w.items {
			pro := object{
				"id": id(b), "businessName": b.Name, "contact": object{"phones": []string{b.usPhone()}}, "href": fmt.Sprintf("/pro/%d?ref=list", b.N),
				"addr": []string{b.Street, b.City.Name, b.City.State, b.Postal},
			}
			if b.Site != "" {
				pro["contact"].(object)["web"] = b.Site
			}
			if b.Rating > 0 {
				pro["stars"], pro["reviews"] = fmt.Sprintf("%d.%d", b.Rating/10, b.Rating%10), fmt.Sprintf("%d reviews", b.Reviews)
			}
			pros = append(pros, pro)
		}
		return shell(object{
			"props": object{"pageProps": object{
				"place": w.place.Name, "results": pros, "paging": object{"page": w.number, "perPage": d.Step, "totalResults": w.total},
			}, "__N_SSP": true},
			"page": "/[state]/[city]/[category]", "query": object{"category": w.category}, "buildId": "Zx3k9", "isFallback": false, "gssp": true,
		})
	}
	d.fails = func() Answer {
		return shell(object{
			"props": object{"pageProps": object{"statusCode": 500, "results": []object{}, "paging": object{"page": 1, "totalResults": 0}}, "__N_SSP": true},
			"page":  "/_error", "query": object{}, "buildId": "Zx3k9", "isFallback": false, "gip": true,
		})
	}
	d.listing = func(b *Business) yp.Listing {
		l := b.rated(b.listing(id(b), b.usPhone()))
		l.ProfileURL = fmt.Sprintf("%s/pro/%d", Base, b.N)
		return l
	}
	d.at = func(_, number int) Position { return Position{Page: number} }
	return d.fill()
}

// newRegistry is the register of licences of a board: a table, whose rows lead nowhere. One who has two licences stands in two
// rows. Its pages are turned by a script.
func newRegistry() *Directory {
	d := &Directory{Name: "registry", Country: "US", Step: 4, Cities: illinois(), categories: trades()}
	d.asks = func(r *http.Request, _ []byte) (query, bool) {
		v := r.URL.Query()
		page := number(v.Get("p"))
		return query{city: v.Get("city"), category: v.Get("type"), from: page * d.Step}, r.URL.Path == "/verify/results.aspx" && page >= 0
	}
	id := func(b *Business) string { return fmt.Sprintf("C-%02d/%06d", b.N%90, 7*b.N) }
	d.page = func(w window) Answer {
		rows := ""
		for i, b := range w.items {
			row := fmt.Sprintf(`<tr><td>%s</td><td><b>%s</b><br>DBA: The %[2]s</td><td><i>%s</i></td><td>%s%s%s, %s&nbsp; %s</td><td>%s</td><td>`,
				id(b), html.EscapeString(b.Name), strings.Join(b.Categories, "</i>; <i>"), html.EscapeString(b.Street), []string{"<br>", ", "}[b.N%2], b.City.Name, b.City.State, b.Postal, b.usPhone())
			rows += row + "ACTIVE</td></tr>\n"
			if i == 1 {
				rows += row + "RENEWED</td></tr>\n"
			}
		}
		found := fmt.Sprintf("Licensees %d - %d of %d", w.from+1, w.to, w.total)
		if w.total == 0 {
			found = "0 licensees match your search"
		}
		return registryPage(fmt.Sprintf(`<p id="lblCount">%s</p>
<table id="gvResults"><tr><th>License</th><th>Name</th><th>Classification</th><th>Address</th><th>Phone</th><th>Status</th></tr>
%s<tr class="pager"><td colspan="6"><a href="javascript:__doPostBack('gv','Page$Next')">Next</a></td></tr></table>
`, found, rows))
	}
	d.fails = func() Answer {
		return registryPage(`<p id="lblCount">0 licensees match your search</p>
<p class="error">An error occurred while your request was processed. Please try again later.</p>
<table id="gvResults"></table>
`)
	}
	d.listing = func(b *Business) yp.Listing {
		l := b.listing(id(b), b.usPhone())
		l.Categories, l.Website, l.WebsiteURL, l.Domain = b.Categories, "", "", ""
		return l
	}
	d.at = func(_, number int) Position { return Position{Page: number} }
	return d.fill()
}

// registryPage is a page of the board.
func registryPage(body string) Answer {
	return inHTML("License search", `<div id="boardHeader">State Board of Contractors</div>
<form method="post" action="results.aspx" id="form1"><input type="hidden" name="__VIEWSTATE" value="/wEPDwUK">
`+body+"</form>\n")
}
