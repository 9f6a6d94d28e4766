package demo

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// details is Directory.Details of one epoch.
func (d *edition) details(base *url.URL, sel Selection) []yp.Detail {
	seen := make(map[key]views)
	for _, t := range d.selected(sel) {
		pages := min(t.pages(), pageLimit(sel.MaxPages, t.place.Tier))
		d.see(&t, pages, sel.IncludeSponsored, func(k key, v views) { seen[k] |= v })
	}
	all := []yp.Detail{}
	for k, v := range seen {
		b := d.business(k)
		if v&viewOrganic != 0 || b.adLinks() {
			all = append(all, b.detail(base))
		}
	}
	slices.SortFunc(all, func(a, b yp.Detail) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// detail returns what a crawl keeps of b's own page.
func (b *business) detail(base *url.URL) yp.Detail {
	pr := b.profile()
	l := b.listing(base, viewOrganic)
	det := yp.Detail{
		ID: l.ID, Name: l.Name, Email: pr.email, Phone: pr.phone, WebsiteURL: l.WebsiteURL, Website: l.Website, Domain: l.Domain,
		Hours: pr.hours, Payment: pr.payment, Services: pr.services, Languages: pr.languages, Neighborhoods: pr.hoods, AKA: pr.aka,
		Social: slices.DeleteFunc(slices.Clone(pr.social), func(s string) bool { return s == placeholder }),
		Years:  b.years, About: l.Snippet,
	}
	if e164, ok := yp.CanonicalPhone(pr.phone); ok {
		det.PhoneE164 = e164
	}
	if len(det.Social) == 0 {
		det.Social = nil
	}
	if pr.ld {
		det.Founded = pr.founded
		if b.address.street != "" {
			det.Lat, det.Lon = degrees(pr.lat), degrees(pr.lon)
		}
	}
	return det
}

// degrees reads a coordinate as it is printed.
func degrees(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return x
}
