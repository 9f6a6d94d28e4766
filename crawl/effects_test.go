package crawl_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ypcrawl/crawl"
	"ypcrawl/crawl/health"
	"ypcrawl/store"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// city is the address of the n-th city's plumbers.
func city(n int) string { return fmt.Sprintf("/city-%d-ca/plumbers", n) }

// TestAuthPause: a source that refuses our credentials is left alone for 30 minutes,
// by every run, and then asked again.
func TestAuthPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := setupInBubble(t, layout{cities: 3})
		w.on(target, inTurn(status(401, shell("who are you?")), ok(page("", shops(1, 3)...))))
		began := time.Now()
		w.isBlocked(w.crawl(w.engine()), store.SourcePaused, "401")
		w.is(1, waiting, 0, yp.CodeAuthFailed)
		w.requested(target)
		for _, at := range []time.Duration{0, 10 * time.Minute, health.AuthPause - time.Second - 10*time.Minute} {
			time.Sleep(time.Until(began.Add(at)))
			w.isBlocked(w.crawl(w.engine()), store.SourcePaused, "401")
			w.requested(target)
		}
		time.Sleep(time.Until(began.Add(health.AuthPause)))
		w.done()
		w.requested(target, target, city(1), city(2))
		if got := w.source(); got != "" && !strings.HasPrefix(got, "paused -") {
			t.Errorf("in force: %s", got)
		}
	})
}

// TestDisabledSource: what an operator has disabled is not asked.
func TestDisabledSource(t *testing.T) {
	t.Parallel()
	parallel(t, "meanwhile: the target in hand is the last", func(t *testing.T) {
		w := setup(t, layout{cities: 2})
		w.on(target, after(func() { w.write("UPDATE sources SET enabled = 0") }, ok(page("", shops(1, 3)...))))
		w.isBlocked(w.crawl(w.engine()), store.SourceDisabled, "operator")
		w.is(1, yp.Done, 1, "")
		w.requested(target)
	})
	inBubble(t, "and enabled while a run watches: it goes on", func(t *testing.T) {
		w := setupInBubble(t, layout{})
		w.write("UPDATE sources SET enabled = 0")
		e := w.watching(10 * time.Minute)
		done := w.begin(t.Context(), e)
		time.Sleep(3 * time.Hour)
		w.requested()
		storetest.Equal(t, e.Waiting(), "the source is disabled: disabled by an operator", "it says")
		w.write("UPDATE sources SET enabled = 1")
		w.untilDone(e, done)
	})
}

// TestLayoutAlarm: three pages running whose layout is not known pause the source until
// an operator enables it; they are kept for whoever mends it.
func TestLayoutAlarm(t *testing.T) {
	t.Parallel()
	changed := func(n int) string {
		return strings.ReplaceAll(layoutChanged(), "Shop ", fmt.Sprintf("Shop of page %d, ", n))
	}
	parallel(t, "at the third page", func(t *testing.T) {
		w := setup(t, layout{cities: 5})
		for n := range 5 {
			w.on(city(n), ok(changed(n)))
		}
		endedBy(t, w.crawl(w.engine()), crawl.ErrLayout, "3 pages in a row", "links to listings")
		w.requested(city(0), city(1), city(2))
		w.inForce("paused HTML_CHANGED, 3 strikes, 3 pages kept")
		w.isBlocked(w.crawl(w.engine()), store.SourcePaused, "3 pages in a row")
		w.requested(city(0), city(1), city(2))
		if found, err := health.New(w.db).SetEnabled(t.Context(), "test", true); err != nil || !found {
			t.Error(err)
		}
		for n := range 5 {
			w.on(city(n), ok(page("", shops(10*n+1, 3)...)))
		}
		w.done()
		w.requested(city(0), city(1), city(2), city(3), city(4)) // the first three wait for their backoff
	})
	parallel(t, "of pages that show far fewer listings than they count", func(t *testing.T) {
		w := setup(t, layout{cities: 5, pages: 1})
		for n := range 5 {
			w.on(city(n), ok(counting(9, city(n)+"?page=2", shops(10*n+1, 2)...)))
		}
		endedBy(t, w.crawl(w.engine()), crawl.ErrLayout, "counts 7 listings more than it shows")
		w.requested(city(0), city(1), city(2))
		w.inForce("paused HTML_CHANGED, 3 strikes, 3 pages kept")
		storetest.Equal(t, w.is(1, yp.Done, 1, "").Accepted, 2, "listings accepted")
		w.counts("crawls are complete", 0, "SELECT count(*) FROM targets WHERE complete_at IS NOT NULL")
	})
	parallel(t, "not of pages that show half of what they count", func(t *testing.T) {
		w := setup(t, layout{cities: 5, pages: 1})
		for n := range 5 {
			w.on(city(n), ok(counting(10, city(n)+"?page=2", shops(10*n+1, 5)...)))
		}
		w.done()
		w.inForce("")
	})
	parallel(t, "not when a good page comes between", func(t *testing.T) {
		w := setup(t, layout{cities: 7})
		for n := range 7 {
			if n%3 == 2 {
				w.on(city(n), ok(page("", shops(10*n+1, 3)...)))
			} else {
				w.on(city(n), ok(changed(n)))
			}
		}
		w.done()
		w.inForce("1 strikes, 5 pages kept")
	})
	parallel(t, "also when a restart comes between", func(t *testing.T) {
		w := setup(t, layout{cities: 4})
		for n := range 4 {
			w.on(city(n), ok(changed(n)))
		}
		endedBy(t, w.crawl(w.engine(func(c *crawl.Config) { c.Budget.Targets = 2 })), crawl.ErrBudget)
		endedBy(t, w.crawl(w.peer().engine()), crawl.ErrLayout)
		w.requested(city(0), city(1), city(2))
	})
	parallel(t, "and the workers' other pages are carried through", func(t *testing.T) {
		w := setup(t, layout{cities: 5})
		alarm := make(chan struct{})
		e := w.engine(workers(2))
		w.on(city(0), after(func() {
			<-alarm
			waitFor(t, e.Stopping)
		}, ok(page(city(0)+"?page=2", shops(1, 3)...))))
		for n := 1; n < 5; n++ {
			w.on(city(n), after(func() {
				if n == 3 {
					close(alarm)
				}
			}, ok(changed(n))))
		}
		endedBy(t, w.crawl(e), crawl.ErrLayout)
		w.is(1, yp.Planned, 1, "")
		nothingHeld(w)
	})
}

// TestFieldAlarm: a field that goes missing in mid-crawl ends the run and is named, at the
// third target.
func TestFieldAlarm(t *testing.T) {
	t.Parallel()
	const good, all = 10, 30
	var odd []string // all cards of a page count, those that a rule or a filter keeps out, too
	w := setup(t, layout{cities: all, yaml: "rules:\n  formats:\n    name: {not: '[02468]$'}\n"})
	ads := []biz{{id: "900001", name: "Ad", bare: true}}
	for n := range all {
		body := pageWithAds("", ads, shops(100*n+1, 18)...)
		if n >= good {
			body = strings.ReplaceAll(body, "phones phone primary", "tel-7f3")
		}
		w.on(city(n), ok(body))
		for i := 1; i < 18; i += 2 {
			odd = append(odd, fmt.Sprint(100*n+i))
		}
	}
	err := w.crawl(w.engine(func(c *crawl.Config) { c.Filter.Words = odd }))
	w.counts("listings were kept", 0, "SELECT count(*) FROM listings")
	w.counts("listings were rejected", 9*(good+3), "SELECT count(*) FROM staged_listings")
	endedBy(t, err, crawl.ErrLayout)
	if err == nil || !strings.Contains(err.Error(), "missing: phone (") || strings.Contains(err.Error(), "street") {
		t.Errorf("it says %v, want the phone alone to be named", err)
	}
	storetest.Equal(t, len(w.asked())-good, 3, "pages without phones before the alarm")
	w.inForce("paused HTML_CHANGED")
	w.isBlocked(w.crawl(w.engine()), store.SourcePaused, "missing: phone (")
	w.counts("searches failed for it", 0, "SELECT count(*) FROM targets WHERE status = 'IN_PROGRESS' OR consecutive_failures > 0")
}
