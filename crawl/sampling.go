package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"ypcrawl/crawl/fetch"
	"ypcrawl/crawl/site"
	"ypcrawl/crawl/site/guess"
	"ypcrawl/yp"
)

// SampleRequests is how many pages of a new site are asked for at most.
const SampleRequests = 8

// Sampling finds out what a site looks like of which nothing is known, from a few of
// its pages. It stores nothing.
type Sampling struct {
	Fetch interface {
		Get(ctx context.Context, req fetch.Request) (*fetch.Response, error)
	}
	Hints guess.Hints
	// Place is where the built-in definitions are tried: a big place and a common
	// category, or what the operator said that the site has.
	Place   yp.Place
	MaxHold time.Duration // how long a hold of the host is waited for; 0 = any
}

// Sampled is a page that was asked for.
type Sampled struct {
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"` // 0 = no answer
	LedTo  string `json:"led_to,omitempty"` // where a redirect ended
	Error  string `json:"error,omitempty"`
}

// Found is the candidate definition of a site, with the pages that it was made from.
type Found struct {
	*guess.Candidate
	Pages []Sampled
}

// Find fetches the page at address, then pages that the built-in definitions would
// have, those that the guesser asks for, and a second page, and makes a definition of
// that name from them. What was understood it asks for once more, since ids must outlive a
// visit. A site that can't be understood is no error; one of which no
// page can be had is.
func (s Sampling) Find(ctx context.Context, name string, address *url.URL) (*Found, error) {
	t := &sampler{Sampling: s, name: name, base: address, asked: map[string]bool{}, found: &Found{}}
	if err := t.ask(ctx, address.String()); err != nil {
		return t.found, err
	}
	switch {
	case len(t.samples) > 0:
		t.base = t.samples[0].URL // where the site lives: a redirect may have led to its www
	case !errors.Is(t.failed, fetch.ErrDisallowed): // which is about that page alone
		return t.found, t.guess()
	}
	for _, page := range s.tries(t.base) {
		if err := t.ask(ctx, page); err != nil {
			return t.found, err
		}
	}
	if err := t.follow(ctx); err != nil {
		return t.found, err
	}
	return t.found, t.again(ctx)
}

// tries are the addresses that the built-in definitions would have.
func (s Sampling) tries(base *url.URL) []string {
	root := &url.URL{Scheme: base.Scheme, Host: base.Host}
	var out []string
	for _, name := range site.Builtins() {
		src, err := site.Builtin(name)
		if err != nil {
			continue
		}
		if u := src.WithBaseURL(root).TargetURL(s.Place, 1); !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// sampler is one sampling under way.
type sampler struct {
	Sampling
	name    string
	base    *url.URL
	asked   map[string]bool
	samples []guess.Sample
	found   *Found
	failed  error // the first failure
}

// follow asks for what the guesser wants to see, the best first, and for the page after
// the first one that was understood.
func (t *sampler) follow(ctx context.Context) error {
	for {
		if err := t.guess(); err != nil {
			return err
		}
		next := slices.Concat(t.second(), t.found.Links)
		next = slices.DeleteFunc(next, func(u string) bool { return t.asked[u] })
		if len(next) == 0 || len(t.found.Pages) >= SampleRequests-1 { // the last one is for again
			return nil
		}
		if err := t.ask(ctx, next[0]); err != nil {
			return err
		}
	}
}

// again asks once more for the first page that was understood, of a site that would be
// stored otherwise.
func (t *sampler) again(ctx context.Context) error {
	if t.found.Score < guess.ScoreReview {
		return nil
	}
	for i := range t.samples {
		s := &t.samples[i]
		if p, err := t.found.Source.ParsePage(s.Body, s.URL, s.Status); err != nil || p.Outcome != site.OK {
			continue
		}
		delete(t.asked, s.URL.String())
		if err := t.ask(ctx, s.URL.String()); err != nil {
			return err
		}
		return t.guess()
	}
	return nil
}

// guess makes a candidate from what there is.
func (t *sampler) guess() (err error) {
	if len(t.samples) == 0 {
		return fmt.Errorf("no page of %s could be read: %w", t.base.Redacted(), t.failed)
	}
	t.found.Candidate, err = guess.Guess(t.name, t.base, t.samples, t.Hints)
	return err
}

// second returns the address of a second page; none when one is there, or when no page
// was understood.
func (t *sampler) second() []string {
	src := t.found.Source
	if src == nil {
		return nil
	}
	var next []string
	for i := range t.samples {
		p, err := src.ParsePage(t.samples[i].Body, t.samples[i].URL, t.samples[i].Status)
		if err != nil || p.NextURL == "" {
			continue
		}
		if t.asked[p.NextURL] {
			return nil
		}
		next = append(next, p.NextURL)
	}
	return next[:min(len(next), 1)]
}

// ask fetches one page. One that can't be had is noted; the error is the end of ctx.
func (t *sampler) ask(ctx context.Context, address string) error {
	if t.asked[address] || len(t.found.Pages) >= SampleRequests {
		return nil
	}
	t.asked[address] = true
	res, err := t.Fetch.Get(ctx, fetch.Request{URL: address, Base: t.base, MaxHold: t.MaxHold})
	if err != nil && ctx.Err() != nil {
		return err
	}
	page := Sampled{URL: address}
	if err != nil {
		if failed, ok := errors.AsType[*fetch.Error](err); ok {
			page.Status = failed.Status
		}
		page.Error = err.Error()
		if t.failed == nil {
			t.failed = err
		}
	} else {
		defer res.Release()
		page.Status = res.Status
		if at := res.URL.String(); at != address {
			page.LedTo, t.asked[at] = res.URL.Redacted(), true
		}
		t.samples = append(t.samples, guess.Sample{URL: res.URL, Status: res.Status, Body: slices.Clone(res.Body)})
	}
	t.found.Pages = append(t.found.Pages, page)
	return nil
}

// SourceNameOf proposes a name for the source at an address, from its host: "acme" for
// www.acme.com. It fits the rules of names; full keeps the ending, "acme-com".
func SourceNameOf(u *url.URL, full bool) string {
	host := strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), "www.")
	w, ok := yp.CanonicalWebsite("https://" + host)
	if _, err := netip.ParseAddr(host); err != nil && ok && !full {
		label, _, _ := strings.Cut(w.Domain, ".")
		host = strings.TrimSuffix(host, w.Domain) + label
	}
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += "-" + port
	}
	name := yp.Slug(strings.NewReplacer(".", "-", ":", "-").Replace(host))
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "site-" + name
	}
	return strings.TrimRight(name[:min(len(name), maxSourceName)], "-")
}

// maxSourceName is how long the name of a source may be.
const maxSourceName = 40
