package site

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

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
	YAML    []byte   // Parse reads it and yields Source
	Source  *Source  // the definition, compiled
	Form    string   // the built-in source that the site looks like, or "structured"; "" = none
	Score   int      // 0 to 100, see scoreTable
	Reasons []string // what was found and what was missing, for people; one line each
	Links   []string // pages to fetch as further samples, absolute, at most 5, the best first
}

// Faults of the arguments of Guess.
var (
	errGuessName = errors.New("want lower-case letters, digits, - and _, at most 40, a letter first")
	errGuessBase = errors.New("want an http:// or https:// URL with a host")
)

// Guess makes a definition for a site of which nothing is known but some
// sample pages: results pages of cities and categories, or pages that link to
// such. It tries the built-in definitions at the site's address, then
// structured data. It takes no sample from another host than base's.
//
// The error is about the name or the base URL. A site that can't be understood
// is no error: the candidate's reasons tell why, and its links which pages may
// tell more. The caller fetches those and calls again with all samples.
func Guess(name string, base *url.URL, samples []Sample, hints Hints) (*Candidate, error) {
	if !sourceName.MatchString(name) {
		return nil, fmt.Errorf("guess a definition: name %q: %w", name, errGuessName)
	}
	if base == nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" {
		return nil, fmt.Errorf("guess a definition of %s: base URL: %w", name, errGuessBase)
	}
	g := newGuesser(name, base, samples, hints)
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
	parts *urlParts // nil = the URL names neither city nor category
	doc   *chromeDoc
}

// maxSamples bounds the work of one guess.
const maxSamples = 12

func newGuesser(name string, base *url.URL, samples []Sample, hints Hints) *guesser {
	g := &guesser{name: name, asked: base, base: &url.URL{Scheme: strings.ToLower(base.Scheme), Host: strings.ToLower(base.Host)}}
	g.reader = newURLReader(hints)
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
	return g
}

// take keeps a sample that answered well and is of the site.
func (g *guesser) take(s *Sample) {
	if s.URL == nil {
		g.note("left out a sample without a URL")
		return
	}
	at := yp.Printable(clip(s.URL.Redacted(), 200))
	switch {
	case s.Status < 200 || s.Status > 299:
		g.note("left out %s: status %d", at, s.Status)
	case bareHost(s.URL) != bareHost(g.base) || s.URL.Port() != g.base.Port():
		g.note("left out %s: it is on another host", at)
	case len(s.Body) == 0:
		g.note("left out %s: empty body", at)
	default:
		doc, err := readChromeDoc(s.Body)
		if err != nil {
			g.note("left out %s: %v", at, err)
			return
		}
		if len(g.samples) == 0 { // where the site says it lives: https, www
			g.base = &url.URL{Scheme: strings.ToLower(s.URL.Scheme), Host: strings.ToLower(s.URL.Host)}
		}
		g.samples = append(g.samples, sample{Sample: s, parts: g.reader.read(s.URL), doc: doc})
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
func (d *guessDef) compile() ([]byte, *Source, error) {
	text, err := yaml.Marshal(d)
	if err != nil {
		return nil, nil, fmt.Errorf("write the guessed definition: %w", err)
	}
	s, err := Parse(d.Name+".yaml", text)
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
	for _, name := range Builtins() {
		known, err := Builtin(name)
		if err != nil || known.def.Extends.text != "" {
			continue
		}
		for _, base := range bases {
			tried := known.WithBaseURL(base)
			card := g.score(tried, nil)
			if card.points == 0 {
				continue
			}
			d := guessDef{Extends: name, Name: g.name, BaseURL: base.String()}
			text, s, err := d.compile()
			if err != nil {
				continue
			}
			c := &Candidate{YAML: text, Source: s, Form: name, Score: card.points}
			c.Reasons = append([]string{fmt.Sprintf("looks like %s: its definition reads %d of %d samples", name, card.pages, len(g.samples))}, card.reasons...)
			out = append(out, c)
		}
	}
	return out
}
