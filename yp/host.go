package yp

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxHost is the longest host name of the DNS, in ASCII.
const maxHost = 253

// canonicalHost returns host in lower case ASCII without a final dot and
// "www.", and whether it can be the host of a public web site. known asks for a
// suffix of the public list besides, to tell a bare host from a file name.
func canonicalHost(host string, known bool) (string, bool) {
	if len(host) > 4*maxHost { // an IDN is longer in UTF-8 than in ASCII, but not four times
		return "", false
	}
	host = strings.TrimSuffix(host, ".")
	if host != "" && host[0] == '[' {
		return canonicalIPv6(host)
	}
	host, ok := asciiHost(host)
	if !ok || !validHost(host) {
		return "", false
	}
	if isAddress(host) {
		addr, err := netip.ParseAddr(host) // a host that ends in a number is an IPv4 address or nothing
		return host, err == nil && addr.Is4() && !known
	}
	host = dropWWW(host)
	if known && !knownSuffix(host) {
		return "", false
	}
	return host, strings.IndexByte(host, '.') > 0
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
// somebody can own.
func dropWWW(host string) string {
	for strings.HasPrefix(host, "www.") {
		rest := host[len("www."):]
		suffix, icann := publicsuffix.PublicSuffix(rest)
		if suffix == rest && (icann || strings.IndexByte(rest, '.') < 0) {
			break
		}
		host = rest
	}
	return host
}

// knownSuffix reports whether host ends in a suffix of the public list and
// does not merely fall under its rule for unknown ones.
func knownSuffix(host string) bool {
	suffix, icann := publicsuffix.PublicSuffix(host)
	return icann || strings.IndexByte(suffix, '.') > 0
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

// isAddress reports whether a canonical host is an IP address.
func isAddress(host string) bool {
	return host[0] == '[' || numericLabel(host[strings.LastIndexByte(host, '.')+1:])
}

func canonicalIPv6(host string) (string, bool) {
	if host[len(host)-1] != ']' {
		return "", false
	}
	addr, err := netip.ParseAddr(host[1 : len(host)-1])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", false
	}
	return "[" + addr.String() + "]", true
}

// registeredDomain returns the domain under which somebody registered host. It
// is the host itself for an IP address and for the home of a hosting platform
// that is a suffix by itself (wixsite.com); ok is false for a suffix that
// registries own (co.uk).
func registeredDomain(host string) (string, bool) {
	if isAddress(host) {
		return host, true
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	if suffix == host {
		return host, !icann
	}
	before := strings.LastIndexByte(host[:len(host)-len(suffix)-1], '.')
	return host[before+1:], true
}

// sharedHost reports whether many businesses share a host, so that an address
// on it says nothing about which business it is: social networks, link pages,
// directories, map and order portals, link shorteners. With site builders that
// give each customer a host (acme.wixsite.com, acme.business.site) only the
// builder's own host is shared.
func sharedHost(host, domain string) bool {
	if sharedDomain(domain) {
		return true
	}
	if host != domain {
		return host == "sites.google.com"
	}
	return siteBuilder(host) || ownSuffix(host)
}

// ownSuffix reports whether host is itself a private suffix of the public
// list: the home page of a platform with a host for each customer.
func ownSuffix(host string) bool {
	if isAddress(host) {
		return false
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	return suffix == host && !icann
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
		"craigslist.org", "indeed.com", "glassdoor.com", "wikipedia.org", "groupon.com", "nicelocal.com":
		return true
	case // orders, bookings, shops, payment, forms
		"google.com", "apple.com", "bing.com", "yahoo.com", "doordash.com", "ubereats.com", "grubhub.com",
		"seamless.com", "postmates.com", "slicelife.com", "toasttab.com", "opentable.com", "resy.com",
		"booksy.com", "vagaro.com", "styleseat.com", "fresha.com", "schedulicity.com", "setmore.com",
		"calendly.com", "mindbodyonline.com", "booking.com", "expedia.com", "hotels.com", "airbnb.com", "vrbo.com",
		"amazon.com", "ebay.com", "etsy.com", "walmart.com", "paypal.com", "paypal.me", "venmo.com", "cash.app",
		"eventbrite.com", "gofundme.com", "dropbox.com", "jotform.com", "surveymonkey.com":
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
		"shopify.com", "square.com", "squareup.com", "canva.site", "toast.site", "vistaprintdigital.com",
		"negocio.site", "ueni.com", "webador.com", "duda.co", "multiscreensite.com", "geocities.com":
		return true
	}
	return false
}
