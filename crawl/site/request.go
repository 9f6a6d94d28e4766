package site

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"ypcrawl/yp"
)

// Request is what is asked of a site. Where a secret goes into it stands its name, ${TOKEN}: see Secret.
type Request struct {
	Method string      // GET or POST
	URL    string      // absolute; of a link that is followed as it was stored, which may be relative to the base
	Header http.Header // beside those that every request has; not to be changed
	Body   []byte      // nil = none; not to be changed

	err error // why it can't be made
}

// ErrDotSegment says that a value would make a segment of a path . or .., which leads elsewhere.
var ErrDotSegment = errors.New("a value would make . or .. a segment of the path")

// ErrNotInFile says that a value is wanted which the file of cities has for none of its rows any more.
var ErrNotInFile = errors.New("the request needs a column of the cities file, but this city is not (or no longer) in it")

// ErrNoOwnPage says that nothing can be asked for of a listing: it has no address, and its source asks for none by its id.
var ErrNoOwnPage = errors.New("the listing has no address, and the definition has no detail.url with its id")

// Err returns why the request can't be made; nil = it can.
func (r Request) Err() error { return r.err }

// Plain reports whether the request is an address and nothing else, as a link is.
func (r Request) Plain() bool { return r.Method != http.MethodPost && r.Body == nil }

// Digest returns the first 12 hex digits of the SHA-256 of method, address and body, a line break behind each of the first
// two.
func (r Request) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", r.Method, r.URL)
	h.Write(r.Body)
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// Label returns what people and tables see of the request: the address of one that is nothing else, of any other
// "POST https://host/graphql [3f2a9c1e0b7d]".
func (r Request) Label() string { return r.LabelAt(r.URL) }

// LabelAt is the label with the address in another form, such as the absolute one.
func (r Request) LabelAt(address string) string {
	if r.Plain() {
		return address
	}
	return fmt.Sprintf("%s %s [%s]", r.Method, address, r.Digest())
}

// Within returns the label with the path and the query alone in the place of the address, whichever host it has.
func (r Request) Within() string {
	u, err := url.Parse(r.URL)
	if err != nil {
		return r.Label()
	}
	within := r
	within.URL = u.RequestURI()
	return within.Label()
}

// Position is where in a list a page begins.
type Position struct {
	Page   int    // from 1; what {page} stands for is counted from the definition's first
	Offset int    // listings before it
	Cursor string // that the page before named; "" on the first page

	Short  bool // the page before gave fewer listings than a step, and this one begins right behind them
	Window int  // of a site that filters behind its paging: so many listings, shown or not, are known to be in a page; 0 = it does not
}

// TargetRequest asks for a page of a category in a city.
func (s *Source) TargetRequest(p yp.Place, at Position) Request {
	return s.target.request(s, s.values(p, at))
}

// SearchRequest asks the search for the same, which serves when the site does not know the city's slug; ok is false when the
// source has none.
func (s *Source) SearchRequest(p yp.Place, at Position) (r Request, ok bool) {
	if s.search == nil {
		return Request{}, false
	}
	return s.search.request(s, s.values(p, at)), true
}

// IndexRequests ask for the pages of a state's index in the order in which they are walked: the unlettered page first, which
// may hold popular cities only, then the letters. nil means that the source has no index, or that there is no such state.
func (s *Source) IndexRequests(state string) []Request {
	if s.states == nil {
		return nil
	}
	code, ok := s.indexOf(state)
	if !ok {
		return nil
	}
	all := make([]Request, 0, len(s.states.pages))
	for _, t := range s.states.pages {
		all = append(all, t.request(s, s.values(yp.Place{State: code}, Position{Page: 1})))
	}
	return all
}

// DetailRequest asks for a listing's own page: by detail.url where the definition has one, else at the listing's address;
// false = it has neither.
func (s *Source) DetailRequest(id, profileURL string) (r Request, ok bool) {
	switch {
	case s.own != nil:
		return s.own.request(s, values{text: map[string]string{"id": id}}), true
	case profileURL != "":
		return s.LinkRequest(profileURL), true
	}
	return Request{err: ErrNoOwnPage}, false
}

// OwnByID reports whether listings' own pages are asked for by their ids, so that a listing needs no address to have one.
func (s *Source) OwnByID() bool { return s.own != nil }

// LinkRequest follows a link.
func (s *Source) LinkRequest(address string) Request {
	return Request{Method: http.MethodGet, URL: address, Header: s.headers}
}

// cityColumns are the names of the columns of the source's cities file, each of which is a placeholder.
func (c *compiled) cityColumns() []string { return (&Source{compiled: c}).CityColumns() }

// columnsOf are the values of these columns for a place.
func (s *Source) columnsOf(p yp.Place) map[string]string {
	out := map[string]string{}
	for _, name := range s.CityColumns() {
		out[name] = s.CityValue(p, name)
	}
	return out
}

// values are what stands for the placeholders of one request.
type values struct {
	text  map[string]string
	first bool     // the page is the first
	lost  []string // columns of the source's file of cities, which has no row for the place
}

// numeric are the placeholders of numbers: a value of a body that is one of them and nothing else is sent as a number.
var numeric = []string{"page", "offset", "population", "lat", "lon"}

// values returns what stands for the placeholders of a page.
func (s *Source) values(p yp.Place, at Position) values {
	text := map[string]string{
		"city": p.City, "city_slug": p.CitySlug, "city_name_slug": yp.Slug(p.City), "state": p.State,
		"state_lower": strings.ToLower(p.State), "state_slug": s.stateSet.Slug(p.State), "category": p.Category, "category_slug": p.CategorySlug,
		"page": fmt.Sprint(s.number(at.Page)), "offset": fmt.Sprint(s.firstOffset() + at.Offset), "cursor": at.Cursor,
	}
	for name, value := range s.columnsOf(p) {
		if _, taken := text[name]; !taken {
			text[name] = value
		}
	}
	v := values{text: text, first: at.Page <= 1}
	if _, ok := s.City(p); !ok {
		v.lost = s.CityColumns()
	}
	return v
}

// number is what {page} stands for on the n-th page.
func (s *Source) number(n int) int { return max(n, 1) - 1 + s.firstPage }

// requestDef is a request: its address alone, or a mapping.
type requestDef struct {
	// The path and query after base_url, with placeholders.
	URL string `yaml:"url"`
	// GET or POST. [default: GET; POST if there is a body]
	Method string `yaml:"method"`
	// Headers of this request. They are added to the source's headers; one with the same name replaces the source's.
	Headers map[string]headerDef `yaml:"headers"`
	// A text, or a mapping that is sent as JSON. Both may hold placeholders.
	Body *bodyDef `yaml:"body"`
}

// headerDef is the value of a header alone, or a mapping.
type headerDef struct {
	// The value, which may hold a secret, ${NAME}.
	Value string `yaml:"value"`
	// true = the value is no secret, though it looks like one. [default: false]
	Public bool `yaml:"public"`
}

// request forms the request for a page.
func (t *template) request(s *Source, v values) Request {
	if t.letter != "" {
		v.text["letter"] = t.letter
	}
	path := v.filled(url.PathEscape).Replace(t.path)
	r := Request{Method: t.method, URL: below(s.base, path) + t.expandQuery(v), Header: t.headers}
	if t.body != nil {
		r.Body = t.body.fill(nil, &v)
	}
	switch {
	case slices.ContainsFunc(v.lost, t.has):
		r.err = ErrNotInFile // an empty value asks for something else, whose answer would be taken for the city's
	case dotted(path):
		r.err = fmt.Errorf("%w: %s", ErrDotSegment, yp.Printable(path))
	}
	return r
}

// dotted reports whether a path has a segment that is . or .., escaped or not.
func dotted(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(segment); err == nil && (plain == "." || plain == "..") {
			return true
		}
	}
	return false
}

// compileRequest makes a template of a request, whose key is at. names are the placeholders that it may use. On a fault, which
// goes to f, it is nil.
func (c *compiled) compileRequest(d *requestDef, at string, names []string, f *faults) *template {
	atURL := at
	if _, _, ok := f.find(at + ".url"); ok {
		atURL += ".url"
	}
	t, err := parseTemplate(d.URL, names)
	if err != nil {
		f.add(atURL, err)
		return nil
	}
	if t.method = strings.ToUpper(cmp.Or(d.Method, http.MethodGet)); d.Method == "" && d.Body != nil {
		t.method = http.MethodPost
	}
	if t.method != http.MethodGet && t.method != http.MethodPost {
		f.add(at+".method", fmt.Errorf("%q: want GET or POST", d.Method))
	}
	t.states, t.headers = c.stateSet, c.headers.Clone()
	if more := compileHeaders(d.Headers, at+".headers", f); len(more) > 0 {
		if t.headers == nil {
			t.headers = http.Header{}
		}
		maps.Copy(t.headers, more)
	}
	if d.Body != nil && !c.compileBody(t, d.Body, at+".body", names, f) {
		return nil
	}
	c.noteSecrets(t)
	return t
}

// compileBody makes the body of a template ready, and names its type where the definition does not. It reports whether there
// was no fault.
func (c *compiled) compileBody(t *template, d *bodyDef, at string, names []string, f *faults) bool {
	given := t.headers.Get("Content-Type")
	body, kind, where, err := d.compile(given, names)
	if err != nil {
		if where != nil {
			f.at[at] = position{where.Line, where.Column}
		}
		f.add(at, err)
		return false
	}
	t.body = body
	if given == "" {
		if t.headers == nil {
			t.headers = http.Header{}
		}
		t.headers.Set("Content-Type", kind)
	}
	return true
}

// Types of bodies.
const (
	typeForm = "application/x-www-form-urlencoded"
	typeJSON = "application/json"
)

// escapeOf returns how a value is escaped in a text of a type.
func escapeOf(contentType string) func(string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return func(s string) string { return s }
	case kind == typeForm:
		return url.QueryEscape
	case kind == typeJSON || strings.HasSuffix(kind, "+json"):
		return func(s string) string { return string(appendJSONText(nil, s)) }
	case kind == "application/xml" || kind == "text/xml" || strings.HasSuffix(kind, "+xml"):
		return xmlText.Replace
	}
	return func(s string) string { return s }
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// isJSON reports whether a type of bodies is JSON.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == typeJSON || strings.HasSuffix(kind, "+json"))
}

// compileURLs makes the requests for pages of results ready, with what every request of the source has.
func (c *compiled) compileURLs(f *faults) {
	c.firstPage = 1
	if c.def.Paging.Page != nil {
		c.firstPage = *c.def.Paging.Page
	}
	if c.headers = compileHeaders(c.def.Headers, "headers", f); c.def.Format == formatJSON && c.headers.Get("Accept") == "" {
		if c.headers == nil {
			c.headers = http.Header{}
		}
		c.headers.Set("Accept", typeJSON)
	}
	names := slices.Concat(placeholders, c.cityColumns())
	target, search := &c.def.URLs.Target, &c.def.URLs.Search
	if target.URL == "" {
		f.lacks("urls.target")
	} else if c.target = c.compileRequest(target, "urls.target", names, f); c.target != nil {
		f.add("urls.target", c.tellsPages(c.target))
	}
	if search.URL != "" {
		c.search = c.compileRequest(search, "urls.search", names, f)
	}
	if c.def.Detail.URL.URL != "" {
		if c.own = c.compileRequest(&c.def.Detail.URL, "detail.url", []string{"id"}, f); c.own != nil && !c.own.has("id") {
			f.add("detail.url", errors.New("must hold {id}, such as /stores/{id}"))
		}
	}
}

// tellsPages says what is wrong with a request for the pages of a list: nothing in it tells one from another.
func (c *compiled) tellsPages(t *template) error {
	name := "page"
	if c.paging != nil {
		name = c.paging.placeholder()
	}
	for _, other := range []string{"offset", "cursor"} {
		if other != name && t.has(other) {
			return fmt.Errorf("holds {%s}: this needs paging, such as `{offset: 0, step: 50}` or `{cursor: {json: next}}`", other)
		}
	}
	switch t.pageAlways = c.def.Paging.Page != nil; {
	case t.has(name), c.paging == nil && c.def.Next.isNone():
		return nil
	case c.paging == nil:
		return errors.New("must hold {page}, such as /{city_slug}/{category_slug}?page={page}")
	}
	return fmt.Errorf("must hold {%s} in its address or body, because of paging", name)
}

// A template forms requests: a path and a query in which placeholders stand for parts of the place and the position, headers
// and a body. A query parameter that holds {page} is left out on the first page, unless the definition says from which number
// pages are counted; one that holds {cursor} is left out where there is none.
type template struct {
	path  string
	query []string // one per parameter, in order
	kind  []string // path segments; "" matches any (see matches)

	states *yp.StateSet // of the source

	method  string
	headers http.Header // of the source, and its own; nil = none
	body    body        // nil = none

	letter     string // of an index, {letter}; "" = none
	pageAlways bool   // a parameter with {page} is sent on the first page, too

	pageSegment int    // of the path, that holds {page}; -1 = none
	pageTail    string // what follows {page} in that segment
	pageParam   string // name of the query parameter that holds it; "" = none

	segmentForms map[int]valueForm    // of the path, by the segment's number
	paramForms   map[string]valueForm // of the query, by the parameter's name
}

// placeholders are the names that templates may use.
var placeholders = []string{
	"city",           // the name of the city: Springfield
	"city_slug",      // its name in the site's addresses: springfield-il
	"city_name_slug", // its name as a word for addresses: springfield
	"state",          // the code of the state: NM
	"state_lower",    // nm
	"state_slug",     // its name as a word for addresses: new-mexico
	"category",       // the category as written in the definition, or in the default list: Auto Repair & Service
	"category_slug",  // auto-repair-service
	"page",           // the page number; without paging, a parameter that holds it is left out on the first page
	"offset",         // how many listings come before the page, counted from paging.offset
	"cursor",         // what paging.cursor found on the previous page; a parameter or member that holds it is left out on the first page
}

var anyPlaceholder = regexp.MustCompile(`\{([^{}]*)\}`)

// parseTemplate parses a site-relative URL template, which may use these placeholders.
func parseTemplate(s string, names []string) (*template, error) {
	if !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") {
		return nil, fmt.Errorf("URL template %q must start with one slash", s)
	}
	if strings.ContainsAny(s, "# \t\r\n") {
		return nil, fmt.Errorf("URL template %q must not hold a fragment or white space", s)
	}
	if strings.ContainsAny(anyPlaceholder.ReplaceAllString(s, ""), "{}") {
		return nil, fmt.Errorf("URL template %q has an unmatched brace", s)
	}
	path, query, _ := strings.Cut(s, "?")
	if dotted(path) {
		return nil, fmt.Errorf("URL template %q must not have . or .. as a segment", s)
	}
	query, err := secretQuery(path, query)
	if err != nil {
		return nil, err
	}
	if err := checkPlaceholders(secretName.ReplaceAllString(s, ""), names); err != nil {
		return nil, err
	}
	t := &template{path: path, method: http.MethodGet, pageSegment: -1}
	for seg := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if _, tail, ok := strings.Cut(seg, "{page}"); ok {
			t.pageSegment, t.pageTail = len(t.kind), tail
		}
		if strings.Contains(seg, "{") {
			seg = ""
		}
		t.kind = append(t.kind, seg)
	}
	if query != "" {
		t.query = strings.Split(query, "&")
	}
	for _, param := range t.query {
		if strings.Contains(param, "{page}") {
			t.pageParam, _, _ = strings.Cut(param, "=")
		}
	}
	t.segmentForms, t.paramForms = t.forms()
	return t, nil
}

// checkPlaceholders refuses a text with a placeholder that is none of the known ones.
func checkPlaceholders(text string, known []string) error {
	for _, m := range anyPlaceholder.FindAllStringSubmatch(text, -1) {
		if err := checkPlaceholder(m[1], known); err != nil {
			return err
		}
	}
	return nil
}

func checkPlaceholder(name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	if near, ok := yp.Nearest(name, known); ok {
		return fmt.Errorf("unknown placeholder {%s}: did you mean {%s}?", name, near)
	}
	return fmt.Errorf("unknown placeholder {%s}: want one of {%s}", name, strings.Join(known, "}, {"))
}

// lettered returns the template for a letter of an index; "" = for none.
func (t *template) lettered(letter string) *template {
	of := *t
	of.letter = letter
	return &of
}

// has reports whether the template uses a placeholder.
func (t *template) has(name string) bool {
	return strings.Contains(t.path+strings.Join(t.query, "&"), "{"+name+"}") || t.body != nil && t.body.has(name)
}

// below returns the address of a path below base.
func below(base *url.URL, path string) string {
	return base.Scheme + "://" + base.Host + strings.TrimSuffix(base.EscapedPath(), "/") + path
}

// expandQuery forms the query, with its question mark.
func (t *template) expandQuery(v values) (q string) {
	fill, sep := v.filled(url.QueryEscape), "?"
	for _, param := range t.query {
		if v.first && !t.pageAlways && strings.Contains(param, "{page}") || v.lacks(param) {
			continue
		}
		q += sep + fill.Replace(param)
		sep = "&"
	}
	return q
}

// optional are the placeholders without which a request has a sense: what holds one is left out where it stands for nothing.
var optional = []string{"cursor", "letter"}

// lacks reports whether a text holds a placeholder that stands for nothing and is optional.
func (v *values) lacks(text string) bool {
	return slices.ContainsFunc(optional, func(name string) bool { return v.text[name] == "" && strings.Contains(text, "{"+name+"}") })
}

// filled puts what stands for the placeholders into a text.
func (v *values) filled(escape func(string) string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(v.text))
	for name, value := range v.text {
		pairs = append(pairs, "{"+name+"}", escape(value))
	}
	return strings.NewReplacer(pairs...)
}

// matches reports whether a path, below the base, is of the template's kind:
// as many segments, the fixed ones equal.
func (t *template) matches(path string) bool {
	i := 0
	for seg := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if i >= len(t.kind) || t.kind[i] != "" && !strings.EqualFold(t.kind[i], seg) || seg == "" && t.kind[i] == "" {
			return false
		}
		i++
	}
	return i == len(t.kind)
}

// cutPage cuts the number of the page out of the segment that holds it: what is left is the list's.
func (t *template) cutPage(segment string) (rest string, page int) {
	tail := t.pageTail
	if strings.Contains(tail, "{") { // whatever is first
		page, _ = yp.FirstInt(segment)
		return "", page
	}
	head, ok := strings.CutSuffix(segment, tail)
	if !ok {
		return segment, 0
	}
	rest = strings.TrimRight(head, "0123456789")
	page, _ = yp.FirstInt(head[len(rest):])
	return rest, page
}
