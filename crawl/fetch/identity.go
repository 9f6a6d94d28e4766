package fetch

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// Identity is one coherent set of request headers: who asks. Make one with
// Honest, or take one of Browsers. It is about headers alone: the TLS handshake
// and the order of headers stay those of Go's net/http.
//
// robots.txt is obeyed under the honest product token (Config.UserAgent)
// whatever the identity: another name asks for no other rules.
type Identity struct {
	Name string // as shown and recorded: "honest", "chrome-154-windows"

	header  http.Header // of an https request; never changed
	browser bool
}

// Honest is ypcrawl under its own name: userAgent says who asks and how to reach
// them ("" = DefaultUserAgent).
func Honest(userAgent string) Identity {
	if userAgent == "" {
		userAgent = DefaultUserAgent
	}
	return Identity{Name: "honest", header: http.Header{
		"User-Agent":      {userAgent},
		"Accept":          {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		"Accept-Language": {"en-US,en;q=0.8"},
		"Accept-Encoding": {acceptEncoding},
	}}
}

// inTheClear is the header of plain http requests. It has
// no header whose name begins with Sec-: browsers send those over TLS only.
func (i Identity) inTheClear() http.Header {
	h := maps.Clone(i.header)
	maps.DeleteFunc(h, func(name string, _ []string) bool { return strings.HasPrefix(name, "Sec-") })
	return h
}

// Versions of the browsers: those that most people had in the autumn of 2026.
const (
	chromeNow, chromeBefore = 154, 153
	firefoxNow              = 155
	safariNow, safariBefore = "26.4", "26.2"
)

// brands are the Sec-CH-UA of Chromium's versions: the browser's own brand (%s), the engine, and a
// made-up one that keeps servers from relying on the list. What that is called and the order of
// the three follow from the version (Chromium, components/embedder_support/user_agent_utils.cc).
var brands = map[int]string{
	chromeNow:    `"Chromium";v="154", "%s";v="154", "Not A(Brand";v="99"`,
	chromeBefore: `"%s";v="153", "Not_A Brand";v="8", "Chromium";v="153"`,
}

// system is an operating system as browsers name it.
type system struct{ name, chromium, firefox, platform string }

var (
	windows = system{"windows", "Windows NT 10.0; Win64; x64", "Windows NT 10.0; Win64; x64", "Windows"}
	macOS   = system{"macos", "Macintosh; Intel Mac OS X 10_15_7", "Macintosh; Intel Mac OS X 10.15", "macOS"}
	linux   = system{"linux", "X11; Linux x86_64", "X11; Linux x86_64", "Linux"}
)

// Browsers returns the 12 browser identities, neighbours as different as can be
// (docs/health.md, section 6): Chrome, Edge and Firefox on Windows, macOS and
// Linux, Safari on macOS alone. Encodings are those of them that we decode, and
// languages those of the United States.
func Browsers() []Identity {
	return []Identity{
		asChrome(chromeNow, windows), asSafari(safariNow), asFirefox(firefoxNow, linux), asEdge(chromeNow, macOS),
		asFirefox(firefoxNow, windows), asChrome(chromeNow, macOS), asEdge(chromeNow, linux), asSafari(safariBefore),
		asChrome(chromeBefore, windows), asFirefox(firefoxNow, macOS), asChrome(chromeNow, linux), asEdge(chromeNow, windows),
	}
}

func asChrome(version int, on system) Identity {
	return chromium("chrome", "Google Chrome", version, on, "")
}

func asEdge(version int, on system) Identity {
	return chromium("edge", "Microsoft Edge", version, on, fmt.Sprintf(" Edg/%d.0.0.0", version))
}

func chromium(name, brand string, version int, on system, suffix string) Identity {
	h := http.Header{
		"User-Agent": {fmt.Sprintf("Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Safari/537.36%s",
			on.chromium, version, suffix)},
		"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8," +
			"application/signed-exchange;v=b3;q=0.7"},
		"Accept-Encoding":           {"gzip, br, zstd"},
		"Upgrade-Insecure-Requests": {"1"},
		"Sec-Fetch-User":            {"?1"},
		"Sec-Ch-Ua":                 {fmt.Sprintf(brands[version], brand)},
		"Sec-Ch-Ua-Mobile":          {"?0"},
		"Sec-Ch-Ua-Platform":        {`"` + on.platform + `"`},
	}
	return browser(fmt.Sprintf("%s-%d-%s", name, version, on.name), h)
}

func asFirefox(version int, on system) Identity {
	h := http.Header{
		"User-Agent":                {fmt.Sprintf("Mozilla/5.0 (%s; rv:%d.0) Gecko/20100101 Firefox/%[2]d.0", on.firefox, version)},
		"Accept":                    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		"Accept-Encoding":           {"gzip, br, zstd"},
		"Upgrade-Insecure-Requests": {"1"},
		"Sec-Fetch-User":            {"?1"},
	}
	return browser(fmt.Sprintf("firefox-%d-%s", version, on.name), h)
}

// asSafari: it sends no Sec-Fetch-User and asks for no upgrade, and knows no zstd.
func asSafari(version string) Identity {
	h := http.Header{
		"User-Agent": {fmt.Sprintf("Mozilla/5.0 (%s) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/%s Safari/605.1.15",
			macOS.chromium, version)},
		"Accept":          {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		"Accept-Encoding": {"gzip, br"},
	}
	return browser("safari-"+version+"-"+macOS.name, h)
}

// browser adds what all browsers send for a page that is typed in.
func browser(name string, h http.Header) Identity {
	h["Sec-Fetch-Site"], h["Sec-Fetch-Mode"], h["Sec-Fetch-Dest"] = []string{"none"}, []string{"navigate"}, []string{"document"}
	h["Accept-Language"] = []string{"en-US,en;q=0.9"}
	return Identity{Name: name, header: h, browser: true}
}
