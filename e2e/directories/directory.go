package directories

import (
	"cmp"
	"net/http"
	"slices"

	"ypcrawl/yp"
)

// Directory is a made directory of one form.
type Directory struct {
	Name    string // of its definition
	Country string
	Step    int // listings that a page gives
	Cities  []*City

	categories []category
	lists      map[string][]*Business // by slugs of city and category
	all        []*Business

	asks    func(r *http.Request, body []byte) (query, bool) // what a request asks for; false = no list
	page    func(window) Answer
	fails   func() Answer                                                     // what it says when it fails, with status 200
	listing func(*Business) yp.Listing                                        // what its pages say of a business; addresses have Base for scheme and host
	other   func(r *http.Request, body []byte, epoch int) (a Answer, ok bool) // an index, or the own page of a business; nil = it has none
	behind  func(query) Answer                                                // a page behind the last one, nil = an empty one
	at      func(from, number int) Position                                   // of a page, for golden files
}

// Base stands for scheme, host and port of the server.
const Base = "https://BASE"

// Answer is what a directory answers.
type Answer struct {
	Status int // 0 = 200
	Header http.Header
	Body   string
}

// Position is where in a list a page begins, as site.Position has it.
type Position struct {
	Page   int
	Offset int    `json:",omitempty"`
	Cursor string `json:",omitempty"`
}

// query is what a request asks for.
type query struct {
	city, category string // slugs
	from           int    // listings before the page
	most           int    // listings that are asked for; 0 = Step
	era            int    // that the cursor is of
	bad            bool   // a cursor or a number that is none
}

// window is a page of a list.
type window struct {
	query
	base   string // scheme and host
	number int    // from 1
	mint   int    // era of its cursors
	items  []*Business
	to     int // listings up to its end
	total  int
	place  *City
	trade  category
}

// last reports whether nothing follows the page.
func (w *window) last() bool { return w.to >= w.total }

// All are the directories, by name.
func All() []*Directory {
	all := []*Directory{
		newOffset(), newGraphQL(), newNext(), newWordPress(), newRegistry(), newFinder(), newGerman(), newAustralian(), newBritish(), newSeeds(),
	}
	slices.SortFunc(all, func(a, b *Directory) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// sizes are the lengths of lists in the first epoch: in pages, and listings beyond them. One list is full pages alone, one
// is a page, one has nothing.
var sizes = []struct{ pages, more int }{{3, 2}, {2, 0}, {1, 0}, {0, 0}, {2, 1}, {4, 1}}

// fill makes the businesses of all lists. The last one of a city's list is in its next one, too; and in the epoch after the first
// each list begins with a new one.
func (d *Directory) fill() *Directory {
	d.lists = map[string][]*Business{}
	i := 0
	for _, city := range d.Cities {
		var before *Business
		for _, c := range d.categories {
			size := sizes[i%len(sizes)]
			i++
			n := size.pages*d.Step + size.more
			if n == 0 {
				continue
			}
			young := d.add(city, c)
			young.born, young.gone = 1, 0
			list := []*Business{young}
			if before != nil {
				before.Categories = append(before.Categories, c.name)
				list, n = append(list, before), n-1
			}
			for range n {
				list = append(list, d.add(city, c))
			}
			before = list[len(list)-1]
			d.lists[city.Slug+"/"+c.slug] = list
		}
	}
	return d
}

func (d *Directory) add(city *City, c category) *Business {
	b := d.make(len(d.all)+1, city, c.name)
	d.all = append(d.all, b)
	return b
}

// Listings are what a complete crawl finds in an epoch, by id.
func (d *Directory) Listings(epoch int) []yp.Listing {
	var out []yp.Listing
	for _, b := range shown(d.all, epoch) {
		out = append(out, d.listing(b))
	}
	slices.SortFunc(out, func(a, b yp.Listing) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Gone are the ids of those that were listed before an epoch and no longer are.
func (d *Directory) Gone(epoch int) (ids []string) {
	for _, b := range d.all {
		if b.gone > 0 && b.gone <= epoch {
			ids = append(ids, d.listing(b).ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Pages is how many pages the lists of an epoch have, where step is how many listings a page gives: each list at least one.
func (d *Directory) Pages(epoch, step int) (n int) {
	for _, city := range d.Cities {
		for _, c := range d.categories {
			n += max(1, (len(shown(d.lists[city.Slug+"/"+c.slug], epoch))+step-1)/step)
		}
	}
	return n
}

// Own reports whether the directory has an index of each state, and an own page of each business.
func (d *Directory) Own() bool { return d.other != nil }

// Lists is how many lists there are.
func (d *Directory) Lists() int { return len(d.Cities) * len(d.categories) }

// Selection are the words by which a crawl selects the lists.
func (d *Directory) Selection() (states, cities, categories []string) {
	for _, c := range d.Cities {
		if cities = append(cities, c.Name); c.State != "" && !slices.Contains(states, c.State) {
			states = append(states, c.State)
		}
	}
	for _, c := range d.categories {
		categories = append(categories, c.name)
	}
	return states, cities, categories
}

// state is how a directory is at a time.
type state struct {
	epoch int
	era   int // cursors of other ones are good no more
	most  int // listings that a page gives at most; 0 = any number
}

// answer makes the page that is asked for; ok is false where there is no such list.
func (d *Directory) answer(q query, now state, base string) (a Answer, ok bool) {
	city := slices.IndexFunc(d.Cities, func(c *City) bool { return c.Slug == q.city })
	trade := slices.IndexFunc(d.categories, func(c category) bool { return c.slug == q.category })
	if city < 0 || trade < 0 {
		return a, false
	}
	list, step := shown(d.lists[q.city+"/"+q.category], now.epoch), cmp.Or(q.most, d.Step)
	if now.most > 0 {
		step = min(step, now.most)
	}
	if d.behind != nil && (q.bad || q.from > 0 && (q.from >= len(list) || q.era != now.era)) {
		return d.behind(q), true
	}
	from := min(q.from, len(list))
	to := min(from+step, len(list))
	return d.page(window{
		query: q, base: base, mint: now.era, number: 1 + from/step, items: list[from:to], to: to, total: len(list), place: d.Cities[city], trade: d.categories[trade],
	}), true
}

// Named returns the directory of a name.
func Named(name string) *Directory {
	for _, d := range All() {
		if d.Name == name {
			return d
		}
	}
	panic("no directory " + name)
}
