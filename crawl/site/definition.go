package site

import (
	"bytes"
	"errors"
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// definition is the YAML form of a source; docs in yellowpages.yaml.
type definition struct {
	// The name of a built-in definition, such as yellowpages. Keys that you leave out are taken from it.
	Extends string `yaml:"extends"`
	// The source's name: at most 40 lower-case letters, digits, - and _. Required.
	Name string `yaml:"name"`
	// Scheme and host of the site, and a path if all addresses of the site begin with it. Required.
	BaseURL string `yaml:"base_url"`
	// The country of the listings (ISO 3166). It decides how phones, postal codes, states and addresses are read. [default: US]
	Country string `yaml:"country"`
	// A CSV file with the source's places, in the definition's folder or a folder below it. [default: in the USA, the places that
	// ypcrawl knows]
	Cities string `yaml:"cities"`
	// Codes and names of the states, such as {BY: Bayern}. [default: those of the cities file, else those of the country]
	States map[string]string `yaml:"states"`
	// The time between two requests, such as 500ms. [default: 2s]
	Delay string `yaml:"delay"`
	// How long a request may take, including the body. [default: 30s]
	RequestTimeout string `yaml:"request_timeout"`
	// The most pages that the site serves of one list; 0 = not known. [default: 0; at most 1,000 pages of a list are read]
	PageCap int `yaml:"page_cap"`
	// true = the site's pages never have </body> or </html>. Otherwise a page without them counts as cut short. [HTML] [default:
	// false]
	NoEndTags bool `yaml:"no_end_tags"`
	// The categories to search for, in the site's own words. Required outside the USA. [default: a list in English]
	Categories []string `yaml:"categories"`
	// How many places of each state are crawled, the largest first; 0 = all. [default: 0]
	PlacesPerState int `yaml:"places_per_state"`
	// Headers to send with every request to the site.
	Headers map[string]headerDef `yaml:"headers"`
	// What the pages are: html or json. [default: html]
	Format string `yaml:"format"`
	// The script in an HTML page that holds JSON. [HTML]
	Script scriptDef `yaml:"script"`
	URLs   urlDef    `yaml:"urls"`
	// The elements that contain the cards, the total and the next link. Only these are parsed if the page's HTML is in order. Forms:
	// tag, #id, .class and combinations of these. [HTML]
	Regions []string `yaml:"regions"`
	// Signs that every page of the site has, including its "not found" page, and that no block page has. Required.
	Chrome markDef `yaml:"chrome"`
	// Signs of an error page, whatever its status.
	Refused markDef `yaml:"refused"`
	// Signs that the site found nothing.
	Empty markDef `yaml:"empty"`
	// Elements that show that a page has listings, even if its cards can't be read. [HTML]
	Evidence []string `yaml:"evidence"`
	// true = listings are read from the page's JSON-LD and microdata, and not by fields and cards. [HTML] [default: false]
	Structured structuredDef `yaml:"structured"`
	Cards      cardDef       `yaml:"cards"`
	// The address of the next page. The word none (without a rule) means that each list has one page.
	Next ruleSet `yaml:"next"`
	// Signs that a page is the last of its list.
	Last markDef `yaml:"last"`
	// How lists without links to their next page are asked for.
	Paging pagingDef `yaml:"paging"`
	// How many listings the list has. A total followed by +, or with "relation": "gte" beside it, doesn't count.
	Total ruleSet `yaml:"total"`
	// Which of the listings the page shows, such as 31-60.
	Shown ruleSet `yaml:"shown"`
	// Rules for the fields of a listing (see Fields below). id and name are required, unless structured is true.
	Fields map[string]ruleSet `yaml:"fields"`
	// The beginning of a text that names the area served instead of an address.
	ServiceArea []string `yaml:"service_area"`
	// Parts of the paths of placeholder images, which don't count as images.
	NoImage []string `yaml:"no_image"`
	// The value of the field claimed if the owner has claimed the listing.
	ClaimedIs string `yaml:"claimed_is"`
	// The value of the field claimed if nobody has claimed it.
	UnclaimedIs string `yaml:"unclaimed_is"`
	// Texts that come before the advertiser's own words and are removed.
	SnippetPrefix []string  `yaml:"snippet_prefixes"`
	Index         indexDef  `yaml:"index"`
	Detail        detailDef `yaml:"detail"`
	Rules         rulesDef  `yaml:"rules"`
}

type urlDef struct {
	// The results pages of a category in a city. Required.
	Target requestDef `yaml:"target"`
	// The site's search for a category in a city. It is requested if the first page of urls.target is missing or says that there are
	// no listings.
	Search requestDef `yaml:"search"`
	// The pages that list the cities: one index per state if the address has {state}, {state_lower} or {state_slug}, else one index
	// of all states.
	StateIndex requestDef `yaml:"state_index"`
}

// markDef is a set of signs on a page: elements, words in its text or title, or values in its JSON and in the header of
// the answer.
type markDef struct {
	// Elements. [HTML]
	Selectors []string `yaml:"selectors"`
	// Words that the page shows, in upper or lower case. {n} matches a number; if it occurs twice, both must be the same. [HTML]
	Texts []string `yaml:"texts"`
	// Words in the title. Under chrome they must be the whole title, or its first or last part. [HTML]
	Titles []string `yaml:"titles"`
	// Rules that read a path in JSON or a header of the answer. A rule with match must match; without match, the value must be there
	// and be neither null nor false.
	JSON ruleSet `yaml:"json"`
}

type cardDef struct {
	// The element around one listing. Required for HTML pages, unless there is structured or script. [HTML]
	Organic []string `yaml:"organic"`
	// The path of the list of listings in JSON. The list is an array, or an object whose values are the listings; # means that the
	// answer itself is the array. Required with format: json or script. [JSON]
	Items string `yaml:"items"`
	// Which listings are ads: cards by a selector, items by a rule such as {json: isAd}. Ads are left out, unless the run has
	// --include-sponsored.
	Sponsored ruleSet `yaml:"sponsored"`
	// Elements within a card that mark it as an ad. [HTML]
	Marks []string `yaml:"sponsored_marks"`
}

// indexDef is what a source's state indexes look like.
type indexDef struct {
	// Letters and digits for which the index has a page each, requested by {letter}.
	Letters string `yaml:"letters"`
	// Links to cities. Links in a header, footer, nav or aside don't count. [HTML]
	Cities []string `yaml:"cities"`
	// A regular expression for the path of such a link. Its only group, or the group named city, is the slug; a group named state is
	// the state. [HTML]
	Path string `yaml:"path"`
	// A regular expression for paths that look like a city's but aren't. [HTML]
	Not string `yaml:"not"`
	// The path of the list of cities in JSON; # means that the answer itself is the list. [JSON]
	Items string `yaml:"items"`
	// The name of the city in an item. [JSON]
	City ruleSet `yaml:"city"`
	// The city's name in addresses, {city_slug}. [JSON] [default: made from the name]
	Slug ruleSet `yaml:"slug"`
	// The state of a city, if one index lists all states: in the link or the nearest element around it, or in the item.
	State ruleDef `yaml:"state"`
	// Signs of an index page. A page that has one of them and lists no city means that there are no cities.
	Frame markDef `yaml:"frame"`
}

// detailDef is what detail pages look like.
type detailDef struct {
	// How often a listing's own page is requested again, such as 30d. [default: 30d]
	Every string `yaml:"every"`
	// The address of a listing's own page, with {id}. [default: the listing's profile_url]
	URL requestDef `yaml:"url"`
	// A regular expression for the path of an own page. Its only group, or the group named id, is the id. [HTML]
	Path string `yaml:"path"`
	// Where a structured source's own page has its id: page or url. [HTML] [default: page]
	IDs string `yaml:"ids"`
	// Like regions above, but for own pages. [HTML]
	Regions []string `yaml:"regions"`
	// Signs that own pages have, and no other pages.
	Marks markDef `yaml:"marks"`
	// Elements about other businesses; phones, websites and e-mail addresses in them are ignored. [HTML]
	Others []string `yaml:"others"`
	// Lists of facts: dl elements with dt and dd. [HTML]
	Info []string `yaml:"info"`
	// The rows of the table of opening hours. [HTML]
	Hours []string `yaml:"hours"`
	// The terms (dt) in these lists, by field, in upper or lower case. [HTML]
	Labels map[string][]string `yaml:"labels"`
	// Rules for the fields of an own page (see Fields below). name is required; in JSON, id is required too.
	Fields map[string]ruleSet `yaml:"fields"`
}

// rulesDef is what a listing must be to be promoted.
type rulesDef struct {
	// Fields that a listing must have besides id and name; otherwise it is rejected.
	Required []string `yaml:"required"`
	// What the values of a field must look like. If a field has a format, only the format decides.
	Formats map[string]formatDef `yaml:"formats"`
}

// ruleDef is a rule: a selector alone, or a mapping.
type ruleDef struct {
	// A selector, applied within the card or the page. [HTML] [default: the card itself]
	CSS string `yaml:"css"`
	// The attribute to read instead of the text. [HTML]
	Attr string `yaml:"attr"`
	// A path in the JSON: with attr, in the attribute's value; without attr, in the item or the answer.
	JSON string `yaml:"json"`
	// The name of a header of the answer; allowed for total, shown, next, paging.cursor and signs. From Link, the address with
	// rel="next" is read.
	Head string `yaml:"header"`
	// A regular expression. The value is its last group, or the whole match if it has no group.
	Match string `yaml:"match"`
	// true = only the element's own text, without the text of elements inside it. [HTML] [default: false]
	Own bool `yaml:"own_text"`
	// The best rating that the site gives; only for the field rating. [default: 5]
	Scale float64 `yaml:"scale"`
	// At most 20 steps that change the text, in this order. If a step can't be applied, there is no value.
	Steps []stepDef `yaml:"steps"`
	// true = every element of a JSON list is read; only for fields that are lists. [default: false]
	All   bool `yaml:"all"`
	alone bool // the rule is a text alone, see CSS: a path in a definition of JSON
}

// stepDef is what is done to the text of a rule: one of its keys.
type stepDef struct {
	// The encoding to decode: base64, percent, json or html.
	Decode string `yaml:"decode"`
	// A regular expression, as in a rule.
	Match string `yaml:"match"`
	// Two texts: every occurrence of the first is replaced by the second.
	Replace []string `yaml:"replace"`
	// The factor to multiply a number by.
	Scale *float64 `yaml:"scale"`
}

// UnmarshalYAML reads a rule in either form.
func (r *ruleDef) UnmarshalYAML(n *yaml.Node) error {
	type plain ruleDef
	*r = ruleDef{}
	if n.Kind == yaml.ScalarNode {
		r.alone = true
		return n.Decode(&r.CSS)
	}
	return n.Decode((*plain)(r))
}

// scriptDef says which script of a page holds its JSON: a selector, or a mapping with the text that stands before it.
type scriptDef struct {
	// A selector of the script, such as script#__NEXT_DATA__.
	CSS string `yaml:"css"`
	// The text right before the JSON, such as window.__STATE__ =.
	After string `yaml:"after"`
}

// UnmarshalYAML reads it in either form.
func (d *scriptDef) UnmarshalYAML(n *yaml.Node) error {
	type plain scriptDef
	*d = scriptDef{}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&d.CSS)
	}
	return n.Decode((*plain)(d))
}

// pagingDef says how the pages of lists without links are asked for: by the number of the page, by how many listings stand before
// it, or by what the page before names.
type pagingDef struct {
	// The number of the first page, 0 or 1. Pages are requested by {page}.
	Page *int `yaml:"page"`
	// The offset of the first page, 0 or 1. Pages are requested by {offset}.
	Offset *int `yaml:"offset"`
	// How many listings are requested per page. Required with offset.
	Step int `yaml:"step"`
	// What a page says that names the next one. Pages are requested by {cursor}.
	Cursor ruleSet `yaml:"cursor"`
}

// formatDef is a regular expression alone, or a mapping.
type formatDef struct {
	// A regular expression that must match.
	Match string `yaml:"match"`
	// A regular expression that must not match.
	Not string `yaml:"not"`
	// The greatest number of characters. [default: any number]
	Max int `yaml:"max"`
	// A check that no regular expression can make (below).
	Kind string `yaml:"kind"`
}

// UnmarshalYAML reads a format in either form.
func (d *formatDef) UnmarshalYAML(n *yaml.Node) error {
	type plain formatDef
	*d = formatDef{}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&d.Match)
	}
	return n.Decode((*plain)(d))
}

// UnmarshalYAML reads a request in either form.
func (d *requestDef) UnmarshalYAML(n *yaml.Node) error {
	type plain requestDef
	*d = requestDef{}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&d.URL)
	}
	return n.Decode((*plain)(d))
}

// UnmarshalYAML reads the value of a header in either form.
func (d *headerDef) UnmarshalYAML(n *yaml.Node) error {
	type plain headerDef
	*d = headerDef{}
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&d.Value)
	}
	return n.Decode((*plain)(d))
}

// ruleSet is one rule or a list of them.
type ruleSet []ruleDef

// noRules is what the word alone says in the place of rules for the next link: lists have one page.
const noRules = "none"

// isNone reports whether a set of rules is the word none.
func (s ruleSet) isNone() bool { return len(s) == 1 && s[0].alone && s[0].CSS == noRules }

// UnmarshalYAML reads one rule or a list.
func (s *ruleSet) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		return n.Decode((*[]ruleDef)(s))
	}
	*s = make(ruleSet, 1)
	return n.Decode(&(*s)[0])
}

// decode reads a definition, on top of the built-in one that it extends.
func decode(name string, text []byte) (*definition, *faults, error) {
	f := &faults{name: name, at: map[string]position{}}
	var root yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		return nil, f, f.fromYAML(err)
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, f, &DefinitionError{Name: name, Err: errors.New("want one YAML document: remove the line --- and everything after it")}
	}
	def := &definition{}
	if len(root.Content) > 0 {
		f.walk(root.Content[0], reflect.TypeFor[definition](), "")
	}
	if len(f.errs) > 0 {
		return nil, f, errors.Join(f.errs...)
	}
	var of struct {
		Extends string `yaml:"extends"`
	}
	if err := root.Decode(&of); err != nil {
		return nil, f, f.fromYAML(err)
	}
	if of.Extends != "" {
		text, err := builtinYAML(of.Extends)
		if err != nil {
			f.add("extends", err)
			return nil, f, errors.Join(f.errs...)
		}
		if def, _, err = decode(of.Extends+".yaml", text); err != nil {
			return nil, f, err
		}
	}
	if err := root.Decode(def); err != nil {
		return nil, f, f.fromYAML(err)
	}
	return def, f, nil
}
