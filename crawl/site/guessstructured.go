package site

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// emptyWords are the words of the built-in definitions with which a page says
// that there is nothing. The blank and the bracket keep "10 results" from
// being taken for "0 results".
var emptyWords = []string{"no results found", "did not match", "no results for", " 0 results", "(0 results"}

// structured tries structured data: the URL of a results page yields the
// template, what the samples have in common the chrome.
func (g *guesser) structured() *Candidate {
	c := &Candidate{}
	at := g.resultsPage(c)
	if at == nil {
		return c
	}
	chrome, bare := g.chrome()
	next := g.nextOf(at)
	target, search, paged := at.parts.urlTemplates(next)
	d := guessDef{
		Name: g.name, BaseURL: g.base.String(), Structured: true, URLs: &guessURLs{Target: target, Search: search},
		Chrome: chrome, Empty: &guessMarks{Texts: emptyWords}, NoEndTags: g.noEndTags(),
	}
	text, s, err := d.compile()
	if err != nil {
		c.say("what %s yields is no definition: %s", yp.Printable(clip(at.URL.Redacted(), 200)), yp.Printable(err.Error()))
		return c
	}
	card := g.score(s, func(sm *sample) bool { return s.redirected(sm.URL) == "" })
	if d.Detail = s.ownPages(card); d.Detail != nil {
		if text, s, err = d.compile(); err != nil {
			c.say("its listings' own pages can't be described: %s", yp.Printable(err.Error()))
			return c
		}
	}
	c.say("structured data: URLs are formed as %s", target)
	if !paged {
		c.say("missing: a next link that counts pages; took ?page=2 for the second page")
	}
	c.Reasons = append(c.Reasons, card.reasons...)
	if card.points == 0 {
		c.say("missing: businesses in JSON-LD, microdata or hCard that have a name and an id")
		return c
	}
	c.YAML, c.Source, c.Form, c.Score = text, s, "structured", card.points
	g.doubts(c, at.parts)
	if bare {
		c.Score = min(c.Score, ScoreSandbox-1)
		c.say("missing: an element id, class, og:site_name or title end that all samples have, to tell the site's pages from others: put one into chrome.selectors by hand")
	}
	return c
}

// noEndTags reports whether it is the habit of the site to leave </body> and </html>
// out: no sample has them, and there are several.
func (g *guesser) noEndTags() bool {
	return len(g.samples) > 1 && !slices.ContainsFunc(g.samples, func(s sample) bool { return s.doc.end != endOpen })
}

// ownPages says how the listings' own pages are told apart: by their URLs, when
// every id that was read is that of its listing's URL. A page may well name
// another number there, a license say. nil = no listing has a page of its own.
func (s *Source) ownPages(c *scorecard) *guessOwn {
	if len(c.ids) == 0 {
		return nil
	}
	r := businessReader{src: s, final: s.base, ownPage: true}
	for id, profile := range c.ids {
		key, _ := r.ownKey(profile)
		if id != trailingID(key, "") && id != pathID(key) {
			return &guessOwn{IDs: idsOfPage}
		}
	}
	return &guessOwn{IDs: idsOfURL}
}

// doubts holds a candidate back for review when its URLs may be wrong for
// other places.
func (g *guesser) doubts(c *Candidate, p *urlParts) {
	if !p.known {
		c.say("took %q for the category: it is none of those known", yp.Printable(p.place.Category))
	}
	for _, text := range p.odd {
		c.Score = min(c.Score, ScoreSandbox-1)
		c.say("no placeholder writes %q as this URL does: check urls.target by hand before it is used", yp.Printable(text))
	}
}

func (c *Candidate) say(format string, args ...any) {
	c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
}

// resultsPage returns the sample whose URL names both a city and a category,
// and says what is missing when there is none. One whose category is known
// and whose parts all have a placeholder comes first.
func (g *guesser) resultsPage(c *Candidate) *sample {
	var best *sample
	for i := range g.samples {
		s := &g.samples[i]
		if !s.parts.names() {
			continue
		}
		if best == nil || s.parts.rank() > best.parts.rank() {
			best = s
		}
	}
	if best == nil && len(g.samples) > 0 {
		c.say("missing: a sample whose URL names a city and a category")
	}
	return best
}

// names reports whether the URL names both a city and a category.
func (p *urlParts) names() bool { return p != nil && p.place.City != "" && p.place.Category != "" }

// below reports whether the path goes on after what it names: it is a
// business's, more likely than a list's.
func (p *urlParts) below() bool {
	return p.parts[p.segments-1].form == "" && p.segments == len(p.parts)
}

// maxRank is what a URL has that names a city and a known category and nothing
// odd.
const maxRank = 8

// rank says how likely a URL is that of a results page that can be written as
// a template, 0 to maxRank.
func (p *urlParts) rank() int {
	n := 0
	if p.place.City != "" {
		n += 4
	}
	if p.known {
		n += 3
	} else if p.place.Category != "" {
		n++
	}
	if len(p.odd) == 0 {
		n++
	}
	if p.below() {
		n /= 4
	}
	return n
}

// nextOf returns the next link of a sample, or nil.
func (g *guesser) nextOf(s *sample) *url.URL {
	probe := &Source{compiled: &compiled{def: &definition{}}}
	probe = probe.WithBaseURL(g.base)
	doc, _, err := parseTree(s.Body)
	if err != nil {
		return nil
	}
	ref, _ := probe.genericNext(doc, s.URL)
	next, err := url.Parse(ref)
	if err != nil || next.Host == "" {
		return nil
	}
	return next
}

// maxGuessLinks is how many pages a candidate asks for at most.
const maxGuessLinks = 5

// links returns the pages of the samples' links that most likely hold
// listings: those that name a city and a category, then a city, then a
// category. Pages that are among the samples already don't count.
func (g *guesser) links() []string {
	var found [maxRank + 1][]string
	seen := map[string]bool{}
	for i := range g.samples {
		seen[pageKey(g.samples[i].URL)] = true
	}
	for i := range g.samples {
		s := &g.samples[i]
		for _, href := range s.doc.links {
			u, err := s.URL.Parse(href)
			if err != nil || !g.mayFetch(u) || seen[pageKey(u)] {
				continue
			}
			seen[pageKey(u)] = true
			if rank := s.linkRank(g.reader.read(u)); rank > 0 {
				u.Fragment, u.RawFragment = "", ""
				found[rank] = append(found[rank], u.String())
			}
		}
	}
	slices.Reverse(found[:])
	all := slices.Concat(found[:]...)
	return all[:min(len(all), maxGuessLinks)]
}

// mayFetch reports whether a URL is of the site.
func (g *guesser) mayFetch(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && bareHost(u) == bareHost(g.base) && u.Port() == g.base.Port() && u.User == nil
}

// linkRank is the rank of a sample's link: none if it leads below a list, or
// to the same list in another order.
func (s *sample) linkRank(p *urlParts) int {
	if p == nil || p.below() || s.parts.names() && s.parts.place == p.place {
		return 0
	}
	return p.rank()
}

// pageKey tells pages apart: by path and query.
func pageKey(u *url.URL) string { return strings.TrimRight(u.EscapedPath(), "/") + "?" + u.RawQuery }
