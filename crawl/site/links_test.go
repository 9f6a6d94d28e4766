package site

import (
	"fmt"
	"strings"
	"testing"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

// TestNextRefused names why a next link is not followed.
func TestNextRefused(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	for ref, want := range map[string]string{
		"":                                       "no address",
		"javascript:next(2)":                     "a script",
		"mailto:a@b.example":                     "not http: mailto",
		"#":                                      "the page itself",
		" #page-2":                               "the page itself",
		"plumbers":                               "the page itself",
		"//other.example/a":                      "another host: other.example",
		`\\other.example:8443/a`:                 "another host: other.example:8443",
		"http://www.yellowpages.com:8080/":       "another host: www.yellowpages.com:8080",
		"https://u@www.yellowpages.com/a":        "a user name in the address",
		"/" + strings.Repeat("a", weburl.MaxLen): "longer than 8000 bytes",
		"https://www.yellowpages.com:port/":      "not an address",
	} {
		next, host, reason := s.nextURL(s.linksAt(finalURL(t)), ref)
		storetest.Equal(t, reason, want, yp.Clip(ref, 80))
		other, found := strings.CutPrefix(want, "another host: ")
		if !found {
			other = ""
		}
		storetest.Equal(t, host, other, "host of", yp.Clip(ref, 80))
		storetest.Equal(t, next, "", yp.Clip(ref, 80))
	}
}

// TestNextFollowed: what a browser follows is the next page, however it is written.
func TestNextFollowed(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	const host = "https://www.yellowpages.com"
	for ref, want := range map[string]string{
		"/springfield-il/\nplumbers?page=2":        srp + "?page=2",
		"\t?page\r=2 ":                             srp + "?page=2",
		`\springfield-il\plumbers?page=2`:          srp + "?page=2",
		"HTTPS://WWW.YellowPages.com:443/a?page=2": host + "/a?page=2",
		"?geo=New York, NY&page=2":                 srp + "?geo=New%20York,%20NY&page=2",
		"/100%/a?page=2":                           host + "/100%25/a?page=2",
		"?q=100%&page=2#top":                       srp + "?q=100%&page=2",
		"/a?page=2&s=" + strings.Repeat("x", 3000): host + "/a?page=2&s=" + strings.Repeat("x", 3000),
	} {
		body := siteHTML(fmt.Sprintf(`<div class="search-results"><div class="result" data-ypid="1"><a class="business-name" href="/a/mip/b-1">B</a></div></div>
			<div class="pagination"><a class="next" href="%s">Next</a></div>`, strings.ReplaceAll(ref, "&", "&amp;")))
		storetest.Equal(t, parse(t, s, body, srp, 200).NextURL, want, yp.Clip(ref, 80))
	}
}

// TestCharsetOfLinks: a page writes the queries of its links in its own charset.
func TestCharsetOfLinks(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages").WithCharset("iso-8859-1")
	body := siteHTML(`<div class="search-results"><div class="result" data-ypid="1"><a class="business-name" href="/a/mip/b-1">B</a></div></div>
		<div class="pagination"><a class="next" href="/münchen?ort=münchen&amp;seite=2">Next</a></div>`)
	storetest.Equal(t, parse(t, s, body, srp, 200).NextURL, "https://www.yellowpages.com/m%C3%BCnchen?ort=m%FCnchen&seite=2")
}

// TestOneListingOfTwoCities: what a business is told apart by is its address, not how a page writes it.
func TestOneListingOfTwoCities(t *testing.T) {
	t.Parallel()
	s := prairie(t)
	const entry = `<script type="application/ld+json">{"@type":"Plumber","name":"Acme","telephone":"(512) 555-0100","url":"%s"}</script>`
	for _, c := range []struct{ base, ref string }{
		{"/", "biz/acme-plumbing"},
		{"/us/", "../biz/acme-plumbing#reviews"},
		{"https://dir.example.com", "biz/acme\n-plumbing"},
		{"", "/biz/acme-plumbing?ref=list"},
		{"", `\\biz\\acme-plumbing`},
		{"", "https://DIR.example.com:443/x/../biz/acme-plumbing"},
		{"mailto:a@b.example", "/biz/acme-plumbing"},
	} {
		for _, city := range []string{"austin-tx", "houston-tx"} {
			head := ""
			if c.base != "" {
				head = `<base href="` + c.base + `">`
			}
			ref := strings.ReplaceAll(c.ref, "\n", `\n`)
			p := parse(t, s, head+fmt.Sprintf(entry, ref), "https://dir.example.com/"+city+"/plumbers", 200)
			if len(p.Listings) != 1 {
				t.Fatalf("%+v: %d listings, %s", c, len(p.Listings), p.Reason)
			}
			storetest.Equal(t, p.Listings[0].ID, "/biz/acme-plumbing", c)
			storetest.Equal(t, p.Listings[0].ProfileURL, "https://dir.example.com/biz/acme-plumbing", c)
		}
	}
}

// TestLinksOfCards: profile, website and image of a card, as a browser reads them.
func TestLinksOfCards(t *testing.T) {
	t.Parallel()
	s := builtin(t, "yellowpages")
	for _, c := range []struct{ base, profile, site, image, wantProfile, wantSite, wantImage string }{
		{"", "/a/mip/\nb-1?x#y", "https://acme\n.example/", "/i/a b.jpg", "/a/mip/b-1", "https://acme.example", "/i/a%20b.jpg"},
		{"", `\a\mip\b-1`, `https:\\acme.example\menu`, `\\img.example\a.jpg`, "/a/mip/b-1", "https://acme.example/menu", "https://img.example/a.jpg"},
		{"/us/", "mip/b-1", "//acme.example", "i.jpg", "/us/mip/b-1", "https://acme.example", "/us/i.jpg"},
		{"https://cdn.example/x/", "https://www.yellowpages.com/mip/b-1", "acme.example", "i.jpg", "/mip/b-1", "", "https://cdn.example/x/i.jpg"},
		{"", "/mip/b-1", "https://ac%6de.example/", "i.jpg", "/mip/b-1", "https://acme.example", "/springfield-il/i.jpg"},
		{"", "/mip/b-1", "https://acme .example/", "data:image/gif;base64,R0lGOD", "/mip/b-1", "", ""},
		{"", "/mip/b-1", "https://bücher.example/Über?q=ü", "javascript:1", "/mip/b-1", "https://xn--bcher-kva.example/%C3%9Cber?q=%C3%BC", ""},
		{"", "https://u:p@www.yellowpages.com/mip/b-1", "https://u:p@acme.example/", "i.jpg", "/mip/b-1", "https://acme.example", "/springfield-il/i.jpg"},
		{"", "?lid=1", "menu", "", "", "", ""},
	} {
		head := ""
		if c.base != "" {
			head = `<base href="` + c.base + `">`
		}
		body := siteHTML(head + fmt.Sprintf(`<div class="search-results"><div class="result" data-ypid="1"><div class="media-thumbnail"><img src="%s"></div>
			<a class="business-name" href="%s">B</a><a class="track-visit-website" href="%s">W</a></div></div>`, c.image, c.profile, c.site))
		l := parse(t, s, body, srp, 200).Listings[0]
		abs := func(path string) string {
			if strings.HasPrefix(path, "/") {
				return "https://www.yellowpages.com" + path
			}
			return path
		}
		storetest.Equal(t, l.ProfileURL, abs(c.wantProfile), c)
		storetest.Equal(t, l.Website, c.wantSite, c)
		storetest.Equal(t, l.ImageURL, abs(c.wantImage), c)
		if l.Website != "" && (l.WebsiteURL == "" || yp.Clean(l.WebsiteURL) != l.WebsiteURL) {
			t.Errorf("%+v: website as linked: %q", c, l.WebsiteURL)
		}
	}
}

// FuzzSite: the website that is kept is on the host to which a browser goes.
func FuzzSite(f *testing.F) {
	for _, s := range []string{"http://acme.example/a", "//acme.example", `https:\\a@acme.example`, "HTTP:///acme.example:80", "http://a.b\\@c.d", "https://ac%6de.example", "http://0x7f.1"} {
		f.Add(s)
	}
	s := builtin(f, "yellowpages")
	f.Fuzz(func(t *testing.T, ref string) {
		at := s.linksAt(finalURL(t))
		_, w, ok := at.site(ref)
		if !ok || len(ref) > maxURL {
			return
		}
		a, reason := at.base.Resolve(ref)
		host, _ := yp.CanonicalWebsite("https://" + a.Hostname())
		if reason != "" || host.Host != w.Host {
			t.Errorf("%q: kept as %s, and leads to %s, %q", ref, w.URL, a.Text, reason)
		}
	})
}

// BenchmarkLinks resolves the longest links that cost most, as many as a page has.
func BenchmarkLinks(b *testing.B) {
	s := builtin(b, "yellowpages")
	for name, ref := range map[string]string{
		"plain": "/springfield-il/mip/acme-1?lid=2", "segments": strings.Repeat("/|", maxURL/2), "signs": "//" + strings.Repeat("@", maxURL-10) + "a.b",
		"percents": strings.Repeat("%", maxURL), "letters": strings.Repeat("ü", maxURL/2), "dots": strings.Repeat("a/../", maxURL/5),
	} {
		b.Run(name, func(b *testing.B) {
			at := s.linksAt(finalURL(b))
			for b.Loop() {
				s.resolve(at, ref)
			}
		})
	}
}
