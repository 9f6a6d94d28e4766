//go:build browser && unix

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

// closed has listings of the file dropped, restored and rejected.
func closed(t testing.TB, dir string) {
	t.Helper()
	at := time.Now().Add(-time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")
	alter(t, dir,
		`UPDATE listings SET dropped_at = '`+at+`' WHERE id IN (1, 3, 5)`,
		`INSERT INTO listing_events (at, kind, source_id, listing, company_id) SELECT '`+at+`', iif(id % 2, 'dropped', 'restored'), source_id, id, company_id FROM listings WHERE id <= 6`,
		`INSERT INTO listing_events (at, kind, source_id, listing_id, what) VALUES ('`+at+`', 'rejected', 1, 'c', '{"reasons":["<img src=x onerror=alert(3)>"]}')`)
}

// TestBrowserClosings: the banner is red when something was dropped, a bar of a line over the whole width, and leads to the changes
// that it counts. What came back is none of them.
func TestBrowserClosings(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	closed(t, dir)
	at := time.Now().Add(-30 * time.Minute).UTC().Format("2006-01-02T15:04:05.000Z")
	alter(t, dir, `UPDATE listings SET dropped_at = NULL WHERE id = 3`,
		`INSERT INTO listing_events (at, kind, source_id, listing, company_id) SELECT '`+at+`', 'restored', source_id, id, company_id FROM listings WHERE id = 3`)
	alter(t, dir, `UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', not_before = NULL, wait_reason = NULL WHERE id = 2`)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	for _, path := range []string{"/", "/queue", "/states/TX"} {
		for _, width := range []int64{1200, 360} {
			b.look("light", width, 800, 1)
			b.do(chromedp.Navigate(p.url + path))
			b.wait(`document.querySelector("#banner .alarm").textContent.startsWith("2 closed, 4 restored, 1 rejected in the last 7 days")`)
			shape := eval[[]float64](b, `(() => { const r = document.querySelector("#banner .alarm").getBoundingClientRect(), m = document.querySelector("#banner").parentElement,
				s = getComputedStyle(m), c = getComputedStyle(document.querySelector("#banner .alarm"));
				return [r.width, m.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight), r.height, parseFloat(c.lineHeight), parseFloat(c.fontSize)]; })()`)
			if lines := 2.0; shape[0] < shape[1]-1 || shape[2] > lines*shape[3]+20 || shape[3] < 1.3*shape[4] || shape[4] < 13 {
				t.Errorf("%s, %d wide: the banner is %.0f of %.0f wide and %.0f high, its lines %.1f of letters of %.1f", path, width, shape[0], shape[1], shape[2], shape[3], shape[4])
			}
			if colour := eval[string](b, `getComputedStyle(document.querySelector("#banner .alarm")).color`); colour != eval[string](b, `getComputedStyle(document.body).color`) {
				t.Errorf("its text is %s", colour)
			}
		}
	}
	b.look("light", 1200, 800, 1)
	b.do(chromedp.Navigate(p.url + "/"))
	if sign := eval[[]float64](b, `(() => { const r = document.querySelector("#map .alarm").getBoundingClientRect(); return [r.width, r.height]; })()`); sign[0] > 20 || sign[1] > 20 {
		t.Errorf("the sign of the map is %v large", sign)
	}
	b.click("#closings", `location.pathname === "/changes" && document.querySelectorAll("#rows-scroll tbody tr").length === 2`)
	storetest.Equal(t, eval[string](b, `["kind", "since"].map(n => document.querySelector("#by-" + n).value).join()`), "dropped,7d", "what the form has chosen")
	b.do(chromedp.SetValue(chromedp.CSS("#by-kind"), "restored"))
	b.click("#filters button", `document.querySelectorAll("#rows-scroll tbody tr").length === 4`)
}

// TestBrowserStages: while indexes are read, index, search and detail have their rows, which follow the crawl and are no wider than the page.
func TestBrowserStages(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	p := startPage(t, t.TempDir(), "run", "--source", "demo", "--discover", "--states", "CA", "TX", "--delay", "500ms", "--web", "0")
	const pages = `+[...document.querySelectorAll("#stages tbody tr")].find(r => r.cells[0].textContent === "index").lastElementChild.textContent`
	for _, width := range []int64{360, 1200} {
		b.look("light", width, 800, 1)
		b.do(chromedp.Navigate(p.url + "/"))
		b.wait(`document.querySelectorAll("#stages tbody tr").length === 3`)
		b.wait(pages + ` > 0`)
		first := eval[int](b, pages)
		b.wait(fmt.Sprintf("%s > %d", pages, first))
		shape := eval[[]float64](b, `(() => { const r = document.querySelector("#stages").getBoundingClientRect(); return [r.left, r.right, r.width, document.documentElement.scrollWidth]; })()`)
		if shape[0] < 0 || shape[1] > float64(width) || shape[2] < float64(width)*0.9 || shape[3] > float64(width) {
			t.Errorf("%d wide: the rows are from %.0f to %.0f, the page is %.0f wide", width, shape[0], shape[1], shape[3])
		}
		storetest.Equal(t, eval[string](b, `[...document.querySelectorAll("#stages tbody th")].map(e => e.textContent).join()`), "index,search,detail", "rows")
		if text := eval[string](b, `document.querySelector("#bars .bar").innerText`); !strings.Contains(text, "State indexes") || !strings.Contains(text, "pages read") {
			t.Errorf("the first bar says %q", text)
		}
	}
}

// TestBrowserQueue: filters by a form, and a row that opens its trace; the form is left alone
// while the rows below it change.
func TestBrowserQueue(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	alter(t, dir, `UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', not_before = NULL, wait_reason = NULL WHERE id = 3`)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	b.do(chromedp.Navigate(p.url+"/queue"), chromedp.SetValue(chromedp.CSS("#by-error"), "TIMEOUT"))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	storetest.Equal(t, eval[string](b, `document.querySelector("#by-error").value`), "TIMEOUT", "chosen")
	b.click("#filters button", `new URLSearchParams(location.search).get("error") === "TIMEOUT" && document.querySelectorAll("#rows tbody tr").length === 1`)
	b.click("#target-3", `location.pathname === "/targets/3" && document.querySelectorAll(".attempt[open] .steps li").length > 3`)
	if text := eval[string](b, `document.querySelector("#trace").textContent`); !strings.Contains(text, "not crawled again automatically: it was given up (PARKED). To change that: `ypcrawl reset 3`") {
		t.Errorf("the trace says %q", text)
	}
}

// TestBrowserWorkers: workers of a run are alive while it lives, and silent once it was killed.
func TestBrowserWorkers(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := t.TempDir()
	run := startPage(t, dir, "run", "--source", "demo", "--states", "CA", "TX", "--max-cities", "5", "--delay", "1s", "--workers", "3", "--web", "0")
	p := startPage(t, dir, "dashboard", "--listen", "0")
	b.do(chromedp.Navigate(p.url + "/workers"))
	b.wait(`document.querySelectorAll(".hub circle.node.running").length === 3`)
	b.wait(`document.querySelectorAll("#rows tbody tr a").length > 0`)
	for _, name := range []string{"amber", "birch", "cedar"} {
		name = fmt.Sprintf("%s (%d)", name, run.cmd.Process.Pid)
		const named = `[...document.querySelectorAll(".hub .who, #rows tbody td")].filter(e => e.textContent === %q).length`
		storetest.Equal(t, eval[int](b, fmt.Sprintf(named, name)), 2, name+" in the picture and in the table")
	}
	_ = run.cmd.Process.Kill()
	<-run.done
	b.wait(`document.querySelectorAll(".hub rect.node.silent").length === 3`)
	if text := eval[string](b, `document.querySelector(".run").textContent`); !strings.Contains(text, "3 killed") {
		t.Errorf("the run says %q", text)
	}
}
