//go:build browser && unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// toReview has listings of the file dropped, restored and rejected.
func toReview(t testing.TB, dir string) {
	t.Helper()
	alter(t, dir,
		`INSERT INTO listing_events (at, kind, source_id, listing, company_id) SELECT '2026-11-20T10:00:00.000Z', iif(id % 2, 'dropped', 'restored'), source_id, id, company_id FROM listings WHERE id <= 6`,
		`INSERT INTO listing_events (at, kind, source_id, listing_id, what) VALUES ('2026-11-20T11:00:00.000Z', 'rejected', 1, 'c', '{"reasons":["<img src=x onerror=alert(3)>"]}')`)
}

// TestBrowserReview: the banner leads to the list, the button marks what is shown, and what
// comes while somebody reads is left for the next time.
func TestBrowserReview(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	toReview(t, dir)
	p := startPage(t, dir, "dashboard", "--listen", "0", "--allow-actions")
	b.do(chromedp.Navigate(p.url + "/"))
	b.wait(`document.querySelector("#banner").textContent.startsWith("3 dropped, 3 restored, 1 rejected since the beginning")`)
	b.click("#look-through", `location.pathname.startsWith("/review/") && document.querySelectorAll("#review-scroll tbody tr").length === 7`)
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	alter(t, dir, `INSERT INTO listing_events (at, kind, source_id, listing_id, what) VALUES ('2026-11-20T12:00:00.000Z', 'rejected', 1, 'd', '{"reasons":["tardy"]}')`)
	b.wait(`document.querySelector("#review").textContent.includes("1 change came later")`)
	if n := eval[int](b, `document.querySelectorAll("#review-scroll tbody tr").length`); n != 7 {
		t.Errorf("the list that is open has grown to %d rows", n)
	}
	b.do(chromedp.Click(chromedp.CSS("#mark-reviewed")))
	b.wait(`document.querySelectorAll("#review-scroll tbody tr").length === 1 && document.querySelector("#review").textContent.includes("tardy")`)
	b.wait(`document.querySelector("#banner").textContent.startsWith("0 dropped, 0 restored, 1 rejected since 20")`)
	b.do(chromedp.Focus(chromedp.CSS("#mark-reviewed")), chromedp.KeyEvent("\r"))
	b.wait(`document.querySelector("#review").textContent.includes("Everything in this list was reviewed.") && document.querySelector("#banner").textContent === ""`)
	b.do(chromedp.Navigate(p.url + "/workers"))
	b.wait(`document.querySelector("#banner").offsetHeight === 0`)
}

// TestBrowserQueue: filters by a form, and a row that opens its trace; the form is left alone
// while the rows below it change.
func TestBrowserQueue(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	alter(t, dir, `UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', not_before = NULL, wait_reason = NULL WHERE id = 3`)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	b.do(chromedp.Navigate(p.url+"/queue"), chromedp.SetValue(chromedp.CSS("#queue-error"), "TIMEOUT"))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	if v := eval[string](b, `document.querySelector("#queue-error").value`); v != "TIMEOUT" {
		t.Errorf("what was chosen has become %q", v)
	}
	b.click("#queueform button", `new URLSearchParams(location.search).get("error") === "TIMEOUT" && document.querySelectorAll("#queue tbody tr").length === 1`)
	b.click("#target-3", `location.pathname === "/targets/3" && document.querySelectorAll(".attempt[open] .steps li").length > 3`)
	if text := eval[string](b, `document.querySelector("#trace").textContent`); !strings.Contains(text, "never by itself: it is a dead letter. `ypcrawl dead requeue 3` changes that") {
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
	b.wait(`document.querySelectorAll(".hub circle.node.alive").length === 3`)
	b.wait(`document.querySelectorAll("#workers tbody tr a").length > 0`)
	for _, name := range []string{"amber", "birch", "cedar"} {
		name = fmt.Sprintf("%s (%d)", name, run.cmd.Process.Pid)
		if n := eval[int](b, fmt.Sprintf(`[...document.querySelectorAll(".hub .who, #workers tbody th")].filter(e => e.textContent === %q).length`, name)); n != 2 {
			t.Errorf("%s is named %d times, want once in the picture and once in the table", name, n)
		}
	}
	_ = run.cmd.Process.Kill()
	<-run.done
	b.wait(`document.querySelectorAll(".hub rect.node.silent").length === 3 && document.querySelectorAll("#workers tbody .state.silent").length === 3`)
	if text := eval[string](b, `document.querySelector(".run").textContent`); !strings.Contains(text, "its process is dead; the next run recovers its targets") {
		t.Errorf("the run says %q", text)
	}
}
