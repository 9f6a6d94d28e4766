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

// list is a page that is a list of links; with a state, also to its letters.
type list struct {
	frame
	Class string
	Links []link
}

func (d *edition) list(title, class, state string, links []link) []byte {
	v := list{frame: plainFrame(title, "index"), Class: class, Links: links}
	v.State = state
	return d.page("list", &v)
}

func (d *edition) states() []string { return slices.Sorted(maps.Keys(d.byState)) }

func (d *edition) sitemapPage() []byte {
	var links []link
	for _, code := range d.states() {
		name := code
		if st, ok := yp.LookupState(code); ok {
			name = st.Name
		}
		links = append(links, link{Href: "/state-" + strings.ToLower(code), Text: name})
	}
	return d.list("Site map", "column sitemap list-content", "", links)
}

// City is a city as the indexes list it.
type City struct {
	Slug  string `json:"slug"` // of its pages' paths
	Name  string `json:"name"`
	State string `json:"state"` // its code
}

// Cities lists what a walk through the indexes of the given states (codes;
// none = all) must find in the present epoch, sorted by slug.
func (d *Directory) Cities(states ...string) []City {
	all := []City{}
	for _, p := range d.now.Load().places {
		if len(states) == 0 || slices.ContainsFunc(states, func(s string) bool { return strings.EqualFold(s, p.State) }) {
			all = append(all, City{p.Slug, p.Name, p.State})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Slug < all[j].Slug })
	return all
}

// statePage writes a state's cities: those of one letter, or without a letter
// the popular ones.
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
	return d.list("Cities in "+code, "column list-content", code, d.cityLinks(code, letter, cities))
}

// cityLinks lists the links of a state's index, and among them, as on the real
// site, some that lead to no city: to the state next in the alphabet and to
// pages about the site.
func (d *edition) cityLinks(code, letter string, cities []*place) []link {
	links := []link{{Href: "/sitemap", Text: "All states", Class: "more"}}
	for _, c := range cities {
		links = append(links, link{Href: "/" + c.Slug, Text: c.Name})
	}
	if len(cities) == 0 {
		links = append(links, link{Text: "There is no city here that begins with " + strings.ToUpper(letter[:1]) +
			". Choose another letter.", Class: "none"})
	}
	codes := d.states()
	i, _ := slices.BinarySearch(codes, code)
	next := codes[(i+1)%len(codes)]
	return append(links, link{Href: "/state-" + strings.ToLower(next), Text: "Cities in " + next, Class: "nearby"},
		link{Href: "/about-us", Text: "About these pages", Class: "more"})
}

// cityPage writes a city's home page: its categories.
func (d *edition) cityPage(c *place) []byte {
	if c == nil {
		return nil
	}
	var links []link
	for i := range trades() {
		links = append(links, link{Href: "/" + c.Slug + "/" + yp.CategorySlug(trades()[i].Name), Text: trades()[i].Name})
	}
	return d.list("Popular categories in "+c.Name+", "+c.State, "popular-cats", "", links)
}
