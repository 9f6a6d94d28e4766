package fetch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
)

// Each profile is one that somebody could have, and no two are one.
func TestBrowsersAreCoherent(t *testing.T) {
	platforms := map[string]string{"windows": "Windows NT 10.0; Win64; x64", "macos": "Macintosh; Intel Mac OS X 10", "linux": "X11; Linux x86_64"}
	hints := map[string]string{"windows": `"Windows"`, "macos": `"macOS"`, "linux": `"Linux"`}
	agents, combinations := map[string]bool{}, map[string]bool{}
	for _, id := range Browsers() {
		part := strings.Split(id.Name, "-")
		kind, version, on := part[0], part[1], part[2]
		h := id.header
		ua := h.Get("User-Agent")
		agents[ua], combinations[kind+on] = true, true
		if !strings.Contains(ua, "("+platforms[on]) {
			t.Errorf("%s: platform of %s", id.Name, ua)
		}
		want := map[string]string{
			"chrome": " Chrome/" + version + ".0.0.0 Safari/537.36", "edge": " Chrome/" + version + ".0.0.0 Safari/537.36 Edg/" + version + ".0.0.0",
			"firefox": "; rv:" + version + ".0) Gecko/20100101 Firefox/" + version + ".0", "safari": " Version/" + version + " Safari/605.1.15",
		}[kind]
		if !strings.HasSuffix(ua, want) || want == "" {
			t.Errorf("%s: %s does not end in %q", id.Name, ua, want)
		}
		brand := map[string]string{"chrome": "Google Chrome", "edge": "Microsoft Edge"}[kind]
		if brand == "" {
			for name := range h {
				if strings.HasPrefix(name, "Sec-Ch-") {
					t.Errorf("%s sends %s", id.Name, name)
				}
			}
		} else {
			ch := h.Get("Sec-Ch-Ua")
			if !strings.Contains(ch, fmt.Sprintf(`"Chromium";v="%s"`, version)) || !strings.Contains(ch, fmt.Sprintf(`"%s";v="%s"`, brand, version)) || strings.Count(ch, ";v=") != 3 {
				t.Errorf("%s: hints %s", id.Name, ch)
			}
			if h.Get("Sec-Ch-Ua-Platform") != hints[on] || h.Get("Sec-Ch-Ua-Mobile") != "?0" {
				t.Errorf("%s: platform %s, mobile %s", id.Name, h.Get("Sec-Ch-Ua-Platform"), h.Get("Sec-Ch-Ua-Mobile"))
			}
		}
		if kind == "safari" && on != "macos" {
			t.Errorf("%s is nobody's browser", id.Name)
		}
		if (h.Get("Upgrade-Insecure-Requests") == "1") != (kind != "safari") || (h.Get("Sec-Fetch-User") == "?1") != (kind != "safari") {
			t.Errorf("%s: %v", id.Name, h)
		}
		if h.Get("Sec-Fetch-Site") != "none" || h.Get("Sec-Fetch-Mode") != "navigate" || h.Get("Sec-Fetch-Dest") != "document" {
			t.Errorf("%s: %v", id.Name, h)
		}
		if h.Get("Accept-Language") != "en-US,en;q=0.9" || !strings.HasPrefix(h.Get("Accept"), "text/html,application/xhtml+xml,application/xml;q=0.9,") {
			t.Errorf("%s: %v", id.Name, h)
		}
	}
	if len(agents) != 12 || len(combinations) != 10 {
		t.Errorf("%d profiles, %d combinations", len(agents), len(combinations))
	}
}

// No server is asked for what we can't decode, and no header is malformed.
func TestIdentityHeaders(t *testing.T) {
	for _, id := range append(Browsers(), Honest("")) {
		for _, enc := range strings.Split(id.header.Get("Accept-Encoding"), ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(enc), ";")
			if !slices.Contains([]string{"gzip", "br", "zstd"}, name) {
				t.Errorf("%s asks for %q", id.Name, name)
			}
		}
		for name, values := range id.header {
			if name != http.CanonicalHeaderKey(name) || len(values) != 1 || values[0] == "" {
				t.Errorf("%s: %q: %q", id.Name, name, values)
			}
		}
		for name := range id.inTheClear() {
			if strings.HasPrefix(name, "Sec-") {
				t.Errorf("%s sends %s in the clear", id.Name, name)
			}
		}
	}
	storetest.Equal(t, len(Honest("").inTheClear()), 4, "honest headers in the clear")
}

// A browser's identity is bound by the rules for our own name.
func TestRobotsUnderOurOwnName(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{UserAgent: "ypcrawl/1.0"}, script(text("User-agent: ypcrawl\nDisallow: /a\n\nUser-agent: *\nDisallow: /b")))
	browser := open(t, s.client, nil, Browsers()[0])
	for path, allowed := range map[string]bool{"/a": false, "/b": true} {
		r, err := s.client.Get(t.Context(), Request{URL: s.URL + path, Session: browser})
		if (err == nil) != allowed {
			t.Errorf("%s: %v", path, err)
		}
		r.Release()
	}
}
