package demo

import (
	"net/url"
	"slices"
	"strings"

	"ypcrawl/yp"
)

func slugOf(s string) string { return yp.CategorySlug(s) }

// placeSlug turns "City, ST" into the city's slug.
func placeSlug(where string) string {
	i := strings.LastIndexByte(where, ',')
	if i < 0 {
		return yp.Slug(where)
	}
	return yp.CitySlug(strings.TrimSpace(where[:i]), strings.TrimSpace(where[i+1:]))
}

// popular is how many cities a state's unlettered index shows.
const popular = 20

// list writes a page that is a list of links.
func (d *Directory) list(p *page, title, class, letters string, links []string) {
	v := plainFrame(title, "index")
	v.s[fListClass], v.s[fLetters] = class, letters
	v.s[fList] = strings.Join(links, "\n")
	d.tpl["shell_top"].write(p, v)
	d.tpl["list"].write(p, v)
	d.tpl["shell_bottom"].write(p, v)
}

func anchor(href, text string) string {
	return `<a href="` + href + `">` + encodeUTF8.escape(text) + `</a>`
}

func (d *Directory) states() []string {
	codes := make([]string, 0, len(d.byState))
	for code := range d.byState {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

func (d *Directory) writeSitemap(p *page) {
	var links []string
	for _, code := range d.states() {
		name := code
		if st, ok := yp.LookupState(code); ok {
			name = st.Name
		}
		links = append(links, "<li>"+anchor("/state-"+strings.ToLower(code), name)+"</li>")
	}
	d.list(p, "Site map", "column sitemap list-content", "", links)
}

// writeState writes a state's cities: those of one letter, or without a letter
// the popular ones. Half of the states still have the older list.
func (d *Directory) writeState(p *page, code string, q url.Values) bool {
	code = strings.ToUpper(code)
	cities := slices.Clone(d.byState[code])
	if len(cities) == 0 {
		return false
	}
	if letter := strings.ToLower(q.Get("page")); letter != "" {
		cities = slices.DeleteFunc(cities, func(c *place) bool { return !strings.HasPrefix(c.Slug, letter[:1]) })
	} else {
		cities = cities[:min(popular, len(cities))]
	}
	slices.SortFunc(cities, func(a, b *place) int { return strings.Compare(a.Slug, b.Slug) })
	var links []string
	older := newDice(d.cfg.Seed, 0x57, uint64(code[0]), uint64(code[1])).pct(0) < 50
	for _, c := range cities {
		links = append(links, "<li>"+anchor("/"+c.Slug, c.Name)+"</li>")
	}
	if older {
		links = append(append([]string{`<ul class="cities-list">`}, links...), "</ul>")
		d.list(p, "Cities in "+code, "cities", letters(code), links)
		return true
	}
	d.list(p, "Cities in "+code, "column list-content", letters(code), links)
	return true
}

func letters(code string) string {
	var b strings.Builder
	for c := 'a'; c <= 'z'; c++ {
		b.WriteString(`<a href="/state-` + strings.ToLower(code) + `?page=` + string(c) + `">` + string(c-'a'+'A') + `</a>`)
	}
	return b.String()
}

// writeCity writes a city's home page: its categories.
func (d *Directory) writeCity(p *page, c *place) {
	var links []string
	for i := range trades {
		links = append(links, `<article>`+anchor("/"+c.Slug+"/"+slugOf(trades[i].name), trades[i].name)+`</article>`)
	}
	d.list(p, "Popular categories in "+encodeUTF8.escape(c.Name)+", "+c.State, "popular-cats", "", links)
}

func (d *Directory) writeCategories(p *page) {
	var links []string
	for i := range trades {
		links = append(links, "<li>"+anchor("/categories/"+slugOf(trades[i].name), trades[i].name)+"</li>")
	}
	d.list(p, "Browse categories", "column list-content categories", "", links)
}

// writeCategory writes where a category can be found.
func (d *Directory) writeCategory(p *page, slug string) bool {
	i, ok := d.cats[slug]
	if !ok {
		return false
	}
	var links []string
	for _, c := range d.places[:min(50, len(d.places))] {
		links = append(links, "<li>"+anchor("/"+c.Slug+"/"+slug, trades[i].name+" in "+c.Name+", "+c.State)+"</li>")
	}
	d.list(p, encodeUTF8.escape(trades[i].name), "column list-content", "", links)
	return true
}

// writeHome writes the homepage: the site's chrome, and no cards.
func (d *Directory) writeHome(p *page) {
	links := []string{"<li>" + anchor("/sitemap", "Browse by state") + "</li>", "<li>" + anchor("/categories", "Browse by category") + "</li>"}
	for _, c := range d.places[:min(popular, len(d.places))] {
		links = append(links, "<li>"+anchor("/"+c.Slug, c.Name+", "+c.State)+"</li>")
	}
	d.list(p, "Local businesses, reviews and more", "home-links", "", links)
}
