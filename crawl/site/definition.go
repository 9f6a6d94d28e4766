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
	// The name of a built-in definition, such as yellowpages: keys that are left out are taken from it.
	Extends string `yaml:"extends"`
	// The source's name: lower-case letters, digits, - and _, 40 at most. Required.
	Name string `yaml:"name"`
	// Scheme and host of the site, with a path if all of its addresses begin with it. Required.
	BaseURL string `yaml:"base_url"`
	// Where the listings are (ISO 3166): it decides how phones, postal codes, states and addresses are read. [default: US]
	Country string `yaml:"country"`
	// The CSV file of the source's places, beside the definition or in a folder below it. [default: in the USA the places that
	// ypcrawl knows]
	Cities string `yaml:"cities"`
	// Codes and names of the states, such as {BY: Bayern}. [default: those of the cities file, else those of the country]
	States map[string]string `yaml:"states"`
	// The time between two requests, such as 500ms. [default: 2s]
	Delay string `yaml:"delay"`
	// How long a request may take, the body included. [default: 30s]
	RequestTimeout string `yaml:"request_timeout"`
	// How many pages the site serves of a list at most; 0 = not known. [default: 0, and of no list more than 1,000 are read]
	PageCap int `yaml:"page_cap"`
	// true for a site whose pages never have </body> or </html>: of any other such a page was cut short. [HTML] [default: false]
	NoEndTags bool `yaml:"no_end_tags"`
	// What is searched for, in the site's own words. Required outside of the USA. [default: the program's list, in English]
	Categories []string `yaml:"categories"`
	// How many of the largest places of each state are crawled; 0 = all. [default: 0]
	PlacesPerState int `yaml:"places_per_state"`
	// Headers that every request to the site has.
	Headers map[string]headerDef `yaml:"headers"`
	// What pages are: html or json. [default: html]
	Format string `yaml:"format"`
	// The script within a page of HTML that holds JSON. [HTML]
	Script scriptDef `yaml:"script"`
	URLs   urlDef    `yaml:"urls"`
	// The containers that hold cards, total and next link: pages in good order are parsed there alone. Forms: tag, #id, .class and
	// these together. [HTML]
	Regions []string `yaml:"regions"`
	// Signs that every page of the site has, including its "not found" page, and that no block page has. Required.
	Chrome markDef `yaml:"chrome"`
	// Signs of an error, whatever the status of the answer.
	Refused markDef `yaml:"refused"`
	// Signs that nothing was found.
	Empty markDef `yaml:"empty"`
	// Elements that are signs of listings on a page whose cards can't be read. [HTML]
	Evidence []string `yaml:"evidence"`
	// true = listings come from the page's JSON-LD and microdata; fields and cards are not read. [HTML] [default: false]
	Structured structuredDef `yaml:"structured"`
	Cards      cardDef       `yaml:"cards"`
	// The address of the next page; the word none alone = each list is one page.
	Next ruleSet `yaml:"next"`
	// Signs of the last page of a list.
	Last markDef `yaml:"last"`
	// How lists without links to their next page are asked for.
	Paging pagingDef `yaml:"paging"`
	// How many listings the list has. A total with a + behind it, or "relation": "gte" beside it, is none.
	Total ruleSet `yaml:"total"`
	// Which of the listings the page shows, such as 31-60.
	Shown ruleSet `yaml:"shown"`
	// What a listing says, by the names of fields (below). id and name are required, unless structured is true.
	Fields map[string]ruleSet `yaml:"fields"`
	// How a text begins that names the area served in the place of an address.
	ServiceArea []string `yaml:"service_area"`
	// Parts of the paths of images that stand for a missing one.
	NoImage []string `yaml:"no_image"`
	// What the field claimed says where the owner has claimed the listing.
	ClaimedIs string `yaml:"claimed_is"`
	// What the field claimed says where nobody has claimed it.
	UnclaimedIs string `yaml:"unclaimed_is"`
	// What stands before the advertiser's own words, and is cut off.
	SnippetPrefix []string  `yaml:"snippet_prefixes"`
	Index         indexDef  `yaml:"index"`
	Detail        detailDef `yaml:"detail"`
	Rules         rulesDef  `yaml:"rules"`
}

type urlDef struct {
	// The pages of one city and category. Required.
	Target requestDef `yaml:"target"`
	// The site's search for a category in a city: asked where the site has no page of urls.target for them.
	Search requestDef `yaml:"search"`
	// The pages that list the cities: of a state by {state}, {state_lower} or {state_slug}, or without them of all states.
	StateIndex requestDef `yaml:"state_index"`
}

// markDef is a set of signs on a page: elements, words in its text or title, or values in its JSON and in the header of
// the answer.
type markDef struct {
	// Elements. [HTML]
	Selectors []string `yaml:"selectors"`
	// Words that the page shows, in any letter case; {n} is a number, the same one each time. [HTML]
	Texts []string `yaml:"texts"`
	// Words of the title. Under chrome they must be the whole title, or its first or last part. [HTML]
	Titles []string `yaml:"titles"`
	// Rules whose value is there, and neither null nor false, or that match; a path in JSON, or a header of the answer.
	JSON ruleSet `yaml:"json"`
}

type cardDef struct {
	// The box of one listing. Required for pages of HTML, unless structured or script is there. [HTML]
	Organic []string `yaml:"organic"`
	// The path of the list of listings in JSON: an array, or an object whose values count; # where the answer itself is the array.
	// Required with format: json and with script. [JSON]
	Items string `yaml:"items"`
	// What tells ads: cards by a selector, items by a rule such as {json: isAd}. Ads are left out, unless the run has
	// --include-sponsored.
	Sponsored ruleSet `yaml:"sponsored"`
	// Elements within a card that tell ads. [HTML]
	Marks []string `yaml:"sponsored_marks"`
}

// indexDef is what a source's state indexes look like.
type indexDef struct {
	// The letters and digits for which an index has a page each, as {letter}.
	Letters string `yaml:"letters"`
	// Links to cities; those in a header, footer, nav or aside don't count. [HTML]
	Cities []string `yaml:"cities"`
	// A regular expression of the path of such a link: its group, the only one or the one named city, is the slug; one named state
	// is the state. [HTML]
	Path string `yaml:"path"`
	// A regular expression of paths that look so and are no city's. [HTML]
	Not string `yaml:"not"`
	// The path of the list of cities in JSON; # where the answer itself is the list. [JSON]
	Items string `yaml:"items"`
	// The name of an item's city. [JSON]
	City ruleSet `yaml:"city"`
	// Its name in addresses, {city_slug}. [JSON] [default: made of the name]
	Slug ruleSet `yaml:"slug"`
	// The state of a city, in an index of all states: in the link or the nearest element around it, or in the item.
	State ruleDef `yaml:"state"`
	// Signs of an index: a page that has one and lists no city says that there is none.
	Frame markDef `yaml:"frame"`
}

// detailDef is what detail pages look like.
type detailDef struct {
	// How often a listing's own page is fetched again, such as 30d. [default: 30d]
	Every string `yaml:"every"`
	// The address of a listing's own page, with {id}. [default: profile_url]
	URL requestDef `yaml:"url"`
	// A regular expression of its path: the group, the only one or the one named id, is the id. [HTML]
	Path string `yaml:"path"`
	// Where an own page of a structured source has its id: page or url. [HTML] [default: page]
	IDs string `yaml:"ids"`
	// As regions above, for own pages. [HTML]
	Regions []string `yaml:"regions"`
	// Signs that an own page has, and no other page.
	Marks markDef `yaml:"marks"`
	// Boxes of other businesses, whose phone, website and e-mail address don't count. [HTML]
	Others []string `yaml:"others"`
	// Lists of facts: dl with dt and dd. [HTML]
	Info []string `yaml:"info"`
	// Rows of the table of opening hours. [HTML]
	Hours []string `yaml:"hours"`
	// What the terms of these lists say, by the names of fields; letter case does not count. [HTML]
	Labels map[string][]string `yaml:"labels"`
	// What the page says, by the names of fields (below). name is required, in JSON id, too.
	Fields map[string]ruleSet `yaml:"fields"`
}

// rulesDef is what a listing must be to be promoted.
type rulesDef struct {
	// Fields that a listing must have to count as a company, beside id and name.
	Required []string `yaml:"required"`
	// What the values of a field must look like, by its name. They decide alone where they are given.
	Formats map[string]formatDef `yaml:"formats"`
}

// ruleDef is a rule: a selector alone, or a mapping.
type ruleDef struct {
	// A selector, below the card or the page. [HTML] [default: the card itself]
	CSS string `yaml:"css"`
	// The attribute to read in the place of the text. [HTML]
	Attr string `yaml:"attr"`
	// A path within the JSON of the attribute, or, without attr, within the item or the answer.
	JSON string `yaml:"json"`
	// The name of a header of the answer, for total, shown, next, paging.cursor and signs; of Link the address with rel="next".
	Head string `yaml:"header"`
	// A regular expression: its last group, or all that it matches, is the value.
	Match string `yaml:"match"`
	// true = the text of the element alone, without that of elements in it. [HTML] [default: false]
	Own bool `yaml:"own_text"`
	// The best rating that the site gives, for the field rating. [default: 5]
	Scale float64 `yaml:"scale"`
	// What is done to the text then, in the order written, 20 at most. A text with which a step can do nothing is none.
	Steps []stepDef `yaml:"steps"`
	// true = of a list in JSON each element counts, in a field that is a list. [default: false]
	All   bool `yaml:"all"`
	alone bool // the rule is a text alone, see CSS: a path in a definition of JSON
}

// stepDef is what is done to the text of a rule: one of its keys.
type stepDef struct {
	// base64, percent, json or html: what the text is decoded from.
	Decode string `yaml:"decode"`
	// A regular expression, as in a rule.
	Match string `yaml:"match"`
	// Two texts: each occurrence of the first becomes the second.
	Replace []string `yaml:"replace"`
	// What a number is multiplied by.
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
	// The text before the JSON, such as window.__STATE__ =.
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
	// The number of the first page, 0 or 1: pages are asked for by {page}.
	Page *int `yaml:"page"`
	// The offset of the first page, 0 or 1: pages are asked for by {offset}.
	Offset *int `yaml:"offset"`
	// How many listings a page is asked to give. Required with offset.
	Step int `yaml:"step"`
	// What names the next page: pages are asked for by {cursor}.
	Cursor ruleSet `yaml:"cursor"`
}

// formatDef is a regular expression alone, or a mapping.
type formatDef struct {
	// A regular expression that must match.
	Match string `yaml:"match"`
	// A regular expression that must not.
	Not string `yaml:"not"`
	// Characters at most. [default: any number]
	Max int `yaml:"max"`
	// What no regular expression can tell (below).
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
