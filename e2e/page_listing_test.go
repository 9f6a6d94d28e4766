//go:build browser && unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

// mapFaults lists the texts of a map that it cuts off, and those that lie upon another one or upon a dot.
const mapFaults = `(() => {
	const svg = document.querySelector(".dotmap svg"), s = svg.getBoundingClientRect(), faults = [];
	const of = (selector) => [...svg.querySelectorAll(selector)].map(e => [e.textContent, e.getBoundingClientRect()]).filter(([, r]) => r.width > 0);
	const meet = (r, o) => r.left < o.right - 1 && o.left < r.right - 1 && r.top + 3 < o.bottom - 3 && o.top + 3 < r.bottom - 3;
	const texts = of("text"), dots = of("circle");
	texts.forEach(([text, r], i) => {
		if (r.left < s.left - 1 || r.right > s.right + 1 || r.top < s.top - 1 || r.bottom > s.bottom + 1) faults.push(text + " is cut off");
		for (const [other, o] of texts.slice(i + 1)) if (meet(r, o)) faults.push(text + " is upon " + other);
	});
	for (const [name, r] of of(".town")) if (dots.some(([, o]) => meet(r, o))) faults.push(name + " is upon a dot");
	return faults.join("; ");
})()`

// pageFaults lists the texts of a page that are cut off, but for what a frame moves, and those that lie upon another one.
const pageFaults = `(() => {
	const faults = [], all = [], range = document.createRange();
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode());) {
		const e = n.parentElement;
		if (!n.textContent.trim() || e.closest(".unseen, .skip, noscript, script, title, option, datalist") || !e.checkVisibility({contentVisibilityAuto: true})) continue;
		range.selectNodeContents(n);
		const frame = e.closest(".scroll, .command"), box = frame && frame.getBoundingClientRect();
		for (const r of range.getClientRects()) {
			if (r.width < 1) continue;
			const text = n.textContent.trim().slice(0, 60);
			if (!frame && (r.left < -1 || r.right > innerWidth + 1)) faults.push(text + " is cut off at " + Math.round(r.right));
			if (!frame || r.left >= box.left && r.right <= box.right && r.top >= box.top && r.bottom <= box.bottom) all.push([r, text]);
		}
	}
	for (const e of document.querySelectorAll("body *")) {
		const look = getComputedStyle(e);
		if (look.overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1 && !e.closest(".unseen")) faults.push("cut off within " + e.outerHTML.slice(0, 100));
	}
	all.sort(([a], [b]) => a.top - b.top);
	all.forEach(([r, text], i) => {
		for (let j = i + 1; j < all.length && all[j][0].top + 4 < r.bottom - 4; j++) {
			const [o, other] = all[j];
			if (r.left < o.right - 2 && o.left < r.right - 2 && Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top) > 8) faults.push(text + " is upon " + other);
		}
	});
	return faults.slice(0, 5).join("; ");
})()`

// TestBrowserListing: a row of the list leads to the page of its listing, from there to its company, and back. The map of listings
// can be read, wide and narrow.
func TestBrowserListing(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	alter(t, dir, ofListing)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	for _, width := range []int64{1280, 390} {
		b.look("light", width, 900, 1)
		b.do(chromedp.Navigate(p.url + "/listings"))
		b.click(`#rows a[href*="123%2Facme"]`, `location.pathname + location.search === "/listings/demo?id=123%2Facme" && !!document.querySelector("#listing .facts")`)
		links := eval[string](b, `[...document.querySelectorAll("a.out")].map(a => a.href + " " + a.rel).join()`)
		for _, want := range []string{"https://acme.example/ noreferrer noopener", "mailto:a@acme.example noreferrer noopener"} {
			if !strings.Contains(links, want) {
				t.Errorf("links lead to %s, not to %s", links, want)
			}
		}
		b.click(`#company td a`, `location.pathname.startsWith("/companies/") && !!document.querySelector("#places a")`)
		b.click(`#places td a`, `location.pathname.startsWith("/listings/demo")`)
		b.do(chromedp.Navigate(p.url + "/map"))
		b.wait(`document.querySelectorAll(".dotmap circle").length > 5`)
		storetest.Equal(t, eval[string](b, mapFaults), "", fmt.Sprintf("faults of the map, %d wide", width))
		if n := eval[int](b, `[...document.querySelectorAll(".dotmap .town")].filter(e => e.getBoundingClientRect().width > 0).length`); n < 3 {
			t.Errorf("%d wide: %d towns have a name on the map", width, n)
		}
		if size := eval[float64](b, `Math.min(...[...document.querySelectorAll(".dotmap text")].map(e => e.getBoundingClientRect().height).filter(h => h > 0))`); size < 9 {
			t.Errorf("%d wide: letters of the map are %.0f high", width, size)
		}
	}
}

// ofListing gives the newest listing an id that has to be escaped, and addresses that lead out.
const ofListing = `UPDATE listings SET website = 'https://acme.example/', website_url = 'https://acme.example/', email = 'a@acme.example', listing_id = '123/acme'
	WHERE id = (SELECT max(id) FROM listings)`
