package crawl_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A made site is a directory whose parameters are drawn from a seed: which businesses its lists
// have in each of three passes, and in which form it leads from page to page. It serves pages and
// notes what it has served; made_truth_test.go says what follows from that, made_history_test.go
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

// follow is how a form leads on from a page that has a next one. block is how many numbers stand in a block.
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
	Promos  int    // listings that stand on top of every page of their list
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
	bar        bool // a pagination stands there
	opaque     bool // something enabled in it leads nowhere that is known
	total      int  // 0 = not said
	rangeEnd   bool // the range shown ends at the total
	mark       bool // it has the mark that the definition names
}

// ---- drawing a site

// drawSite draws a site from a seed.
func drawSite(seed uint64) *madeSite {
	r := rand.New(rand.NewPCG(seed, 35)) //nolint:gosec // no secret hangs on it
	s := &madeSite{Seed: seed, Cities: 1 + r.IntN(3), Categories: 1 + r.IntN(2), rnd: r, sent: -1}
	if chance(r, 8) {
		s.MaxPages = 1 + r.IntN(4)
	}
	s.Words = chance(r, 4)
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

// madeDefinitions are all that definition may return.
func madeDefinitions() []string {
	if !withEndKeys {
		return []string{""}
	}
	return []string{(&madeSite{}).definition(), (&madeSite{NextNone: true}).definition()}
}

// definition is what its definition has besides that of the Yellow Pages.
func (s *madeSite) definition() string {
	switch {
	case !withEndKeys:
		return ""
	case s.NextNone:
		return "next: none\n"
	}
	return "last: {selectors: [.list-end]}\n"
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
	return l.sound()
}

// changed is what becomes of a look between two passes.
func (l look) changed(r *rand.Rand) look {
	other := drawLook(r)
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
	return l.sound()
}

// sound takes from a look what would be a lie: a site that shows a few pages of a list only must
// not say behind them that nothing more is there.
func (l look) sound() look {
	if l.Cap > 0 && l.Behind == behindEmpty {
		l.Behind = behindLast
	}
	l.Mark = l.Mark && l.Cap == 0
	l.Promos = min(l.Promos, l.Size-1) // a page with nothing but promotions repeats the one before it
	if l.Form.follow(1, 2) != leadsOn {
		l.Endless = false
	}
	return l
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

// ---- what a page has

// pagesOf is how many pages a list shows in a pass.
func (s *madeSite) pagesOf(list, pass int) int {
	lk := &s.Looks[pass]
	n := (len(s.Lists[list].Passes[pass].IDs) + lk.Size - 1) / lk.Size
	if lk.Cap > 0 {
		n = min(n, lk.Cap)
	}
	return n
}

// total is what the site says of the length of a list.
func (s *madeSite) total(list, pass int) int {
	st := &s.Lists[list].Passes[pass]
	switch s.Looks[pass].Sum {
	case sumOrganic:
		return len(st.IDs)
	case sumAds:
		return len(st.IDs) + len(st.Ads)
	}
	return 0
}

// promos are the listings that stand on every page.
func (s *madeSite) promos(list, pass int) []int {
	ids := slices.Sorted(slices.Values(s.Lists[list].Passes[pass].IDs))
	return ids[:min(len(ids), s.Looks[pass].Promos)]
}

// view makes a page of a list. r draws its order where that changes.
func (s *madeSite) view(r *rand.Rand, list, pass, page int) view {
	lk, st := &s.Looks[pass], &s.Lists[list].Passes[pass]
	v := view{pass: pass, asked: list, list: list, page: page, what: "page"}
	if st.Both != "" {
		v.what, v.ids, v.cards = "both", st.Others, len(st.Others)
		return v
	}
	last := s.pagesOf(list, pass)
	at := page
	if page > last {
		switch {
		case last == 0 || lk.Behind == behindEmpty:
			v.what = "empty"
			return v
		case lk.Behind == behindGone:
			v.what = "gone"
			return v
		case lk.Behind == behindFirst:
			at = 1
		default:
			at = last
		}
		v.what = "again"
	}
	ids := st.IDs
	if lk.Anew {
		ids = slices.Clone(ids)
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	begin, end := (at-1)*lk.Size, min(at*lk.Size, len(ids))
	shown := slices.Concat(s.promos(list, pass), ids[begin:end])
	v.cards = len(shown)
	for _, id := range shown {
		if slices.Contains(st.Unreadable, id) {
			v.unreadable++
		} else {
			v.ids = append(v.ids, id)
		}
	}
	v.ads, v.total = st.Ads, s.total(list, pass)
	v.rangeEnd = lk.Range && v.total > 0 && end == v.total
	more := at < last
	v.mark = lk.Mark && !more
	switch {
	case more:
		v.leads, v.bar = lk.Form.follow(at, lk.Block), lk.Form != formNone && lk.Form != formHead && lk.Form != formRenamed
		v.opaque = v.leads != leadsOn || lk.Form == formBlocks && (last-1)/lk.Block > (at-1)/lk.Block
	case lk.Endless:
		v.leads, v.bar = leadsOn, lk.Form != formHead
	default:
		v.bar = !lk.Bare && (lk.Form != formNone && lk.Form != formHead && lk.Form != formRenamed)
		v.opaque = lk.Form == formBlocks && at > lk.Block || lk.Form == formScript && at > 1
	}
	return v
}

// ---- its HTML

// html is the page.
func (s *madeSite) html(v *view, base string) string {
	lk := &s.Looks[v.pass]
	title, head := "Plumbers | The Real Yellow Pages", ""
	var b strings.Builder
	if v.what == "empty" {
		return madeShell(title, head, `<div class="no-results-main"><h1>No results found</h1></div>`)
	}
	if s.Words {
		b.WriteString(`<p class="hint">No results found? Try another word.</p>`)
	}
	if v.what == "both" {
		switch s.Lists[v.list].Passes[v.pass].Both {
		case "the mark":
			b.WriteString(`<div class="no-results-main"><h1>Nothing here</h1></div><h2>Popular near you</h2>`)
		case "the text":
			b.WriteString(`<h1>No results found for this search</h1><h2>Popular near you</h2>`)
		default:
			title = "No results found | The Real Yellow Pages"
		}
	}
	s.writeSum(&b, v)
	s.writeCards(&b, v)
	if v.mark {
		b.WriteString(`<p class="list-end">That is all.</p>`)
	}
	at, last := min(v.page, s.pagesOf(v.list, v.pass)), s.pagesOf(v.list, v.pass)
	if v.what != "both" {
		if lk.Form == formHead && v.leads == leadsOn {
			head = `<link rel="next" href="` + pageURL(base, v.page+1) + `">`
		} else {
			b.WriteString(lk.bar(base, v, at, last))
		}
	}
	return madeShell(title, head, b.String())
}

func madeShell(title, head, main string) string {
	return `<!DOCTYPE html><html lang="en-US"><head><meta charset="utf-8"><title>` + title + `</title>` + head + `</head>
<body><header id="main-header"><a class="logo" href="/">The Real Yellow Pages</a></header>
<div id="main-content">` + main + `</div>
<footer id="main-footer"><p>All names on this page are made up.</p><!--` + strings.Repeat("-x", 300) + `--></footer></body></html>`
}

func (s *madeSite) writeSum(b *strings.Builder, v *view) {
	if v.total == 0 {
		return
	}
	lk := &s.Looks[v.pass]
	if !lk.Range {
		fmt.Fprintf(b, `<div class="showing-count">of %d</div>`, v.total)
		return
	}
	at := min(v.page, s.pagesOf(v.list, v.pass))
	if v.what == "again" && lk.Behind == behindFirst {
		at = 1
	}
	first := (at-1)*lk.Size + 1
	fmt.Fprintf(b, `<div class="showing-count">Showing %d-%d of %d</div>`, first, min(at*lk.Size, len(s.Lists[v.list].Passes[v.pass].IDs)), v.total)
}

func (s *madeSite) writeCards(b *strings.Builder, v *view) {
	b.WriteString(`<div class="center-ads">`)
	for _, id := range v.ads {
		b.WriteString(madeBiz(id).html())
	}
	b.WriteString(`</div><div class="search-results organic">`)
	for _, id := range v.ids {
		b.WriteString(madeBiz(id).html())
	}
	for range v.unreadable {
		b.WriteString(`<div class="result"><div class="v-card"><h2 class="n"></h2><div class="phones phone primary">(217) 555-0100</div></div></div>`)
	}
	b.WriteString(`</div>`)
}

func madeBiz(id int) biz { return biz{id: strconv.Itoa(id), name: "Shop " + strconv.Itoa(id)} }

func pageURL(base string, page int) string {
	if page == 1 {
		return base
	}
	return base + "?page=" + strconv.Itoa(page)
}

// bar is the pagination of page at of last.
func (lk *look) bar(base string, v *view, at, last int) string {
	on := v.leads != leadsNowhere
	if !on && !v.bar {
		return ""
	}
	prev, next := "", pageURL(base, v.page+1)
	if at > 1 {
		prev = `<li><a class="prev" href="` + pageURL(base, at-1) + `">Previous</a></li>`
	}
	link := func(href string) string {
		if !on {
			return `<div class="pagination"><ul>` + prev + `<li class="disabled"><span class="next">Next</span></li></ul></div>`
		}
		return `<div class="pagination"><ul>` + prev + `<li><a class="next ajax-page" href="` + href + `">Next</a></li></ul></div>`
	}
	switch lk.Form {
	case formHead, formNone:
		return ""
	case formNumbers, formBlocks:
		return lk.numbers(base, v, at, last)
	case formNoscript:
		return `<noscript>` + link(next) + `</noscript>`
	case formTab:
		return link("\n\t" + strings.Replace(next, "?pa", "?p\n\ta", 1) + "\n")
	case formBlank:
		return link(next + "&amp;near=old town")
	case formStray:
		return link(next + "&amp;sale=100%&amp;off=5%")
	case formSlash:
		return link(strings.ReplaceAll(next, "/", `\`))
	case formLong:
		return link(next + "&amp;seen=" + strings.Repeat("0123456789", 300))
	case formUser:
		return link("//user@directory.test" + next)
	case formScript:
		if prev != "" {
			prev = `<li><a class="prev" href="javascript:go(` + strconv.Itoa(at-1) + `)">Previous</a></li>`
		}
		return link("javascript:go(" + strconv.Itoa(v.page+1) + ")")
	case formRenamed:
		return `<div class="leaf"><a class="fwd" href="` + next + `">` + []string{`<img alt="" src="/fwd.svg">`, "Next"}[lk.Block%2] + `</a></div>`
	case formPost:
		if !on {
			return `<div class="pagination"><p>That is all</p></div>`
		}
		return `<form class="pagination" method="post" action="/more"><input type="hidden" name="page" value="` + strconv.Itoa(v.page+1) + `"><button>Show more</button></form>`
	case formMore:
		if !on {
			return `<div class="more"><button class="load-more" disabled>Load more</button></div>`
		}
		return `<div class="more"><button class="load-more" data-page="` + strconv.Itoa(v.page+1) + `">Load more</button></div>`
	}
	return link(next)
}

// numbers is a pagination with the numbers of all pages, or of those of a block.
func (lk *look) numbers(base string, v *view, at, last int) string {
	first, end := 1, last
	before, after := "", ""
	if lk.Form == formBlocks {
		first = (at-1)/lk.Block*lk.Block + 1
		end = min(first+lk.Block-1, last)
		if first > 1 {
			before = `<li><a href="javascript:block(` + strconv.Itoa(first-1) + `)">«</a></li>`
		}
		if end < last {
			after = `<li><a href="javascript:block(` + strconv.Itoa(end+1) + `)">»</a></li>`
		}
	}
	if lk.Endless && v.leads == leadsOn && at == last {
		end = max(end, v.page+1)
	}
	b := `<div class="pagination"><ul>` + before
	for n := first; n <= end; n++ {
		if n == at {
			b += `<li class="active"><span>` + strconv.Itoa(n) + `</span></li>`
		} else {
			b += `<li><a href="` + pageURL(base, n) + `">` + strconv.Itoa(n) + `</a></li>`
		}
	}
	return b + after + `</ul></div>`
}

// ---- its server

var madePath = regexp.MustCompile(`^/city-(\d+)-ca/(plumbers|roofers)(-anew)?$`)

// find says which list, and which page of it, an address names; -1 = none.
func (s *madeSite) find(u *url.URL) (list, page int, alias bool) {
	q := u.Query()
	page, _ = strconv.Atoi(q.Get("page"))
	page = max(page, 1)
	if u.Path == "/search" {
		for _, l := range s.Lists {
			if q.Get("search_terms") == madeCategories[l.Category] && q.Get("geo_location_terms") == fmt.Sprintf("City %d, CA", l.City) {
				return l.Number, page, false
			}
		}
		return -1, 0, false
	}
	m := madePath.FindStringSubmatch(u.Path)
	if m == nil {
		return -1, 0, false
	}
	for _, l := range s.Lists {
		if strconv.Itoa(l.City) == m[1] && strings.ToLower(madeCategories[l.Category]) == m[2] {
			return l.Number, page, m[3] != ""
		}
	}
	return -1, 0, false
}

// ServeHTTP answers as the site does in its present pass.
func (s *madeSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		status(http.StatusOK, "")(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, page, alias := s.find(r.URL)
	if list < 0 {
		status(http.StatusNotFound, shell("No such page"))(w, r)
		return
	}
	l := s.Lists[list]
	st := &l.Passes[s.pass]
	asked := s.attribute(list, page)
	to, base := "", l.path()
	switch {
	case st.Sends >= 0:
		to = pageURL(s.Lists[st.Sends].path(), page)
		s.sent = st.Sends
	case st.Alias && !alias:
		to = pageURL(l.path()+"-anew", page)
	case alias:
		base += "-anew"
	}
	v := view{pass: s.pass, list: list, page: page, what: "sent"}
	switch {
	case to == "":
		v = s.view(s.rnd, list, s.pass, page)
	case st.Sends < 0:
		v.what = "alias"
	}
	v.asked, v.uri = asked, r.URL.RequestURI()
	s.served = append(s.served, v)
	switch {
	case to != "":
		redirectTo(to)(w, r)
	case v.what == "gone":
		status(http.StatusNotFound, shell("No such page"))(w, r)
	default:
		ok(s.html(&v, base))(w, r)
	}
}

// attribute says for which list a request was made: a crawl with one worker brings one to its end
// before it begins another.
func (s *madeSite) attribute(list, page int) int {
	if s.sent == list && (s.hand != list) && (page > 1 || s.redirecting()) {
		return s.hand
	}
	s.hand, s.sent = list, -1
	return list
}

// redirecting reports whether the last answer was a redirect.
func (s *madeSite) redirecting() bool {
	return len(s.served) > 0 && s.served[len(s.served)-1].what == "sent"
}
