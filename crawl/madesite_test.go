package crawl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"ypcrawl/crawl/site"
	"ypcrawl/store/storetest"
)

// A made site is a directory whose parameters are drawn from a seed: which businesses its lists
// have in each of three passes, and in which form it leads from page to page. It serves pages and
// notes what it has served; madetruth_test.go says what follows from that, madehistory_test.go
// crawls it.

// form is how a list leads from one page to the next.
type form string

const (
	formNext     form = "next link"
	formHead     form = "link rel=next in the head"
	formNumbers  form = "numbers"
	formBlocks   form = "numbers in blocks, a script leads to the next block"
	formNoscript form = "next link in noscript"
	formTab      form = "next link with a line break and a tab"
	formBlank    form = "next link with a blank"
	formStray    form = "next link with a stray percent sign"
	formSlash    form = "next link with backslashes"
	formLong     form = "next link of 3,000 bytes"
	formUser     form = "next link with user@"
	formRenamed  form = "next link of a class that no rule has"
	formScript   form = "next link with javascript:"
	formPost     form = "form with POST"
	formMore     form = "load-more button"
	formNone     form = "none"
)

// madeForms are all forms: those that a crawl can follow first, each of which leads on by an
// address that a browser would ask for.
var madeForms = []form{
	formNext, formHead, formNumbers, formNoscript, formTab, formBlank, formStray, formSlash,
	formBlocks, formLong, formUser, formRenamed, formScript, formPost, formMore, formNone,
}

// leads is whether a crawl can go from one page to the next.
type leads uint8

const (
	leadsNowhere leads = iota // no page follows, or none that the page names
	leadsHidden               // a page follows, by something that is no address
	leadsMaybe                // by an address that a careful crawler may refuse or overlook
	leadsOn                   // by an address that must be followed
)

// follow is how a form leads on from a page that has a next one. block is how many numbers are in a block.
func (f form) follow(page, block int) leads {
	switch f {
	case formNext, formHead, formNumbers, formNoscript, formTab, formBlank, formStray, formSlash:
		return leadsOn
	case formBlocks:
		if page%block != 0 {
			return leadsOn
		}
		return leadsHidden
	case formLong, formUser, formRenamed:
		return leadsMaybe
	}
	return leadsHidden
}

// sum is what a site says of how many listings a list has.
type sum string

const (
	sumNone    sum = "no total"
	sumOrganic sum = "a total"
	sumAds     sum = "a total that counts the ads along"
)

// behind is what a site answers behind the last page of a list.
type behind string

const (
	behindEmpty behind = "says that nothing is there"
	behindLast  behind = "the last page again"
	behindFirst behind = "page 1 again"
	behindGone  behind = "404"
)

// look is what a site looks like in a pass.
type look struct {
	Form    form
	Size    int    // cards of a page
	Block   int    // numbers of a block
	Cap     int    // pages that a list shows at most; 0 = all
	Sum     sum    //
	Range   bool   // it says "1-30 of 93", otherwise "of 93"
	Bare    bool   // the last page has no pagination
	Mark    bool   // the last page has the mark that the definition names
	Endless bool   // the last page has a next link, too
	Behind  behind //
	Anew    bool   // the order is another one at each request
	Promos  int    // listings on top of every page of their list, and nowhere else
	Ads     int    // on each page
}

// madeList is one city and category.
type madeList struct {
	Number, City, Category int
	Passes                 [passes]state
}

// state is a list in a pass.
type state struct {
	IDs        []int  // organic listings, in their order
	Ads        []int  // ids; some are listings of the list, too
	Unreadable []int  // listings whose cards have neither id nor name
	Sends      int    // number of the list to which it redirects; -1 = none
	Alias      bool   // it redirects to another writing of its own address
	Both       string // it says so, and shows listings of others; "" = it doesn't
	Others     []int  // these
}

// passes is how often a made site is crawled.
const passes = 3

// madeSite is a site, and what it has served.
type madeSite struct {
	Seed       uint64
	Cities     int
	Categories int
	Looks      [passes]look
	MaxPages   int  // that a crawl asks for; 0 = all
	Words      bool // every page asks whether nothing was found
	Data       bool // its listings are read from structured data
	NextNone   bool // its definition says that its lists are one page each
	Lists      []*madeList

	mu     sync.Mutex
	rnd    *rand.Rand // of the orders that change
	pass   int
	hand   int // the list for which it was asked last
	sent   int // the list to which that has redirected; -1 = none
	served []view
}

var madeCategories = []string{"Plumbers", "Roofers"}

func (l *madeList) path() string {
	return fmt.Sprintf("/city-%d-ca/%s", l.City, strings.ToLower(madeCategories[l.Category]))
}

func (l *madeList) String() string { return l.path() }

// view is a page as it was served.
type view struct {
	pass       int
	asked      int    // the list for which it was asked
	list       int    // the list that it shows
	page       int    // its number, as the address has it
	uri        string // that was asked for
	what       string // "page", "empty", "gone", "again" (a page served once more behind the last), "sent" (a redirect), "both", "alias" (a redirect to another writing of its address)
	ids, ads   []int
	unreadable int
	cards      int // organic ones
	leads      leads
	bar        bool // it has a pagination
	opaque     bool // something enabled in it leads nowhere that is known
	total      int  // 0 = not said
	rangeEnd   bool // the range shown ends at the total
	mark       bool // it has the mark that the definition names
}

// drawSite draws a site from a seed.
func drawSite(seed uint64) *madeSite {
	r := rand.New(rand.NewPCG(seed, 35)) //nolint:gosec // no secret hangs on it
	s := &madeSite{Seed: seed, Cities: 1 + r.IntN(3), Categories: 1 + r.IntN(2), rnd: r, sent: -1}
	if chance(r, 8) {
		s.MaxPages = 1 + r.IntN(4)
	}
	s.Words, s.Data = chance(r, 4), chance(r, 15)
	s.drawLooks(r)
	s.drawKeys(r)
	next := 0 // ids so far
	for c := range s.Categories {
		for city := range s.Cities {
			l := &madeList{Number: len(s.Lists), City: city, Category: c}
			s.drawList(r, l, &next)
			s.Lists = append(s.Lists, l)
		}
	}
	s.drawOdd(r)
	if s.Data {
		s.plain()
	}
	for _, l := range s.Lists {
		for p := range l.Passes {
			s.drawAds(r, l, p)
		}
	}
	return s
}

func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// drawLooks draws what the site looks like. A listing is closed wrongly where it was seen first
// and isn't later on: so often the first form can be followed and the two that come after are one.
func (s *madeSite) drawLooks(r *rand.Rand) {
	s.Looks[0] = drawLook(r)
	switch {
	case chance(r, 20):
		s.Looks[1], s.Looks[2] = s.Looks[0], s.Looks[0]
	case chance(r, 60):
		s.Looks[0].Form = oneOf(r, madeForms[:4]...)
		s.Looks[1] = s.Looks[0].changed(r)
		s.Looks[2] = s.Looks[1]
	default:
		s.Looks[1] = s.Looks[0].changed(r)
		s.Looks[2] = s.Looks[1].changed(r)
	}
}

// drawKeys lets some sites that have no pagination be defined so: all of a list is on its page.
func (s *madeSite) drawKeys(r *rand.Rand) {
	if !withEndKeys || !chance(r, 5) {
		return
	}
	s.NextNone = true
	for p := range s.Looks {
		s.Looks[p] = look{Form: formNone, Size: 2 * mostListings, Sum: oneOf(r, sumNone, sumOrganic), Ads: r.IntN(3), Block: 2, Behind: behindLast}
	}
}

// madeSources are the sources of made sites, by the texts of their definitions: to read one takes
// as long as a pass.
func madeSources(t testing.TB) map[string]*site.Source {
	t.Helper()
	all := map[string]*site.Source{}
	for _, data := range []bool{false, true} {
		for _, none := range []bool{false, withEndKeys} {
			text := (&madeSite{Data: data, NextNone: none}).definition()
			src, err := site.Parse("made.yaml", []byte(text))
			storetest.NoError(t, err)
			all[text] = src
		}
	}
	return all
}

// definition is that of the Yellow Pages or, of structured data, one of few lines, with what says where lists end.
func (s *madeSite) definition() string {
	text := "extends: yellowpages\nname: test\nbase_url: http://directory.test\ndelay: 0s\n"
	if s.Data {
		text = `name: test
base_url: http://directory.test
delay: 0s
structured: true
urls:
  target: /{city_slug}/{category_slug}?page={page}
  search: /search?search_terms={category}&geo_location_terms={city}%2C+{state}&page={page}
chrome: {selectors: ["#main-header"]}
empty: {selectors: [.no-results-main], texts: [no results found], titles: [no results found]}
total: [{css: .showing-count, match: 'of (\d+)'}]
`
	}
	switch {
	case !withEndKeys:
		return text
	case s.NextNone:
		return text + "next: none\n"
	}
	return text + "last: {selectors: [.list-end]}\n"
}

// withEndKeys says whether definitions have the keys by which a site says where its lists end:
// last, and next: none.
const withEndKeys = true

func drawLook(r *rand.Rand) look {
	l := look{
		Form: oneOf(r, madeForms...), Size: oneOf(r, 1, 2, 3, 5, 7, 10, 15, 20, 30, 33, 50, 1+r.IntN(50)), Block: oneOf(r, 2, 3, 5, 10, 10),
		Sum: oneOf(r, sumNone, sumNone, sumOrganic, sumAds), Range: chance(r, 60), Bare: chance(r, 40), Mark: withEndKeys && chance(r, 10), Endless: chance(r, 15),
		Behind: oneOf(r, behindEmpty, behindLast, behindFirst, behindGone), Anew: chance(r, 8),
	}
	if chance(r, 15) {
		l.Cap = 1 + r.IntN(5)
	}
	if chance(r, 20) {
		l.Promos = 1 + r.IntN(3)
	}
	if chance(r, 40) || l.Sum == sumAds {
		l.Ads = 1 + r.IntN(3)
	}
	l.sound()
	return l
}

// changed is what becomes of a look between two passes.
func (lk *look) changed(r *rand.Rand) look {
	l, other := *lk, drawLook(r)
	l.Form = other.Form
	for _, change := range []func(){
		func() { l.Size = other.Size },
		func() { l.Cap = other.Cap },
		func() { l.Sum, l.Range, l.Ads = other.Sum, other.Range, other.Ads },
		func() { l.Bare, l.Endless, l.Behind, l.Mark = other.Bare, other.Endless, other.Behind, other.Mark },
		func() { l.Anew = other.Anew },
		func() { l.Promos = other.Promos },
	} {
		if chance(r, 25) {
			change()
		}
	}
	l.sound()
	return l
}

// sound takes from a look what would be a lie: a site that shows a few pages of a list only must
// not say behind them that nothing more is there.
func (lk *look) sound() {
	if lk.Cap > 0 && lk.Behind == behindEmpty {
		lk.Behind = behindLast
	}
	lk.Mark = lk.Mark && lk.Cap == 0
	lk.Promos = min(lk.Promos, lk.Size-1) // a page with nothing but promotions repeats the one before it
	if lk.Form.follow(1, 2) != leadsOn {
		lk.Endless = false
	}
}

// mostListings bounds a list, so that a history takes little time.
const mostListings = 100

// drawList draws the businesses of a list: some leave between the passes, others come.
func (s *madeSite) drawList(r *rand.Rand, l *madeList, next *int) {
	size := s.Looks[0].Size
	n := oneOf(r, 0, 1, 2, 3, 4, 5, 6+r.IntN(6))*size - oneOf(r, 0, 0, 1, r.IntN(size))
	if n <= 0 && chance(r, 90) {
		n = 1 + r.IntN(4) // a small town
	}
	n = max(0, min(n, mostListings))
	var ids []int
	fresh := func() int { *next++; return *next }
	for range n {
		ids = append(ids, fresh())
	}
	for p := range l.Passes {
		if p > 0 {
			ids = slices.Clone(ids)
			leave := oneOf(r, 0, 0, 5, 20, 50)
			ids = slices.DeleteFunc(ids, func(int) bool { return chance(r, leave) })
			for range oneOf(r, 0, 0, 1, r.IntN(5)) {
				ids = slices.Insert(ids, r.IntN(len(ids)+1), fresh())
			}
			if chance(r, 20) {
				r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			}
		}
		st := state{IDs: ids, Sends: -1}
		if len(ids) > 0 && chance(r, 8) {
			st.Unreadable = append(st.Unreadable, oneOf(r, ids...))
		}
		l.Passes[p] = st
	}
}

// drawOdd lets some lists redirect, or say that nothing was found and show others' listings.
func (s *madeSite) drawOdd(r *rand.Rand) {
	from := oneOf(r, 1, 1, 2) // the pass in which it begins
	kind := r.IntN(100)
	for _, l := range s.Lists {
		for p := from; p < passes; p++ {
			st := &l.Passes[p]
			switch to := s.otherList(r, l); {
			case kind < 10 && l.Number > 0 && (kind < 4 || l.Number == len(s.Lists)-1): // all to the first one, or one
				st.Sends = 0
			case kind < 14 && l.Number == len(s.Lists)-1:
				st.Alias = true
			case kind < 24 && to != nil && (kind < 17 || l.Number == len(s.Lists)-1):
				st.Both = []string{"the mark", "the text", "the title"}[kind%3]
				others := to.Passes[p].IDs
				st.Others = others[:min(len(others), 1+r.IntN(8))]
				if len(others) == 0 {
					st.Both = ""
				} else if chance(r, 50) {
					st.IDs = nil // it is true
				}
			}
		}
	}
}

// plain takes away what structured data does not tell apart: ads, and entries that can't be read.
func (s *madeSite) plain() {
	for p := range passes {
		lk := &s.Looks[p]
		if lk.Ads = 0; lk.Sum == sumAds {
			lk.Sum = sumOrganic
		}
		for _, l := range s.Lists {
			l.Passes[p].Unreadable = nil
		}
	}
}

func (s *madeSite) otherList(r *rand.Rand, l *madeList) *madeList {
	if len(s.Lists) < 2 {
		return nil
	}
	if o := oneOf(r, s.Lists...); o != l {
		return o
	}
	return s.Lists[(l.Number+1)%len(s.Lists)]
}

// firstAd is above the ids of all listings.
const firstAd = 100_000

func (s *madeSite) drawAds(r *rand.Rand, l *madeList, pass int) {
	st := &l.Passes[pass]
	for i := range s.Looks[pass].Ads {
		id := firstAd + 10*l.Number + i
		if len(st.IDs) > 0 && chance(r, 30) {
			id = oneOf(r, st.IDs...)
		}
		if !slices.Contains(st.Ads, id) {
			st.Ads = append(st.Ads, id)
		}
	}
}
