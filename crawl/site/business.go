package site

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ypcrawl/crawl/site/structured"
	"ypcrawl/yp"
)

// Bounds on what structured data may say of a business beside its card, in bytes or in number.
const (
	maxAbout = 2000
	maxFacts = 100
)

// business makes listings of what structured data says: of a results page, whose descriptions are snippets, or of a
// listing's own page, where they are the business's own words.
type business struct {
	src *Source
	at  *pageLinks
	own bool
}

// facts gives a listing what a business says of itself, whatever kind of page it is on. What else a page of structured data
// alone says is in texts; the website is chosen among all addresses, see businessReader.addresses.
func (m business) facts(l *yp.Listing, b *structured.Business) {
	shown, e164 := b.Phone()
	l.Phone, l.PhoneE164 = keep(shown, maxLine), strings.Clone(e164)
	setAddress(l, b.Address())
	l.Rating, l.ReviewCount = b.Rating()
	l.PriceRange = b.PriceRange()
	if l.Hours = clones(b.Hours()); m.own {
		l.Hours = readHours(b)
	}
	more := b.More()
	for _, text := range more.Emails {
		if l.Email == "" {
			l.Email = strings.Clone(m.src.email(text))
		}
	}
	l.Founded = year(more.Founded)
	l.Payment, l.Languages = lowered(itemsOf(more.Payment, words)), itemsOf(more.Languages, words)
	l.Services = itemsOf(more.Services, phrases)
	for _, href := range more.Social {
		m.social(l, href)
	}
	for _, at := range more.Positions {
		setPoint(l, at[0], at[1])
	}
	if m.own {
		l.About = keep(m.src.snippet(b.Description()), maxAbout)
	}
}

// texts gives a listing of a page of structured data what cards of other pages say by rules of their own.
func (m business) texts(l *yp.Listing, b *structured.Business) {
	l.Name, l.Rank = keep(b.Name, yp.MaxName), b.Rank
	l.Snippet = keep(m.src.snippet(b.Description()), maxSnippet)
	l.Categories = clones(b.Categories())
	for _, src := range b.Images() { // the first that is none of the site's stand-ins
		if len(src) > maxURL || m.src.standIn(src) {
			continue
		}
		if a, reason := m.at.base.Resolve(src); reason == "" {
			l.ImageURL = strings.Clone(a.Text)
			break
		}
	}
}

func setAddress(l *yp.Listing, a structured.Address) {
	l.Street, l.City, l.Address, l.ServiceArea = keep(a.Street, maxLine), keep(a.City, maxLine), keep(a.Line, maxLine), keep(a.Area, maxLine)
	l.State, l.PostalCode = strings.Clone(a.State), strings.Clone(a.PostalCode)
}

// social adds a link if it leads to a page on a social network.
func (m business) social(l *yp.Listing, ref string) {
	if linked, _, ok := m.at.site(ref); ok {
		l.Social = yp.AppendSocial(l.Social, linked)
	}
}

// setPoint keeps a latitude and a longitude, in degrees, when both can be one and none is known.
// 0, 0 is in the sea, and what careless sites put where they know nothing.
func setPoint(l *yp.Listing, latText, lonText string) {
	lat, err := strconv.ParseFloat(latText, 64)
	lon, err2 := strconv.ParseFloat(lonText, 64)
	at := yp.Listing{Lat: lat, Lon: lon}
	if err == nil && err2 == nil && !l.HasPoint() && at.HasPoint() {
		l.Lat, l.Lon = lat, lon
	}
}

// itemsOf are the items of the values of a list.
func itemsOf(texts []string, of listOf) []string {
	var l itemList
	for _, text := range texts {
		l.text(text, of, of == phrases && len(texts) > 1)
	}
	return l.items
}

// fillListing gives a listing what it lacks and another has, of the same business. An address is
// taken whole or not at all, and one in parts replaces a line that could not be split; a phone that can be dialled replaces one that
// can't. The id and the own page are the merger's.
func fillListing(l, from *yp.Listing) {
	if l.Phone == "" || l.PhoneE164 == "" && from.PhoneE164 != "" {
		l.Phone, l.PhoneE164 = from.Phone, from.PhoneE164
	}
	if l.Street == "" && l.PostalCode == "" && (l.City == "" || from.Street != "") && from.City+from.Street+from.PostalCode != "" {
		l.Street, l.City, l.State, l.PostalCode = from.Street, from.City, from.State, from.PostalCode
	}
	if l.Street != "" {
		l.Address = ""
	} else if l.City == "" && l.PostalCode == "" {
		l.Address = cmp.Or(l.Address, from.Address)
	}
	l.ServiceArea = cmp.Or(l.ServiceArea, from.ServiceArea)
	for _, href := range from.Social { // each form may know some
		l.Social = yp.AppendSocial(l.Social, href)
	}
	l.Name, l.Rank = cmp.Or(l.Name, from.Name), cmp.Or(l.Rank, from.Rank)
	fillGroups(l, from, ^(yp.GroupPhone.Bit() | yp.GroupPlace.Bit() | yp.GroupProfile.Bit() | yp.GroupSocial.Bit()))
}

// fillGroups gives a listing those groups of fields that it lacks and another has.
func fillGroups(l, from *yp.Listing, groups yp.Groups) {
	groups &= from.Gives() &^ l.Gives()
	if groups == 0 {
		return
	}
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; groups&f.Group.Bit() != 0 {
			f.Take(l, from)
		}
	}
}

// fillCard gives a listing what its card lacks and a business has; hours are the business's. An address is taken when
// the card has none, or only the same city: half of one from here and half from there would be nobody's. One in parts
// replaces a line that could not be split.
func (m business) fillCard(l *yp.Listing, b *structured.Business) {
	var said yp.Listing
	m.facts(&said, b)
	if l.Street == "" && l.PostalCode == "" && l.ServiceArea == "" && (l.City == "" || strings.EqualFold(said.City, l.City)) {
		l.Street, l.City, l.State, l.PostalCode = said.Street, cmp.Or(l.City, said.City), cmp.Or(l.State, said.State), said.PostalCode
		if l.Address = cmp.Or(l.Address, said.Address); l.Street != "" {
			l.Address = ""
		}
	}
	setAddress(&said, structured.Address{})
	if l.Phone != "" { // also one that nobody can dial
		said.Phone, said.PhoneE164 = "", ""
	}
	if said.Hours != nil {
		l.Hours = said.Hours
	}
	fillListing(l, &said)
}

// ownGroups are the groups of fields that listings' own pages say.
var ownGroups = func() (all yp.Groups) {
	for i := range yp.ListingFields {
		if f := &yp.ListingFields[i]; f.From&yp.FromOwn != 0 {
			all |= f.Group.Bit()
		}
	}
	return all
}()

// ownFields are what of a listing its own page says.
func ownFields(l *yp.Listing) yp.Listing {
	own := yp.Listing{ID: l.ID, Name: l.Name}
	fillGroups(&own, l, ownGroups)
	return own
}

// readHours returns the opening hours of a business as yp.AppendHours writes them; nil when it says none.
func readHours(b *structured.Business) []string {
	var out []string
	for _, h := range b.Hours() {
		if len(out) < yp.MaxHours {
			out, _ = yp.AppendHours(out, h)
		}
	}
	if out == nil {
		return b.Hours()
	}
	return boundHours(out)
}

// boundHours joins single days, and leaves out what is said twice; nil stays nil.
func boundHours(hours []string) []string {
	out := hours[:0:0]
	for _, h := range yp.JoinDays(hours) {
		if len(out) < yp.MaxHours && !slices.Contains(out, h) {
			out = append(out, strings.Clone(h)) // it may share the page's memory
		}
	}
	return out
}
