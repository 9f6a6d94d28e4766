package demo

import (
	"fmt"
	"strconv"
	"strings"

	"ypcrawl/yp"
)

// business is everything the directory knows of one listing. Texts are as the
// owner wrote them, before any escaping.
type business struct {
	ID    int64
	LID   int64 // the site's other number, which only sometimes equals ID
	dice  dice
	trade *trade
	home  *place // nil for nationwide advertisers

	Name    string
	Path    string // of its profile
	Phone   string
	Address address
	Website string // the link as it is on the card
	Labels  []string
	Stars   int // in halves
	Reviews int
	Years   int
	Price   string
	Snippet string
	Image   string
	Hours   []string
	Claim   string // as the card says it; "" = it does not
	chain   bool
	twin    bool

	// As a page of results shows it.
	Rank int
	Href string
}

// claims are how a card says whether its profile is claimed.
var claims = []string{"", "mip_claimed", "mip_unclaimed"}

// The questions asked of a business's dice. A new one takes a number that no other has, so that the answers stay.
const (
	tagChain, tagTwin, tagTwinKind                            = 0, 1, 2
	tagName, tagName1, tagName2, tagName3                     = 3, 4, 5, 6
	tagPhone, tagPhoneNo                                      = 7, 8
	tagAddress                                                = 9
	tagStreet, tagStreet1, tagStreet2, tagStreet3, tagStreet4 = 10, 11, 12, 13, 14
	tagZip, tagZip4, tagSpaces                                = 15, 16, 17
	tagWeb, tagWebForm                                        = 18, 19
	tagLabels, tagLabels1                                     = 20, 21
	tagStars, tagReviews, tagYears, tagPrice                  = 22, 23, 24, 25
	tagSnippet, tagSnippet1, tagImage, tagHours               = 26, 27, 28, 29
	tagClaimed, tagLid, tagSlug, tagDetail                    = 30, 31, 32, 34
)

// business makes up the business of a key.
func (d *edition) business(k key) business {
	b := d.original(k)
	if k.n%2 == 1 && k.place != nationwide && !b.chain && b.dice.pct(tagTwin) < 6 {
		twin := k
		twin.n--
		if o := d.original(twin); !o.chain {
			b.follow(&o)
		}
	}
	d.age(&b, k)
	b.Path = profilePath(&b)
	return b
}

// follow makes b a second listing at the place of o: either the same business
// listed twice (one company), or another one that shares phone and address
// (two companies, as a lawyer's suite has them).
func (b *business) follow(o *business) {
	b.twin = true
	b.Phone, b.Address = o.Phone, o.Address
	if b.dice.pct(tagTwinKind) < 50 {
		b.Name = o.Name
		b.Website = ""
	}
}

// original makes up a business that is no twin.
func (d *edition) original(k key) business {
	b := business{
		ID: k.id(), trade: &trades()[k.cat],
		dice: newDice(d.cfg.Seed, uint64(k.place), uint64(k.cat), uint64(k.n)), home: d.byIndex[k.place],
	}
	b.LID = b.ID
	if b.dice.pct(tagLid) < 30 {
		b.LID = 1_000_000_000 + int64(b.dice.pick(tagLid+100, 900_000_000))
	}
	b.chain = k.place == nationwide || b.dice.pct(tagChain) < 4
	if b.chain { // with one site and one toll-free number for all
		n := k.n % len(b.trade.Chains)
		b.Name = b.trade.Chains[n]
		b.Website = "https://www." + yp.Slug(b.Name) + ".example/"
		b.Phone = "(800) 555-" + pad(1000+n+10*k.cat, 4)
	} else {
		b.Name = b.inventName()
		b.Website = b.inventSite(k)
		if b.dice.pct(tagPhone) < 90 {
			b.Phone = b.localNumber(b.dice, tagPhoneNo)
		}
	}
	if b.home != nil {
		b.Address = b.inventAddress()
	}
	b.reputation()
	b.extras()
	return b
}

func (b *business) inventName() string {
	d, word := b.dice, b.dice.word(tagName1, b.trade.Words)
	suffix := d.word(tagName3, words().Legal)
	switch r := d.pct(tagName); {
	case r < 30:
		return d.word(tagName2, words().Surnames) + " " + word + suffix
	case r < 44:
		return d.word(tagName2, words().Surnames) + " & Sons " + word
	case r < 56:
		return b.home.Name + " " + word + suffix
	case r < 70:
		return d.word(tagName2, words().Adjectives) + " " + word + suffix
	case r < 80:
		return d.word(tagName2, words().Firsts) + "'s " + word
	case r < 88:
		return d.word(tagName3+100, words().Adjectives) + " " + d.word(tagName2, words().Surnames) + " " + word + suffix
	case r < 92:
		return "A-1 " + word + " #" + strconv.Itoa(1+d.pick(tagName2, 40))
	case r < 96:
		return d.word(tagName2, words().Accented) + " " + word
	case r < 98:
		return d.word(tagName2, b.trade.Odd)
	}
	return strings.Replace(d.word(tagName2, words().Strange), "%s", word, 1)
}

// inventSite makes up the website link. Names under .example belong to nobody
// (RFC 2606); the platforms are real, their paths are not.
func (b *business) inventSite(k key) string {
	r := b.dice.pct(tagWeb)
	slug := yp.Slug(yp.Clean(b.Name))
	own := ownHost(slug, int64(k.place*maxLocal+k.n))
	switch {
	case r < 38:
		return ""
	case r < 68:
		scheme := b.dice.word(tagWebForm, []string{"http://www.", "https://", "https://www.", "http://", "HTTP://WWW."})
		return scheme + own + b.dice.word(tagWebForm+100, []string{"", "/", "/index.html", "/#top"})
	case r < 82:
		return "https://www." + own + "/?utm_source=yp&utm_medium=referral&utm_campaign=" + strconv.FormatInt(b.ID, 10)
	case r < 92:
		return "https://www." + b.trade.SitHost + "/" + slug + strconv.Itoa(k.n)
	case r < 97:
		return "/redirect/website?lid=" + strconv.FormatInt(b.LID, 10)
	}
	return "http://" + own + ":80/locations/" + b.home.Slug + "/"
}

// ownHost makes up a host that belongs to one business alone.
func ownHost(slug string, number int64) string {
	own := strings.ReplaceAll(slug, "-", "") + strconv.FormatInt(number, 36) + ".example"
	if len(own) > 60 {
		own = own[len(own)-60:]
	}
	return own
}

// localNumber makes up a number of the home's area.
func (b *business) localNumber(d dice, tag int) string {
	return "(" + d.word(tagPhone+100, b.home.zone.Area) + ") 555-" + pad(d.pick(tag, 10_000), 4)
}

func (b *business) reputation() {
	d := b.dice
	if d.pct(tagStars) < 55 {
		b.Stars = 1 + d.pick(tagStars+100, 10)
		b.Reviews = 1 + d.pick(tagReviews, 40)*d.pick(tagReviews+100, 12)
	}
	if d.pct(tagYears) < 45 {
		b.Years = 1 + d.pick(tagYears+100, 90)
	}
	if b.trade.Pricey && d.pct(tagPrice) < 60 {
		b.Price = "$$$$"[:1+d.pick(tagPrice+100, 4)]
	}
	if d.pct(tagHours) < 70 {
		b.Hours = words().HourSets[d.pick(tagHours+100, len(words().HourSets))]
	}
	b.Claim = d.word(tagClaimed, claims)
}

func (b *business) extras() {
	d := b.dice
	b.Labels = b.inventLabels()
	switch r := d.pct(tagSnippet); {
	case r < 35:
		b.Snippet = ownWords + d.word(tagSnippet1, b.trade.Lines)
	case r < 50:
		b.Snippet = d.word(tagSnippet1, b.trade.Lines)
	}
	hex := strconv.FormatUint(d.at(tagImage+100), 16)
	switch r := d.pct(tagImage); {
	case r < 25:
		b.Image = "//i1.ypcdn.example/blob/" + hex + "_228x168_crop.jpg"
	case r < 32:
		b.Image = "/media/" + hex + ".png"
	case r < 38:
		b.Image = "https://i4.ypcdn.example/blob/" + hex + ".jpg"
	}
}

// inventLabels lists the categories on the card.
func (b *business) inventLabels() []string {
	d, all := b.dice, b.trade.Labels
	labels := []string{b.trade.Name}
	first, n := d.pick(tagLabels, len(all)), d.pick(tagLabels1, 4)
	for i := range n {
		labels = append(labels, all[(first+i)%len(all)])
	}
	return labels
}

func profilePath(b *business) string {
	city := "nationwide"
	if b.home != nil {
		city = b.home.Slug
	}
	slug := yp.Slug(yp.Clean(b.Name))
	if len(slug) > 80 {
		slug = slug[:80]
	}
	if b.dice.pct(tagSlug) < 5 {
		slug += "--2" // the real site has such slugs
	}
	return "/" + city + "/mip/" + slug + "-" + strconv.FormatInt(b.ID, 10)
}

// pad writes n with at least width digits.
func pad(n, width int) string { return fmt.Sprintf("%0*d", width, n) }

// address is where a business is, in one of the forms that cards show: "12 Main St / Austin, TX 78701" or with
// "78701-1234", "Austin, TX", "Austin", or an area and no address at all. Street and postal code stand together or not at all.
type address struct {
	Street string // as written, double spaces included
	City   string
	State  string
	Zip    string
	Area   string // "Serving the Austin Area"
}

func (b *business) inventAddress() address {
	home, r := b.home, b.dice.pct(tagAddress)
	switch {
	case r < 86:
		return address{Street: b.inventStreet(), City: home.Name, State: home.State, Zip: b.inventZip(r >= 78)}
	case r < 91:
		return address{City: home.Name, State: home.State}
	case r < 94:
		return address{City: home.Name}
	}
	return address{Area: "Serving the " + home.Name + " Area"}
}

func (b *business) inventStreet() string {
	d, gap := b.dice, " "
	if d.pct(tagSpaces) < 8 {
		gap = "  "
	}
	s := strconv.Itoa(1+d.pick(tagStreet, 9900)) + gap + d.word(tagStreet1, words().Directions) +
		d.word(tagStreet2, words().StreetNames) + " " + d.word(tagStreet3, words().StreetTypes)
	if d.pct(tagStreet4) < 20 {
		s += []string{" Ste ", " # ", ", Unit ", " Bldg B Fl ", " Apt "}[d.pick(tagStreet4+100, 5)] + strconv.Itoa(1+d.pick(tagStreet4+200, 400))
	}
	return s
}

// inventZip gives every city a few postal codes of its state.
func (b *business) inventZip(long bool) string {
	z := b.home.zone
	zip := pad(z.Zip+b.home.index%z.Zips, 3) + pad((b.home.index*7+b.dice.pick(tagZip, 5))%100, 2)
	if long {
		zip += "-" + pad(b.dice.pick(tagZip4, 10_000), 4)
	}
	return zip
}

// Locality is the second line of the address.
func (a *address) Locality() string {
	line := a.City
	if a.State != "" {
		line += ", " + a.State
	}
	return strings.TrimSpace(line + " " + a.Zip)
}

// OneLine is the form that ads use.
func (a *address) OneLine() string {
	if a.Street == "" {
		return a.Area
	}
	return a.Street + ", " + a.Locality()
}
