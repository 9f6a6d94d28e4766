package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/store/storetest"
	"ypcrawl/yp"
)

const month = 30 * 24 * time.Hour

func TestHoldIsShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newPipeSite(t, noRobots(), text("page"))
		until := func(want time.Duration, reason string) {
			t.Helper()
			at, why := s.client.HeldUntil("ACME.com.")
			if want == 0 && (!at.IsZero() || why != "") {
				t.Errorf("held until %s for %q", at, why)
			}
			if want != 0 && (!at.Equal(s.start.Add(want)) || why != reason) {
				t.Errorf("held until %s for %q, want %s for %q", at, why, s.start.Add(want), reason)
			}
		}
		until(0, "")
		s.client.Hold("acme.com", -time.Second, "a time that is over")
		s.client.Hold("acme.com", 0, "no time")
		until(0, "")
		s.client.Hold("Acme.com:443", time.Hour, "penalty: 3 blocks in a row")
		s.client.Hold("acme.com", time.Minute, "Retry-After") // shortens nothing
		until(time.Hour, "penalty: 3 blocks in a row")
		wantWait(t, waitOf(s.client.Waiting("acme.com")), wait{time.Hour, "penalty: 3 blocks in a row"})
		noErr(t, s.get(t.Context(), "/a"))
		until(0, "")
		s.expect(t, "1h0m0s /a")
	})
}

// A hold is waited for, or not, by its length against MaxHold.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	const limit = time.Minute
	for _, tt := range []struct {
		name       string
		hold, max  time.Duration
		waits      bool
		withRobots bool
	}{
		{name: "no limit", hold: month, waits: true},
		{name: "shorter", hold: limit - 1, max: limit, waits: true},
		{name: "as long", hold: limit, max: limit, waits: true},
		{name: "longer", hold: limit + 1, max: limit},
		{name: "shorter, robots.txt first", hold: limit - 1, max: limit, waits: true, withRobots: true},
		{name: "longer, robots.txt first", hold: limit + 1, max: limit, withRobots: true},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			s := newPipeSite(t, Config{IgnoreRobots: !tt.withRobots}, script(text("")))
			s.client.Hold("acme.com", tt.hold, "penalty")
			_, err := s.client.Get(t.Context(), Request{URL: "http://acme.com/a", MaxHold: tt.max})
			if tt.waits {
				if err != nil || time.Since(s.start) != tt.hold {
					t.Errorf("after %s: %v", time.Since(s.start), err)
				}
				return
			}
			e := asError(t, err)
			if !errors.Is(e, ErrHeld) || e.Class != yp.ClassRateLimited || e.Code() != yp.CodeRateLimited || e.Retryable() ||
				e.RetryAfter != tt.hold || e.Status != 0 || e.Proxy {
				t.Errorf("error %v, retry after %s", e, e.RetryAfter)
			}
			if want := "fetch http://acme.com/a: rate_limited: the host allows no request yet: penalty (retry after 1m0s)"; e.Error() != want {
				t.Errorf("text %q", e)
			}
			storetest.Equal(t, time.Since(s.start), 0, "returned after")
			s.expect(t)
			time.Sleep(2 * tt.hold)
			s.expect(t) // and nothing is sent later
		})
	}
}

// A hold that comes while one waits, first in the queue or not, for the turn or
// for robots.txt, sends those away who would not wait so long.
func TestHoldComesWhileWaiting(t *testing.T) {
	t.Parallel()
	for _, robots := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{IgnoreRobots: !robots, DelayMin: time.Hour}
			s := newPipeSite(t, cfg, script(text("")))
			if robots {
				s.client.Hold("acme.com", time.Hour, "Retry-After") // robots.txt waits for it
			} else if err := s.get(t.Context(), "/a"); err != nil {
				t.Error(err)
			}
			var wg sync.WaitGroup
			patient := 0
			for i := range 4 {
				wg.Go(func() {
					limit := 2 * time.Hour
					if i == 1 {
						limit = 0
					}
					_, err := s.client.Get(t.Context(), Request{URL: "http://acme.com/b", MaxHold: limit})
					if limit == 0 {
						patient++
						if err != nil {
							t.Error(err)
						}
						return
					}
					e := asError(t, err)
					if !errors.Is(e, ErrHeld) || e.RetryAfter != 3*time.Hour || time.Since(s.start) != 20*time.Minute || !strings.Contains(e.Error(), "penalty") {
						t.Errorf("after %s: %v", time.Since(s.start), err)
					}
				})
				synctest.Wait()
			}
			time.Sleep(10 * time.Minute)
			s.client.Hold("acme.com", 110*time.Minute, "a smaller one") // ends with their patience, not after it
			synctest.Wait()
			time.Sleep(10 * time.Minute)
			s.client.Hold("acme.com", 3*time.Hour, "penalty")
			wg.Wait()
			if robots {
				s.expect(t, "3h20m0s /robots.txt", "4h20m0s /b")
			} else {
				s.expect(t, "0s /a", "3h20m0s /b")
			}
			storetest.Equal(t, patient, 1, "who waited")
		})
	}
}

// What stood in the way for the longest part.
func TestWaitReason(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		cfg   Config
		while func(t *testing.T, c *Client) // after the first request, while the second waits
		want  wait
	}{
		{"nothing", Config{}, nil, wait{}},
		{"the pace", Config{DelayMin: 2 * time.Second}, nil, wait{2 * time.Second, reasonDelay}},
		{"a hold in the pace", Config{DelayMin: 2 * time.Second}, func(_ *testing.T, c *Client) {
			time.Sleep(time.Second)
			c.Hold("acme.com", 42*time.Second, "Retry-After")
		}, wait{43 * time.Second, "Retry-After"}},
		{"a short hold in a long pace", Config{DelayMin: time.Minute}, func(_ *testing.T, c *Client) {
			time.Sleep(50 * time.Second)
			c.Hold("acme.com", 20*time.Second, "Retry-After")
		}, wait{70 * time.Second, reasonDelay}},
		{"slowed down", Config{DelayMin: time.Second}, func(_ *testing.T, c *Client) {
			c.SetDelay("acme.com", time.Minute, "30 % of the last requests failed")
		}, wait{time.Minute, "30 % of the last requests failed"}},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			var got wait
			tt.cfg.IgnoreRobots = true
			s := newPipeSite(t, tt.cfg, text("page"))
			noErr(t, s.get(t.Context(), "/a"))
			done := make(chan struct{})
			go func() {
				defer close(done)
				mustGet(t, s.client, Request{URL: "http://acme.com/b", Observe: func(o Observation) { got = wait{o.Waited, o.WaitReason} }})
			}()
			synctest.Wait()
			if tt.while != nil {
				tt.while(t, s.client)
			}
			<-done
			wantWait(t, got, tt.want)
		})
	}
}

// Request.Observe is told of the page's requests, Config.Observe of all.
func TestObservePerRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b", http.StatusFound)
		}
	})
	var own []Observation
	mustGet(t, s.client, Request{URL: s.URL + "/a", Observe: func(o Observation) { own = append(own, o) }})
	all := s.observed()
	if len(all) != 3 || len(own) != 2 || own[0] != all[1] || own[1] != all[2] || own[1].Hop != 1 || own[0].Robots {
		t.Errorf("own %+v, all %+v", own, all)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, tt := range []struct {
		name, value, date string
		want              time.Duration
		ok                bool
	}{
		{"absent", "", "", 0, false},
		{"seconds", "120", "", 2 * time.Minute, true},
		{"seconds with space", " 7 ", "", 7 * time.Second, true},
		{"zero", "0", "", time.Second, true},
		{"an hour and more", "7200", "", time.Hour, true},
		{"absurd", "99999999999999999999999999", "", time.Hour, true},
		{"negative", "-5", "", 0, false},
		{"negative with a unit", "-5s", "", 0, false},
		{"signed", "+5", "", 5 * time.Second, true},
		{"signed twice", "+-5", "", 0, false},
		{"fraction", "120.5", "", 120*time.Second + 500*time.Millisecond, true},
		{"fraction of a second", "0.25", "", time.Second, true},
		{"fraction, and much of it", "1.99999999999999999999999999", "", 2 * time.Second, true},
		{"unit", "120s", "", 2 * time.Minute, true},
		{"unit in a word", "120 Seconds", "", 2 * time.Minute, true},
		{"minutes", "2 min", "", 2 * time.Minute, true},
		{"an hour", "1h", "", time.Hour, true},
		{"milliseconds", "90000ms", "", 90 * time.Second, true},
		{"units joined", "2m30s", "", 150 * time.Second, true},
		{"ISO 8601 span", "PT2M", "", 2 * time.Minute, true},
		{"unit of nothing", "120 apples", "", 0, false},
		{"quoted", `"120"`, "", 2 * time.Minute, true},
		{"list", "120, 60", "", 2 * time.Minute, true},
		{"list, the last one longer", "60,120", "", 2 * time.Minute, true},
		{"list of dates", date(time.Minute) + ", " + date(2*time.Minute), "", 2 * time.Minute, true},
		{"list of a date and seconds", date(time.Minute) + ", 90", "", 90 * time.Second, true},
		{"list that can't be read to its end", "120, soon", "", 0, false},
		{"date with commas that is no list", "Nov 20, 2026, 12:05:00 PM", "", 0, false},
		{"commas", ", ,", "", 0, false},
		{"weekday alone", "Friday", "", 0, false},
		{"a word", "soon", "", 0, false},
		{"exponent", "1e3", "", 0, false},
		{"hexadecimal", "0x10", "", 0, false},
		{"not a number", "NaN", "", 0, false},
		{"infinite", "Inf", "", 0, false},
		{"digits without end", strings.Repeat("9", 5000), "", time.Hour, true},
		{"text without end", strings.Repeat("1, ", 5000), "", 0, false},
		{"epoch seconds", fmt.Sprint(now.Add(5 * time.Minute).Unix()), "", 5 * time.Minute, true},
		{"epoch milliseconds", fmt.Sprint(now.Add(5 * time.Minute).UnixMilli()), "", 5 * time.Minute, true},
		{"epoch seconds with a fraction", fmt.Sprint(now.Add(5*time.Minute).Unix()) + ".5", "", 5*time.Minute + 500*time.Millisecond, true},
		{"epoch seconds gone by", fmt.Sprint(now.Add(-time.Minute).Unix()), "", time.Second, true},
		{"epoch seconds by the server's own clock", fmt.Sprint(now.Add(26 * time.Hour).Unix()), date(26*time.Hour - 10*time.Second), 10 * time.Second, true},
		{"epoch seconds of another age", "1000000000", "", time.Hour, true},
		{"UTC", strings.Replace(date(5*time.Minute), "GMT", "UTC", 1), "", 5 * time.Minute, true},
		{"numeric zone", strings.Replace(date(5*time.Minute), "GMT", "+0000", 1), "", 5 * time.Minute, true},
		{"numeric zone of mail", strings.Replace(date(5*time.Minute), "GMT", "-0000", 1), "", 5 * time.Minute, true},
		{"a zone ahead", "Fri, 20 Nov 2026 14:05:00 +0200", "", 5 * time.Minute, true},
		{"a zone behind", "Fri, 20 Nov 2026 07:05:00 -0500", "", 5 * time.Minute, true},
		{"a zone that there is not", "Fri, 20 Nov 2026 12:05:00 +9900", "", 0, false},
		{"a zone by another name", "Fri, 20 Nov 2026 12:05:00 EST", "", 0, false},
		{"no weekday", "20 Nov 2026 12:05:00 GMT", "", 5 * time.Minute, true},
		{"a whole weekday", "Friday, 20 Nov 2026 12:05:00 GMT", "", 5 * time.Minute, true},
		{"a wrong weekday", "Mon, 20 Nov 2026 12:05:00 GMT", "", 5 * time.Minute, true},
		{"no comma, doubled blanks", "Fri 20  Nov 2026  12:05:00 gmt", "", 5 * time.Minute, true},
		{"no zone", "Fri, 20 Nov 2026 12:05:00", "", 5 * time.Minute, true},
		{"one digit of the day", "Wed, 2 Dec 2026 12:00:00 GMT", "", time.Hour, true},
		{"ISO 8601", "2026-11-20T12:05:00Z", "", 5 * time.Minute, true},
		{"ISO 8601 in small letters", "2026-11-20t12:05:00z", "", 5 * time.Minute, true},
		{"ISO 8601 with a fraction", "2026-11-20T12:05:00.250Z", "", 5*time.Minute + 250*time.Millisecond, true},
		{"ISO 8601 with a zone", "2026-11-20T14:05:00+02:00", "", 5 * time.Minute, true},
		{"ISO 8601 with a zone of hours", "2026-11-20T07:05:00-05", "", 5 * time.Minute, true},
		{"ISO 8601 without a zone", "2026-11-20T12:05:00", "", 5 * time.Minute, true},
		{"ISO 8601 with a blank", "2026-11-20 12:05:00 UTC", "", 5 * time.Minute, true},
		{"ISO 8601 without seconds", "2026-11-20T12:05Z", "", 5 * time.Minute, true},
		{"ISO 8601 without signs", "20261120T120500Z", "", 5 * time.Minute, true},
		{"a day alone", "2026-11-20", "", 0, false},
		{"an hour alone", "12:05:00", "", 0, false},
		{"as Go prints it", "2026-11-20 12:05:00 +0000 UTC", "", 5 * time.Minute, true},
		{"as JavaScript prints it", "Fri Nov 20 2026 14:05:00 GMT+0200 (Central European Summer Time)", "", 5 * time.Minute, true},
		{"as date(1) prints it", "Fri Nov 20 12:05:00 UTC 2026", "", 5 * time.Minute, true},
		{"RFC 850 with four digits", "Friday, 20-Nov-2026 12:05:00 GMT", "", 5 * time.Minute, true},
		{"Date beside it in another form", date(26 * time.Hour), "2026-11-21T13:59:50Z", 10 * time.Second, true},
		{"date", date(90 * time.Second), "", 90 * time.Second, true},
		{"RFC 850 date", now.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT"), "", time.Minute, true},
		{"asctime date", now.Add(time.Minute).Format(time.ANSIC), "", time.Minute, true},
		{"date gone by", date(-time.Hour), "", time.Second, true},
		{"date far away", date(1000 * time.Hour), "", time.Hour, true},
		{"date by the server's own clock", date(26 * time.Hour), date(26*time.Hour - 10*time.Second), 10 * time.Second, true},
		{"bad Date beside it", date(10 * time.Second), "yesterday", 10 * time.Second, true},
		{"broken date", "Fri, 99 Foo 2026 12:00:00 GMT", "", 0, false},
	} {
		h := http.Header{"Retry-After": {tt.value}, "Date": {tt.date}}
		got, ok := retryAfter(h, now)
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: %q: %s, %v; want %s, %v", tt.name, tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

// A header that comes twice: the longest wait that can be read.
func TestRetryAfterTwice(t *testing.T) {
	got, ok := retryAfter(http.Header{"Retry-After": {"30", "soon", "-7", "90"}}, time.Now())
	if got != 90*time.Second || !ok {
		t.Errorf("%s, %v", got, ok)
	}
}

// Every status that a Retry-After counts for holds the host back, whatever its form.
func TestRetryAfterHolds(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		for _, value := range []string{"120.5", "120s", "+120", "120, 60", "2000-01-01T00:02:00Z", "946684920"} {
			inBubble(t, fmt.Sprint(code, " ", value), func(t *testing.T) { // a bubble begins at midnight of 1 January 2000
				s := newPipeSite(t, noRobots(), status(code, "Retry-After", value))
				for range 2 {
					_ = s.get(t.Context(), "/a")
				}
				if _, why := s.client.HeldUntil("acme.com"); why != reasonRetryAfter {
					t.Errorf("held for %q", why)
				}
				if waited := time.Since(s.start).Round(time.Second); waited != 2*time.Minute && waited != 121*time.Second {
					t.Errorf("waited %s", waited)
				}
			})
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{
		"120", "-1", "1e9", "Fri, 20 Nov 2026 12:00:00 GMT", "99999999999999999999", "120.5", "120s", "120, 60", "+120", "1700000300",
		"2023-11-14T22:20:00Z", "Fri Nov 20 2026 14:05:00 GMT+0200 (X)", "PT1H30M", "20 Nov 2026 12:00:00 +0000", "Friday,", "\"1\"",
	} {
		f.Add(v, "")
		f.Add(v, "Fri, 20 Nov 2026 11:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		d, ok := retryAfter(http.Header{"Retry-After": {value}, "Date": {date}}, time.Unix(1_700_000_000, 0))
		if ok && (d < yp.MinRetryAfter || d > yp.MaxRetryAfter) || !ok && d != 0 {
			t.Errorf("%q: %s, %v", value, d, ok)
		}
		padded, okPadded := retryAfter(http.Header{"Retry-After": {" " + value + "\t"}, "Date": {date}}, time.Unix(1_700_000_000, 0))
		if padded != d || okPadded != ok {
			t.Errorf("%q: with blanks around it %s, %v; without %s, %v", value, padded, okPadded, d, ok)
		}
		if ok && strings.HasPrefix(strings.TrimSpace(value), "-") {
			t.Errorf("%q: a negative one is %s", value, d)
		}
	})
}
