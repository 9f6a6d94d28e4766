package demo

import (
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// fillCard sets the values of an organic card. Which of them show is the
// template's business.
func (v *values) fillCard(b *business, rank, page int, e encoding) {
	v.fillBasics(b, e)
	s := &v.s
	s[fRank] = strconv.Itoa(rank)
	s[fGap] = ". "
	if b.dice.pct(tagOpen+1) < 20 {
		s[fGap] = ".&nbsp;"
	}
	s[fTier] = b.dice.word(tagOpen+2, []string{"free", "free", "sub", "paid"})
	v.fillAddress(&b.address, e)
	v.fillReputation(b)
	v.fillImage(b.image)
	s[fSnippet] = e.escape(b.snippet)
	if b.dice.pct(tagOpen+10+page) < 60 {
		s[fOpen], s[fOpenClass] = "open now", "open"
		if b.dice.pct(tagOpen+1000+page) < 40 {
			s[fOpen], s[fOpenClass] = "closed now", "closed"
		}
	}
}

// fillBasics sets what ads show as well.
func (v *values) fillBasics(b *business, e encoding) {
	s := &v.s
	s[fID] = strconv.FormatInt(b.id, 10)
	s[fLid] = s[fID]
	s[fHref] = b.path
	if b.lid != b.id {
		s[fLid] = strconv.FormatInt(b.lid, 10)
		s[fHref] += "?lid=" + s[fLid]
	}
	s[fName] = e.escape(b.name)
	s[fPhone] = b.phone
	s[fWebsite] = e.escape(b.website)
	var cats strings.Builder
	for _, label := range b.labels {
		cats.WriteString(`<a href="/search?c=` + yp.CategorySlug(label) + `" data-analytics="srp">` + e.escape(label) + `</a>`)
	}
	s[fCats] = cats.String()
}

func (v *values) fillAddress(a *address, e encoding) {
	s := &v.s
	s[fStreet] = e.escape(a.street)
	s[fCity] = e.escape(a.city)
	s[fState] = a.state
	s[fZip] = a.zip
	s[fArea] = e.escape(a.area)
	s[fLocality] = e.escape(a.locality())
}

func (v *values) fillReputation(b *business) {
	s := &v.s
	if b.stars > 0 {
		s[fStars] = halves[b.stars]
		s[fReviews] = strconv.Itoa(b.reviews)
		s[fLDRating] = rating(b.stars)
		if b.trade.pricey && b.dice.pct(tagTripAdvisor) < 50 {
			s[fTA], s[fTACount] = "4.5", strconv.Itoa(100+b.dice.pick(tagTripAdvisor+100, 900))
		}
		if b.dice.pct(tagTripAdvisor+200) < 40 {
			s[fBBB] = "A+"
		}
	}
	if b.years > 0 {
		s[fYears] = strconv.Itoa(b.years)
	}
	s[fYearsYP] = strconv.Itoa(1 + b.dice.pick(tagYears+200, 20))
	s[fPrice] = b.price
	switch b.claimed {
	case claimYes:
		s[fClaimed] = "mip_claimed"
	case claimNo:
		s[fClaimed] = "mip_unclaimed"
	case claimUnsaid:
	}
}

// rating writes half stars as a number: 7 is 3.5.
func rating(stars int) string { return strconv.FormatFloat(float64(stars)/2, 'f', -1, 64) }

// fillImage puts the image where the markup has it: site-relative ones load
// late, from data-src.
func (v *values) fillImage(image string) {
	switch {
	case image == "":
		v.s[fNoImage] = "1"
	case image[0] == '/' && image[1] != '/':
		v.s[fLazy] = image
	default:
		v.s[fImage] = image
	}
}

// fillLD sets what JSON-LD adds. It never says more of the address than the
// card does.
func (v *values) fillLD(b *business, sk skin) {
	s := &v.s
	s[fLDName] = jsonText(b.name)
	s[fLDURL] = b.path
	if sk == skinEntity {
		s[fLDURL] = "https://www.yellowpages.com" + b.path
	}
	s[fLDStreet] = jsonText(b.address.street)
	s[fLDCity] = jsonText(b.address.city)
	s[fLDHours] = jsonList(b.hours)
	if len(b.hours) == 1 && b.dice.pct(tagHours+200) < 50 {
		s[fLDHours] = `"` + b.hours[0] + `"`
	}
}

// fillAd sets the values of an advertisement.
func (v *values) fillAd(b *business, e encoding) {
	v.fillBasics(b, e)
	if !b.adLinks() {
		v.s[fHref] = ""
	}
	v.s[fOneLine] = e.escape(b.address.oneLine())
}

// adLinks reports whether the business's ads link to its profile: those of
// some nationwide advertisers do not.
func (b *business) adLinks() bool { return b.home != nil || b.dice.pct(tagDetail+50) < 60 }
