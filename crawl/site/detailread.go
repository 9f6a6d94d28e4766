package site

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// Bounds on what a detail page may say, in bytes or in number.
const (
	maxAbout   = 2000
	maxFacts   = 100
	oldestFirm = 1600 // years: the oldest firm in the country was founded in 1613
	latestFirm = 2100
	mostYears  = 500
)

// detailReader reads a detail page.
type detailReader struct {
	yp.Detail
	src     *Source
	final   *url.URL
	page    cardReader              // the page, as a card
	under   map[string][]*html.Node // what stands under the labels of each field
	ld      structured.Business     // what the JSON-LD says of the business
	more    structured.More
	marked  bool   // the page has the marks of a detail page
	otherID string // the id that the page names, when it is not the one in its URL
}

// each calls f with the texts that the field's rules yield, until it returns
// true.
func (f field) each(c *cardReader, stop func(string) bool) bool {
	for i := range f {
		r := &f[i]
		found := []*html.Node{c.card}
		if r.sel >= 0 {
			found = c.hits[r.sel]
		}
		for _, n := range found[:min(len(found), maxTries)] {
			if s := r.take(c, n); s != "" && stop(s) {
				return true
			}
		}
	}
	return false
}

// text returns the first text that stands under a field's labels.
func (r *detailReader) text(name string) string {
	for _, n := range r.under[name] {
		if s := yp.Clean(clip(string(appendText(nil, n, maxText)), maxText)); s != "" {
			return s
		}
	}
	return ""
}

// contacts reads phone, mail address and website: from the page's own buttons
// first, then from its list of facts, then from its JSON-LD.
func (r *detailReader) contacts() {
	f := &r.src.detail.fields
	r.ownOnly(f.phone, f.website, f.email)
	var l yp.Listing
	setsPhone := func(s string) bool {
		setPhone(&l, strings.TrimPrefix(s, "tel:"))
		return l.Phone != ""
	}
	if !f.phone.each(&r.page, setsPhone) && !setsPhone(r.text("phone")) {
		l.Phone, l.PhoneE164 = r.ld.Phone()
	}
	setsSite := func(href string) bool {
		r.page.website(&l, href)
		return l.Website != ""
	}
	if !f.website.each(&r.page, setsSite) && !r.linksUnder("website", setsSite) {
		setsSite(r.ld.URL)
	}
	r.Phone, r.PhoneE164 = keep(l.Phone, maxLine), strings.Clone(l.PhoneE164)
	r.WebsiteURL, r.Website, r.Domain = l.WebsiteURL, l.Website, l.Domain
	r.email(f.email)
}

// ownOnly drops what the fields' rules found in a box of other businesses.
func (r *detailReader) ownOnly(fields ...field) {
	for _, f := range fields {
		for _, rule := range f {
			if rule.sel >= 0 {
				r.page.hits[rule.sel] = slices.DeleteFunc(r.page.hits[rule.sel], r.src.detail.ofOther)
			}
		}
	}
}

// ofOther reports whether n is in a box of other businesses.
func (r *detailRules) ofOther(n *html.Node) bool {
	for ; n != nil && n.Type == html.ElementNode; n = n.Parent {
		for _, m := range r.others {
			if m.Match(n) {
				return true
			}
		}
	}
	return false
}

// linksUnder calls f with the links under a field's labels, until it returns
// true.
func (r *detailReader) linksUnder(name string, stop func(string) bool) bool {
	for _, n := range r.under[name] {
		if !links(n, func(href string) bool { return !stop(href) }) {
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
		for _, v := range emailValues(n, nil) {
			if sets(yp.Clean(v)) {
				return
			}
		}
	}
	for _, s := range r.more.Emails {
		if sets(s) {
			return
		}
	}
}

// facts reads what is a single number or text.
func (r *detailReader) facts() {
	f := &r.src.detail.fields
	r.About = r.text("about")
	if r.About == "" {
		r.About = f.about.first(&r.page)
	}
	if r.About == "" {
		r.About = r.ld.Description()
	}
	r.About = keep(r.src.snippet(r.About), maxAbout)
	for _, s := range [...]string{f.years.first(&r.page), r.text("years_in_business")} {
		if n, _ := yp.FirstInt(s); r.Years == 0 && n <= mostYears {
			r.Years = n
		}
	}
	for _, s := range [...]string{f.founded.first(&r.page), r.text("founded"), r.more.Founded} {
		if r.Founded == 0 {
			r.Founded = year(s)
		}
	}
	r.positions(append([][2]string{{f.lat.first(&r.page), f.lon.first(&r.page)}}, r.more.Positions...))
	if r.Hours = readHours(&r.ld); len(r.Hours) == 0 {
		r.Hours = r.hours()
	}
}

// year reads the first number of four digits that can be the year in which a
// firm was founded; 0 = none.
func year(s string) int {
	for i := 0; i+4 <= len(s); i++ {
		if !yp.AllDigits(s[i:i+4]) || i > 0 && digit(s[i-1]) || i+4 < len(s) && digit(s[i+4]) {
			continue
		}
		if n, _ := strconv.Atoi(s[i : i+4]); n >= oldestFirm && n <= latestFirm {
			return n
		}
	}
	return 0
}

// positions keeps the first latitude and longitude, in degrees, that can be ones.
// 0, 0 is in the sea, and what careless sites put where they know nothing.
func (r *detailReader) positions(all [][2]string) {
	for _, at := range all {
		lat, err := strconv.ParseFloat(at[0], 64)
		lon, err2 := strconv.ParseFloat(at[1], 64)
		if r.Lat == 0 && r.Lon == 0 && err == nil && err2 == nil && lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180 {
			r.Lat, r.Lon = lat, lon
		}
	}
}

// hours reads the table of opening hours: the first, since a page may repeat
// it. Without one, what stands under the label counts.
func (r *detailReader) hours() []string {
	var out []string
	var table *html.Node
	for _, i := range r.src.detail.hours {
		for _, row := range r.page.hits[i] {
			if table == nil {
				table = row.Parent
			}
			if row.Parent == table && len(out) < maxHours {
				out = rowHours(out, row)
			}
		}
	}
	if len(out) == 0 {
		out, _ = yp.AppendHours(nil, r.text("hours"))
	}
	return boundHours(out)
}

// rowHours appends the hours of a row: those in the form for machines, if it
// has it, else those for people.
func rowHours(out []string, row *html.Node) []string {
	for _, text := range [...]string{datetimes(row), string(appendText(nil, row, maxText))} {
		if more, ok := yp.AppendHours(out, yp.Clean(text)); ok {
			return more
		}
	}
	return out
}

// datetimes returns the datetime attributes in a row, with blanks between.
func datetimes(n *html.Node) string {
	s := ""
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if c.Data == "time" {
			s += attrOf(c, "datetime") + " "
		}
		if s += datetimes(c); len(s) > maxText {
			break
		}
	}
	return s
}
