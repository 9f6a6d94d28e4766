package demo

import (
	"fmt"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// findDetail resolves /{city}-{st}/mip/{slug}-{ypid}: only the trailing digits
// count. moved is the proper address when the path is not it.
func (d *Directory) findDetail(path string) (b business, moved string, ok bool) {
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

func (d *Directory) writeDetail(p *page, b *business) {
	v := plainFrame(encodeUTF8.escape(b.name), "mip")
	v.fillCard(b, 0, 0, encodeUTF8)
	s := &v.s
	s[fRank] = ""
	where := "Nationwide"
	if b.home != nil {
		where = b.home.Name + ", " + b.home.State
	}
	s[fWhere] = encodeUTF8.escape(where)
	if e164, ok := yp.CanonicalPhone(b.phone); ok {
		s[fTel] = e164
	}
	s[fAddressSpan] = encodeUTF8.escape(b.address.oneLine())
	s[fMailto] = b.mailto()
	s[fServices] = encodeUTF8.escape(strings.Join(b.labels, ", "))
	s[fPayment] = "amex, cash, check, debit, master card, visa"
	s[fLanguages] = "English, Spanish"
	s[fSocial] = "https://www.facebook.com/platform"
	if b.dice.pct(tagDetail+1) < 50 {
		s[fSocial] = "https://www.facebook.com/" + yp.Slug(b.name)
	}
	if b.dice.pct(tagDetail+2) < 30 {
		s[fAKA] = encodeUTF8.escape(b.name) + " of " + s[fWhere]
	}
	s[fHoursRows] = hourRows(b.hours)
	s[fLDDetail] = b.detailLD()
	d.tpl["shell_top"].write(p, v)
	d.tpl["detail"].write(p, v)
	d.tpl["shell_bottom"].write(p, v)
}

func hourRows(hours []string) string {
	var b strings.Builder
	for _, h := range hours {
		days, times, _ := strings.Cut(h, " ")
		if times == "" {
			times = "Closed"
		}
		b.WriteString(`<tr><th class="day-label">` + days + `</th><td class="day-hours"><time datetime="` + h + `">` + times + `</time></td></tr>`)
	}
	return b.String()
}

// email returns the business's address, "" when it gives none.
func (b *business) email() string {
	if b.dice.pct(tagDetail+3) < 50 {
		return ""
	}
	return "info" + strconv.FormatInt(b.id%1000, 10) + "@" + strings.ReplaceAll(yp.Slug(yp.Clean(b.name)), "-", "") + ".example"
}

// mailto writes the email link, for half of them as the CDN hides it: in hex,
// the first byte being the key that the others are XORed with.
func (b *business) mailto() string {
	email := b.email()
	if email == "" {
		return ""
	}
	if b.dice.pct(tagDetail+4) < 50 {
		return "mailto:" + email
	}
	mask := byte(b.dice.pick(tagDetail+5, 256))
	hex := fmt.Sprintf("%02x", mask)
	for _, c := range []byte(email) {
		hex += fmt.Sprintf("%02x", c^mask)
	}
	return "/cdn-cgi/l/email-protection#" + hex
}

// detailLD is the JSON-LD of a detail page; here url is the business's own site.
func (b *business) detailLD() string {
	f := []string{`"@context":"http://schema.org"`, `"@type":` + b.dice.word(tagDetail+6, []string{`"LocalBusiness"`, `["LocalBusiness","Organization"]`}), `"name":"` + jsonText(b.name) + `"`}
	add := func(name, value string) {
		if value != "" {
			f = append(f, `"`+name+`":`+value)
		}
	}
	add("telephone", quoted(b.phone))
	if b.address.street != "" {
		add("address", `{"@type":"PostalAddress","streetAddress":`+quoted(b.address.street)+`,"addressLocality":`+quoted(b.address.city)+`,"addressRegion":"`+b.address.state+`","postalCode":"`+b.address.zip+`"}`)
		add("geo", fmt.Sprintf(`{"@type":"GeoCoordinates","latitude":%.5f,"longitude":%.5f}`, b.home.Lat+b.dice.unit(tagDetail+7)/20, b.home.Lon+b.dice.unit(tagDetail+8)/20))
	}
	if strings.HasPrefix(b.website, "http") {
		add("url", quoted(b.website))
	}
	if email := b.email(); email != "" {
		add("email", quoted("mailto:"+email))
	}
	add("openingHours", jsonList(b.hours))
	if b.stars > 0 {
		add("aggregateRating", `{"@type":"AggregateRating","ratingValue":"`+rating(b.stars)+`","reviewCount":`+strconv.Itoa(b.reviews)+`}`)
	}
	add("paymentAccepted", `"cash, check, visa"`)
	if b.years > 0 {
		add("foundingDate", `"`+strconv.Itoa(2026-b.years)+`"`)
	}
	add("image", quoted(b.image))
	return "{" + strings.Join(f, ",") + "}"
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return `"` + jsonText(s) + `"`
}
