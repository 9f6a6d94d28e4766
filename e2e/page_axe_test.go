//go:build browser && unix

package e2e

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

// axe is the source of the accessibility checker.
func axe(t *testing.T) string {
	t.Helper()
	f, err := os.Open("cli/web/testdata/axe.min.js.gz")
	storetest.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	storetest.NoError(t, err)
	text, err := io.ReadAll(z)
	storetest.NoError(t, err)
	return string(text)
}

// violations are what axe finds in a part of the page: "document", or a selector in quotes.
func (b *tab) violations(checker, part string) (all []json.RawMessage) {
	b.t.Helper()
	eval[chromedp.Void](b, checker)
	found := eval[string](b, `axe.run(`+part+`, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations
		.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary)}))))`)
	storetest.NoError(b.t, json.Unmarshal([]byte(found), &all))
	return all
}

// TestBrowserAxe: axe finds nothing in any view, light, dark and narrow; a narrow one
// is no wider than the screen, and no text is cut off or lies upon another one.
func TestBrowserAxe(t *testing.T) {
	t.Parallel()
	dir, checker := finished(t, true), axe(t)
	closed(t, dir)
	alter(t, dir, ofListing, `UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', not_before = NULL, wait_reason = NULL WHERE id % 7 = 0 AND kind = 'search'`,
		`UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = 'no names'`)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	type look struct {
		scheme string
		width  int64
	}
	looks := []look{{"light", 1280}, {"dark", 390}}
	if !testing.Short() { // CI is short: each colour and each width once
		looks = append(looks, look{"dark", 1280}, look{"light", 360})
	}
	for _, look := range looks {
		t.Run(fmt.Sprint(look.scheme, ", ", look.width), func(t *testing.T) {
			t.Parallel()
			b := newTab(t)
			b.expected = notFound
			b.look(look.scheme, look.width, 800, 1)
			for _, path := range browserViews() {
				b.do(chromedp.Navigate(p.url + path))
				b.wait(`document.getElementById("connection").dataset.state === "live" || !document.querySelector("[data-part]")`)
				if w := eval[int64](b, `document.documentElement.scrollWidth`); w > look.width {
					t.Errorf("%s is %d wide", path, w)
				}
				if faults := eval[string](b, pageFaults); faults != "" {
					t.Errorf("%s: %s", path, faults)
				}
				part := "document"
				if strings.Contains(path, "by=") { // those differ from the overview in the map alone
					part = `"#map"`
				}
				eval[chromedp.Void](b, `for (const d of document.querySelectorAll("details")) d.open = true`)
				for _, v := range b.violations(checker, part) {
					t.Errorf("%s: %s", path, v)
				}
			}
		})
	}
}
