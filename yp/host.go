package yp

import (
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxHost is the longest host name of the DNS, in ASCII.
const maxHost = 253

// webHost is a canonical host with what the public suffix list says of it.
type webHost struct {
	name   string // lower case ASCII, without a final dot and "www."
	suffix string // public suffix of name; empty for an IP address
	icann  bool   // registries own the suffix (com, co.uk), not a firm (wixsite.com)
}

// parseHost returns the canonical form of host, and whether it can be the host
// of a public web site. With known set its suffix must be on the public list,
// not merely fall under the rule for unknown ones: that tells a bare host from
// the name of a file.
func parseHost(host string, known bool) (webHost, bool) {
	if len(host) > 4*maxHost { // an IDN is longer in UTF-8 than in ASCII, but not four times
		return webHost{}, false
	}
	host = strings.TrimSuffix(host, ".")
	if host != "" && host[0] == '[' {
		return parseIPv6(host)
	}
	host, ok := asciiHost(host)
	if !ok || !validHost(host) {
		return webHost{}, false
	}
	if numericLabel(host[strings.LastIndexByte(host, '.')+1:]) {
		addr, err := netip.ParseAddr(host) // a host that ends in a number is an IPv4 address or nothing
		return webHost{name: host}, err == nil && addr.Is4() && !known
	}
	h := webHost{name: host}
	h.suffix, h.icann = publicsuffix.PublicSuffix(host)
	h.dropWWW()
	listed := h.icann || strings.IndexByte(h.suffix, '.') > 0
	owned := h.name != h.suffix || listed && !h.icann
	return h, owned && (listed || !known)
}

// asciiHost returns host in lower case ASCII. Only a host that has something
// of IDNA in it pays for the tables.
func asciiHost(host string) (string, bool) {
	host = strings.ToLower(host)
	if !isASCII(host) || strings.Contains(host, "xn--") {
		ascii, err := idna.Lookup.ToASCII(host)
		return strings.TrimSuffix(ascii, "."), err == nil
	}
	return host, true
}

// validHost reports whether each label of a lower case host is well formed.
// Underscores are let through: some hosting firms gave them to customers.
func validHost(host string) bool {
	if host == "" || len(host) > maxHost {
		return false
	}
	label := 0
	for i := range len(host) {
		c := host[i]
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_':
			label++
		case c == '-' && label > 0:
			label++
		case c == '.' && label > 0 && host[i-1] != '-':
			label = 0
		default:
			return false
		}
		if label > 63 {
			return false
		}
	}
	return label > 0 && host[len(host)-1] != '-'
}

// dropWWW removes "www." from the front as long as a name is left that
// somebody can own: a suffix only when it is a firm's.
func (h *webHost) dropWWW() {
	shortest := len(h.suffix)
	if h.icann || strings.IndexByte(h.suffix, '.') < 0 {
		shortest += len("a.")
	}
	for strings.HasPrefix(h.name, "www.") && len(h.name)-len("www.") >= shortest {
		h.name = h.name[len("www."):]
	}
}

func numericLabel(s string) bool {
	if strings.HasPrefix(s, "0x") {
		return true
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func parseIPv6(host string) (webHost, bool) {
	if host[len(host)-1] != ']' {
		return webHost{}, false
	}
	addr, err := netip.ParseAddr(host[1 : len(host)-1])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return webHost{}, false
	}
	return webHost{name: "[" + addr.String() + "]"}, true
}

// domain returns the name under which somebody registered the host. It is the
// host itself for an IP address and for the home of a hosting platform that is
// a suffix by itself (wixsite.com).
func (h *webHost) domain() string {
	if h.suffix == "" || h.name == h.suffix {
		return h.name
	}
	before := strings.LastIndexByte(h.name[:len(h.name)-len(h.suffix)-1], '.')
	return h.name[before+1:]
}

// shared reports whether many businesses share the host, so that an address on
// it says nothing about which business it is: social networks, link pages,
// directories, map and order portals, link shorteners, placeholders. With site builders that
// give each customer a host (acme.wixsite.com, acme.business.site) only the
// builder's own host is shared.
func (h *webHost) shared() bool {
	return h.name == h.suffix || sharedDomain(h.domain()) || siteBuilder(h.name)
}

// sharedDomain lists the domains all of whose hosts are shared.
func sharedDomain(domain string) bool {
	switch domain {
	case // social networks and video
		"facebook.com", "fb.com", "fb.me", "messenger.com", "instagram.com", "instagr.am", "threads.net",
		"twitter.com", "x.com", "linkedin.com", "lnkd.in", "youtube.com", "youtu.be", "tiktok.com",
		"pinterest.com", "pin.it", "snapchat.com", "reddit.com", "tumblr.com", "vimeo.com", "nextdoor.com",
		"whatsapp.com", "wa.me", "t.me", "myspace.com", "medium.com", "patreon.com", "flickr.com":
		return true
	case // link pages and shorteners
		"linktr.ee", "linkin.bio", "lnk.bio", "beacons.ai", "campsite.bio", "bio.link", "about.me", "taplink.cc",
		"bit.ly", "goo.gl", "tinyurl.com", "ow.ly", "t.co", "buff.ly", "rb.gy", "is.gd", "g.page", "g.co":
		return true
	case // directories and reviews
		"yelp.com", "yellowpages.com", "superpages.com", "dexknows.com", "whitepages.com", "yellowbook.com",
		"local.com", "citysearch.com", "manta.com", "bbb.org", "mapquest.com", "foursquare.com", "tripadvisor.com",
		"angi.com", "angieslist.com", "homeadvisor.com", "thumbtack.com", "houzz.com", "porch.com", "bark.com",
		"chamberofcommerce.com", "merchantcircle.com", "hotfrog.com", "alignable.com", "healthgrades.com",
		"zocdoc.com", "vitals.com", "avvo.com", "findlaw.com", "justia.com", "lawyers.com", "zillow.com",
		"realtor.com", "trulia.com", "apartments.com", "carfax.com", "cars.com", "theknot.com", "weddingwire.com",
		"craigslist.org", "indeed.com", "glassdoor.com", "wikipedia.org", "groupon.com", "nicelocal.com",
		"care.com", "caring.com", "rover.com", "psychologytoday.com", "webmd.com", "ratemds.com", "sharecare.com",
		"autotrader.com", "cargurus.com", "loopnet.com", "rent.com", "apartmentguide.com", "meetup.com":
		return true
	case // orders, bookings, shops, payment, forms
		"google.com", "apple.com", "bing.com", "yahoo.com", "doordash.com", "ubereats.com", "grubhub.com",
		"seamless.com", "postmates.com", "slicelife.com", "toasttab.com", "opentable.com", "resy.com",
		"booksy.com", "vagaro.com", "styleseat.com", "fresha.com", "schedulicity.com", "setmore.com",
		"calendly.com", "mindbodyonline.com", "booking.com", "expedia.com", "hotels.com", "airbnb.com", "vrbo.com",
		"amazon.com", "ebay.com", "etsy.com", "walmart.com", "paypal.com", "paypal.me", "venmo.com", "cash.app",
		"eventbrite.com", "gofundme.com", "dropbox.com", "jotform.com", "surveymonkey.com",
		"chownow.com", "clover.com", "order.online", "menufy.com", "beyondmenu.com", "eatstreet.com", "squareup.com":
		return true
	case // what stands in a field that nobody filled
		"example.com", "example.org", "example.net", "yourdomain.com", "yourwebsite.com", "yoursite.com", "mydomain.com",
		"mywebsite.com", "mysite.com", "website.com", "domain.com", "test.com", "none.com", "nowebsite.com", "comingsoon.com", "sample.com":
		return true
	}
	return false
}

// siteBuilder lists the homes of platforms that give each customer a host and
// are not private suffixes of the public list.
func siteBuilder(host string) bool {
	switch host {
	case "business.site", "wix.com", "weebly.com", "wordpress.com", "squarespace.com", "webnode.com", "jimdo.com",
		"jimdosite.com", "jimdofree.com", "godaddysites.com", "strikingly.com", "mystrikingly.com", "site123.me",
		"ueniweb.com", "edan.io", "tripod.com", "angelfire.com", "homestead.com", "webs.com", "godaddy.com",
		"shopify.com", "square.com", "canva.site", "toast.site", "vistaprintdigital.com",
		"negocio.site", "ueni.com", "webador.com", "duda.co", "multiscreensite.com", "geocities.com":
		return true
	}
	return false
}

// OwnPort is the port of u, "" for one of those that http and https have.
func OwnPort(u *url.URL) string {
	if port := u.Port(); port != "80" && port != "443" {
		return port
	}
	return ""
}

// webKey returns the part of a website that is the key of a company: the canonical
// address without scheme, and without the names that servers give to the front page
// ("/index.html") and sites to pages that every one has ("/contact"). Other paths stay:
// a place's page on the site of a brand says which place it is. ok is false for the
// front page of a brand whose agents are businesses of their own.
func webKey(w *Website) (key string, ok bool) {
	key = w.URL[len("https://"):]
	rest := key[len(w.Host):]
	if strings.HasPrefix(rest, ":") { // a port belongs to the host
		end := strings.IndexAny(rest, "/?")
		if end < 0 {
			end = len(rest)
		}
		rest = rest[end:]
	}
	if path := frontPage(rest); len(path) < len(rest) {
		key, rest = key[:len(key)-len(rest)+len(path)], path
	}
	return key, rest != "" && rest[0] == '/' || !agentBrand(w.Domain)
}

// frontPage returns path without the name of a front page at its end.
func frontPage(path string) string {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || len(path)-slash > len("/welcome.shtml") || strings.IndexByte(path, '?') >= 0 {
		return path
	}
	name := strings.ToLower(path[slash+1:])
	if base, ext, ok := strings.Cut(name, "."); ok && frontName(base) && pageExt(ext) || slash == 0 && commonPage(name) {
		return path[:slash]
	}
	return path
}

func frontName(s string) bool {
	return s == "index" || s == "default" || s == "home" || s == "main" || s == "welcome"
}

func pageExt(s string) bool {
	switch s {
	case "html", "htm", "php", "asp", "aspx", "shtml", "jsp", "cfm":
		return true
	}
	return false
}

// commonPage reports whether a page right under the root is one that every site has
// once, and that says nothing of a place.
func commonPage(s string) bool {
	switch s {
	case "home", "index", "contact", "contact-us", "contactus", "about", "about-us", "aboutus":
		return true
	}
	return false
}

// agentBrand lists the brands under whose site independent agents, brokers, advisers
// and consultants are listed by their own names: the front page says nothing of which.
// A page of their own on it does.
func agentBrand(domain string) bool {
	switch domain {
	case // insurance
		"statefarm.com", "allstate.com", "farmers.com", "nationwide.com", "libertymutual.com", "amfam.com", "progressive.com",
		"shelterinsurance.com", "countryfinancial.com", "aaa.com", "fbfs.com", "erieinsurance.com", "travelers.com", "geico.com",
		"newyorklife.com", "northwesternmutual.com", "nm.com", "massmutual.com", "thrivent.com", "primerica.com", "aflac.com":
		return true
	case // advice
		"edwardjones.com", "ameriprise.com", "ameripriseadvisors.com", "raymondjames.com", "morganstanley.com", "ml.com",
		"merrilllynch.com", "lpl.com", "wellsfargoadvisors.com", "stifel.com":
		return true
	case // real estate
		"remax.com", "kw.com", "coldwellbanker.com", "coldwellbankerhomes.com", "century21.com", "era.com", "exitrealty.com",
		"exprealty.com", "sothebysrealty.com", "compass.com", "weichert.com", "longandfoster.com", "howardhanna.com", "redfin.com",
		"bhgre.com", "bhhs.com", "berkshirehathawayhs.com", "realtyonegroup.com", "homesmart.com":
		return true
	case // consultants who sell at home
		"marykay.com", "avon.com", "herbalife.com", "tupperware.com", "scentsy.com", "pamperedchef.com", "amway.com":
		return true
	}
	return false
}
