package site

import (
	"embed"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/PuerkitoBio/goquery"

	"ypcrawl/yp"
)

//go:embed yellowpages.yaml demo.yaml
var builtins embed.FS

// Builtins returns the names of the built-in sources.
func Builtins() []string { return []string{"demo", "yellowpages"} }

// Builtin returns a built-in source, or ErrNoSource.
func Builtin(name string) (*Source, error) {
	text, err := builtinYAML(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".yaml", text)
}

func builtinYAML(name string) ([]byte, error) {
	if !slices.Contains(Builtins(), name) {
		return nil, fmt.Errorf("%w: %q, want one of %s", ErrNoSource, name, strings.Join(Builtins(), ", "))
	}
	return builtins.ReadFile(name + ".yaml")
}

// A Source is a directory site: how its URLs are formed and what its pages
// look like. It is never changed, and safe for use by many goroutines.
type Source struct {
	*compiled
	base *url.URL
	host string // of base, without "www."
	site string // registered domain of base, "" for an address
}

// compiled is a definition, checked and ready for use.
type compiled struct {
	def   *definition
	yaml  []byte
	delay time.Duration

	target, search *template

	regions regionSet
	page    *index // cards, next link, total
	cards   *index // fields of a card

	organic, sponsored     []int        // in page
	organicIn, sponsoredIn []chain      // containers of such cards
	tagOnly                map[int]bool // those of organic and sponsored that ask for no more than a tag
	next, total, shown     field        // in page
	marks                  []int        // in cards
	inCards                []int        // in cards: all of page
	fields                 fields

	states *stateIndex  // nil = the source has no state indexes
	detail *detailRules // nil = the source has no detail pages
	rules  rulebook

	chrome, empty marks
	evidence      []goquery.Matcher

	work sync.Pool // of *workspace
}

// marks are signs of the whole page: elements and words.
type marks struct {
	selectors []goquery.Matcher
	texts     []string // lower case
	titles    []string
}

// fields are the rules for the fields of a listing.
type fields struct {
	id, name                                       field
	street, locality, city, state, postal, address field
	others                                         []cardField
}

// cardField is a field that stands on a card by itself.
type cardField struct {
	rules field
	set   setter
}

// Parse reads a source definition. name stands in errors, which are one or
// more DefinitionErrors, joined.
func Parse(name string, text []byte) (*Source, error) {
	def, f, err := decode(name, text)
	if err != nil {
		return nil, err
	}
	c := &compiled{def: def, yaml: slices.Clone(text), page: newIndex(), cards: newIndex()}
	base := c.compile(f)
	if len(f.errs) > 0 {
		return nil, errors.Join(f.errs...)
	}
	s := &Source{compiled: c}
	return s.WithBaseURL(base), nil
}

// Name returns the source's name.
func (s *Source) Name() string { return s.def.Name.text }

// BaseURL returns a copy of the source's base URL.
func (s *Source) BaseURL() *url.URL { u := *s.base; return &u }

// WithBaseURL returns the source at another place: only the scheme, the host
// and the path of u count.
func (s *Source) WithBaseURL(u *url.URL) *Source {
	base := &url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	moved := &Source{compiled: s.compiled, base: base, host: bareHost(base)}
	if w, ok := yp.CanonicalWebsite(base.Scheme + "://" + base.Host); ok {
		moved.site = w.Domain
	}
	return moved
}

// bareHost returns the host of u in lower case, without port and "www.".
func bareHost(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") }

// PageCap returns how many pages the site serves for one target at most; 0 is
// no cap.
func (s *Source) PageCap() int { return s.def.PageCap }

// YAML returns the definition as it was given.
func (s *Source) YAML() []byte { return slices.Clone(s.yaml) }

// DefaultDelay returns the time between requests that the source asks for.
func (s *Source) DefaultDelay() time.Duration { return s.delay }

// Categories returns the categories crawled unless the user names some; empty
// means the program's own list.
func (s *Source) Categories() []string { return slices.Clone(s.def.Categories) }

// PlacesPerState returns how many of a state's largest places are crawled
// unless the user says otherwise; 0 means all.
func (s *Source) PlacesPerState() int { return s.def.PlacesPerState }

// TargetURL returns the URL of a page, from 1, of a category in a city.
func (s *Source) TargetURL(p yp.Place, page int) string { return s.target.expand(s.base, p, page) }

// SearchURL returns the URL of a page of the search for the same, which serves
// when the site does not know the city's slug; ok is false when the source has
// none.
func (s *Source) SearchURL(p yp.Place, page int) (u string, ok bool) {
	if s.search == nil {
		return "", false
	}
	return s.search.expand(s.base, p, page), true
}

// ownHost reports whether a host is the directory's own.
func (s *Source) ownHost(host string) bool {
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	return host == s.host || s.site != "" && (host == s.site || strings.HasSuffix(host, "."+s.site))
}

var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)
