//go:build browser && unix

package e2e

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"ypcrawl/store/storetest"
)

var pictures = flag.String("pictures", "", "folder into which TestBrowserPictures writes; empty = a temporary one")

// The crawls that pictures are taken of.
const (
	inTheMiddle = "middle"  // a run is under way
	inTrouble   = "trouble" // a source is held, requests fail, searches are given up
	whenDone    = "done"    // nothing is due
	whenEmpty   = "empty"   // nothing was ever crawled
)

// picture is what is shown, and how.
type picture struct {
	name, scheme, path, of string
	width, height          int64
}

// allPictures are those that the documents show, whose names begin with "page-", and others. They have each view that is looked at most, each width, each scheme and each crawl.
var allPictures = []picture{
	{"page-light", "light", "/", inTheMiddle, 1280, 1200},
	{"page-dark", "dark", "/?by=coverage", whenDone, 1280, 1000},
	{"page-trouble", "light", "/", inTrouble, 1280, 1090},
	{"page-narrow", "light", "/", whenDone, 390, 1000},
	{"page-empty", "light", "/", whenEmpty, 390, 1000},
	{"page-sources", "light", "/sources", inTrouble, 1280, 760},
	{"page-sources-narrow", "light", "/sources", inTheMiddle, 390, 1000},
	{"page-states-narrow", "dark", "/states", inTheMiddle, 390, 1000},
	{"page-queue", "dark", "/queue", inTrouble, 1280, 700},
	{"page-listing", "light", "/listings", whenDone, 1280, 1120},

	{"overview-dark", "dark", "/", inTheMiddle, 1280, 1500},
	{"overview-trouble-narrow", "dark", "/", inTrouble, 390, 2200},
	{"overview-done", "light", "/", whenDone, 1280, 1500},
	{"overview-empty", "dark", "/", whenEmpty, 1280, 900},
	{"listing-narrow", "dark", "/listings", inTrouble, 390, 844},
	{"queue", "light", "/queue", inTheMiddle, 1280, 900},
	{"queue-done", "dark", "/queue", whenDone, 390, 844},
	{"queue-narrow", "light", "/queue", inTrouble, 390, 844},
	{"queue-empty", "light", "/queue", whenEmpty, 1280, 500},
	{"sources-dark", "dark", "/sources", whenDone, 1280, 900},
	{"sources-trouble-narrow", "dark", "/sources", inTrouble, 390, 1400},
	{"sources-empty", "light", "/sources", whenEmpty, 390, 844},
	{"states", "dark", "/states", inTheMiddle, 1280, 800},
	{"states-narrow", "light", "/states", whenDone, 390, 844},
	{"states-empty", "light", "/states", whenEmpty, 1280, 500},
	{"state", "light", "/states/CA", inTheMiddle, 1280, 800},
	{"pair", "light", "/states?a=CA&b=TX", inTheMiddle, 1280, 800},
	{"listing-dark", "dark", "/listings", whenDone, 1280, 900},
	{"listings", "light", "/listings?states=TX", whenDone, 1280, 900},
	{"page-map", "light", "/map", whenDone, 1280, 720},
	{"map-narrow", "dark", "/map", whenDone, 390, 844},
	{"company", "light", "/companies/1", whenDone, 1280, 700},
	{"runs", "light", "/runs", whenDone, 1280, 900},
	{"runs-narrow", "dark", "/runs", whenDone, 390, 844},
}

// largest is how many bytes a picture of the documents has at most.
const largest = 200_000

// TestBrowserPictures takes the pictures of the documents: `make pictures` copies some of them into docs.
func TestBrowserPictures(t *testing.T) {
	t.Parallel()
	dir := *pictures
	if dir == "" {
		dir = t.TempDir()
	}
	for of, serve := range map[string]func(t *testing.T) string{
		inTheMiddle: func(t *testing.T) string {
			return startPage(t, pictured(t), "run", "--source", "demo", "--delay", "900ms", "--workers", "4", "--max-cities", "5", "--web", "0").url
		},
		inTrouble: func(t *testing.T) string { return startPage(t, troubled(t), "dashboard", "--listen", "0").url },
		whenDone:  func(t *testing.T) string { return startPage(t, finished(t, false), "dashboard", "--listen", "0").url },
		whenEmpty: func(t *testing.T) string { return startPage(t, untouched(t), "dashboard", "--listen", "0").url },
	} {
		t.Run(of, func(t *testing.T) {
			b, url := newTab(t), serve(t)
			for _, p := range allPictures {
				if p.of == of {
					b.take(p, url, dir)
				}
			}
		})
	}
}

// take takes a picture of a page.
func (b *tab) take(p picture, url, dir string) {
	b.t.Helper()
	scale := 1.0
	if p.width < 600 && !strings.HasPrefix(p.name, "page-") {
		scale = 2
	}
	b.look(p.scheme, p.width, p.height, scale)
	b.do(chromedp.Navigate(url + p.path))
	b.wait(`document.getElementById("connection").dataset.state === "live"`)
	if p.of == inTheMiddle {
		b.wait(`!document.querySelector(".pace").textContent.startsWith("0.00 ")`) // it has read pages since it began
	}
	if p.of == inTheMiddle && p.path == "/" {
		b.wait(`!document.querySelector("#bars").textContent.includes("time left: unknown")`)
	}
	if p.path == "/listings" {
		b.openListing()
	}
	png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	storetest.NoError(b.t, err)
	if len(png) < 10_000 {
		b.t.Errorf("the picture %s has %d bytes", p.name, len(png))
	}
	if strings.HasPrefix(p.name, "page-") && len(png) > largest {
		b.t.Errorf("the picture %s has %d bytes: too many for the documents", p.name, len(png))
	}
	storetest.NoError(b.t, os.WriteFile(filepath.Join(dir, p.name+".png"), png, 0o644))
}

// openListing opens the page of the first listing of the list.
func (b *tab) openListing() {
	if to := eval[string](b, `(document.querySelector('#rows-scroll a[href*="listings/"]') || {href: ""}).href`); to != "" {
		b.do(chromedp.Navigate(to))
		b.wait(`document.getElementById("connection").dataset.state === "live"`)
	}
}

// pictured is a folder with a crawl of many states, some of them further than others.
func pictured(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	past(t, dir)
	for _, args := range [][]string{
		{"--max-cities", "5", "--max-requests", "900"},
		{"--states", "CA", "TX", "NY", "WA", "--max-cities", "12", "--details", "--max-requests", "700"},
	} {
		out, err := command(dir, nil, append([]string{"run", "--source", "demo", "--quiet", "--delay", "0"}, args...)...).CombinedOutput()
		if code := 0; err != nil {
			if e, ok := errors.AsType[*exec.ExitError](err); ok {
				code = e.ExitCode()
			}
			if code != 4 {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	history(t, dir, false)
	return dir
}

// finished is a folder with a crawl that is done, of which the passes of some weeks are known. Its requests fail, or hardly any does.
func finished(t testing.TB, fails bool) string {
	t.Helper()
	dir := crawled(t)
	history(t, dir, fails)
	return dir
}

// troubled is a folder whose source refuses most of what is asked: it is held, and searches failed or were given up.
func troubled(t testing.TB) string {
	t.Helper()
	dir := finished(t, true)
	closed(t, dir)
	alter(t, dir,
		`UPDATE targets SET status = 'PLANNED', finished_at = NULL, not_before = NULL, wait_reason = NULL WHERE id % 3 = 0 AND kind = 'search'`,
		`UPDATE targets SET status = 'PARKED', last_error_code = 'TIMEOUT', not_before = NULL, wait_reason = NULL WHERE id % 7 = 0 AND kind = 'search'`,
		`UPDATE targets SET status = 'FAILED', backoff_level = 2, consecutive_failures = 4, last_error_code = 'BLOCKED_PROXY', last_error = 'HTTP 403', finished_at = '`+storetest.Ago(time.Hour)+`',
			wait_reason = 'backoff', not_before = '`+storetest.Ahead(time.Hour)+`' WHERE id % 11 = 0 AND kind = 'search'`,
		`INSERT INTO hosts (source_id, host, delay_ms, delay_reason, blocks, held_until, held_for, updated_at)
			VALUES (1, 'directory.example', 3000, 'slowed down: 9 of the last 20 requests failed', 2, '`+storetest.Ahead(time.Hour)+`', 'penalty', '`+storetest.Ago(time.Hour)+`')`)
	return dir
}

// untouched is a folder with a database in which nothing was ever crawled.
func untouched(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	alter(t, dir)
	return dir
}
