package demo

import (
	"maps"
	"net/url"
	"slices"
	"sort"
	"strings"

	"ypcrawl/yp"
)

// popular is how many cities a state's unlettered index shows.
const popular = 20

// list writes a page that is a list of links.
func (d *edition) list(title, class, letters string, links []string) []byte {
	v := plainFrame(title, "index")
	v["list_class"], v["letters"], v["list"] = class, letters, strings.Join(links, "\n")
	return d.page("list", v)
}

func anchor(href, text string) string {
	return `<a href="` + href + `">` + escape(text) + `</a>`
}

func (d *edition) states() []string { return slices.Sorted(maps.Keys(d.byState)) }

func (d *edition) sitemapPage() []byte {
	var links []string
	for _, code := range d.states() {
		name := code
		if st, ok := yp.LookupState(code); ok {
			name = st.Name
		}
		links = append(links, "<li>"+anchor("/state-"+strings.ToLower(code), name)+"</li>")
	}
	return d.list("Site map", "column sitemap list-content", "", links)
}

// City is a city as the indexes list it.
type City struct {
	Slug  string `json:"slug"`  // the site's own, of its pages' paths
	Name  string `json:"name"`  // as written: "Ft Huachuca"
	State string `json:"state"` // its code
}

// Cities lists what a walk through the indexes of the given states (codes;
// none = all) must find in the present epoch, sorted by slug.
func (d *Directory) Cities(states ...string) []City {
	all := []City{}
	for _, p := range d.now.Load().places {
		if len(states) == 0 || slices.ContainsFunc(states, func(s string) bool { return strings.EqualFold(s, p.State) }) {
			all = append(all, City{p.Slug, p.listed, p.State})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Slug < all[j].Slug })
	return all
}

// statePage writes a state's cities: those of one letter, or without a letter
// the popular ones. Half of the states still have the older list.
func (d *edition) statePage(code string, q url.Values) []byte {
	code = strings.ToUpper(code)
	cities := slices.Clone(d.byState[code])
	if len(cities) == 0 {
		return nil
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
	return d.list("Cities in "+code, class, letters(code), links)
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
		links = append(links, `<li class="none">There is no city here that begins with `+escape(strings.ToUpper(letter[:1]))+`. Choose another letter.</li>`)
	}
	codes := d.states()
	i, _ := slices.BinarySearch(codes, code)
	next := codes[(i+1)%len(codes)]
	return append(links, `<li class="nearby">`+anchor("/state-"+strings.ToLower(next), "Cities in "+next)+`</li>`,
		`<li class="more">`+anchor("/about-us", "About these pages")+`</li>`)
}

func letters(code string) string {
	var b strings.Builder
	for c := 'a'; c <= 'z'; c++ {
		b.WriteString(`<a href="/state-` + strings.ToLower(code) + `?page=` + string(c) + `">` + string(c-'a'+'A') + `</a>`)
	}
	return b.String()
}

// cityPage writes a city's home page: its categories.
func (d *edition) cityPage(c *place) []byte {
	if c == nil {
		return nil
	}
	var links []string
	for i := range trades {
		links = append(links, `<article>`+anchor("/"+c.Slug+"/"+yp.CategorySlug(trades[i].name), trades[i].name)+`</article>`)
	}
	return d.list("Popular categories in "+escape(c.Name)+", "+c.State, "popular-cats", "", links)
}

func (d *edition) categoriesPage() []byte {
	var links []string
	for i := range trades {
		links = append(links, "<li>"+anchor("/categories/"+yp.CategorySlug(trades[i].name), trades[i].name)+"</li>")
	}
	return d.list("Browse categories", "column list-content categories", "", links)
}

// categoryPage writes where a category can be found.
func (d *edition) categoryPage(slug string) []byte {
	i, ok := d.cats[slug]
	if !ok {
		return nil
	}
	var links []string
	for _, c := range d.places[:min(50, len(d.places))] {
		links = append(links, "<li>"+anchor("/"+c.Slug+"/"+slug, trades[i].name+" in "+c.Name+", "+c.State)+"</li>")
	}
	return d.list(escape(trades[i].name), "column list-content", "", links)
}

// homePage writes the homepage: the site's chrome, and no cards.
func (d *edition) homePage() []byte {
	links := []string{"<li>" + anchor("/sitemap", "Browse by state") + "</li>", "<li>" + anchor("/categories", "Browse by category") + "</li>"}
	for _, c := range d.places[:min(popular, len(d.places))] {
		links = append(links, "<li>"+anchor("/"+c.Slug, c.Name+", "+c.State)+"</li>")
	}
	return d.list("Local businesses, reviews and more", "home-links", "", links)
}
