package demo

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// findDetail resolves /{city}-{st}/mip/{slug}-{ypid}: only the trailing digits
// count, so the path need not be the business's own.
func (d *edition) findDetail(path string) (business, bool) {
	k, ok := keyOf(int64(number(path[strings.LastIndexByte(path, '-')+1:])), d.inverse)
	if !ok || !d.exists(k) {
		return business{}, false
	}
	return d.business(k), true
}

// detailPage writes a business's own page.
func (d *edition) detailPage(b *business) []byte {
	pr := b.profile()
	v := b.card(skinModern)
	maps.Copy(v, plainFrame(escape(b.name), "mip"))
	v["where"] = escape(b.where())
	v["phone"] = pr.phone
	v["tel"], _ = yp.CanonicalPhone(pr.phone)
	v["address_span"] = escape(b.address.oneLine())
	v["mailto"] = pr.mailto()
	v["services"] = pr.styles[0].write(pr.services)
	v["payment"] = pr.styles[1].write(pr.payment)
	v["languages"] = pr.styles[2].write(pr.languages)
	v["hoods"] = styleSpans.write(pr.hoods)
	v["aka"] = styleParagraphs.write(pr.aka)
	for _, link := range pr.social {
		name := "Facebook"
		if strings.Contains(link, "instagram") {
			name = "Instagram"
		}
		v["social"] += `<a href="` + link + `" rel="nofollow">` + name + `</a>`
	}
	for _, h := range pr.hours {
		v["hours_rows"] += hourRow(h)
	}
	if pr.ld {
		v["ld_detail"] = b.detailLD(&pr)
	}
	return d.page("detail", v)
}

var dayNames = strings.NewReplacer("Mo", "Mon", "Tu", "Tue", "We", "Wed", "Th", "Thu", "Fr", "Fri", "Sa", "Sat", "Su", "Sun", "-", " - ")

// hourRow writes opening hours for people, with the form for machines beside.
func hourRow(hours string) string {
	days, times, _ := strings.Cut(hours, " ")
	return `<tr><th class="day-label">` + dayNames.Replace(days) + `</th><td class="day-hours"><time datetime="` + hours + `">` + clock(times) + `</time></td></tr>`
}

// clock writes "13:00-17:30" as "1:00 pm - 5:30 pm".
func clock(times string) string {
	if times == "" {
		return "Closed"
	}
	var out []string
	for span := range strings.SplitSeq(times, ",") {
		from, to, _ := strings.Cut(span, "-")
		out = append(out, halfDay(from)+" - "+halfDay(to))
	}
	return strings.Join(out, ", ")
}

func halfDay(t string) string {
	h, half := number(t[:2]), " am"
	if h >= 12 {
		half = " pm"
	}
	return strconv.Itoa((h+11)%12+1) + t[2:] + half
}

// mailto writes the email link, or hides it as the CDN does: in hex, the first
// byte being the key that the others are XORed with.
func (pr *profile) mailto() string {
	if pr.email == "" || !pr.hidden {
		return prefixed("mailto:", pr.email)
	}
	masked := []byte{pr.mask}
	for _, c := range []byte(pr.email) {
		masked = append(masked, c^pr.mask)
	}
	return "/cdn-cgi/l/email-protection#" + hex.EncodeToString(masked)
}

// detailLD is the JSON-LD of a detail page; here url is the business's own
// site. One in some stands in a graph. What the CDN hides it does not tell.
func (b *business) detailLD(pr *profile) string {
	f := []string{`"@type":` + b.dice.word(tagDetail+6, []string{`"LocalBusiness"`, `["LocalBusiness","Organization"]`}), `"name":` + quoted(b.name)}
	add := func(name, value string) {
		if value != "" {
			f = append(f, `"`+name+`":`+value)
		}
	}
	add("telephone", quoted(pr.phone))
	if b.address.street != "" {
		add("address", `{"@type":"PostalAddress","streetAddress":`+quoted(b.address.street)+`,"addressLocality":`+quoted(b.address.city)+`,"addressRegion":"`+b.address.state+`","postalCode":"`+b.address.zip+`"}`)
		add("geo", `{"@type":"GeoCoordinates","latitude":`+pr.lat+`,"longitude":`+pr.lon+`}`)
	}
	if strings.HasPrefix(b.website, "http") {
		add("url", quoted(b.website))
	}
	if !pr.hidden {
		add("email", quoted(prefixed("mailto:", pr.email)))
	}
	add("openingHours", jsonList(pr.hours))
	if b.stars > 0 {
		add("aggregateRating", `{"@type":"AggregateRating","ratingValue":"`+rating(b.stars)+`","reviewCount":`+strconv.Itoa(b.reviews)+`}`)
	}
	add("paymentAccepted", quoted(strings.Join(pr.payment, ", ")))
	if b.years > 0 {
		add("foundingDate", `"`+strconv.Itoa(pr.founded)+`"`)
	}
	add("image", quoted(b.image))
	body := strings.Join(f, ",")
	if pr.graph {
		return `{"@context":"http://schema.org","@graph":[{"@type":"BreadcrumbList","itemListElement":[]},{` + body + `}]}`
	}
	return `{"@context":"http://schema.org",` + body + `}`
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// profile is what a business's own page says beyond its card.
type profile struct {
	phone     string // now and then only here
	email     string
	hidden    bool // the email is written as the CDN hides it
	mask      byte
	hours     []string // now and then only here
	payment   []string
	services  []string
	languages []string
	hoods     []string
	aka       []string
	social    []string // as linked, the placeholder too
	founded   int
	lat, lon  string
	ld        bool // the page has JSON-LD
	graph     bool // in a graph
	styles    [3]listStyle
}

// placeholder is where the site's own template points when a business has no
// page there.
const placeholder = "https://www.facebook.com/platform"

// thisYear is the year that founding dates are counted back from.
const thisYear = 2026

// The questions asked of a business's dice about its own page, from tagDetail.
const (
	tagOwnEmail = tagDetail + 3
	tagOwnMask  = tagDetail + 5
	tagOwn      = 7_000 // the ones that came later
)

var (
	payments = []string{"amex", "cash", "check", "debit", "diners club", "discover", "financing available", "invoice", "master card", "paypal", "visa"}
	tongues  = []string{"English", "Spanish", "Vietnamese", "Chinese", "Tagalog", "French"}
	quarters = []string{"Downtown", "Midtown", "Old Town", "Eastside", "West End", "Riverside District", "Uptown", "Historic Core"}
)

// profile makes up what b's own page says.
func (b *business) profile() profile {
	d := b.dice
	pr := profile{
		phone: b.phone, email: b.email(), hidden: d.pct(tagDetail+4) >= 50, mask: byte(d.pick(tagOwnMask, 256)), hours: b.hours,
		ld: d.pct(tagOwn) >= 16, graph: d.pct(tagOwn+1) < 12,
	}
	if b.phone == "" && b.home != nil && d.pct(tagOwn+2) < 40 {
		pr.phone = b.localNumber(d, tagOwn+3)
	}
	if b.hours == nil && d.pct(tagOwn+4) < 35 {
		pr.hours = hourSets[d.pick(tagOwn+5, len(hourSets))]
	}
	pr.fillLists(b)
	if b.years > 0 {
		pr.founded = thisYear - b.years
	}
	if b.home != nil {
		pr.lat = strconv.FormatFloat(b.home.Lat+float64(b.spot.unit(tagDetail+7)/20), 'f', 5, 64)
		pr.lon = strconv.FormatFloat(b.home.Lon+float64(b.spot.unit(tagDetail+8)/20), 'f', 5, 64)
	}
	return pr
}

func (pr *profile) fillLists(b *business) {
	d := b.dice
	if d.pct(tagOwn+10) < 88 {
		pr.payment = some(d, tagOwn+100, payments, 55)
	}
	if d.pct(tagOwn+11) < 85 {
		pr.services = distinct(b.labels)
	}
	if d.pct(tagOwn+12) < 75 {
		pr.languages = append(pr.languages, some(d, tagOwn+200, tongues, 40)...)
	}
	if b.home != nil && d.pct(tagOwn+13) < 55 {
		pr.hoods = some(d, tagOwn+300, quarters, 20)
	}
	if d.pct(tagDetail+2) < 30 {
		pr.aka = append(pr.aka, yp.Clean(b.name)+" of "+b.where())
		if d.pct(tagOwn+14) < 35 {
			pr.aka = append(pr.aka, "The "+b.trade.words[0]+" People")
		}
	}
	for i := range pr.styles {
		pr.styles[i] = listStyle(d.pick(tagOwn+20+i, int(numStyles)))
	}
	pr.social = b.socials()
}

// some picks each of words with pct in a hundred.
func some(d dice, tag int, words []string, pct int) []string {
	var out []string
	for i, w := range words {
		if d.pct(tag+i) < pct {
			out = append(out, w)
		}
	}
	return out
}

// socials lists the social links: the business's own, or the template's
// placeholder, or both.
func (b *business) socials() []string {
	d, slug := b.dice, yp.Slug(yp.Clean(b.name))
	switch r := d.pct(tagOwn + 30); {
	case r < 35:
		return []string{"https://www.facebook.com/" + slug}
	case r < 55:
		return []string{"https://www.facebook.com/" + slug, "https://www.instagram.com/" + strings.ReplaceAll(slug, "-", "_")}
	case r < 85:
		return []string{placeholder}
	case r < 90:
		return []string{placeholder, "https://www.instagram.com/" + strings.ReplaceAll(slug, "-", "_")}
	}
	return nil
}

// email returns the business's address, "" when it gives none.
func (b *business) email() string {
	if b.dice.pct(tagOwnEmail) < 50 {
		return ""
	}
	host := strings.ReplaceAll(yp.Slug(yp.Clean(b.name)), "-", "")
	return "info" + strconv.FormatInt(b.id%1000, 10) + "@" + host[:min(len(host), 50)] + ".example"
}

// where is the place that a business belongs to, for people.
func (b *business) where() string {
	if b.home == nil {
		return "Nationwide"
	}
	return b.home.Name + ", " + b.home.State
}

// listStyle is how a page writes a list.
type listStyle uint8

const (
	styleCommas listStyle = iota
	styleSemicolons
	styleBullets
	styleBreaks
	styleItems
	styleSpans
	numStyles
	styleParagraphs // for lists whose words hold commas
)

// write writes a list; texts are escaped.
func (s listStyle) write(list []string) string {
	if len(list) == 0 {
		return ""
	}
	escaped := slices.Clone(list)
	for i, text := range list {
		escaped[i] = escape(text)
	}
	switch s {
	case styleSemicolons:
		return strings.Join(escaped, "; ")
	case styleBullets:
		return strings.Join(escaped, " &bull; ")
	case styleBreaks:
		return strings.Join(escaped, "<br>")
	case styleItems:
		return "<ul><li>" + strings.Join(escaped, "</li><li>") + "</li></ul>"
	case styleSpans:
		return "<span>" + strings.Join(escaped, "</span> <span>") + "</span>"
	case styleParagraphs:
		return "<p>" + strings.Join(escaped, "</p><p>") + "</p>"
	}
	return strings.Join(escaped, ", ")
}
