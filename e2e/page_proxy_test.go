//go:build browser && unix

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

// TestBrowserBehindNginx: below a path of nginx with its defaults the page looks, leads and updates as without it.
func TestBrowserBehindNginx(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.expected = regexp.MustCompile(notFound.String() + `|404.*/listings/demo\?id=123%2Facme`) // which another test plants
	top := behindNginx(t, startPage(t, crawled(t), "dashboard", "--listen", "0").url) + "/yp"
	for _, path := range browserViews() {
		b.do(chromedp.Navigate(top + path))
		b.wait(`document.getElementById("connection").dataset.state === "live" || !document.querySelector("[data-part]")`)
		outside := eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("a:not([rel~=noreferrer]), link[rel=stylesheet], script, form")].map(e => e.href || e.src || e.action).filter(to => !to.startsWith(%q)).join(" ")`, top+"/"))
		storetest.Equal(t, outside, "", "addresses outside in "+path)
		styled := eval[bool](b, `document.styleSheets.length === document.querySelectorAll("link[rel=stylesheet]").length && document.styleSheets.length > 1 && [...document.styleSheets].every(s => s.cssRules.length > 5)`)
		storetest.Equal(t, styled, true, "styles in "+path)
	}
	here := func(path string) string {
		return fmt.Sprintf("(location.pathname + location.search).startsWith(%q)", "/yp"+path)
	}
	b.do(chromedp.Navigate(top + "/nothing"))
	b.click(".refusal a", here("/")+` && !!document.querySelector("#tile-TX")`)
	b.click("#tile-TX", here("/states/TX"))
	b.click(".rows td a", here("/queue")+` && location.search.includes("states=TX")`)
	b.do(chromedp.SetValue(chromedp.CSS("#by-status"), "DONE"))
	b.click("form.pick button", here("/queue")+` && location.search.includes("status=DONE") && !!document.querySelector("#rows-scroll td a")`)
	b.click("#rows-scroll td a", here("/targets/"))
	b.click("header a.name", here("/")+` && !!document.querySelector("#tile-TX")`)
	b.do(chromedp.Navigate(top + "/states"))
	b.do(chromedp.SetValue(chromedp.CSS("#pick-a"), "TX"), chromedp.SetValue(chromedp.CSS("#pick-b"), "CA"))
	b.click(".pick button", here("/states?a=TX&b=CA")+` && document.getElementById("connection").dataset.state === "live"`)
}

// TestBrowserLiveBehindNginx: the numbers follow a crawl, without the page being loaded again.
func TestBrowserLiveBehindNginx(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	p := startPage(t, t.TempDir(), "run", "--source", "demo", "--states", "CA", "TX", "--delay", "400ms", "--web", "0")
	b.do(chromedp.Navigate(behindNginx(t, p.url) + "/yp/"))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	const count = `parseInt(document.querySelector(".bar-count").textContent)`
	for range 3 {
		b.wait(fmt.Sprintf("%s > %d", count, eval[int](b, count)))
	}
	storetest.Equal(t, eval[int](b, `performance.getEntriesByType("navigation").length`), 1, "times that the page was loaded")
	if text := eval[string](b, `document.getElementById("connection").textContent`); !strings.HasPrefix(text, "updating live") {
		t.Errorf("the page says %q", text)
	}
	storetest.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	b.wait(`document.getElementById("connection").dataset.state === "ended"`)
}
