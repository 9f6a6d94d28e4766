package demo

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ypcrawl/yp"
	"ypcrawl/yp/gazetteer"
)

func open(t testing.TB, cfg Config) *Directory {
	t.Helper()
	g, err := gazetteer.Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(cfg, g)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// census counts what the pages of a selection show.
type census struct {
	d      *edition
	counts map[string]int
	times  map[key]int
	where  map[key]map[string]bool // target → seen
	sites  map[string]int          // chain website → branches
}

func (c *census) note(what string, yes bool) {
	if yes {
		c.counts[what]++
	} else {
		c.counts[what] += 0
	}
}

func (c *census) target(t *target) {
	c.note("empty target", t.total == 0)
	c.note("one page only", t.total > 0 && t.total <= perPage)
	c.note("full last page", t.total > 0 && t.total%perPage == 0)
	c.note("more pages than the tier reads", t.pages() > gazetteer.TierPages(t.place.Tier))
	c.note("over a thousand results", t.total > 1000)
	for n := 1; n <= min(t.pages(), gazetteer.TierPages(t.place.Tier)); n++ {
		c.page(t, n)
	}
}

func (c *census) page(t *target, n int) {
	keys := c.d.onPage(t, n)
	if len(keys) != min(perPage, t.total-(n-1)*perPage) {
		c.counts["page of a wrong length"]++
	}
	onPage := make(map[key]bool)
	for _, k := range keys {
		if onPage[k] {
			c.counts["twice on one page"]++
		}
		onPage[k] = true
		b := c.d.business(k)
		c.note("listing of a neighbour", k.place != t.place.index)
		c.note("listing of another category", k.cat != t.cat)
		c.note("listing of an earlier page", k.place == t.place.index && k.cat == t.cat && k.n < (n-1)*perPage)
		if c.times[k]++; c.times[k] == 1 {
			c.business(&b)
		}
		if c.where[k] == nil {
			c.where[k] = make(map[string]bool)
		}
		c.where[k][t.place.Slug+trades()[t.cat].Name] = true
	}
	for _, k := range c.d.ads(t, n) {
		c.note("ad that is organic too", onPage[k])
		c.note("nationwide ad", k.place == nationwide)
	}
}

func (c *census) business(b *business) {
	a := &b.Address
	c.note("address with street and ZIP", len(a.Zip) == 5 && a.Street != "")
	c.note("address with ZIP+4", len(a.Zip) > 5 && a.Street != "")
	c.note("address without ZIP", a.State != "" && a.Zip == "")
	c.note("address of a city only", a.City != "" && a.State == "")
	c.note("service area", a.City == "" && a.Area != "")
	c.note("double spaces", strings.Contains(a.Street, "  "))
	c.note("comma in the street", strings.Contains(a.Street, ","))
	c.note("no phone", b.Phone == "")
	c.note("chain", b.chain)
	c.note("twin", b.twin)
	c.note("id differs from lid", b.ID != b.LID)
	c.website(b.Website)
	if b.chain {
		c.sites[b.Website]++
	}
	c.note("rating", b.Stars > 0)
	c.note("no rating", b.Stars == 0)
	c.note("years", b.Years > 0)
	c.note("price", b.Price != "")
	c.note("snippet of the business", strings.HasPrefix(b.Snippet, ownWords))
	c.note("other snippet", b.Snippet != "" && !strings.HasPrefix(b.Snippet, ownWords))
	c.note("hours", b.Hours != nil)
	c.note("claimed", b.Claim == "mip_claimed")
	c.note("unclaimed", b.Claim == "mip_unclaimed")
	c.note("claim unsaid", b.Claim == "")
	c.note("image relative to the protocol", strings.HasPrefix(b.Image, "//"))
	c.note("image of the site", strings.HasPrefix(b.Image, "/media/"))
	c.note("double hyphen in the slug", strings.Contains(b.Path, "--"))
	c.name(b.Name)
}

func (c *census) website(w string) {
	site, ok := yp.CanonicalWebsite(w)
	c.note("no website", w == "")
	c.note("website", ok && !site.Shared)
	c.note("website on a shared host", ok && site.Shared)
	c.note("website with tracking", strings.Contains(w, "utm_"))
	c.note("website link into the directory", strings.HasPrefix(w, "/"))
	c.note("website with a port", strings.Contains(w, ":80/"))
	c.note("website in capitals", strings.HasPrefix(w, "HTTP:"))
}

func (c *census) name(name string) {
	c.note("name with &", strings.Contains(name, "&"))
	c.note("name with '", strings.Contains(name, "'"))
	c.note("name with <", strings.Contains(name, "<"))
	c.note("name with quotes", strings.Contains(name, `"`))
	c.note("name with accents", strings.ContainsAny(name, "ñéöü"))
	c.note("name beyond Latin-1", strings.ContainsAny(name, "☕北"))
	c.note("name that Clean mends", yp.Clean(name) != name)
	c.note("name with an escape", strings.Contains(name, "\x1b"))
	c.note("very long name", len(name) > 100)
	for _, word := range []string{"CAPTCHA", "Cloudflare", "Blocked", "Banned", "Access Denied"} {
		c.note("name with "+word, strings.Contains(name, word))
	}
}

// TestCensus: every oddity appears in the default selection of two states.
func TestCensus(t *testing.T) {
	t.Parallel()
	for _, seed := range []int64{0, 1} {
		c := &census{d: open(t, Config{Seed: seed}).now.Load(), counts: make(map[string]int), times: make(map[key]int), where: make(map[key]map[string]bool), sites: make(map[string]int)}
		for _, target := range c.d.selected(Selection{States: []string{"CA", "TX"}}) {
			c.target(&target)
		}
		for _, n := range c.times {
			c.note("listing met more than once", n > 1)
		}
		for _, w := range c.where {
			c.note("listing met in more than one target", len(w) > 1)
		}
		for _, n := range c.sites {
			c.note("chain with several branches", n > 5)
		}
		for what, n := range c.counts {
			t.Logf("seed %d: %6d %s", seed, n, what)
			if n == 0 {
				t.Errorf("seed %d: no case of %q", seed, what)
			}
		}
		for _, never := range []string{"twice on one page", "page of a wrong length"} {
			if c.counts[never] > 0 {
				t.Errorf("seed %d: %d cases of %q", seed, c.counts[never], never)
			}
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for _, k := range []key{{0, 0, 0}, {1, 2, 3}, {15_855, 4, maxLocal - 1}, {nationwide, 4, 5}, {12_345, 1, 2_047}} {
		if got, ok := keyOf(k.id()); !ok || got != k {
			t.Errorf("%+v: id %d reads back as %+v, %v", k, k.id(), got, ok)
		}
	}
	for _, id := range []int64{-1, 0, 1, idOffset, idPrime + idOffset, 1 << 62} {
		if k, ok := keyOf(id); ok {
			t.Errorf("id %d reads as %+v", id, k)
		}
	}
}

// TestHoldEndsWithClient: an injected timeout lasts until the client goes.
func TestHoldEndsWithClient(t *testing.T) {
	t.Parallel()
	d := open(t, Config{Fail: map[string]float64{failTimeout: 1}})
	r := httptest.NewRequest(http.MethodGet, "/austin-tx", nil)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Error("the connection was not aborted")
		}
		if n := d.Stats().ByFailure[failTimeout]; n != 1 {
			t.Errorf("%d timeouts counted, want 1", n)
		}
	}()
	d.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
}
