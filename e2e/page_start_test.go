//go:build browser && unix

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

// TestBrowserBeforeTheFirstCrawl: the page says how to begin, and shows the crawl by itself as soon as there is one; what it says of a
// run is true before, during and after it.
func TestBrowserBeforeTheFirstCrawl(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir, checker := t.TempDir(), axe(t)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	const said = `document.getElementById("connection").textContent`
	for _, width := range []int64{1280, 390} {
		b.look("light", width, 800, 1)
		b.do(chromedp.Navigate(p.url + "/queue"))
		b.wait(said + ` === "connected · no run"`)
		text := eval[string](b, `document.querySelector("main").innerText`)
		for _, want := range []string{"No crawl yet.", dir + "/ypcrawl.db", "run --source demo --states CA TX"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d wide: before the first crawl the page lacks %q: %s", width, want, text)
			}
		}
		if w := eval[int64](b, `document.documentElement.scrollWidth`); w > width {
			t.Errorf("it is %d wide on %d", w, width)
		}
		for _, v := range b.violations(checker, "document") {
			t.Errorf("%d wide: %s", width, v)
		}
	}
	crawl := []string{"run", "--source", "demo", "--states", "CA", "TX", "--max-cities", "2"}
	run := startPage(t, dir, append(crawl, "--delay", "500ms", "--web", "0")...)
	b.wait(`location.pathname === "/queue" && document.querySelectorAll("#rows tbody tr").length > 0`)
	b.wait(said + ` === "updating live"`)
	storetest.NoError(t, run.cmd.Process.Signal(os.Interrupt))
	<-run.done
	b.wait(said + ` === "connected · no run"`)
	if out, err := command(dir, nil, append(crawl, "--delay", "0", "--quiet")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	b.do(chromedp.Navigate(p.url + "/"))
	b.wait(`document.querySelectorAll(".few .tile").length === 2`)
	inside := eval[bool](b, `[...document.querySelectorAll(".few .tile *")].every(e => { const r = e.getBoundingClientRect(), t = e.closest(".tile").getBoundingClientRect();
		return r.left >= t.left && r.right <= t.right + 0.5 && r.top >= t.top - 0.5 && r.bottom <= t.bottom + 0.5 && t.right <= 390; })`)
	if !inside {
		t.Error("a text of a large state is cut off at 390 px")
	}
	storetest.Equal(t, eval[string](b, `[...document.querySelectorAll(".few .code")].map(e => e.textContent).join()`), "California,Texas", "states")
	storetest.Equal(t, eval[int](b, `document.querySelectorAll("#bars svg").length`), 1, "bars, when no page is left")
}

// TestBrowserLocalTimes: times in cells are those of the browser's zone, in summer and winter and across midnight, and stay so when
// their part is replaced; UTC is their title. Sentences keep UTC.
func TestBrowserLocalTimes(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	alter(t, dir, `UPDATE targets SET finished_at = '2026-03-08T03:30:15.000Z', crawl_started_at = '2026-07-01T12:00:00.000Z' WHERE id = 1`,
		`UPDATE listings SET last_seen_at = '2026-03-08T03:30:15.000Z' WHERE id = (SELECT max(id) FROM listings)`)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	for zone, want := range map[string][3]string{
		"America/New_York": {"ET", "2026-03-07 22:30:15", "2026-07-01 08:00:00"},
		"Asia/Kolkata":     {"India Time", "2026-03-08 09:00:15", "2026-07-01 17:30:00"},
		"UTC":              {"UTC", "2026-03-08 03:30:15", "2026-07-01 12:00:00"},
	} {
		call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
		b.do(chromedp.Navigate(p.url + "/listings"))
		b.wait(`document.getElementById("connection").dataset.state === "live"`)
		const shown = `["#rows .zone", "#rows tbody time"].map(s => document.querySelector(s)).concat(document.querySelector("#rows tbody time").title).map(e => e.textContent ?? e).join("|")`
		seen := want[0] + "|" + want[1] + "|2026-03-08 03:30:15 UTC"
		storetest.Equal(t, eval[string](b, shown), seen, "in "+zone)
		hash := eval[string](b, `document.querySelector("#rows").dataset.hash`)
		alter(t, dir, `UPDATE listings SET rating = `+fmt.Sprint(len(zone)%5)+`.5 WHERE id = (SELECT max(id) FROM listings)`)
		b.wait(fmt.Sprintf(`document.querySelector("#rows").dataset.hash !== %q`, hash))
		storetest.Equal(t, eval[string](b, shown), seen, "in "+zone+", when the part was replaced")

		b.do(chromedp.Navigate(p.url + "/targets/1"))
		b.wait(`document.getElementById("connection").dataset.state === "live"`)
		facts := eval[string](b, `[...document.querySelectorAll(".facts time")].map(e => e.textContent).join("|")`)
		if !strings.Contains(facts, want[1]) || !strings.Contains(facts, want[2]) {
			t.Errorf("%s: the target's times are %s", zone, facts)
		}
		steps := eval[[]string](b, `[...document.querySelectorAll(".attempt[open] .steps time")].map(e => e.textContent)`)
		if len(steps) < 3 || len(steps[0]) != len("2026-11-29 01:52:09.817") || len(steps[1]) != len("01:52:09.823") {
			t.Errorf("%s: steps are of %v", zone, steps)
		}
	}
	if text := eval[string](b, `document.querySelector(".sentence").textContent`); strings.Contains(text, "ET") || !strings.Contains(text, "Z") && !strings.Contains(text, "UTC") {
		t.Errorf("the sentence is %q", text)
	}
}
