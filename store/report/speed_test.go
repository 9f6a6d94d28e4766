package report_test

import (
	"fmt"
	"testing"
	"time"

	"ypcrawl/checkpoint"
	"ypcrawl/store"
	"ypcrawl/store/report"
	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

// timeWorld is a database of 40 searches, whose pages a test reads as fast as it likes.
type timeWorld struct {
	*bundle
	clock *clock
}

func timed(b *bundle, c *clock) *timeWorld { return &timeWorld{b, c} }

// read reads so many pages, one each time that goes by; each is the last one of a target.
func (w *timeWorld) read(t *testing.T, n int, each time.Duration) {
	t.Helper()
	for range n {
		w.clock.Move(each)
		w.page(t, w.claim(t, 0), true)
	}
}

// page stores a page of a target that its site answered just now.
func (w *timeWorld) page(t *testing.T, c *checkpoint.Claim, last bool, ids ...string) {
	t.Helper()
	p := page(last, ids...)
	for i := range p.Listings {
		p.Listings[i].ProfileURL = "/" + ids[i]
	}
	if p.Number = c.PageCurrent + 1; last {
		p.Ending = yp.EndSaid
	}
	kind := yp.RequestListing
	if c.Kind == yp.KindDetail {
		kind, p.Raw, p.Own, p.Listings = yp.RequestDetail, 1, true, []yp.Listing{{ID: c.ListingID}}
	}
	c.Requests = append(c.Requests, store.Request{
		SourceID: c.SourceID, TargetID: c.TargetID, ClaimToken: c.Token, Page: p.Number, Correlation: "c", Type: kind, URL: "/", Started: w.clock.Now(),
	})
	w.commit(t, c, p)
}

func (w *timeWorld) tell(t *testing.T) *report.Progress {
	t.Helper()
	p, err := w.Progress(t.Context(), store.Scope{})
	noErr(t, err)
	if p.Live != 1 {
		t.Errorf("%d runs live, want 1", p.Live)
	}
	return p
}

// TestTimeLeft: unknown before two pages were read and when none comes any more, never 0 while
// details are due, and not of a time at which nobody crawled.
func TestTimeLeft(t *testing.T) {
	t.Parallel()
	w := timed(setupClock(t, 20, "CA"))
	if p := w.tell(t); p.Seconds != -1 || p.Left.Text() != "unknown" {
		t.Errorf("before anything was read: %+v", p.Left)
	}
	w.read(t, 10, 3*time.Second)
	if p := w.tell(t); p.Seconds != 90 {
		t.Errorf("30 left, three seconds each: %+v", p.Left)
	}
	w.clock.Move(2 * time.Minute)
	if p := w.tell(t); p.Seconds != -1 {
		t.Errorf("two minutes without a page: %+v", p.Left)
	}
	execute(t, w.DB(), `UPDATE runs SET started_at = '`+yp.FormatTime(w.clock.Now())+`'`) // another process
	w.read(t, 5, 4*time.Second)
	if p := w.tell(t); p.Seconds != 100 {
		t.Errorf("25 left, four seconds each: %+v", p.Left)
	}
}

// TestTimeLeftOfDetails: the listings' own pages that are due are part of it, and those that the
// searches left will find as well.
func TestTimeLeftOfDetails(t *testing.T) {
	t.Parallel()
	w := timed(setupClock(t, 20, "CA"))
	w.want(t, "CA")
	say := func(what string, want report.Seconds) {
		t.Helper()
		if p := w.tell(t); p.Seconds != want {
			t.Errorf("%s: %.1f s, want %.0f", what, p.Seconds, want)
		}
	}
	find := func(n int) {
		for range n {
			w.clock.Move(time.Second)
			c := w.claim(t, 0)
			w.page(t, c, true, fmt.Sprint(c.TargetID, "-a"), fmt.Sprint(c.TargetID, "-b"), fmt.Sprint(c.TargetID, "-c"))
		}
	}
	find(10)
	say("30 searches and 30 details are due, each search will bring 3 more", 30+30+90)
	find(30)
	say("120 details are due", 120)
	w.clock.Move(time.Second)
	w.page(t, w.ofKind(t, yp.KindDetail, "CA"), true)
	say("119 details are due", 119)
}

// TestTimeLeftIsSmooth: five workers whose targets end together, and of which one has many pages,
// don't make it swing.
func TestTimeLeftIsSmooth(t *testing.T) {
	t.Parallel()
	w := timed(setupClock(t, 20, "CA"))
	claims, began := make([]*checkpoint.Claim, 5), w.clock.Now()
	var least, most time.Duration
	for i := range claims {
		claims[i] = w.claim(t, i)
	}
	for pages := range 150 { // of 200
		w.clock.Move(time.Second)
		i := pages % len(claims)
		c := claims[i]
		if last := c.PageCurrent == 4; last {
			w.page(t, c, true)
			claims[i] = w.claim(t, i)
		} else {
			w.page(t, c, false)
		}
		if pages < 30 {
			continue
		}
		end := w.clock.Now().Add(time.Duration(w.tell(t).Seconds) * time.Second).Sub(began)
		if least == 0 || end < least {
			least = end
		}
		most = max(most, end)
	}
	if least < 180*time.Second || most > 220*time.Second {
		t.Errorf("of a crawl of 200 s: between %s and %s", least, most)
	}
}

// TestPagesLeft: how many pages of results are left follows from the searches that are done; without one nobody knows.
func TestPagesLeft(t *testing.T) {
	t.Parallel()
	b := setup(t, 5, "CA", "TX")
	left := func(scope store.Scope, want string) {
		t.Helper()
		n, err := b.PagesLeft(t.Context(), scope)
		noErr(t, err)
		storetest.Equal(t, n.Text(), want, scope)
	}
	all := store.Scope{SourceID: b.scope.SourceID}
	left(all, "pages left: unknown")
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', page_current = 4, finished_at = 'x' WHERE id = (SELECT min(id) FROM targets WHERE state = 'CA')`)
	left(all, "about 76 pages left")
	left(store.Scope{SourceID: all.SourceID, States: []string{"CA"}}, "about 36 pages left")
	left(store.Scope{SourceID: all.SourceID, States: []string{"TX"}}, "pages left: unknown")
	execute(t, b.DB(), `UPDATE targets SET status = 'DONE', page_current = 4, finished_at = 'x'`)
	left(all, "about 0 pages left")
}
