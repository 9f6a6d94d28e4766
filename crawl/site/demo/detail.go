package demo

import (
	"fmt"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// findDetail resolves /{city}-{st}/mip/{slug}-{ypid}: only the trailing digits
// count. moved is the proper address when the path is not it.
func (d *edition) findDetail(path string) (b business, moved string, ok bool) {
	i := strings.LastIndexByte(path, '-')
	id := number(path[i+1:])
	if i < 0 || id < 0 {
		return b, "", false
	}
	k, ok := keyOf(int64(id), d.inverse)
	if !ok || !d.exists(k) {
		return b, "", false
	}
	b = d.business(k)
	if b.path != path {
		moved = b.path
	}
	return b, moved, true
}

// writeDetail writes a business's own page.
func (d *edition) writeDetail(p *page, b *business) {
	pr := b.profile()
	v := plainFrame(encodeUTF8.escape(b.name), "mip")
	v.fillCard(b, 0, 0, encodeUTF8)
	s := &v.s
	s[fRank] = ""
	s[fWhere] = encodeUTF8.escape(b.where())
	s[fPhone] = pr.phone
	if e164, ok := yp.CanonicalPhone(pr.phone); ok {
		s[fTel] = e164
	}
	s[fAddressSpan] = encodeUTF8.escape(b.address.oneLine())
	s[fMailto] = pr.mailto()
	s[fServices] = pr.styles[0].write(pr.services)
	s[fPayment] = pr.styles[1].write(pr.payment)
	s[fLanguages] = pr.styles[2].write(pr.languages)
	s[fHoods] = styleSpans.write(pr.hoods)
	s[fAKA] = styleParagraphs.write(pr.aka)
	s[fSocial] = socialLinks(pr.social)
	s[fHoursRows] = hourRows(pr.hours)
	if pr.ld {
		s[fLDDetail] = b.detailLD(&pr)
	}
	d.tpl["shell_top"].write(p, v)
	d.tpl["detail"].write(p, v)
	d.tpl["shell_bottom"].write(p, v)
}

func socialLinks(links []string) string {
	var b strings.Builder
	for _, link := range links {
		name := "Facebook"
		if strings.Contains(link, "instagram") {
			name = "Instagram"
		}
		b.WriteString(`<a href="` + link + `" rel="nofollow">` + name + `</a>`)
	}
	return b.String()
}

// hourRows writes opening hours for people, with the form for machines beside.
func hourRows(hours []string) string {
	var b strings.Builder
	for _, h := range hours {
		days, times, _ := strings.Cut(h, " ")
		b.WriteString(`<tr><th class="day-label">` + dayNames(days) + `</th><td class="day-hours"><time datetime="` + h + `">` + clock(times) + `</time></td></tr>`)
	}
	return b.String()
}

// dayNames writes "Mo-Th" as "Mon - Thu".
func dayNames(days string) string {
	r := strings.NewReplacer("Mo", "Mon", "Tu", "Tue", "We", "Wed", "Th", "Thu", "Fr", "Fri", "Sa", "Sat", "Su", "Sun", "-", " - ")
	return r.Replace(days)
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
	hex := fmt.Sprintf("%02x", pr.mask)
	for _, c := range []byte(pr.email) {
		hex += fmt.Sprintf("%02x", c^pr.mask)
	}
	return "/cdn-cgi/l/email-protection#" + hex
}

// detailLD is the JSON-LD of a detail page; here url is the business's own
// site. One in some stands in a graph. What the CDN hides it does not tell.
func (b *business) detailLD(pr *profile) string {
	f := []string{`"@type":` + b.dice.word(tagDetail+6, []string{`"LocalBusiness"`, `["LocalBusiness","Organization"]`}), `"name":"` + jsonText(b.name) + `"`}
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

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return `"` + jsonText(s) + `"`
}
