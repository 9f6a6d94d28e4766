package demo

import (
	"encoding/hex"
	"encoding/json"
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

// own is a business's own page.
type own struct {
	frame
	business
	profile
	Phone, Tel, Mailto                       string
	LD                                       any
	HourRows                                 []hourRow
	Services, Payment, Languages, Hoods, AKA *items
}

// items are a list and how it is written: behind each its separator, or in elements.
type items struct {
	Style string
	Items []string
}

func itemsOf(style string, list []string) *items {
	if len(list) == 0 {
		return nil
	}
	return &items{style, list}
}

// detailPage writes a business's own page.
func (d *edition) detailPage(b *business) []byte {
	pr := b.profile()
	v := own{
		frame: plainFrame(b.Name, "mip"), business: *b, Phone: pr.phone, Mailto: pr.mailto(),
		Services: itemsOf(pr.styles[0], pr.services), Payment: itemsOf(pr.styles[1], pr.payment), Languages: itemsOf(pr.styles[2], pr.languages),
		Hoods: itemsOf("span", pr.hoods), AKA: itemsOf("p", pr.aka),
	}
	v.profile = pr
	v.frame.Where = b.where()
	v.Tel, _ = yp.CanonicalPhone(pr.phone)
	for _, h := range pr.hours {
		days, times, _ := strings.Cut(h, " ")
		v.HourRows = append(v.HourRows, hourRow{dayNames.Replace(days), h, clock(times)})
	}
	if pr.ld {
		v.LD = b.detailLD(&pr)
	}
	return d.page("detail", &v)
}

// hourRow is a row of opening hours, for people and for machines.
type hourRow struct{ Days, Machine, Times string }

var dayNames = strings.NewReplacer("Mo", "Mon", "Tu", "Tue", "We", "Wed", "Th", "Thu", "Fr", "Fri", "Sa", "Sat", "Su", "Sun", "-", " - ")

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
	switch {
	case pr.email == "":
		return ""
	case !pr.hidden:
		return "mailto:" + pr.email
	}
	masked := []byte{pr.mask}
	for _, c := range []byte(pr.email) {
		masked = append(masked, c^pr.mask)
	}
	return "/cdn-cgi/l/email-protection#" + hex.EncodeToString(masked)
}

// detailLD is the JSON-LD of a detail page; here url is the business's own
// site. One in some stands in a graph. What the CDN hides it does not tell.
func (b *business) detailLD(pr *profile) map[string]any {
	v := map[string]any{"@type": "LocalBusiness", "name": b.Name, "paymentAccepted": strings.Join(pr.payment, ", "), "image": b.Image}
	if b.dice.pct(tagDetail+6) < 50 {
		v["@type"] = []string{"LocalBusiness", "Organization"}
	}
	full := *b
	if full.Phone, full.Hours = pr.phone, pr.hours; b.Address.Street == "" {
		full.Address = address{}
	} else {
		v["geo"] = map[string]any{"@type": "GeoCoordinates", "latitude": json.Number(pr.lat), "longitude": json.Number(pr.lon)}
	}
	full.ldFields(v)
	if strings.HasPrefix(b.Website, "http") {
		v["url"] = b.Website
	}
	if !pr.hidden && pr.email != "" {
		v["email"] = "mailto:" + pr.email
	}
	if b.Years > 0 {
		v["foundingDate"] = strconv.Itoa(pr.founded)
	}
	if pr.graph {
		return map[string]any{"@context": "http://schema.org", "@graph": []any{map[string]any{"@type": "BreadcrumbList", "itemListElement": []any{}}, v}}
	}
	v["@context"] = "http://schema.org"
	return v
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
	Social    []string // as linked, the placeholder too
	founded   int
	lat, lon  string
	ld        bool      // the page has JSON-LD
	graph     bool      // in a graph
	styles    [3]string // how lists are written
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
		phone: b.Phone, email: b.email(), hidden: d.pct(tagDetail+4) >= 50, mask: byte(d.pick(tagOwnMask, 256)), hours: b.Hours,
		ld: d.pct(tagOwn) >= 16, graph: d.pct(tagOwn+1) < 12,
	}
	if b.Phone == "" && b.home != nil && d.pct(tagOwn+2) < 40 {
		pr.phone = b.localNumber(d, tagOwn+3)
	}
	if b.Hours == nil && d.pct(tagOwn+4) < 35 {
		pr.hours = hourSets[d.pick(tagOwn+5, len(hourSets))]
	}
	pr.fillLists(b)
	if b.Years > 0 {
		pr.founded = thisYear - b.Years
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
		pr.services = distinct(b.Labels)
	}
	if d.pct(tagOwn+12) < 75 {
		pr.languages = append(pr.languages, some(d, tagOwn+200, tongues, 40)...)
	}
	if b.home != nil && d.pct(tagOwn+13) < 55 {
		pr.hoods = some(d, tagOwn+300, quarters, 20)
	}
	if d.pct(tagDetail+2) < 30 {
		pr.aka = append(pr.aka, yp.Clean(b.Name)+" of "+b.where())
		if d.pct(tagOwn+14) < 35 {
			pr.aka = append(pr.aka, "The "+b.trade.words[0]+" People")
		}
	}
	for i := range pr.styles {
		pr.styles[i] = d.word(tagOwn+20+i, []string{",", ";", " •", "br", "list", "span"})
	}
	pr.Social = b.socials()
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
	d, slug := b.dice, yp.Slug(yp.Clean(b.Name))
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
	host := strings.ReplaceAll(yp.Slug(yp.Clean(b.Name)), "-", "")
	return "info" + strconv.FormatInt(b.ID%1000, 10) + "@" + host[:min(len(host), 50)] + ".example"
}

// where is the place that a business belongs to, for people.
func (b *business) where() string {
	if b.home == nil {
		return "Nationwide"
	}
	return b.home.Name + ", " + b.home.State
}
