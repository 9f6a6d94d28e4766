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
	Extends        string               `yaml:"extends"`
	Name           string               `yaml:"name"`
	BaseURL        string               `yaml:"base_url"`
	Country        string               `yaml:"country"`
	Cities         string               `yaml:"cities"`
	States         map[string]string    `yaml:"states"`
	Delay          string               `yaml:"delay"`
	RequestTimeout string               `yaml:"request_timeout"`
	PageCap        int                  `yaml:"page_cap"`
	NoEndTags      bool                 `yaml:"no_end_tags"`
	Categories     []string             `yaml:"categories"`
	PlacesPerState int                  `yaml:"places_per_state"`
	Headers        map[string]headerDef `yaml:"headers"`
	Format         string               `yaml:"format"` // html or json
	Script         scriptDef            `yaml:"script"`
	URLs           urlDef               `yaml:"urls"`
	Regions        []string             `yaml:"regions"`
	Chrome         markDef              `yaml:"chrome"`
	Refused        markDef              `yaml:"refused"`
	Empty          markDef              `yaml:"empty"`
	Evidence       []string             `yaml:"evidence"`
	Structured     structuredDef        `yaml:"structured"`
	Cards          cardDef              `yaml:"cards"`
	Next           ruleSet              `yaml:"next"`
	Last           markDef              `yaml:"last"`
	Paging         pagingDef            `yaml:"paging"`
	Total          []ruleDef            `yaml:"total"`
	Shown          []ruleDef            `yaml:"shown"`
	Fields         map[string]ruleSet   `yaml:"fields"`
	ServiceArea    []string             `yaml:"service_area"`
	NoImage        []string             `yaml:"no_image"`
	ClaimedIs      string               `yaml:"claimed_is"`
	UnclaimedIs    string               `yaml:"unclaimed_is"`
	SnippetPrefix  []string             `yaml:"snippet_prefixes"`
	Index          indexDef             `yaml:"index"`
	Detail         detailDef            `yaml:"detail"`
	Rules          rulesDef             `yaml:"rules"`
}

type urlDef struct {
	Target     requestDef `yaml:"target"`
	Search     requestDef `yaml:"search"`
	StateIndex requestDef `yaml:"state_index"`
}

// markDef is a set of signs on a page: elements, words in its text or title, or values in its JSON and in the header of
// the answer.
type markDef struct {
	Selectors []string `yaml:"selectors"`
	Texts     []string `yaml:"texts"`
	Titles    []string `yaml:"titles"`
	JSON      ruleSet  `yaml:"json"`
}

type cardDef struct {
	Organic   []string `yaml:"organic"`
	Items     string   `yaml:"items"` // path in JSON
	Sponsored ruleSet  `yaml:"sponsored"`
	Marks     []string `yaml:"sponsored_marks"`
}

// indexDef is what a source's state indexes look like.
type indexDef struct {
	Letters string   `yaml:"letters"`
	Cities  []string `yaml:"cities"`
	Path    string   `yaml:"path"`
	Not     string   `yaml:"not"`
	Items   string   `yaml:"items"` // path in JSON
	City    ruleSet  `yaml:"city"`
	Slug    ruleSet  `yaml:"slug"`
	State   ruleDef  `yaml:"state"`
	Frame   markDef  `yaml:"frame"`
}

// detailDef is what detail pages look like.
type detailDef struct {
	Every   string              `yaml:"every"`
	URL     requestDef          `yaml:"url"`
	Path    string              `yaml:"path"`
	IDs     string              `yaml:"ids"` // page or url: of structured sources, see compileOwnPages
	Regions []string            `yaml:"regions"`
	Marks   markDef             `yaml:"marks"`
	Others  []string            `yaml:"others"`
	Info    []string            `yaml:"info"`
	Hours   []string            `yaml:"hours"`
	Labels  map[string][]string `yaml:"labels"`
	Fields  map[string]ruleSet  `yaml:"fields"`
}

// rulesDef is what a listing must be to be promoted.
type rulesDef struct {
	Required []string             `yaml:"required"`
	Formats  map[string]formatDef `yaml:"formats"`
}

// ruleDef is a rule: a selector alone, or a mapping.
type ruleDef struct {
	CSS   string    `yaml:"css"`
	Attr  string    `yaml:"attr"`
	JSON  string    `yaml:"json"`
	Head  string    `yaml:"header"`
	Match string    `yaml:"match"`
	Own   bool      `yaml:"own_text"`
	Scale float64   `yaml:"scale"`
	Steps []stepDef `yaml:"steps"`
	All   bool      `yaml:"all"`
	alone bool      // the rule is a text alone, see CSS: a path in a definition of JSON
}

// stepDef is what is done to the text of a rule: one of its keys.
type stepDef struct {
	Decode  string   `yaml:"decode"`
	Match   string   `yaml:"match"`
	Replace []string `yaml:"replace"`
	Scale   *float64 `yaml:"scale"`
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
	CSS   string `yaml:"css"`
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
	Page   *int    `yaml:"page"`   // number of the first page
	Offset *int    `yaml:"offset"` // of the first page
	Step   int     `yaml:"step"`   // listings that a page is asked to give
	Cursor ruleSet `yaml:"cursor"`
}

// formatDef is a regular expression alone, or a mapping.
type formatDef struct {
	Match string `yaml:"match"`
	Not   string `yaml:"not"`
	Max   int    `yaml:"max"`
	Kind  string `yaml:"kind"`
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
		return nil, f, &DefinitionError{Name: name, Err: errors.New("want one YAML document: remove the line --- and all that follows it")}
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
