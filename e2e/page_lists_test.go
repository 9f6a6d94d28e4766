//go:build browser && unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

// listPages are lists with phones, times, durations and numbers.
var listPages = []string{"/queue", "/listings", "/attempts", "/changes", "/companies", "/runs", "/coverage", "/sources", "/errors", "/rejected", "/hosts", "/waits", "/workers?all=yes"}

// TestBrowserLists: at 1280 pixels no phone, time, number or name of a worker is on two lines and the list fits into the page; at 390 the filters are folded away until something
// is filtered.
func TestBrowserLists(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	closed(t, dir)
	alter(t, dir, `UPDATE listings SET phone = '(802) 555-0100 ext. 12', name = 'The Very Long Name of a Business That Has Room to Give ' || id WHERE id % 2`,
		`UPDATE targets SET not_before = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+56 minutes', '+51 seconds'), wait_reason = 'recrawl' WHERE status = 'DONE'`)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	const broken = `[...document.querySelectorAll(".rows td")].filter(td => {
			const text = td.textContent.trim();
			if (!td.matches(".whole, .n, .failed") && !/^(\(\d|in \d|\d+[hms]\d*[ms]?$|[\d,.]+%?$|[\d,.]+ \w+$|[a-z]+ \(\d+\)$)/.test(text)) return false;
			const r = document.createRange();
			r.selectNodeContents(td);
			return new Set([...r.getClientRects()].filter(x => x.width > 1).map(x => Math.round(x.bottom / 8))).size > 1;
		}).map(td => td.textContent).join("; ")`
	for _, path := range listPages {
		for _, width := range []int64{1280, 390} {
			b.look("light", width, 900, 1)
			b.do(chromedp.Navigate(p.url + path))
			b.wait(`document.getElementById("connection").dataset.state === "live"`)
			if cells := eval[string](b, broken); cells != "" {
				t.Errorf("%s, %d wide: on several lines: %s", path, width, cells)
			}
			if w := eval[int64](b, `document.documentElement.scrollWidth`); w > width {
				t.Errorf("%s is %d wide on %d", path, w, width)
			}
			if shape := eval[[]int64](b, `(e => e ? [e.scrollWidth, e.clientWidth] : [0, 0])(document.querySelector("#rows-scroll"))`); width == 1280 && shape[0] > shape[1] {
				t.Errorf("%s: the list is %d wide in %d", path, shape[0], shape[1])
			}
		}
	}
	const form, summary = `document.querySelector("#filters form").checkVisibility({contentVisibilityAuto: true})`, `document.querySelector("#fold summary").checkVisibility()`
	for _, c := range []struct {
		path          string
		width         int64
		form, summary bool
	}{{"/queue", 390, false, true}, {"/queue?status=DONE", 390, true, true}, {"/queue", 1280, true, false}} {
		b.look("light", c.width, 900, 1)
		b.do(chromedp.Navigate(p.url + c.path))
		b.wait(`document.getElementById("connection").dataset.state === "live"`)
		storetest.Equal(t, fmt.Sprint(eval[bool](b, form), eval[bool](b, summary)), fmt.Sprint(c.form, c.summary), fmt.Sprintf("%s, %d wide: form and summary are shown", c.path, c.width))
	}
	b.look("light", 390, 900, 1)
	b.do(chromedp.Navigate(p.url + "/queue"))
	b.click("#fold summary", form)
	storetest.Equal(t, eval[string](b, `[...document.querySelectorAll("#filters label")].slice(0, 3).map(e => e.textContent).join()`), "States,Cities,Categories", "names of filters")
	b.wait(`[...document.querySelectorAll("#values-states option")].some(o => o.value === "TX" && o.textContent === "Texas")`)
}

// TestBrowserSort: a click on a head sorts, the next one the other way round; the next page goes on; and what somebody types stays while the rows change.
func TestBrowserSort(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	const first = `document.querySelector("#rows tbody tr").textContent`
	b.look("light", 1280, 900, 1)
	b.do(chromedp.Navigate(p.url + "/listings?rows=10"))
	b.click("#sort-name", `document.querySelector("[aria-sort=ascending] a")?.id === "sort-name"`)
	least := eval[string](b, first)
	b.click("#sort-name", `document.querySelector("[aria-sort=descending] a")?.id === "sort-name"`)
	if eval[string](b, first) == least {
		t.Errorf("both ways the first row is %s", least)
	}
	b.click("#next-rows", `document.querySelector(".parts span").textContent === "Rows 11 to 20" && document.querySelectorAll("#rows tbody tr").length === 10`)
	b.click("#first-rows", `document.querySelector(".parts span").textContent === "Rows 1 to 10"`)
	storetest.Equal(t, eval[string](b, `document.querySelector("#download").getAttribute("href").replace(/^.*\//, "")`), "listings.csv", "the download")
	b.do(chromedp.Navigate(p.url + "/queue"))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	b.do(chromedp.SendKeys(chromedp.CSS("#by-states"), "Tex"))
	alter(t, dir, `UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', not_before = NULL, wait_reason = NULL WHERE id = 3`)
	b.wait(`document.querySelector("#rows").textContent.includes("PARKED")`)
	storetest.Equal(t, eval[string](b, `document.activeElement.id + document.activeElement.value`), "by-statesTex", "what is typed")
	if text := eval[string](b, first); !strings.Contains(text, "PARKED") {
		t.Errorf("what is in trouble isn't first: %s", text)
	}
}

// TestBrowserInUse: rows in which somebody selects text are left alone, and show what is true then, not what was true meanwhile. Another
// tab, of the same events, tells when these have come.
func TestBrowserInUse(t *testing.T) {
	t.Parallel()
	b, other := newTab(t), newTab(t)
	dir := crawled(t)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	const rows, paused = `document.querySelector("#rows")`, `document.querySelector("#rows").textContent.includes("paused")`
	for _, b := range []*tab{b, other} {
		b.do(chromedp.Navigate(p.url + "/queue"))
		b.wait(`document.getElementById("connection").dataset.state === "live"`)
	}
	before := eval[string](b, rows+`.dataset.hash`)
	eval[chromedp.Void](b, `getSelection().selectAllChildren(document.querySelector("#rows tbody tr"))`)
	alter(t, dir, `UPDATE targets SET paused = 1 WHERE id = 4`)
	other.wait(paused)
	storetest.Equal(t, eval[string](b, rows+`.dataset.hash`), before, "the rows in which text is selected")
	alter(t, dir, `UPDATE targets SET paused = 0 WHERE id = 4`)
	other.wait("!" + paused)
	// The page looks each second whether it may show what came.
	if eval[bool](b, `(getSelection().removeAllRanges(), new Promise(done => setTimeout(() => done(`+paused+`), 1500)))`) {
		t.Error("the rows show what is no longer true")
	}
}
