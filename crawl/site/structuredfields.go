package site

import (
	"net/url"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// phone keeps the first number that can be dialled here, else the first.
func (r *businessReader) phone(g *graph, it *item, l *yp.Listing) {
	numbers := g.texts(it, "telephone", "phone", "telephone_number")
	for _, v := range g.values(it, "contactPoint") {
		if v.item != nil {
			numbers = append(numbers, g.texts(v.item, "telephone")...)
		}
	}
	for _, s := range numbers[:min(len(numbers), maxTries)] {
		var one yp.Listing
		setPhone(&one, dialled(s))
		if one.PhoneE164 != "" || l.Phone == "" {
			l.Phone, l.PhoneE164 = one.Phone, one.PhoneE164
		}
		if l.PhoneE164 != "" {
			return
		}
	}
}

// dialled returns the number of a tel: address.
func dialled(s string) string {
	if len(s) < 4 || !strings.EqualFold(s[:4], "tel:") {
		return s
	}
	s = s[4:]
	if plain, err := url.PathUnescape(s); err == nil {
		s = plain
	}
	return part(s)
}

// place reads the address: in parts, as a text, or, when the business says no
// more than that, the area that it serves.
func (r *businessReader) place(g *graph, it *item, l *yp.Listing) {
	addresses := g.values(it, "address")
	for _, v := range g.values(it, "location") {
		if v.item != nil {
			addresses = append(addresses, g.values(v.item, "address")...)
		}
	}
	for _, v := range addresses {
		if r.address(g, v, l); l.Street != "" || l.City != "" || l.PostalCode != "" {
			return
		}
	}
	r.addressParts(g, it, l)
	if area := g.text(it, "areaServed", "serviceArea"); l.City == "" && l.Street == "" && l.ServiceArea == "" {
		l.ServiceArea = keep(area, maxLine)
	}
}

func (r *businessReader) address(g *graph, v value, l *yp.Listing) {
	if v.item != nil {
		r.addressParts(g, v.item, l)
	}
	if l.Street != "" || l.City != "" || l.PostalCode != "" {
		return
	}
	line := g.textOf(v)
	if r.src.serviceArea(line) {
		l.ServiceArea = keep(line, maxLine)
		return
	}
	street, city, state, zip := oneLine(withoutCountry(line))
	l.Street, l.City = keep(street, maxLine), keep(city, maxLine)
	l.State, l.PostalCode = strings.Clone(state), strings.Clone(zip)
}

func (r *businessReader) addressParts(g *graph, it *item, l *yp.Listing) {
	street := strings.Join(distinct(g.texts(it, "streetAddress"), 3), ", ")
	city, state, zip := locality(withoutCountry(g.text(it, "addressLocality")))
	if s := stateCode(trimPlace(strings.TrimPrefix(g.text(it, "addressRegion"), "US-"))); s != "" {
		state = s
	}
	if s := postalCode(g.text(it, "postalCode")); s != "" {
		zip = s
	}
	l.Street, l.City = keep(trimPlace(street), maxLine), keep(city, maxLine)
	l.State, l.PostalCode = strings.Clone(state), strings.Clone(zip)
}

// countries end addresses that are written in one line.
var countries = [...]string{"United States of America", "United States", "U.S.A.", "USA", "U.S.", "US", "Canada"}

func withoutCountry(s string) string {
	s = trimPlace(s)
	for _, c := range countries {
		if rest := len(s) - len(c); rest > 1 && strings.EqualFold(s[rest:], c) && (s[rest-1] == ' ' || s[rest-1] == ',') {
			return trimPlace(s[:rest])
		}
	}
	return s
}

// ratings reads aggregateRating, on the scale that it names.
func (r *businessReader) ratings(g *graph, it *item, l *yp.Listing) {
	all := g.values(it, "aggregateRating", "starRating")
	switch {
	case len(all) == 0:
		l.ReviewCount, _ = firstInt(g.text(it, "reviewCount"))
	case all[0].item == nil:
		l.Rating = rating(plainText(all[0].text))
	default:
		l.Rating = stars(g, all[0].item)
		l.ReviewCount, _ = firstInt(g.text(all[0].item, "reviewCount", "ratingCount"))
	}
}

// stars returns a Rating's value on the scale of five.
func stars(g *graph, it *item) float64 {
	n, err := strconv.ParseFloat(strings.Replace(g.text(it, "ratingValue"), ",", ".", 1), 64)
	if err != nil {
		return 0
	}
	if best, err := strconv.ParseFloat(g.text(it, "bestRating"), 64); err == nil && best > 0 && best <= 100 {
		n *= 5 / best
	}
	return inScale(n)
}

// image returns the first picture that is none of the site's stand-ins.
func (r *businessReader) image(g *graph, it *item) string {
	for _, name := range [...]string{"image", "photo"} {
		for _, v := range it.props[name] {
			src := plainText(v.text)
			if v = g.resolve(v); v.item != nil {
				src = orText(g.text(v.item, "url", "contentUrl"), part(v.item.id))
			}
			if src == "" || len(src) > maxURL || r.src.standIn(src) {
				continue
			}
			if u, err := r.final.Parse(src); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
				return u.String()
			}
		}
	}
	return ""
}
