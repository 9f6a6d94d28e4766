package yp

import "strings"

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
