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
)

// pagesOf is how many pages a list shows in a pass.
func (s *madeSite) pagesOf(list, pass int) int {
	lk := &s.Looks[pass]
	n := (len(s.ordinary(list, pass)) + lk.Size - 1) / lk.Size
	if n == 0 && len(s.Lists[list].Passes[pass].IDs) > 0 {
		n = 1
	}
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

// promos are the listings on top of every page.
func (s *madeSite) promos(list, pass int) []int {
	ids := slices.Sorted(slices.Values(s.Lists[list].Passes[pass].IDs))
	return ids[:min(len(ids), s.Looks[pass].Promos)]
}

// ordinary are the others, in their order.
func (s *madeSite) ordinary(list, pass int) []int {
	promos := s.promos(list, pass)
	return slices.DeleteFunc(slices.Clone(s.Lists[list].Passes[pass].IDs), func(id int) bool { return slices.Contains(promos, id) })
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
	ids := s.ordinary(list, pass)
	if lk.Anew {
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
	if !lk.Range || len(s.ordinary(v.list, v.pass)) == 0 {
		fmt.Fprintf(b, `<div class="showing-count">of %d</div>`, v.total)
		return
	}
	at := min(v.page, s.pagesOf(v.list, v.pass))
	if v.what == "again" && lk.Behind == behindFirst {
		at = 1
	}
	first := (at-1)*lk.Size + 1
	fmt.Fprintf(b, `<div class="showing-count">Showing %d-%d of %d</div>`, first, min(at*lk.Size, len(s.ordinary(v.list, v.pass))), v.total)
}

func (s *madeSite) writeCards(b *strings.Builder, v *view) {
	if s.Data {
		writeData(b, v.ids)
		return
	}
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

// writeData writes listings as JSON-LD, and a link to each.
func writeData(b *strings.Builder, ids []int) {
	b.WriteString(`<ul class="hits">`)
	for _, id := range ids {
		fmt.Fprintf(b, `<li><a href="/biz/%d">Shop %[1]d</a></li>`, id)
	}
	b.WriteString(`</ul><script type="application/ld+json">[`)
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `{"@type":"Plumber","identifier":"%d","name":"Shop %[1]d","url":"/biz/%[1]d","telephone":"(217) 555-0100",
			"address":{"@type":"PostalAddress","streetAddress":"%[1]d Main St","addressLocality":"Springfield","addressRegion":"IL","postalCode":"62701"}}`, id)
	}
	b.WriteString(`]</script>`)
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
