package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ypcrawl/store/report"
)

// newCache renders a part as what it read, or as the error.
func newCache(every, timeout time.Duration) *cache {
	return &cache{
		every: every, timeout: timeout, stopped: context.Background(), slots: map[string]*slot{}, busy: make(chan struct{}, readAtOnce),
		render: func(p Part, s Shown, err error) fragment {
			text, _ := s.Model.(string)
			if err != nil {
				text = "unreadable since " + strconv.FormatInt(s.Now.Unix(), 10)
			}
			if s.Slow {
				text += ", slow"
			}
			return fragment{ID: p.Name, HTML: text}
		},
	}
}

// reader is a part whose answer a test sets.
type reader struct {
	reads atomic.Int64
	text  string
	err   error
	takes time.Duration
}

func (r *reader) part(name string, asks ...string) Part {
	return Part{Name: name, Asks: asks, Read: func(ctx context.Context, _ url.Values) (any, error) {
		r.reads.Add(1)
		select {
		case <-time.After(r.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return r.text, r.err
	}}
}

func TestCache(t *testing.T) {
	t.Parallel()
	get := func(t *testing.T, c *cache, p Part, want string) {
		t.Helper()
		if f, err := c.get(p, nil); err != nil || f.HTML != want {
			t.Errorf("%q (%v), want %q", f.HTML, err, want)
		}
	}
	t.Run("OnceASecond", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, r := newCache(time.Second, time.Minute), &reader{text: "a"}
			for range 100 { // ten seconds
				get(t, c, r.part("p"), "a")
				time.Sleep(100 * time.Millisecond)
			}
			if n := r.reads.Load(); n != 10 {
				t.Errorf("%d reads in 10 s", n)
			}
		})
	})
	t.Run("TwentyAtOnce", func(t *testing.T) {
		t.Parallel()
		c, r := newCache(time.Hour, time.Minute), &reader{text: "a", takes: 20 * time.Millisecond}
		c.render = func(_ Part, s Shown, _ error) fragment { return fragment{HTML: s.Model.(string)} }
		var g sync.WaitGroup
		for range 20 {
			g.Go(func() { get(t, c, r.part("p"), "a") })
		}
		g.Wait()
		if n := r.reads.Load(); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
	t.Run("SlowIsReadLessOften", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, r := newCache(time.Second, time.Minute), &reader{text: "a", takes: 500 * time.Millisecond}
			for range 60 {
				get(t, c, r.part("p"), "a, slow")
				time.Sleep(time.Second)
			}
			if n := r.reads.Load(); n < 5 || n > 7 { // every 10 s
				t.Errorf("%d reads of half a second in a minute", n)
			}
		})
	})
	t.Run("WhatWasReadLastStays", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, r := newCache(time.Second, time.Second), &reader{text: "a"}
			began := time.Now()
			get(t, c, r.part("p"), "a")
			r.takes = time.Hour // beyond the limit of time
			time.Sleep(2 * time.Second)
			get(t, c, r.part("p"), "unreadable since "+strconv.FormatInt(began.Unix(), 10)+", slow")
			r.takes = 0
			get(t, c, r.part("p"), "unreadable since "+strconv.FormatInt(began.Unix(), 10)+", slow") // and is not asked again at once
			time.Sleep(time.Minute)
			get(t, c, r.part("p"), "a")
		})
	})
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		c, r := newCache(time.Second, time.Second), &reader{err: &Refusal{Status: http.StatusNotFound}}
		if _, err := c.get(r.part("p"), nil); refusal(err) == nil {
			t.Errorf("%v is no refusal", err)
		}
	})
	t.Run("Parameters", func(t *testing.T) {
		t.Parallel()
		c, r := newCache(time.Hour, time.Second), &reader{text: "a"}
		for i := range 30 {
			if _, err := c.get(r.part("p", "state"), url.Values{"state": {strconv.Itoa(i % 3)}}); err != nil {
				t.Error(err)
			}
		}
		if n := r.reads.Load(); n != 3 {
			t.Errorf("%d reads of 3 different answers", n)
		}
	})
	t.Run("Crowded", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, r := newCache(time.Second, time.Second), &reader{text: "a"}
			ask := func(i int) error {
				_, err := c.get(r.part("p", "q"), url.Values{"q": {strconv.Itoa(i)}})
				return err
			}
			for i := range maxSlots {
				if err := ask(i); err != nil {
					t.Fatal(err)
				}
			}
			if err := ask(maxSlots); !errors.Is(err, errCrowded) || refusal(err).Status != http.StatusServiceUnavailable {
				t.Errorf("one more: %v", err)
			}
			time.Sleep(keepSlot + time.Second)
			if err := ask(maxSlots); err != nil || len(c.slots) != 1 {
				t.Errorf("when nobody looks any more: %v, %d kept", err, len(c.slots))
			}
		})
	})
	t.Run("AtOnce", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, under, most := newCache(time.Second, time.Minute), atomic.Int64{}, atomic.Int64{}
			var g sync.WaitGroup
			for i := range 10 {
				g.Go(func() {
					_, err := c.get(Part{Name: "p" + strconv.Itoa(i), Read: func(context.Context, url.Values) (any, error) {
						most.Store(max(most.Load(), under.Add(1)))
						time.Sleep(time.Second)
						under.Add(-1)
						return "", nil
					}}, nil)
					if err != nil {
						t.Error(err)
					}
				})
			}
			g.Wait()
			if most.Load() > readAtOnce {
				t.Errorf("%d questions at once", most.Load())
			}
		})
	})
}

func TestPercent(t *testing.T) {
	t.Parallel()
	p := 12.6
	for _, c := range []struct {
		in   any
		want string
	}{
		{0.0, "0 %"}, {0.04, "0.0 %"}, {3.14, "3.1 %"}, {12.6, "12.6 %"}, {14.96, "15.0 %"}, {99.96, "99.9 %"}, {99.999, "99.9 %"}, {100.0, "100 %"}, {&p, "12.6 %"}, {(*float64)(nil), "unknown"},
	} {
		if got := percent(c.in); got != c.want {
			t.Errorf("%v is %q, want %q", c.in, got, c.want)
		}
	}
}

// TestTiles: every state stands on the map, once.
func TestTiles(t *testing.T) {
	t.Parallel()
	m := mapOf(report.StateMeasures[0], &report.Table{}, time.Now())
	at := map[string]string{}
	for _, tile := range m.Tiles {
		place := strconv.Itoa(tile.Column) + "/" + strconv.Itoa(tile.Row)
		if at[place] != "" || tile.Column > 11 || tile.Row > 7 {
			t.Errorf("%s and %s stand at %s", tile.Code, at[place], place)
		}
		at[place] = tile.Code
	}
	if len(m.Tiles) != 51 || len(at) != 51 {
		t.Errorf("%d states at %d places", len(m.Tiles), len(at))
	}
}

// TestTemplatesKeepThePolicy: it allows neither inline styles nor handlers, nor what comes from
// elsewhere, so no template may have one.
func TestTemplatesKeepThePolicy(t *testing.T) {
	t.Parallel()
	names, err := templateFiles.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		text, err := templateFiles.ReadFile("templates/" + n.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, never := range []string{" style=", " onclick=", " onload=", "javascript:", "http://", "https://", "<style", "<script>"} {
			if strings.Contains(string(text), never) {
				t.Errorf("%s has %q", n.Name(), never)
			}
		}
	}
}
