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
func (d *edition) list(p *page, title, class, letters string, links []string) {
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

func (d *edition) states() []string {
	codes := make([]string, 0, len(d.byState))
	for code := range d.byState {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

func (d *edition) writeSitemap(p *page) {
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

// City is a city as the indexes list it.
type City struct {
	Slug  string `json:"slug"`  // the site's own, of its pages' paths
	Name  string `json:"name"`  // as written: "Ft Huachuca"
	State string `json:"state"` // its code
}

// cities is Directory.Cities of one epoch.
func (d *edition) cities(states []string) []City {
	all := []City{}
	for _, p := range d.places {
		if len(states) == 0 || slices.ContainsFunc(states, func(s string) bool { return strings.EqualFold(s, p.State) }) {
			all = append(all, City{p.Slug, p.listed, p.State})
		}
	}
	slices.SortFunc(all, func(a, b City) int { return strings.Compare(a.Slug, b.Slug) })
	return all
}

// writeState writes a state's cities: those of one letter, or without a letter
// the popular ones. Half of the states still have the older list.
func (d *edition) writeState(p *page, code string, q url.Values) bool {
	code = strings.ToUpper(code)
	cities := slices.Clone(d.byState[code])
	if len(cities) == 0 {
		return false
	}
	letter := strings.ToLower(q.Get("page"))
	if letter != "" {
		cities = slices.DeleteFunc(cities, func(c *place) bool { return !strings.HasPrefix(c.Slug, letter[:1]) })
	} else {
		cities = cities[:min(popular, len(cities))]
	}
	slices.SortFunc(cities, func(a, b *place) int { return strings.Compare(a.Slug, b.Slug) })
	links := d.cityLinks(code, letter, cities)
	class := "column list-content"
	if newDice(d.cfg.Seed, 0x57, uint64(code[0]), uint64(code[1])).pct(0) < 50 {
		class = "cities"
		links = append(append([]string{`<ul class="cities-list">`}, links...), "</ul>")
	}
	d.list(p, "Cities in "+code, class, letters(code), links)
	return true
}

// cityLinks writes the links of a state's index, and among them, as on the real
// site, some that lead to no city: to the state next in the alphabet and to
// pages about the site. One city of a state stands in its list twice.
func (d *edition) cityLinks(code, letter string, cities []*place) []string {
	links := []string{`<li class="more">` + anchor("/categories", "All categories") + `</li>`}
	in := d.byState[code]
	twice := in[newDice(d.cfg.Seed, 0x2c, uint64(code[0]), uint64(code[1])).pick(0, len(in))]
	for _, c := range cities {
		links = append(links, "<li>"+anchor("/"+c.Slug, c.listed)+"</li>")
		if c == twice && letter != "" {
			links = append(links, `<li class="metro">`+anchor("/"+c.Slug, c.listed)+"</li>")
		}
	}
	if len(cities) == 0 {
		links = append(links, `<li class="none">There is no city here that begins with `+encodeUTF8.escape(strings.ToUpper(letter[:1]))+`. Choose another letter.</li>`)
	}
	next := d.stateAfter(code)
	return append(links, `<li class="nearby">`+anchor("/state-"+strings.ToLower(next), "Cities in "+next)+`</li>`,
		`<li class="more">`+anchor("/about-us", "About these pages")+`</li>`)
}

// stateAfter returns the state that follows in the list, the first after the
// last.
func (d *edition) stateAfter(code string) string {
	codes := d.states()
	i, _ := slices.BinarySearch(codes, code)
	return codes[(i+1)%len(codes)]
}

func letters(code string) string {
	var b strings.Builder
	for c := 'a'; c <= 'z'; c++ {
		b.WriteString(`<a href="/state-` + strings.ToLower(code) + `?page=` + string(c) + `">` + string(c-'a'+'A') + `</a>`)
	}
	return b.String()
}

// writeCity writes a city's home page: its categories.
func (d *edition) writeCity(p *page, c *place) {
	var links []string
	for i := range trades {
		links = append(links, `<article>`+anchor("/"+c.Slug+"/"+slugOf(trades[i].name), trades[i].name)+`</article>`)
	}
	d.list(p, "Popular categories in "+encodeUTF8.escape(c.Name)+", "+c.State, "popular-cats", "", links)
}

func (d *edition) writeCategories(p *page) {
	var links []string
	for i := range trades {
		links = append(links, "<li>"+anchor("/categories/"+slugOf(trades[i].name), trades[i].name)+"</li>")
	}
	d.list(p, "Browse categories", "column list-content categories", "", links)
}

// writeCategory writes where a category can be found.
func (d *edition) writeCategory(p *page, slug string) bool {
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
func (d *edition) writeHome(p *page) {
	links := []string{"<li>" + anchor("/sitemap", "Browse by state") + "</li>", "<li>" + anchor("/categories", "Browse by category") + "</li>"}
	for _, c := range d.places[:min(popular, len(d.places))] {
		links = append(links, "<li>"+anchor("/"+c.Slug, c.Name+", "+c.State)+"</li>")
	}
	d.list(p, "Local businesses, reviews and more", "home-links", "", links)
}
