package site

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCut cuts pages of every kind and checks that none passes for whole.
func TestCut(t *testing.T) {
	t.Parallel()
	read := func(t *testing.T, path ...string) string {
		b, err := os.ReadFile(filepath.Join(append([]string{pagesDir}, path...)...))
		noError(t, err)
		return string(b)
	}
	yellow, own := builtin(t, "yellowpages"), prairie(t)
	for kind, c := range map[string]struct {
		page  string
		parse func(body []byte) (Outcome, error)
	}{
		"results": {read(t, "modern.html"), func(b []byte) (Outcome, error) {
			p, err := yellow.ParsePage(b, finalURL(t), 200)
			return p.Outcome, err
		}},
		"detail": {read(t, "detail", "current.html"), func(b []byte) (Outcome, error) {
			p, err := yellow.ParseDetail(b, urlOf(t, "https://www.yellowpages.com/springfield-il/mip/x-467123456"), 200)
			return p.Outcome, err
		}},
		"index": {read(t, "index", "columns.html"), func(b []byte) (Outcome, error) {
			p, err := yellow.ParseIndex(b, urlOf(t, "https://www.yellowpages.com/state-az?page=a"), 200, "AZ")
			return p.Outcome, err
		}},
		"structured": {read(t, "structured", "jsonld_array.html"), func(b []byte) (Outcome, error) {
			p, err := own.ParsePage(b, urlOf(t, prairieList), 200)
			return p.Outcome, err
		}},
	} {
		if o, err := c.parse([]byte(c.page)); o != OK || err != nil {
			t.Errorf("%s, whole: %v, %v", kind, o, err)
		}
		end := strings.LastIndex(c.page, "</body")
		refused := 0
		for n := 0; n < end+len("</body"); n += 1 + n%23 { // not all of them: it is in the thousands
			o, err := c.parse([]byte(c.page[:n]))
			switch {
			case errors.Is(err, ErrCut):
				refused++
			case err != nil || o == OK || o == NoListings || o == HTMLChanged:
				t.Fatalf("%s, cut after %d of %d bytes: %v, %v", kind, n, len(c.page), o, err)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no cut was told", kind)
		}
	}
}

// TestEndTags are the ways in which a page may end.
func TestEndTags(t *testing.T) {
	const card = `<div id="main-content"><div class="result" data-ypid="1"><a class="business-name">Acme</a></div></div>`
	for name, c := range map[string]struct {
		page string
		more string // of the definition
		cut  bool
	}{
		"body and html":                         {"<html><body>" + card + "</body></html>", "", false},
		"body alone":                            {"<html><body>" + card + "</body>", "", false},
		"html alone":                            {"<html><body>" + card + "</HTML >", "", false},
		"junk behind the end":                   {"<html><body>" + card + "</body></html><!-- cached", "", false},
		"a script behind the end":               {"<html><body>" + card + "</body></html><script>x(", "", false},
		"neither":                               {"<html><body>" + card, "", true},
		"in a comment":                          {"<html><body>" + card + "<!-- </body></html> -->", "", true},
		"in a script":                           {"<html><body>" + card + `<script>"</body></html>"</script>`, "", true},
		"in an attribute":                       {"<html><body>" + card + `<a title="</body>">`, "", true},
		"half an end tag":                       {"<html><body>" + card + "</bod", "", true},
		"no tag of html or body":                {card, "", false},
		"the same, within a tag":                {card + `<div class="`, "", true},
		"the same, within a comment":            {card + `<!-- `, "", true},
		"the same, within a script":             {card + `<script>a(`, "", true},
		"a site without end tags":               {"<html><body>" + card, "no_end_tags: true\n", false},
		"a site without end tags, within a tag": {"<html><body>" + card + "<div", "no_end_tags: true\n", true},
		"a script of no length, open":           {card + `<script>`, "", true},
	} {
		p, err := yellowWith(t, c.more).ParsePage([]byte(c.page), finalURL(t), 200)
		if errors.Is(err, ErrCut) != c.cut || !c.cut && (err != nil || p.Outcome != OK) {
			t.Errorf("%s: %v, want cut %v", name, err, c.cut)
		}
		var pe *ParseError
		if c.cut && (!errors.As(err, &pe) || pe.Permanent()) {
			t.Errorf("%s: %v is no error that may pass", name, err)
		}
	}
}

// TestLeftOut counts what lies beyond the bounds, and where a next link leads.
func TestLeftOut(t *testing.T) {
	s := builtin(t, "yellowpages")
	page := strings.Replace(resultsPage(1003, 1), `href="/springfield-il/plumbers?page=2&amp;s=x"`, `href="https://other.example:8443/x?page=2"`, 1)
	for way, parse := range map[string]func() (*Page, error){
		"region": func() (*Page, error) { return s.ParsePage([]byte(page), finalURL(t), 200) },
		"whole":  func() (*Page, error) { return s.parseWhole([]byte(page), finalURL(t), 200) },
	} {
		p, err := parse()
		if err != nil || p.Via != way || len(p.Listings) != 1000 || p.LeftOut != 3 || p.NextURL != "" || p.NextHost != "other.example:8443" {
			t.Errorf("%s: %v, %d listings, %d left out, next %q on %q", p.Via, err, len(p.Listings), p.LeftOut, p.NextURL, p.NextHost)
		}
	}
	t.Run("structured", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(`<html><body><header id="pd-header"></header><script type="application/ld+json">[`)
		for i := range 1003 {
			b.WriteString(`{"@type":"Plumber","name":"Shop","url":"/biz/shop-` + strings.Repeat("1", 1+i%7) + `-` + string(rune('a'+i%26)) + `"},`)
		}
		b.WriteString(`{}]</script><a rel="next" href="https://other.example/x?page=2">2</a></body></html>`)
		p, err := prairie(t).ParsePage([]byte(b.String()), urlOf(t, prairieList), 200)
		if err != nil || p.LeftOut != 3 || p.NextHost != "other.example" {
			t.Errorf("%v, %d left out, next on %q", err, p.LeftOut, p.NextHost)
		}
	})
}
