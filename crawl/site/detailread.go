package site

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
)

// Bounds on the years that a page may say.
const (
	oldestFirm = 1600 // years: the oldest firm in the country was founded in 1613
	latestFirm = 2100
	mostYears  = 500
)

// text returns the first text that stands under a field's labels.
func (r *detailReader) text(name string) string {
	for _, n := range r.under[name] {
		if s := yp.Clean(yp.Clip(string(region.AppendText(nil, n, maxText)), maxText)); s != "" {
			return s
		}
	}
	return ""
}

// contacts reads phone, mail address and website: from the page's own buttons
// first, then from its list of facts, then from its JSON-LD.
func (r *detailReader) contacts() {
	f := r.rules
	for _, name := range [...]string{"phone", "website", "email"} { // never those in a box of other businesses
		for _, rule := range f[name] {
			if rule.sel >= 0 {
				r.page.hits[rule.sel] = slices.DeleteFunc(r.page.hits[rule.sel], r.src.detail.ofOther)
			}
		}
	}
	var l yp.Listing
	setsPhone := func(s string) bool {
		setPhone(&l, strings.TrimPrefix(s, "tel:"), r.src.country)
		return l.Phone != ""
	}
	if !f["phone"].each(&r.page, setsPhone) && !setsPhone(r.text("phone")) {
		l.Phone, l.PhoneE164 = r.ld.Phone, r.ld.PhoneE164
	}
	setsSite := func(href string) bool {
		r.page.website(&l, href)
		return l.Website != ""
	}
	if !f["website"].each(&r.page, setsSite) && !r.linksUnder("website", setsSite) {
		setsSite(r.ld.WebsiteURL)
	}
	r.Phone, r.PhoneE164 = keep(l.Phone, maxLine), strings.Clone(l.PhoneE164)
	r.WebsiteURL, r.Website, r.Domain = l.WebsiteURL, l.Website, l.Domain
	r.email(f["email"])
}

// ofOther reports whether n is in a box of other businesses.
func (r *detailRules) ofOther(n *html.Node) bool {
	at := goquery.NewDocumentFromNode(n)
	return slices.ContainsFunc(r.others, func(box goquery.Matcher) bool { return at.ClosestMatcher(box).Length() > 0 })
}

// linksUnder calls f with the links under a field's labels, until it returns
// true.
func (r *detailReader) linksUnder(name string, stop func(string) bool) bool {
	for _, a := range new(goquery.Selection).AddNodes(r.under[name]...).Find("a[href]").EachIter() {
		if stop(a.AttrOr("href", "")) {
			return true
		}
	}
	return false
}

func (r *detailReader) email(f field) {
	sets := func(s string) bool {
		r.Email = r.src.email(s)
		return r.Email != ""
	}
	if f.each(&r.page, sets) {
		return
	}
	for _, n := range r.under["email"] {
		for _, v := range emailValues(n) {
			if sets(yp.Clean(v)) {
				return
			}
		}
	}
}

// facts reads what is a single number or text.
func (r *detailReader) facts() {
	f := r.rules
	r.About = r.text("about")
	if r.About == "" {
		r.About = f["about"].first(&r.page)
	}
	r.About = keep(r.src.snippet(r.About), maxAbout)
	for _, s := range [...]string{f["years_in_business"].first(&r.page), r.text("years_in_business")} {
		if n, _ := yp.FirstInt(s); r.YearsInBusiness == 0 && n <= mostYears {
			r.YearsInBusiness = n
		}
	}
	for _, s := range [...]string{f["founded"].first(&r.page), r.text("founded")} {
		if r.Founded == 0 {
			r.Founded = year(s)
		}
	}
	setPoint(&r.Listing, f["lat"].first(&r.page), f["lon"].first(&r.page))
}

var yearForm = regexp.MustCompile(`\b\d{4}\b`)

// year reads the first number of four digits that can be the year in which a
// firm was founded; 0 = none.
func year(s string) int {
	for _, digits := range yearForm.FindAllString(s, -1) {
		if n, _ := strconv.Atoi(digits); n >= oldestFirm && n <= latestFirm {
			return n
		}
	}
	return 0
}

// allDay reports whether an entry is one for which a page may have named the days alone, which sites
// also do for closed ones: what the page shows people tells.
func allDay(entry string) bool { return strings.HasSuffix(entry, " 00:00-24:00") }

// shownHours takes the hours that the page shows people: where there are no others, or where they are the same but for
// days that are open all day.
func (r *detailReader) shownHours() {
	shown := r.hours()
	differs := func(entry string) bool { return !allDay(entry) && !slices.Contains(shown, entry) }
	if r.Hours == nil || shown != nil && !slices.ContainsFunc(r.Hours, differs) {
		r.Hours = shown
	}
}

// hours reads the table of opening hours: the first, since a page may repeat
// it. Without one, what stands under the label counts. It is nil where the page does not say, or says
// the hours of some day in a way that can't be read.
func (r *detailReader) hours() []string {
	var out []string
	var table *html.Node
	for _, i := range r.src.detail.hours {
		for _, row := range r.page.hits[i] {
			if table == nil {
				table = row.Parent
			}
			if row.Parent != table || len(out) >= yp.MaxHours {
				continue
			}
			var ok bool
			if out, ok = rowHours(out, row); !ok {
				return nil
			}
		}
	}
	if out == nil {
		out, _ = yp.AppendHours(nil, r.text("hours"))
	}
	return boundHours(out)
}

// rowHours appends the hours of a row: those in the form for machines, if it
// has it, else those for people; where the first names days alone, the second tells whether they are
// closed. A row that names no day, as the head of a table, adds nothing; ok is false for one that can't be read.
func rowHours(out []string, row *html.Node) (hours []string, ok bool) {
	machine, people := yp.Clean(datetimes(row)), yp.Clean(string(region.AppendText(nil, row, maxText)))
	hours, ok = yp.AppendHours(out, machine)
	if ok && !slices.ContainsFunc(hours[len(out):], allDay) {
		return hours, true
	}
	if shown, ok := yp.AppendHours(out, people); ok {
		return shown, true
	}
	return hours, ok || !yp.BeginsWithDay(people)
}

// datetimes returns the datetime attributes in a row, with blanks between.
func datetimes(row *html.Node) string {
	times := goquery.NewDocumentFromNode(row).Find("time[datetime]")
	return strings.Join(times.Slice(0, min(times.Length(), yp.MaxHours)).Map(func(_ int, t *goquery.Selection) string {
		return t.AttrOr("datetime", "")
	}), " ")
}

// listForms says what the lists of own pages are of; others are phrases.
var listForms = map[string]listOf{"services": phrases, "languages": words, "neighborhoods": places, "aka": names, "payment": words}

// readApart are the fields of own pages that have a reader of their own: contacts, facts, shownHours.
var readApart = strings.Fields("phone phone_e164 website_url website domain email about years_in_business founded lat lon hours social")

// rest reads the fields that need no reader of their own: from under the page's labels first, then by the rules of the field.
func (r *detailReader) rest() {
	for i := range yp.ListingFields {
		f := &yp.ListingFields[i]
		if f.From&yp.FromOwn == 0 || f.Group == yp.GroupNone || slices.Contains(readApart, f.Name) {
			continue
		}
		switch v := f.At(&r.Listing).(type) {
		case *string:
			*v = keep(cmp.Or(r.text(f.Name), r.rules[f.Name].first(&r.page)), maxLine)
		case *int:
			*v, _ = yp.FirstInt(cmp.Or(r.text(f.Name), r.rules[f.Name].first(&r.page)))
		case *[]string:
			of, known := listForms[f.Name]
			if !known {
				of = phrases
			}
			*v = r.list(f.Name, of)
		}
	}
	r.Payment = lowered(r.Payment)
	r.socials()
}

// socials reads links to pages on social networks from everywhere: each may know some.
func (r *detailReader) socials() {
	take := func(href string) bool {
		r.business().social(&r.Listing, href)
		return false
	}
	r.linksUnder("social", take)
	r.rules["social"].each(&r.page, take)
}

// list reads the items under a field's labels, else by its rules.
func (r *detailReader) list(name string, of listOf) []string {
	var l itemList
	f := r.rules[name]
	l.gatherAll(r.under[name], of)
	for i := range f {
		if rule := &f[i]; len(l.items) == 0 && rule.sel >= 0 && rule.attr == "" && rule.match == nil && rule.steps == nil {
			l.gatherAll(r.page.hits[rule.sel], of)
		}
	}
	if len(l.items) == 0 {
		for _, s := range f.all(&r.page, maxFacts) {
			l.text(s, of, false)
		}
	}
	return l.items
}

// gatherAll reads the items below each of the nodes.
func (l *itemList) gatherAll(nodes []*html.Node, of listOf) {
	for _, n := range nodes {
		l.gather(n, of, false)
		l.flush(of, false)
	}
}

// lowered returns the items in lower case, each once.
func lowered(items []string) []string {
	var out []string
	for _, s := range items {
		if s = strings.ToLower(s); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// listOf says what a list is of, and so what parts its items: the page's own elements always
// do, commas and semicolons only where no name or phrase of an element of its own is cut.
type listOf uint8

const (
	names   listOf = iota // blocks and line breaks alone part them: names hold everything else
	phrases               // an element of its own is an item, also a link or a span; bare text is split
	places                // the same, but "Mesa, AZ" is one place
	words                 // also the text of an element is split: none of the words holds a comma
)

// itemList gathers the items of a list.
type itemList struct {
	items   []string
	pending []byte // text of the item being read
}

// gather reads the items below n; own says that n is an element of a list, not the whole list.
func (l *itemList) gather(n *html.Node, of listOf, own bool) {
	for c := n.FirstChild; c != nil && len(l.items) < maxFacts; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			l.pending = append(l.pending, c.Data[:min(len(c.Data), maxText)]...)
			if len(l.pending) > 4*maxText {
				return
			}
		case c.Type != html.ElementNode || region.Unseen(c.Data):
		case region.OwnLine(c.Data) || of != names && (c.Data == "a" || c.Data == "span"):
			l.flush(of, own)
			l.gather(c, of, true)
			l.flush(of, true)
		default:
			l.gather(c, of, own)
		}
	}
}

// flush ends the item being read.
func (l *itemList) flush(of listOf, own bool) {
	if len(l.pending) > 0 {
		l.text(yp.Clean(yp.Clip(string(l.pending), maxText)), of, own)
		l.pending = l.pending[:0]
	}
}

// text adds the items of a text; own says that the page gives it as an element or a value of its own.
func (l *itemList) text(s string, of listOf, own bool) {
	if of == names || own && of != words {
		l.add(s, of)
		return
	}
	start, depth := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth = max(0, depth-1)
		case c == ';' || c == '|' || c == '•' || c == '·' || c == ',' && depth == 0:
			l.add(s[start:i], of)
			start = i + len(string(c))
		}
	}
	l.add(s[start:], of)
}

func (l *itemList) add(s string, of listOf) {
	s = strings.Trim(s, " ,-–•·*")
	if n := len(l.items); of == places && n > 0 && len(s) == 2 && yp.StateCode(s) == s && !strings.Contains(l.items[n-1], ", ") {
		l.items[n-1] += ", " + s
		return
	}
	if s = keep(s, maxLine); s != "" && len(l.items) < maxFacts && !slices.Contains(l.items, s) {
		l.items = append(l.items, s)
	}
}

// email returns the mail address in a value from a page, see yp.FindEmail. The
// directory's own addresses are nobody's.
func (s *Source) email(value string) string {
	email, ok := yp.FindEmail(value)
	if !ok || s.ownHost(email[strings.LastIndexByte(email, '@')+1:]) {
		return ""
	}
	return email
}

// maxEmails bounds how many values are tried for a mail address.
const maxEmails = 20

// What may hold a mail address: links, and what Cloudflare puts in the place of one. Of a whole page only links count
// that plainly do.
const (
	plainEmails    = `[data-cfemail], [href^="mailto:" i], [href*="` + yp.HiddenEmailPath + `#"]`
	possibleEmails = plainEmails + `, [href*="@"]`
)

// emailValues returns everything at or below n that may hold a mail address: links, the attributes of hidden ones,
// then the text.
func emailValues(n *html.Node) []string {
	at := goquery.NewDocumentFromNode(n)
	found := emailLinks(at.Filter(possibleEmails).AddSelection(at.Find(possibleEmails)))
	if text := string(region.AppendText(nil, n, maxText)); len(found) < maxEmails && strings.IndexByte(text, '@') >= 0 {
		found = append(found, text)
	}
	return found
}

// emailLinks returns the attributes of the first maxEmails elements that may hold a mail address.
func emailLinks(s *goquery.Selection) (found []string) {
	for i, link := range s.EachIter() {
		for _, name := range [...]string{"data-cfemail", "href"} {
			if value, ok := link.Attr(name); ok && i < maxEmails {
				found = append(found, value)
			}
		}
	}
	return found
}

// Parts of a page that are about the directory or about others, and those that show nothing.
var (
	framing    = cascadia.MustCompile("header, nav, footer, aside")
	offListing = cascadia.MustCompile("header, nav, footer, aside, template, noscript")
)
