// Package guess finds out what an unknown site looks like.
//
// Purpose: Guess makes a definition for a site, and a score, from some of its pages: it tries the built-in
// definitions, then structured data, for which the URLs yield the template and what the pages share the chrome.
//
// Invariants: what is returned is what was tried: the definition's text is compiled and read again. Nothing is
// guessed from another host's pages. Every point of the score, and what is missing, is said in words.
//
// Crash: nothing here has state or does I/O; the caller fetches the pages that Links asks for.
//
// Imports: site, structured and yp. Only sampling, for "sources add", calls it.
//
// Tests: tables of URLs, pages and scores; the demo directory; FuzzGuess.
package guess

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ypcrawl/crawl/site"
	"ypcrawl/yp"
)

// Sample is a page of a site whose definition is to be guessed.
type Sample struct {
	URL    *url.URL // that answered, after redirects
	Status int      // of HTTP
	Body   []byte
}

// Hints are what the guesser knows of the world, so that it can tell the parts
// of a URL that name a city and a category.
type Hints struct {
	// City looks up a city by its slug with the state, "saint-louis-mo". It
	// returns the city's name, "Saint Louis", and the state's code, "MO".
	// nil = no city is known, so no URL can be understood.
	City func(slug string) (city, state string, ok bool)
	// Categories are the names of known categories, "Auto Repair & Service".
	Categories []string
}

// Candidate is a guessed definition. Source is nil, YAML empty and Score 0
// when the samples yield none that works.
type Candidate struct {
	YAML    []byte       // Parse reads it and yields Source
	Source  *site.Source // the definition, compiled
	Form    string       // the built-in source that the site looks like, or "structured"; "" = none
	Score   int          // 0 to 100, see sum
	Reasons []string     // what was found and what was missing, for people; one line each
	Links   []string     // pages to fetch as further samples, absolute, at most 5, the best first
}

// Guess makes a definition for a site of which nothing is known but some
// sample pages: results pages of cities and categories, or pages that link to
// such. It tries the built-in definitions at the site's address, then
// structured data. It takes no sample from another host than base's.
//
// The error is about the name or the base URL. A site that can't be understood
// is no error: the candidate's reasons tell why, and its links which pages may
// tell more. The caller fetches those and calls again with all samples.
func Guess(name string, base *url.URL, samples []Sample, hints Hints) (*Candidate, error) {
	if !site.ValidName(name) {
		return nil, fmt.Errorf("guess a definition: name %q: want lower-case letters, digits, - and _, at most 40, a letter first", name)
	}
	if base == nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return nil, fmt.Errorf("guess a definition of %s: base URL: want an http:// or https:// URL with a host", name)
	}
	g := &guesser{name: name, asked: base, reader: newURLReader(hints)}
	g.base = &url.URL{Scheme: strings.ToLower(base.Scheme), Host: strings.ToLower(base.Host)}
	if len(samples) > maxSamples {
		g.note("took the first %d of %d samples", maxSamples, len(samples))
		samples = samples[:maxSamples]
	}
	for i := range samples {
		g.take(&samples[i])
	}
	if len(g.samples) == 0 {
		g.note("no sample to look at")
	}
	best := g.structured()
	for _, c := range g.builtins() {
		if c.Score >= ScoreSandbox || c.Score >= best.Score && c.Score > 0 {
			best = c
			break
		}
	}
	best.Reasons = append(slices.Clone(g.notes), best.Reasons...)
	best.Links = g.links()
	return best, nil
}

// guesser holds what the tries share.
type guesser struct {
	name    string
	base    *url.URL // scheme and host that the samples came from
	asked   *url.URL // as the caller has it
	samples []sample
	reader  urlReader
	notes   []string // of samples that were left out
}

// sample is a sample that may count, with what its URL says.
type sample struct {
	*Sample
	parts   *urlParts // nil = the URL names neither city nor category
	outline *outline
}

// maxSamples bounds the work of one guess.
const maxSamples = 12

// take keeps a sample that answered well and is of the site.
func (g *guesser) take(s *Sample) {
	if s.URL == nil {
		g.note("left out a sample without a URL")
		return
	}
	at := yp.Printable(yp.Clip(s.URL.Redacted(), 200))
	switch {
	case s.Status < 200 || s.Status > 299:
		g.note("left out %s: status %d", at, s.Status)
	case !sameHost(s.URL, g.base):
		g.note("left out %s: it is on another host", at)
	case len(s.Body) == 0:
		g.note("left out %s: empty body", at)
	default:
		outline, err := readOutline(s.Body)
		if err != nil {
			g.note("left out %s: %v", at, err)
			return
		}
		if len(g.samples) == 0 { // where the site says it lives: https, www
			g.base = &url.URL{Scheme: strings.ToLower(s.URL.Scheme), Host: strings.ToLower(s.URL.Host)}
		}
		g.samples = append(g.samples, sample{Sample: s, parts: g.reader.read(s.URL), outline: outline})
	}
}

func (g *guesser) note(format string, args ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

// guessDef is the YAML of a guess.
type guessDef struct {
	Extends    string      `yaml:"extends,omitempty"`
	Name       string      `yaml:"name"`
	BaseURL    string      `yaml:"base_url"`
	Structured bool        `yaml:"structured,omitempty"`
	NoEndTags  bool        `yaml:"no_end_tags,omitempty"`
	URLs       *guessURLs  `yaml:"urls,omitempty"`
	Chrome     *guessMarks `yaml:"chrome,omitempty"`
	Empty      *guessMarks `yaml:"empty,omitempty"`
	Detail     *guessOwn   `yaml:"detail,omitempty"`
}

// guessOwn says where the listings' own pages have their ids.
type guessOwn struct {
	IDs string `yaml:"ids"`
}

type guessURLs struct {
	Target string `yaml:"target"`
	Search string `yaml:"search,omitempty"`
}

type guessMarks struct {
	Selectors []string `yaml:"selectors,omitempty"`
	Texts     []string `yaml:"texts,omitempty"`
	Titles    []string `yaml:"titles,omitempty"`
}

// compile writes the definition and reads it back, so that what is stored is
// what was tried.
func (d *guessDef) compile() ([]byte, *site.Source, error) {
	text, err := yaml.Marshal(d)
	if err != nil {
		return nil, nil, fmt.Errorf("write the guessed definition: %w", err)
	}
	s, err := site.Parse(d.Name+".yaml", text)
	if err != nil {
		return nil, nil, fmt.Errorf("read the guessed definition: %w", err)
	}
	return text, s, nil
}

// builtins tries the built-in definitions that stand on their own, at the
// site's root and below the path that was asked for.
func (g *guesser) builtins() []*Candidate {
	var out []*Candidate
	bases := []*url.URL{g.base}
	if path := strings.TrimRight(g.asked.Path, "/"); path != "" {
		bases = append(bases, &url.URL{Scheme: g.base.Scheme, Host: g.base.Host, Path: path})
	}
	for _, name := range site.Builtins() {
		known, err := site.Builtin(name)
		if err != nil || !known.StandsAlone() {
			continue
		}
		for _, base := range bases {
			d := guessDef{Extends: name, Name: g.name, BaseURL: base.String()}
			text, s, err := d.compile()
			if err != nil {
				continue
			}
			card := g.score(s, false)
			if card.points == 0 {
				continue
			}
			c := &Candidate{YAML: text, Source: s, Form: name, Score: card.points}
			c.say("looks like %s: its definition reads %d of %d samples", name, card.pages, len(g.samples))
			c.Reasons = append(c.Reasons, card.reasons...)
			out = append(out, c)
		}
	}
	return out
}

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
	d := guessDef{
		Name: g.name, BaseURL: g.base.String(), Structured: true, URLs: &guessURLs{}, Chrome: chrome,
		Empty: &guessMarks{Texts: emptyWords},
		// It is the habit of the site to leave </body> and </html> out: no sample has them, and there are several.
		NoEndTags: len(g.samples) > 1 && !slices.ContainsFunc(g.samples, func(s sample) bool { return !s.outline.open }),
	}
	text, s, paged, err := d.withURLs(at)
	if err != nil {
		c.say("%s gives no usable definition: %s", yp.Printable(yp.Clip(at.URL.Redacted(), 200)), yp.Printable(err.Error()))
		return c
	}
	card := g.score(s, true)
	if len(card.ids) > 0 { // listings have pages of their own
		// Their URLs tell them apart when every id that was read is that of its listing's URL: such a page may
		// well name another number, a license say.
		d.Detail = &guessOwn{IDs: "page"}
		if s.IDsOfURLs(card.ids) {
			d.Detail.IDs = "url"
		}
		if text, s, err = d.compile(); err != nil {
			c.say("its listings' own pages can't be described: %s", yp.Printable(err.Error()))
			return c
		}
	}
	c.say("structured data: the URLs have the form %s", d.URLs.Target)
	if !paged {
		c.say("missing: a next link that counts pages; took ?page=2 for the second page")
	}
	c.Reasons = append(c.Reasons, card.reasons...)
	if card.points == 0 {
		c.say("missing: businesses in JSON-LD, microdata or hCard that have a name and an id")
		return c
	}
	c.YAML, c.Source, c.Form, c.Score = text, s, "structured", card.points
	if !at.parts.known {
		c.say("took %q for the category: it is none of those known", yp.Printable(at.parts.place.Category))
	}
	for _, text := range at.parts.odd { // they may be written in another way for other places
		c.Score = min(c.Score, ScoreSandbox-1)
		c.say("no placeholder writes %q as it stands in this URL: check urls.target by hand before you use the definition", yp.Printable(text))
	}
	if bare {
		c.Score = min(c.Score, ScoreSandbox-1)
		c.say("missing: a sign that all samples share (an element id, a class, og:site_name or the end of the title): " +
			"put one into chrome.selectors by hand")
	}
	return c
}

// withURLs finds the templates of a results page's URL and compiles the definition: first one that
// takes its pages to be numbered by a parameter, which finds the next link that says how they are.
func (d *guessDef) withURLs(at *sample) (text []byte, s *site.Source, paged bool, err error) {
	d.URLs.Target, d.URLs.Search, _ = at.parts.urlTemplates(nil)
	if text, s, err = d.compile(); err != nil {
		return nil, nil, false, err
	}
	p, err := s.ParsePage(at.Body, at.URL, at.Status)
	if err != nil || p.NextURL == "" { // a page that breaks off is seen when it is scored
		return text, s, false, nil
	}
	next, err := url.Parse(p.NextURL)
	if err != nil {
		return text, s, false, nil
	}
	d.URLs.Target, d.URLs.Search, paged = at.parts.urlTemplates(next)
	text, s, err = d.compile()
	return text, s, paged, err
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
		if s.parts.names() && (best == nil || s.parts.rank() > best.parts.rank()) {
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
		for _, href := range s.outline.links {
			u, err := s.URL.Parse(href)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || !sameHost(u, g.base) || u.User != nil {
				continue
			}
			if seen[pageKey(u)] {
				continue
			}
			seen[pageKey(u)] = true
			p := g.reader.read(u)
			if p == nil || p.below() || s.parts.names() && s.parts.place == p.place { // the same list in another order
				continue
			}
			u.Fragment, u.RawFragment = "", ""
			found[p.rank()] = append(found[p.rank()], u.String())
		}
	}
	slices.Reverse(found[:])
	all := slices.Concat(found[:]...)
	return all[:min(len(all), maxGuessLinks)]
}

// sameHost reports whether two URLs are of one site, with or without "www.".
func sameHost(a, b *url.URL) bool {
	host := func(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") }
	return host(a) == host(b) && a.Port() == b.Port()
}

// pageKey tells pages apart: by path and query.
func pageKey(u *url.URL) string { return strings.TrimRight(u.EscapedPath(), "/") + "?" + u.RawQuery }
