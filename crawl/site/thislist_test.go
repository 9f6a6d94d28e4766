package site

import (
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// TestPageAsBusiness: a page of results that describes itself as a business is no listing, and the only
// listing of a page is one.
func TestPageAsBusiness(t *testing.T) {
	const acme = `{"@type":"Plumber","name":"Acme","url":"/biz/acme-400001"}`
	page := func(head, business string) string {
		return `<html><head>` + head + `<script type="application/ld+json">[` + business + `]</script></head><body><header id="pd-header"></header></body></html>`
	}
	search := func(url string) string {
		return `{"@type":"LocalBusiness","name":"Plumbers in Springfield","url":"` + url + `","identifier":"nct-1","telephone":"217-555-0100"}`
	}
	const title = `<title>Plumbers in Springfield</title>`
	list := strings.TrimSuffix(prairieList, "/")
	paged, err := Parse("paged.yaml", []byte(strings.Replace(prairieDef, "?page={page}", "/{page}", 1)))
	noError(t, err)
	for name, c := range map[string]struct{ body, final, want string }{
		"the page":            {page(title, search(list)+","+acme), list, "400001"},
		"the page, no id":     {page("", strings.Replace(search(list), `"identifier":"nct-1",`, "", 1)+","+acme), list, "400001"},
		"with a slash":        {page(title, search(list+"/")+","+acme), list, "400001"},
		"page 2 of it":        {page(title, search(list)+","+acme), list + "/page-2", "400001"},
		"page 2, number":      {page(title, search(list)+","+acme), list + "/2", "400001"},
		"page 1 and 2":        {page(title, search(list+"/page-1")+","+acme), list + "/page-2", "400001"},
		"its own address":     {page(title+`<link rel="canonical" href="/springfield/plumbers/nct-12">`, search("/springfield/plumbers/nct-12")+","+acme), list, "400001"},
		"one result":          {page(`<title>Acme</title><h1>Acme</h1>`, acme), list, "400001"},
		"one, and its number": {page(`<title>Acme</title>`, strings.Replace(acme, "/biz/acme-400001", list+"/400001", 1)), list, "400001"},
		"another name and id": {page(title, strings.Replace(search(list), "Plumbers in Springfield", "Acme", 1)), list, "nct-1"},
	} {
		var ids []string
		s := prairie(t)
		if strings.HasPrefix(c.final, list+"/") {
			s = paged
		}
		for _, l := range parse(t, s, c.body, c.final, 200).Listings {
			ids = append(ids, l.ID)
		}
		storetest.Equal(t, strings.Join(ids, " "), c.want, name)
	}
}
