package demo

import (
	"encoding/json"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// findDetail resolves /{city}-{st}/mip/{slug}-{ypid}: only the trailing digits
// count, so the path need not be the business's own.
func (d *edition) findDetail(path string) (business, bool) {
	k, ok := keyOf(int64(number(path[strings.LastIndexByte(path, '-')+1:])))
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
	Phone, Tel string
	LD         any
}

// detailPage writes a business's own page.
func (d *edition) detailPage(b *business) []byte {
	pr := b.profile()
	v := own{frame: plainFrame(b.Name, "mip"), business: *b, profile: pr, Phone: pr.phone}
	v.frame.Where = b.where()
	v.Tel, _ = yp.CanonicalPhone(pr.phone)
	v.LD = b.detailLD(&pr)
	return d.page("detail", &v)
}

// detailLD is the JSON-LD of a detail page; here url is the business's own site.
func (b *business) detailLD(pr *profile) map[string]any {
	v := map[string]any{
		"@context": "http://schema.org", "@type": "LocalBusiness", "name": b.Name,
		"paymentAccepted": strings.Join(pr.Payment, ", "), "image": b.Image,
	}
	full := *b
	if full.Phone, full.Hours = pr.phone, pr.Opens; b.Address.Street == "" {
		full.Address = address{}
	} else {
		v["geo"] = map[string]any{"@type": "GeoCoordinates", "latitude": json.Number(pr.lat), "longitude": json.Number(pr.lon)}
	}
	full.ldFields(v)
	if strings.HasPrefix(b.Website, "http") {
		v["url"] = b.Website
	}
	if pr.Email != "" {
		v["email"] = "mailto:" + pr.Email
	}
	if b.Years > 0 {
		v["foundingDate"] = strconv.Itoa(thisYear - b.Years)
	}
	return v
}

// profile is what a business's own page says beyond its card.
type profile struct {
	phone                                    string // now and then only here
	Email                                    string
	Opens                                    []string // hours, now and then only here
	Payment, Services, Languages, Hoods, AKA []string
	Social                                   []string // as linked, the placeholder too
	lat, lon                                 string
}

// placeholder is where the site's own template points when a business has no
// page there.
const placeholder = "https://www.facebook.com/platform"

// thisYear is the year that founding dates are counted back from.
const thisYear = 2026

// The questions asked of a business's dice about its own page, beside those from tagDetail.
const tagOwn = 7_000

// profile makes up what b's own page says.
func (b *business) profile() profile {
	d := b.dice
	pr := profile{
		phone: b.Phone, Email: b.email(), Opens: b.Hours,
		Payment: some(d, tagOwn+100, words().Payments, 55), Services: b.Labels,
		Languages: some(d, tagOwn+200, words().Tongues, 40), Social: b.socials(),
	}
	if b.Phone == "" && b.home != nil && d.pct(tagOwn+2) < 40 {
		pr.phone = b.localNumber(d, tagOwn+3)
	}
	if b.Hours == nil && d.pct(tagOwn+4) < 35 {
		pr.Opens = words().HourSets[d.pick(tagOwn+5, len(words().HourSets))]
	}
	if d.pct(tagDetail+2) < 30 {
		pr.AKA = []string{yp.Clean(b.Name) + " of " + b.where()}
	}
	if b.home != nil {
		pr.Hoods = some(d, tagOwn+300, words().Quarters, 20)
		pr.lat = strconv.FormatFloat(b.home.Lat+float64(b.dice.unit(tagDetail+7)/20), 'f', 5, 64)
		pr.lon = strconv.FormatFloat(b.home.Lon+float64(b.dice.unit(tagDetail+8)/20), 'f', 5, 64)
	}
	return pr
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
// placeholder.
func (b *business) socials() []string {
	switch r := b.dice.pct(tagOwn + 30); {
	case r < 55:
		return []string{"https://www.facebook.com/" + yp.Slug(yp.Clean(b.Name))}
	case r < 85:
		return []string{placeholder}
	}
	return nil
}

// email returns the business's address, "" when it gives none.
func (b *business) email() string {
	if b.dice.pct(tagDetail+3) < 50 {
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
