package demo

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// views says in which kinds of markup a listing was seen, one bit each: what a
// crawl knows of it is the union of what they show.
type views uint8

// ownWords begins a snippet that the business wrote itself; crawls leave it out.
const ownWords = "From Business: "

const (
	viewModern views = 1 << iota
	view2019
	view2013
	viewCenterAd
	viewAsideAd
)

func (s skin) view() views {
	switch s {
	case skin2019:
		return view2019
	case skin2013:
		return view2013
	}
	return viewModern
}

const (
	viewOrganic = viewModern | view2019 | view2013
	viewRich    = viewModern | view2019 // ratings, years, snippets, images
	viewLabels  = viewOrganic | viewCenterAd
)

// listing returns what a crawl stores of b after seeing it in the given views.
func (b *business) listing(base *url.URL, seen views) yp.Listing {
	l := yp.Listing{ID: strconv.FormatInt(b.id, 10), Name: yp.Clean(b.name), Phone: b.phone, Sponsored: seen&viewOrganic == 0}
	if e164, ok := yp.CanonicalPhone(b.phone); ok {
		l.PhoneE164 = e164
	}
	if seen&viewOrganic != 0 || b.adLinks() {
		l.ProfileURL = absolute(base, b.path)
	}
	b.setAddress(&l, seen)
	b.setWebsite(&l)
	if seen&viewLabels != 0 {
		l.Categories = distinct(b.labels)
	}
	if seen&viewRich != 0 {
		l.Rating, l.ReviewCount = float64(b.stars)/2, b.reviews
		l.YearsInBusiness = b.years
		l.Snippet = strings.TrimPrefix(b.snippet, ownWords)
		if b.image != "" {
			l.ImageURL = absolute(base, b.image)
		}
	}
	if seen&viewModern != 0 {
		l.PriceRange = b.price
		l.Hours = b.hours
		if b.claimed != claimUnsaid {
			yes := b.claimed == claimYes
			l.Claimed = &yes
		}
	}
	return l
}

// setAddress sets the address; ads show only whole ones and service areas.
func (b *business) setAddress(l *yp.Listing, seen views) {
	a := &b.address
	l.ServiceArea = yp.Clean(a.area)
	if seen&viewOrganic == 0 && a.street == "" {
		return
	}
	l.Street, l.City, l.State, l.PostalCode = yp.Clean(a.street), a.city, a.state, a.zip
}

// setWebsite sets the website, unless the link leads back into the directory.
func (b *business) setWebsite(l *yp.Listing) {
	if strings.HasPrefix(b.website, "/") {
		return
	}
	if w, ok := yp.CanonicalWebsite(b.website); ok {
		l.WebsiteURL, l.Website, l.Domain = b.website, w.URL, w.Domain
	}
}

func absolute(base *url.URL, ref string) string {
	u, err := base.Parse(ref)
	if err != nil {
		return ref
	}
	return u.String()
}

func distinct(labels []string) []string {
	var out []string
	for _, label := range labels {
		if !slices.Contains(out, label) {
			out = append(out, label)
		}
	}
	return out
}
