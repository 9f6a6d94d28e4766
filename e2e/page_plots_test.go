//go:build browser && unix

package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

// plotFaults lists what is wrong with the plots of a page: an axis without labels or unit, a text that is cut off or lies upon
// another, a mark outside of its field, colours that can't be told from the ground, two keys with one look.
const plotFaults = `(() => {
	const faults = [], card = getComputedStyle(document.querySelector(".plot").closest("section")).backgroundColor;
	const light = (c) => {
		const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
	const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
	for (const plot of document.querySelectorAll(".plot")) {
		const say = (text) => faults.push(plot.id + ": " + text), all = (s) => [...plot.querySelectorAll(s)];
		const field = plot.querySelector("svg.canvas");
		if (!field) { say("nothing is drawn"); continue; }
		const box = field.getBoundingClientRect(), frame = plot.getBoundingClientRect();
		if (all("text.up").length < 2 || all("text.along").length < 1) say("an axis has too few labels");
		if (all("text.unit").length !== 2 || all("text.unit").some(e => !e.textContent)) say("an axis has no unit");
		if (box.width < 200 || box.height < 80) say("the field is " + box.width + " by " + box.height);
		const texts = all("figcaption, text, .keys li, .note, summary");
		for (const [i, e] of texts.entries()) {
			const r = e.getBoundingClientRect();
			if (r.width === 0 || r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1 || r.left < 0 || r.right > innerWidth)
				say("cut off: " + e.textContent);
			for (const o of texts.slice(i + 1)) if (meet(r, o.getBoundingClientRect())) say("one upon another: " + e.textContent + " and " + o.textContent);
			if (e.matches("text") && parseFloat(getComputedStyle(e).fontSize) < 10) say("too small: " + e.textContent);
			if (e.matches("text") && contrast(getComputedStyle(e).fill, card) < 4.5) say("hard to read: " + e.textContent);
		}
		for (const e of all("svg.canvas > rect, svg.canvas path.level")) {
			const r = e.getBoundingClientRect();
			if (r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2 || r.bottom > box.bottom + 2) say("outside: " + e.outerHTML);
		}
		for (const e of all("pattern > rect")) if (contrast(getComputedStyle(e).fill, card) < 3) say("hard to see: " + e.parentNode.id);
		for (const e of all("path.level")) if (contrast(getComputedStyle(e).stroke, card) < 3) say("hard to see: " + e.className.baseVal);
		for (const looks of [all("pattern").map(e => e.innerHTML), all("path.level").map(e => getComputedStyle(e).strokeDasharray)])
			if (new Set(looks).size !== looks.length) say("two keys differ by colour alone");
		const rows = all("details tbody tr").length;
		if (!rows || all("rect.spot").length !== rows) say(all("rect.spot").length + " columns and " + rows + " rows of figures");
	}
	return faults.join("\n");
})()`

// TestBrowserPlots: plots are whole and can be read, wide and narrow, light and dark; the figures open below them, and stay open
// when the plot is drawn anew.
func TestBrowserPlots(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	p := startPage(t, troubled(t), "dashboard", "--listen", "0")
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.look(scheme, width, 900, 1)
			for path, n := range map[string]int{"/": 3, "/sources": 2, "/runs": 1} {
				b.do(chromedp.Navigate(p.url + path))
				b.wait(`document.getElementById("connection").dataset.state === "live"`)
				where := fmt.Sprintf("%s, %s, %d wide", path, scheme, width)
				storetest.Equal(t, eval[int](b, `document.querySelectorAll(".plot").length`), n, "plots of "+where)
				storetest.Equal(t, eval[string](b, plotFaults), "", "faults of the plots of "+where)
				eval[chromedp.Void](b, `for (const d of document.querySelectorAll(".plot details")) d.open = true`)
				if w := eval[int64](b, `document.documentElement.scrollWidth`); w > width {
					t.Errorf("with figures, %s is %d wide", where, w)
				}
			}
		}
	}
}

// TestBrowserPlotsOfNothing: nothing is drawn where nothing was ever crawled.
func TestBrowserPlotsOfNothing(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	p := startPage(t, untouched(t), "dashboard", "--listen", "0")
	for path, want := range map[string]string{"/": "Nothing has been crawled yet.", "/sources": "No requests were made in the last 24 hours.", "/runs": "No run has begun yet."} {
		b.do(chromedp.Navigate(p.url + path))
		b.wait(fmt.Sprintf(`document.querySelector("#over-time, #source-plots, #run-plots").textContent.includes(%q)`, want))
		storetest.Equal(t, eval[int](b, `document.querySelectorAll(".plot").length`), 0, "plots of "+path)
	}
}
