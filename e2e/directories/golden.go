package directories

import (
	"net/http"
	"strings"

	"ypcrawl/yp"
)

// GoldenPage is a page of a directory as a file, with what was asked for.
type GoldenPage struct {
	Name  string `json:"-"` // first, last, none or failed
	Body  string `json:"-"`
	File  string // of the body, in the same folder
	Place yp.Place
	At    Position
	Head  http.Header `json:",omitempty"` // of the answer, without what says that it is HTML or JSON
}

// Golden are four pages of the directory: the first and the last one of its longest list, the list that has nothing, and a
// failure. base is scheme and host of its definition.
func (d *Directory) Golden(base string) (pages []GoldenPage) {
	longest, none := min(len(sizes), d.Lists())-1, 3
	if longest == none { // which has nothing
		longest = 0
	}
	list := func(i int) (*City, category) { return d.Cities[i/len(d.categories)], d.categories[i%len(d.categories)] }
	city, c := list(longest)
	n := len(shown(d.lists[city.Slug+"/"+c.slug], 0))
	from := (n - 1) / d.Step * d.Step
	for _, p := range []struct {
		name string
		list int
		from int
	}{{"first", longest, 0}, {"last", longest, from}, {"none", none, 0}, {"failed", longest, 0}} {
		city, c := list(p.list)
		a, _ := d.answer(query{city: city.Slug, category: c.slug, from: p.from}, state{}, base)
		at := Position{Page: 1}
		if p.from > 0 {
			at = d.at(p.from, p.from/d.Step+1)
		}
		if p.name == "failed" {
			a = d.fails()
		}
		ending := ".html"
		if strings.Contains(a.Header.Get("Content-Type"), "json") {
			ending = ".json"
		}
		a.Header.Del("Content-Type")
		pages = append(pages, GoldenPage{
			Name: p.name, Body: strings.ReplaceAll(a.Body, Base, base), File: p.name + ending, At: at, Head: a.Header,
			Place: yp.Place{City: city.Name, CitySlug: city.Slug, State: city.State, Category: c.name, CategorySlug: c.slug},
		})
	}
	return pages
}

// Asked is what was asked for, as a file.
func (p *GoldenPage) Asked() []byte {
	return []byte(jsonText(p, "  "))
}
