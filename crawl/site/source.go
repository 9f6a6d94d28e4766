package site

import (
	"embed"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"ypcrawl/crawl/site/jsondoc"
	"ypcrawl/crawl/site/region"
	"ypcrawl/yp"
	"ypcrawl/yp/weburl"
)

//go:embed *.yaml
var builtins embed.FS

// Builtins returns the names of the built-in sources, sorted: those of the YAML files beside this one.
func Builtins() (names []string) {
	files, err := builtins.ReadDir(".")
	if err != nil { // an embedded folder can be read
		panic(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".yaml"))
	}
	return names
}

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
	host string // of base, without "www.", as the URL Standard writes it
	port string // of base, "" for those of http and https
	site string // registered domain of base, "" for an address

	charset string      // of the pages, "" = UTF-8
	day     time.Time   // see On
	header  http.Header // see WithHeader
	at      Position    // see At
	trace   *Trace      // see Tracing; nil = nobody traces
}

// WithHeader returns the source as it reads the body of an answer with that header; nil = it is not known.
func (s *Source) WithHeader(h http.Header) *Source {
	if !s.readsHeader {
		return s
	}
	read := *s
	read.header = h
	return &read
}

// At returns the source as it reads a page that begins at a position of its list.
func (s *Source) At(p Position) *Source {
	if s.paging == nil {
		return s
	}
	read := *s
	read.at = p
	return &read
}

// On returns the source for pages that were fetched on a day: of opening hours that a page gives for some dates those
// count that hold then. Without it, none does.
func (s *Source) On(day time.Time) *Source {
	on := *s
	on.day = day
	return &on
}

// compiled is a definition, checked and ready for use.
type compiled struct {
	def  *definition
	yaml []byte

	country  string // see yp.ParseCountry
	stateSet *yp.StateSet
	cities   *cityFile // nil = the definition names none
	unfit    error     // see Usable

	delay, timeout, detailsEvery time.Duration // what the definition says; 0 of the last two = nothing

	target, search, own *template       // own = of listings' own pages; nil = of these none is asked for by its id
	headers             http.Header     // of every request; nil = none
	firstPage           int             // the number of a list's first page in {page}
	secrets             map[string]bool // names of those that requests hold
	origin              *url.URL        // whose scheme, host and port alone get them

	regions region.Containers
	page    region.Selectors // cards, next link, total
	cards   region.Selectors // fields of a card

	cardsOpen *region.Selectors // the same, found in noscript, too

	organic, sponsored     []int             // in page
	organicIn, sponsoredIn []region.Selector // containers of such cards
	next, total, shown     field             // in page
	marks                  []int             // of ads, in cards
	marksOf                []region.Selector // the same, of a card itself
	profile                field             // links to businesses, in page
	inCards                []int             // in cards: all of page
	fields                 fields

	states *stateIndex  // nil = the source has no state indexes
	detail *detailRules // nil = the source has no detail pages
	rules  rulebook

	chrome, refused, empty, last marks
	evidence                     region.Selectors

	script      *script         // where the JSON of a page is, beside its HTML; nil = it has none, or is nothing else
	items       *jsondoc.Path   // in JSON: what the listings are
	ads         field           // in an item: what says that it is an ad
	totalIs     []*jsondoc.Path // of each rule of total: what says beside it how exact it is; nil = nothing
	paging      *paging         // nil = pages lead on by links
	readsHeader bool            // a rule reads the header of the answer
	headersRead []string        // that rules read

	work sync.Pool // of *workspace
}

// marks are signs of the whole page: elements and words.
type marks struct {
	selectors region.Selectors
	texts     []string // lower case
	titles    []string
	data      field // in JSON, and in the header of the answer
}

// fields are the rules for the fields of a listing.
type fields struct {
	id, name                                       field
	street, locality, city, state, postal, address field
	others                                         []cardField
	profile                                        field            // one of others
	own                                            map[string]field // what else an item of JSON may say: fields of own pages
}

// cardField is a field that is on a card by itself.
type cardField struct {
	name  string
	rules field
	set   setter
}

// Parse reads a source definition that names no file of cities. name is in errors, which are one or
// more DefinitionErrors, joined.
func Parse(name string, text []byte) (*Source, error) { return ParseWith(name, text, nil) }

// ParseWith reads a source definition with the file of cities that it may name.
func ParseWith(name string, text []byte, open Opener) (*Source, error) {
	def, f, err := decode(name, text)
	if err != nil {
		return nil, err
	}
	c := &compiled{def: def, yaml: slices.Clone(text)}
	base := c.compile(open, f)
	c.origin = base
	if err := f.err(); err != nil {
		return nil, err
	}
	return (&Source{compiled: c}).WithBaseURL(base), nil
}

// Name returns the source's name.
func (s *Source) Name() string { return s.def.Name }

// BaseURL returns a copy of the source's base URL.
func (s *Source) BaseURL() *url.URL { u := *s.base; return &u }

// WithBaseURL returns the source at another place: only the scheme, the host
// and the path of u count.
func (s *Source) WithBaseURL(u *url.URL) *Source {
	base := &url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	moved := &Source{compiled: s.compiled, base: base, host: bareHost(base), port: yp.OwnPort(base), trace: s.trace}
	if w, ok := yp.CanonicalWebsite(base.Scheme + "://" + base.Host); ok {
		moved.site = w.Domain
	}
	return moved
}

// WithCharset returns the source as it reads a page that came in a charset, named as the Encoding Standard
// does: the queries of its links are written in it. "" is UTF-8.
func (s *Source) WithCharset(charset string) *Source {
	if charset == s.charset {
		return s
	}
	read := *s
	read.charset = charset
	return &read
}

// bareHost returns the host of u as the URL Standard writes it, without port and "www.".
func bareHost(u *url.URL) string { return bare(weburl.Hostname(u)) }

// bare returns a host without "www.".
func bare(host string) string { return strings.TrimPrefix(host, "www.") }

// ownPort is yp.OwnPort of a port alone.
func ownPort(port string) string {
	if port == "80" || port == "443" {
		return ""
	}
	return port
}

// PageCap returns how many pages the site serves for one target at most; 0 is
// no cap.
func (s *Source) PageCap() int { return s.def.PageCap }

// OnePage reports whether the definition says that each list has one page (next: none).
func (s *Source) OnePage() bool { return s.def.Next.isNone() }

// YAML returns the definition as it was given.
func (s *Source) YAML() []byte { return slices.Clone(s.yaml) }

// Ignored returns the keys of the definition that say how cards are read, where structured data is read in their place. What the
// definition only takes over from one that it extends is not among them.
func (s *Source) Ignored() (keys []string) {
	var written map[string]any
	if !s.def.Structured.On || yaml.Unmarshal(s.yaml, &written) != nil {
		return nil
	}
	for _, key := range [...]string{"cards", "fields"} {
		if written[key] != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// DefaultDelay returns the time between requests that the source asks for.
func (s *Source) DefaultDelay() time.Duration { return s.delay }

// RequestTimeout returns how long a request to the source may take, its body included; 0 = the
// definition does not say.
func (s *Source) RequestTimeout() time.Duration { return s.timeout }

// DetailsEvery returns after what time a listing's own page is fetched again; 0 = the definition
// does not say.
func (s *Source) DetailsEvery() time.Duration { return s.detailsEvery }

// Categories returns the categories crawled unless the user names some; empty
// means the program's own list.
func (s *Source) Categories() []string { return slices.Clone(s.def.Categories) }

// PlacesPerState returns how many of a state's largest places are crawled
// unless the user says otherwise; 0 means all.
func (s *Source) PlacesPerState() int { return s.def.PlacesPerState }

// ownHost reports whether a host is the directory's own.
func (s *Source) ownHost(host string) bool {
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	return host == s.host || s.site != "" && (host == s.site || strings.HasSuffix(host, "."+s.site))
}

// below returns the path of a page below the source's base, or says why it is
// none of the source's pages, or only its homepage.
func (s *Source) below(u *url.URL) (path, reason string) {
	if bareHost(u) != s.host {
		return "", fmt.Sprintf("redirected to another host: %s", yp.Printable(u.Host))
	}
	path = s.belowBase(u)
	if strings.Trim(path, "/") == "" {
		return "", "redirected to the homepage"
	}
	return path, ""
}

func (s *Source) belowBase(u *url.URL) string { return s.cutBase(u.Path) }

// cutBase returns a path without that of the source's base.
func (s *Source) cutBase(path string) string {
	return strings.TrimPrefix(path, strings.TrimSuffix(s.base.Path, "/"))
}
