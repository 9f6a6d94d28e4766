package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// definition is the YAML form of a source; docs in yellowpages.yaml.
type definition struct {
	Extends        scalar             `yaml:"extends"`
	Name           scalar             `yaml:"name"`
	BaseURL        scalar             `yaml:"base_url"`
	Delay          scalar             `yaml:"delay"`
	PageCap        int                `yaml:"page_cap"`
	NoEndTags      bool               `yaml:"no_end_tags"`
	Categories     []string           `yaml:"categories"`
	PlacesPerState int                `yaml:"places_per_state"`
	URLs           urlDef             `yaml:"urls"`
	Regions        []scalar           `yaml:"regions"`
	Chrome         markDef            `yaml:"chrome"`
	Empty          markDef            `yaml:"empty"`
	Evidence       []scalar           `yaml:"evidence"`
	Structured     structuredDef      `yaml:"structured"`
	Cards          cardDef            `yaml:"cards"`
	Next           []ruleDef          `yaml:"next"`
	Total          []ruleDef          `yaml:"total"`
	Shown          []ruleDef          `yaml:"shown"`
	Fields         map[string]ruleSet `yaml:"fields"`
	ServiceArea    []string           `yaml:"service_area"`
	NoImage        []string           `yaml:"no_image"`
	ClaimedIs      string             `yaml:"claimed_is"`
	UnclaimedIs    string             `yaml:"unclaimed_is"`
	SnippetPrefix  []string           `yaml:"snippet_prefixes"`
	Index          indexDef           `yaml:"index"`
	Detail         detailDef          `yaml:"detail"`
	Rules          rulesDef           `yaml:"rules"`
}

type urlDef struct {
	Target     scalar `yaml:"target"`
	Search     scalar `yaml:"search"`
	StateIndex scalar `yaml:"state_index"`
}

// markDef is a set of signs on a page: elements, or words in its text or title.
type markDef struct {
	Selectors []scalar `yaml:"selectors"`
	Texts     []string `yaml:"texts"`
	Titles    []string `yaml:"titles"`
}

type cardDef struct {
	Organic   []scalar `yaml:"organic"`
	Sponsored []scalar `yaml:"sponsored"`
	Marks     []scalar `yaml:"sponsored_marks"`
}

// indexDef is what a source's state indexes look like.
type indexDef struct {
	Letters scalar   `yaml:"letters"`
	Cities  []scalar `yaml:"cities"`
	Path    scalar   `yaml:"path"`
	Not     scalar   `yaml:"not"`
	Frame   markDef  `yaml:"frame"`
}

// detailDef is what detail pages look like.
type detailDef struct {
	Path    scalar              `yaml:"path"`
	IDs     scalar              `yaml:"ids"` // page or url: of structured sources, see compileOwnPages
	Regions []scalar            `yaml:"regions"`
	Marks   markDef             `yaml:"marks"`
	Others  []scalar            `yaml:"others"`
	Info    []scalar            `yaml:"info"`
	Hours   []scalar            `yaml:"hours"`
	Labels  map[string][]string `yaml:"labels"`
	Fields  map[string]ruleSet  `yaml:"fields"`
}

// rulesDef is what a listing must be to be promoted.
type rulesDef struct {
	Required []scalar             `yaml:"required"`
	Formats  map[string]formatDef `yaml:"formats"`
}

// scalar is a text that knows its line.
type scalar struct {
	text string
	line int
}

// UnmarshalYAML reads a scalar.
func (s *scalar) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: want a text", n.Line)
	}
	*s = scalar{n.Value, n.Line}
	return nil
}

// ruleDef is a rule: a selector alone, or a mapping.
type ruleDef struct {
	CSS   scalar `yaml:"css"`
	Attr  scalar `yaml:"attr"`
	JSON  scalar `yaml:"json"`
	Match scalar `yaml:"match"`
	Own   bool   `yaml:"own_text"`
	line  int
}

// UnmarshalYAML reads a rule in either form.
func (r *ruleDef) UnmarshalYAML(n *yaml.Node) error {
	type plain ruleDef
	p := plain{line: n.Line}
	err := eitherForm(n, &p.CSS, &p, "selector", "css", "attr", "json", "match", "own_text")
	*r = ruleDef(p)
	return err
}

// formatDef is a regular expression alone, or a mapping.
type formatDef struct {
	Match scalar `yaml:"match"`
	Not   scalar `yaml:"not"`
	Max   int    `yaml:"max"`
	Kind  scalar `yaml:"kind"`
	line  int
}

// UnmarshalYAML reads a format in either form.
func (d *formatDef) UnmarshalYAML(n *yaml.Node) error {
	type plain formatDef
	p := plain{line: n.Line}
	err := eitherForm(n, &p.Match, &p, "regular expression", "match", "not", "max", "kind")
	*d = formatDef(p)
	return err
}

// eitherForm reads a text alone, or a mapping with no keys but those known: decoding by
// hand loses yaml's own check for that.
func eitherForm(n *yaml.Node, text *scalar, mapping any, what string, known ...string) error {
	if n.Kind == yaml.ScalarNode {
		*text = scalar{n.Value, n.Line}
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a %s or a mapping of %s", n.Line, what, strings.Join(known, ", "))
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: field %s not found in a rule: want one of %v", key.Line, key.Value, known)
		}
	}
	return n.Decode(mapping)
}

// ruleSet is one rule or a list of them.
type ruleSet []ruleDef

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
	f := &faults{name: name, fields: map[int]string{}}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, f, f.fromYAML(err)
	}
	f.index(&root, "")
	def := &definition{}
	if base := topLevel(&root, "extends"); base != nil {
		text, err := builtinYAML(base.Value)
		if err != nil {
			return nil, f, &DefinitionError{Name: name, Line: base.Line, Field: "extends", Err: err}
		}
		if def, _, err = decode(base.Value, text); err != nil {
			return nil, f, err
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(def); err != nil && !errors.Is(err, io.EOF) {
		return nil, f, f.fromYAML(err)
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, f, &DefinitionError{Name: name, Err: errors.New("want one YAML document")}
	}
	return def, f, nil
}

// topLevel returns the value of a top-level key, or nil.
func topLevel(root *yaml.Node, key string) *yaml.Node {
	if len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	m := root.Content[0].Content
	for i := 0; i+1 < len(m); i += 2 {
		if m[i].Value == key {
			return m[i+1]
		}
	}
	return nil
}

// faults gathers what is wrong with a definition. It knows which field stands
// on which line.
type faults struct {
	name   string
	fields map[int]string
	errs   []error
}

// index notes the path of every key and list item by line.
func (f *faults) index(n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			f.index(c, path)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			p := strings.TrimPrefix(path+"."+n.Content[i].Value, ".")
			f.note(n.Content[i].Line, p)
			f.index(n.Content[i+1], p)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			p := fmt.Sprintf("%s[%d]", path, i)
			f.note(c.Line, p)
			f.index(c, p)
		}
	}
}

// note gives a line its field; of several on one line the outermost counts.
func (f *faults) note(line int, path string) {
	if _, ok := f.fields[line]; !ok {
		f.fields[line] = path
	}
}

func (f *faults) add(line int, field string, err error) {
	if err == nil {
		return
	}
	if at := f.fields[line]; at != "" && line > 0 {
		field = at
	}
	f.errs = append(f.errs, &DefinitionError{Name: f.name, Line: line, Field: field, Err: err})
}

// lineOf returns the line of a field, or 0.
func (f *faults) lineOf(path string) int {
	for line, p := range f.fields {
		if p == path {
			return line
		}
	}
	return 0
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (?s:(.*))$`)

// fromYAML turns yaml's errors into ours.
func (f *faults) fromYAML(err error) error {
	msgs := []string{err.Error()}
	var typeErr *yaml.TypeError
	if errors.As(err, &typeErr) {
		msgs = typeErr.Errors
	}
	for _, msg := range msgs {
		m := yamlLine.FindStringSubmatch(msg)
		if m == nil {
			f.add(0, "", errors.New(strings.TrimPrefix(msg, "yaml: ")))
			continue
		}
		line, _ := strconv.Atoi(m[1])
		f.add(line, "", errors.New(unknownField.ReplaceAllString(m[2], `unknown field "$1"`)))
	}
	return errors.Join(f.errs...)
}

var unknownField = regexp.MustCompile(`^field (\S+) not found in (?:type \S+|a rule)`)
