package site

import (
	"net/url"

	"golang.org/x/net/html"

	"ypcrawl/yp"
)

// businessReader turns the items of a page into businesses.
type businessReader struct {
	src   *Source
	final *url.URL
	doc   *html.Node
	found []sighting // in the order of the forms, then of the page

	leftOut int  // businesses beyond the first 1,000
	ownPage bool // it is a listing's own page, not one of results
}

// A sighting is what one form says of one business.
type sighting struct {
	l     yp.Listing
	ident string // the id that the page gives it
	key   string // its own path on the directory, see ownKey; "" = none
	graph *graph // with item, where its own page is read
	item  *item
	bare  bool // only an address in a list: a business if another form says so, or nothing else does
}

// read gathers the businesses of one form.
func (r *businessReader) read(g *graph) {
	start := len(r.found)
	w := walker{r: r, g: g, seen: map[*item]bool{}}
	for _, v := range g.top {
		w.value(v, listEntry{}, 0)
	}
	r.dropSharedKeys(start)
}

// walker goes through a graph.
type walker struct {
	r    *businessReader
	g    *graph
	seen map[*item]bool
}

// listEntry is what an ItemList says of the thing in it.
type listEntry struct {
	in       bool
	position string
	url      string
	name     string
}

// containers are the properties through which a page leads to its businesses.
var containers = [...]string{"@graph", "mainEntity", "itemListElement", "about", "hasPart"}

func (w *walker) value(v value, at listEntry, depth int) {
	v = w.g.resolve(v)
	it := v.item
	switch {
	case depth > maxNesting:
	case it == nil:
		if at.in && at.url == "" {
			at.url = v.text
		}
		w.bare(at)
	case len(it.props) == 0: // a reference to something that is not on the page
		if at.in && at.url == "" {
			at.url = it.id
		}
		w.bare(at)
	case w.seen[it]:
	default:
		w.seen[it] = true
		w.item(it, at, depth)
	}
}

func (w *walker) item(it *item, at listEntry, depth int) {
	switch {
	case it.is("BreadcrumbList", "SiteNavigationElement"):
	case it.is("ListItem"):
		w.listItem(it, depth)
	case w.r.isBusiness(w.g, it):
		w.r.business(w.g, it, at)
	case at.in && len(it.types) == 0:
		at.url, at.name = orText(at.url, w.g.text(it, "url")), orText(at.name, w.g.text(it, "name"))
		w.bare(at)
	default:
		for _, name := range containers {
			entry := listEntry{in: name == "itemListElement"}
			for _, v := range it.props[name] {
				w.value(v, entry, depth+1)
			}
		}
	}
}

// listItem follows a ListItem to its item: an object, a URL, or nothing, when
// the ListItem itself has the URL.
func (w *walker) listItem(it *item, depth int) {
	at := listEntry{in: true, position: w.g.text(it, "position"), url: w.g.text(it, "url"), name: w.g.text(it, "name")}
	if at.url == "" {
		at.url = it.id
	}
	items := it.props["item"]
	if len(items) == 0 {
		w.bare(at)
		return
	}
	for _, v := range items {
		if w.g.resolve(v).item == nil { // the item's own URL counts for more than that of its place in the list
			at.url = plainText(v.text)
		}
		w.value(v, at, depth+1)
	}
}

// full reports whether no more businesses are taken, and counts the one at hand if so.
func (r *businessReader) full() bool {
	if len(r.found) < maxBusinesses {
		return false
	}
	r.leftOut++
	return true
}

// bare notes an address in a list. Whether it is a business is seen in the end.
func (w *walker) bare(at listEntry) {
	if !at.in || at.url == "" {
		return
	}
	key, profile := w.r.ownKey(at.url)
	if key == "" || w.r.full() {
		return
	}
	s := sighting{key: key, bare: true}
	s.l.Name, s.l.ProfileURL = keep(at.name, maxName), profile
	s.l.Rank, _ = firstInt(at.position)
	w.r.found = append(w.r.found, s)
}

// orText returns the first text that is one.
func orText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// business reads one business.
func (r *businessReader) business(g *graph, it *item, at listEntry) {
	if r.full() {
		return
	}
	s := sighting{ident: explicitID(g, it)}
	home := r.addresses(g, it, at, &s)
	if home && s.ident == "" && s.key == "" {
		return // the directory itself, or the page as a whole
	}
	l := &s.l
	l.Name = keep(orText(g.text(it, "name", "legalName", "alternateName"), at.name), maxName)
	l.Rank, _ = firstInt(at.position)
	r.phone(g, it, l)
	r.place(g, it, l)
	r.ratings(g, it, l)
	l.PriceRange = priceRange(g.text(it, "priceRange"))
	l.Snippet = keep(r.src.snippet(g.text(it, "description")), maxSnippet)
	l.ImageURL = r.image(g, it)
	l.Hours = hoursOf(g, it)
	l.Categories = clones(distinct(g.texts(it, "category", "keywords"), maxCategories))
	if r.ownPage {
		s.graph, s.item = g, it
	}
	r.found = append(r.found, s)
}

// distinct returns the texts, each once, at most limit.
func distinct(list []string, limit int) []string {
	var out []string
	for _, s := range list {
		if len(out) < limit && !contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
