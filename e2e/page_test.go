//go:build browser && unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ypcrawl/store"
	"ypcrawl/store/storetest"
)

// These tests show the page in a real Chromium: `make browser`.

// browserTime bounds a test: a page that never shows what is waited for ends it.
const browserTime = 10 * time.Minute

// tab is a tab of Chromium. Whatever a page complains of in the console, a script
// that throws, a policy that is broken and a dialog that opens fail the test.
type tab struct {
	t *testing.T
	context.Context
	loaded chan struct{} // a page was loaded

	mu         sync.Mutex
	complaints []string
	expected   *regexp.Regexp // complaints that are meant to be
}

// chromium is the browser of all tests; it ends with the last of them that has a tab.
var chromium struct {
	sync.Mutex
	context.Context
	stop func()
	tabs int
}

// openChromium starts the browser, or counts one more that uses it.
func openChromium(t *testing.T) context.Context {
	t.Helper()
	c := &chromium
	c.Lock()
	defer c.Unlock()
	if c.tabs == 0 {
		allocator, cancel := chromedp.NewExecAllocator(context.Background(),
			chromedp.NoFirstRun, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true), chromedp.WindowSize(1200, 900), chromedp.WSURLReadTimeout(time.Minute))
		browser, end := chromedp.NewContext(allocator)
		if err := chromedp.Do(browser); err != nil {
			t.Fatalf("start Chromium: %v", err)
		}
		c.Context, c.stop = browser, func() { end(); cancel() }
	}
	c.tabs++
	t.Cleanup(func() {
		c.Lock()
		defer c.Unlock()
		if c.tabs--; c.tabs == 0 {
			c.stop()
		}
	})
	return c.Context
}

// newTab opens a tab that shares nothing with others, before a test starts what it is to show.
func newTab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(openChromium(t), browserTime)
	t.Cleanup(cancel)
	b := &tab{t: t, loaded: make(chan struct{}, 64)}
	b.Context, cancel = chromedp.NewContext(ctx, chromedp.WithListener(b.hear), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b.do(chromedp.Navigate("about:blank"))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, c := range b.complaints {
			if b.expected == nil || !b.expected.MatchString(c) {
				t.Errorf("the page complains: %s", c)
			}
		}
	})
	return b
}

// hear takes note of an event of the tab.
func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.complain("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
	case *runtime.EventConsoleAPICalled:
		b.complain("console.%s", e.Type)
	case *runtime.EventExceptionThrown:
		b.complain("exception: %s", e.ExceptionDetails.Text)
	case *page.EventJavascriptDialogOpening:
		b.complain("dialog: %s", e.Message)
		go func() {
			_, _ = chromedp.Call(b, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	case *page.EventLoadEventFired:
		select {
		case b.loaded <- struct{}{}:
		default:
		}
	}
}

func (b *tab) complain(format string, args ...any) {
	if b.t.Context().Err() != nil {
		return // the test has ended, and what it was shown ends before the tab
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
}

// do does one thing after the other, and each again whose part is replaced just then.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for i := 0; i < len(actions); i++ {
		switch err := chromedp.Do(b, actions[i]); {
		case err != nil && b.Err() == nil && replaced.MatchString(err.Error()):
			i--
		case err != nil:
			b.t.Fatalf("%v\n%s", err, b.body())
		}
	}
}

// call runs a command of the protocol.
func call[P, R any](b *tab, c cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b, c, params); err != nil {
		b.t.Fatal(err)
	}
}

// body is what the page shows, for an error.
func (b *tab) body() string {
	text, _ := chromedp.Run(b, chromedp.Evaluate[string](`document.body ? location.href + " " + document.body.innerText.slice(0, 2000) : ""`))
	return text
}

// eval returns what an expression is.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", expression, err, b.body())
	}
	return v
}

// wait waits until an expression is true, over any number of pages.
func (b *tab) wait(expression string) {
	b.t.Helper()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if yes, err := chromedp.Run(b, chromedp.Evaluate[bool](expression)); err == nil && yes {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-b.Done():
			b.t.Fatalf("never true: %s", expression)
		}
	}
}

// replaced is what Chromium says of an element that was replaced while it was looked for.
var replaced = regexp.MustCompile("Could not find node|No node with given id")

// click clicks until it has led to what is expected: the first click may come while the page is
// still being laid out, or just as the part is replaced that it is meant for.
func (b *tab) click(selector, expected string) {
	b.t.Helper()
	for {
		if err := chromedp.Do(b, chromedp.Click(chromedp.CSS(selector))); err != nil && !replaced.MatchString(err.Error()) {
			b.t.Fatalf("%v\n%s", err, b.body())
		}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if yes, err := chromedp.Run(b, chromedp.Evaluate[bool](expected)); err == nil && yes {
				return
			}
			if b.Err() != nil {
				b.t.Fatalf("never true: %s", expected)
			}
		}
	}
}

// look sets how the page is shown: light or dark, and how wide.
func (b *tab) look(scheme string, width, height int64, scale float64) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: scale, Mobile: width < 600})
}

// demoCrawl is a whole crawl of the demo directory, behind the runs of some weeks: the files that all tests begin with. It takes 20 seconds of
// a processor.
var demoCrawl struct {
	sync.Mutex
	files map[string][]byte
}

// crawled is a folder with that crawl.
func crawled(t testing.TB) string {
	t.Helper()
	demoCrawl.Lock()
	defer demoCrawl.Unlock()
	dir := t.TempDir()
	if demoCrawl.files == nil {
		past(t, dir)
		out, err := command(dir, nil, "run", "--source", "demo", "--states", "CA", "TX", "--max-cities", "6", "--details", "--quiet").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		demoCrawl.files = filesOf(t, dir)
		return dir
	}
	for name, text := range demoCrawl.files {
		path := filepath.Join(dir, name)
		storetest.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)))
	}
	return dir
}

// filesOf are the files below a folder.
func filesOf(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	storetest.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files[name], err = os.ReadFile(filepath.Join(dir, name))
		}
		return err
	}))
	return files
}

func alter(t testing.TB, dir string, statements ...string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "ypcrawl.db"), Schema: schema})
	storetest.NoError(t, err)
	storetest.Execute(t, db, statements...)
	storetest.NoError(t, db.Close())
}

// TestBrowserLive: the numbers follow a crawl, and its end is told.
func TestBrowserLive(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	p := startPage(t, t.TempDir(), "run", "--source", "demo", "--states", "CA", "TX", "--max-cities", "3", "--delay", "300ms", "--web", "0")
	const count = `parseInt(document.querySelector(".bar-count").textContent)`
	b.do(chromedp.Navigate(p.url + "/"))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	b.wait(count + ` > 0`)
	first := eval[int](b, count)
	b.wait(fmt.Sprintf("%s > %d", count, first))
	if text := eval[string](b, `document.querySelector(".sentence").textContent`); !strings.HasPrefix(text, "A run is crawling demo with ") {
		t.Errorf("the sentence is %q", text)
	}
	b.wait(`document.getElementById("connection").dataset.state === "ended"`)
	storetest.Equal(t, eval[string](b, `document.getElementById("connection").textContent`), "the run has ended: nothing more was due", "at the end the page says")

	if text := eval[string](b, `document.querySelector("#sentence .sentence").textContent`); !strings.HasPrefix(text, "The run has ended: nothing more was due. What follows is as of ") {
		t.Errorf("when the run has ended, the sentence is %q", text)
	}
	storetest.Equal(t, eval[int](b, `performance.getEntriesByType("navigation").length`), 1, "times that the page was loaded")
}

// TestBrowserLost: a program that is killed is seen to be lost, and found again.
func TestBrowserLost(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.expected = regexp.MustCompile("net::ERR_")
	dir := crawled(t)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	b.do(chromedp.Navigate(p.url + "/"))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	_ = p.cmd.Process.Kill()
	<-p.done
	b.wait(`document.getElementById("connection").dataset.state === "lost"`)
	if text := eval[string](b, `document.getElementById("connection").textContent`); !regexp.MustCompile(`^no connection to the program since \d\d:\d\d:\d\d UTC$`).MatchString(text) {
		t.Errorf("it says %q", text)
	}
	startPage(t, dir, "dashboard", "--listen", strings.TrimPrefix(p.url, "http://"))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
}

// TestBrowserMap: the map opens a state, by mouse and by keyboard, and two are compared.
func TestBrowserMap(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	dir := crawled(t)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	b.do(chromedp.Navigate(p.url + "/"))
	b.click("#by-Coverage", `location.search === "?by=coverage" && !!document.querySelector("#tile-TX")`)
	if label := eval[string](b, `document.querySelector("#tile-TX").textContent`); !strings.HasPrefix(label, "Texas ") || !strings.HasSuffix(label, "of the site's listings seen ") {
		t.Errorf("Texas is labelled %q", label)
	}
	b.click("#tile-TX", `location.pathname === "/states/TX" && document.querySelectorAll(".rows tbody tr").length > 2`)
	b.click(".rows td a", `location.pathname === "/queue" && location.search.includes("states=TX")`)
	b.do(chromedp.Navigate(p.url+"/"), chromedp.Focus(chromedp.CSS("#tile-CA")), chromedp.KeyEvent("\r"))
	b.wait(`location.pathname === "/states/CA" && document.querySelector(".totals thead th").textContent === "California"`)
	b.do(chromedp.Navigate(p.url+"/states"), chromedp.SetValue(chromedp.CSS("#pick-a"), "TX"), chromedp.SetValue(chromedp.CSS("#pick-b"), "CA"))
	hash := eval[string](b, `document.querySelector("#states").dataset.hash`)
	alter(t, dir, `UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', not_before = NULL, wait_reason = NULL WHERE id = 1`)
	b.wait(fmt.Sprintf(`document.querySelector("#states").dataset.hash !== %q`, hash)) // the table is replaced, and what was chosen stays
	b.click(".pick button", `document.querySelectorAll(".totals thead th").length === 2 && document.querySelectorAll(".rows tbody tr").length > 5`)

	b.look("light", 390, 800, 1) // the columns beyond the box have a sign, and are reached
	b.do(chromedp.Navigate(p.url + "/states?a=TX&b=CA"))
	const box = `document.querySelector("#rows-scroll")`
	b.wait(box + `.scrollWidth > ` + box + `.clientWidth + 40`)
	storetest.Equal(t, strings.Count(eval[string](b, `getComputedStyle(`+box+`).backgroundImage`), "linear-gradient"), 4, "gradients in the sign of the box")

	for _, column := range []string{".totals thead th:last-child", "#rows-scroll thead th:last-child"} {
		inside := eval[bool](b, `(() => { `+box+`.scrollTo(1e6, 0); const r = document.querySelector("`+column+`").getBoundingClientRect(); return r.left >= 0 && r.right <= 390; })()`)
		if !inside {
			t.Errorf("%s can't be reached", column)
		}
	}
}

// TestBrowserHostile: names that would be script, markup or turn the text stay text.
func TestBrowserHostile(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	b.expected = notFound
	dir := crawled(t)
	alter(t, dir, ofListing)
	const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>`
	alter(t, dir,
		`UPDATE cities SET name = '`+evil+`' WHERE state = 'TX'`, `UPDATE categories SET name = '`+evil+`' || char(0x202e) || 'z'`,
		`UPDATE listings SET name = '`+evil+`'`, `UPDATE listings SET name = hex(zeroblob(150)) WHERE id = (SELECT max(id) FROM listings)`, `UPDATE sources SET auto_disabled = 1, paused_code = 'HTML_CHANGED', paused_reason = '`+evil+`'`,
		`UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL WHERE id % 2 = 0 AND kind = 'search'`)
	p := startPage(t, dir, "dashboard", "--listen", "0")
	for _, path := range browserViews() {
		b.do(chromedp.Navigate(p.url + path))
		b.wait(`document.getElementById("connection").dataset.state === "live" || !document.querySelector("[data-part]")`)
		storetest.Equal(t, eval[int](b, `document.querySelectorAll("main script, main img").length`), 0, "elements that came from names in "+path)
	}
	b.do(chromedp.Navigate(p.url + "/listings"))
	if w := eval[int64](b, `document.querySelector("#rows-scroll tbody td:nth-child(2)").offsetWidth`); w > 500 {
		t.Errorf("a long name is %d wide: what is beside it can't be seen", w)
	}
	b.do(chromedp.Navigate(p.url + "/states/TX"))
	if text := eval[string](b, `document.querySelector(".rows").textContent`); !strings.Contains(text, evil) || !strings.Contains(text, evil+"\\"+"u202ez") {
		t.Errorf("the names are not shown as they are: %q", text)
	}
	if text := eval[string](b, `document.querySelector(".closed").textContent`); !strings.Contains(text, evil) {
		t.Errorf("the reason is not shown as it is: %q", text)
	}
}

// TestBrowserWithoutScript: the page tells the same, and loads itself again.
func TestBrowserWithoutScript(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	p := startPage(t, t.TempDir(), "run", "--source", "demo", "--states", "CA", "TX", "--max-cities", "3", "--delay", "400ms", "--web", "0")
	count := func() string {
		text, err := chromedp.Run(b, chromedp.TextContent(chromedp.CSS(".bar-count")))
		storetest.NoError(t, err)
		return text
	}
	b.do(chromedp.Navigate("about:blank"))
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.do(chromedp.Navigate(p.url + "/"))
	first := count()
	for next := first; next == first; next = count() { // one that is loaded before a search is done says the same
		select {
		case <-b.loaded:
		case <-b.Done():
			t.Fatalf("it is not loaded again, or still says %q", next)
		}
	}
}

// notFound is what Chromium says of those of browserViews that do not exist.
var notFound = regexp.MustCompile(`404.*/(nothing|states/ZZ|targets/9999999|listings/demo/none|companies/9999999)`)

// browserViews are the pages that every browser can be shown. A listing is that of ofListing.
func browserViews() []string {
	return []string{
		"/", "/?by=coverage", "/?by=success", "/?by=freshness", "/?by=new", "/states", "/states/TX", "/states/AK", "/states?a=TX&b=CA", "/states/ZZ", "/nothing",
		"/queue", "/queue?schedule=DUE&states=TX", "/queue?status=PARKED", "/targets/1", "/targets/9999999", "/workers?all=yes", "/errors", "/sources", "/listings", "/listings?status=dropped",
		"/listings?states=TX&min-rating=4&sort=-rating", "/listings/demo?id=123%2Facme", "/listings/demo/none", "/companies/1", "/companies/9999999", "/map", "/map?states=TX", "/map?states=AK",
		"/attempts", "/attempts?since=1h", "/runs", "/coverage", "/changes", "/changes?kind=dropped&since=7d", "/companies", "/companies?min-listings=2", "/waits", "/hosts", "/rejected",
	}
}
