package site

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"ypcrawl/yp"
)

// maxNodes bounds the keys and values of a definition: an alias may repeat a list a thousand times.
const maxNodes = 100_000

// position is where something stands in a file, from 1.
type position struct{ line, column int }

// faults gathers what is wrong with a definition. It knows where each of its keys stands.
type faults struct {
	name    string
	at      map[string]position // of the keys and items of lists that the file has, by their path: "fields.phone[1]"
	nodes   int
	missing []string // paths of keys
	errs    []error
}

// shape checks that a node has the form that the definition wants at a path, and notes the places of all that it holds.
func (f *faults) shape(n *yaml.Node, want reflect.Type, path string) {
	if f.nodes++; f.nodes > maxNodes {
		if f.nodes == maxNodes+1 {
			f.errs = append(f.errs, &DefinitionError{Name: f.name, Err: fmt.Errorf("more than %d keys and values, those of aliases included: want a smaller definition", maxNodes)})
		}
		return
	}
	if path != "" {
		f.at[path] = position{n.Line, n.Column}
	}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if n.ShortTag() == "!!null" {
		if strings.HasSuffix(path, "]") {
			f.add(path, errEmpty)
		}
		return
	}
	inner := want
	switch want {
	case reflect.TypeFor[ruleSet]():
		if n.Kind != yaml.SequenceNode {
			f.shape(n, want.Elem(), path)
			return
		}
	case reflect.TypeFor[structuredDef]():
		if inner = reflect.TypeFor[struct{ Forms, Types []string }](); n.Kind == yaml.ScalarNode {
			inner = reflect.TypeFor[bool]()
		}
	case reflect.TypeFor[ruleDef](), reflect.TypeFor[formatDef]():
		if n.Kind == yaml.ScalarNode {
			inner = reflect.TypeFor[string]()
		}
	}
	switch {
	case inner.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		f.keys(n, inner, path)
	case inner.Kind() == reflect.Map && n.Kind == yaml.MappingNode:
		for key, value := range pairs(n) {
			f.entry(key, value, inner.Elem(), path+"."+key.Value)
		}
	case inner.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			f.shape(item, inner.Elem(), itemPath(path, i))
		}
	case n.Kind == yaml.ScalarNode && n.Decode(reflect.New(inner).Interface()) == nil:
	default:
		f.add(path, fmt.Errorf("got %s, want %s%s", said(n), wanted(want), example(path)))
	}
}

// keys checks a mapping that knows which keys it may have.
func (f *faults) keys(n *yaml.Node, want reflect.Type, path string) {
	known := keysOf(want)
	for key, value := range pairs(n) {
		if key.ShortTag() == "!!merge" {
			values := []*yaml.Node{value}
			if value.Kind == yaml.SequenceNode {
				values = value.Content
			}
			for _, v := range values {
				f.shape(v, want, path)
			}
			continue
		}
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		i := slices.Index(known, key.Value)
		if i < 0 {
			f.at[at] = position{key.Line, key.Column}
			f.add(at, unknown("key", key.Value, known))
			continue
		}
		f.entry(key, value, want.Field(i).Type, at)
		if value.Kind == yaml.MappingNode || value.Kind == yaml.SequenceNode {
			f.at[at] = position{key.Line, key.Column}
		}
	}
}

// errEmpty says that an item of a list, or a key, has no value but a comment.
var errEmpty = errors.New("is empty: a # begins a comment; put quotes around a value that begins with #")

// entry checks the value of a key.
func (f *faults) entry(key, value *yaml.Node, want reflect.Type, path string) {
	f.shape(value, want, path)
	if c := key.LineComment; value.ShortTag() == "!!null" && len(c) > 1 && c[1] != ' ' {
		f.add(path, errEmpty)
	}
}

// keysOf returns the keys of a mapping, in the order of the fields of its type.
func keysOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("yaml")
		if name == "" {
			name = strings.ToLower(t.Field(i).Name)
		}
		names = append(names, name)
	}
	return names
}

// pairs yields the keys of a mapping with their values.
func pairs(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// itemPath is the path of an item of a list.
func itemPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// said names what stands in a definition.
func said(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", yp.Clip(n.Value, 40))
}

// wanted names what a definition wants of a type.
func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[structuredDef]():
		return "true or a mapping of forms, types"
	case reflect.TypeFor[ruleDef]():
		return "a selector or a mapping of " + strings.Join(keysOf(t), ", ")
	case reflect.TypeFor[formatDef]():
		return "a regular expression or a mapping of " + strings.Join(keysOf(t), ", ")
	}
	switch t.Kind() {
	case reflect.Int:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "a mapping of " + strings.Join(keysOf(t), ", ")
	case reflect.Map:
		return "a mapping of names"
	}
	return "a text"
}

// examples is the built-in definition that explains every key.
var examples = sync.OnceValue(func() *yaml.Node {
	var root yaml.Node
	if text, err := builtinYAML("yellowpages"); err != nil || yaml.Unmarshal(text, &root) != nil {
		panic("the definition of yellowpages can't be read") // it is embedded
	}
	return &root
})

// example shows how the built-in definition writes a key, as ", such as `page_cap: 100`"; "" when it has none.
func example(path string) string {
	path, _, _ = strings.Cut(path, "[")
	n := valueAt(examples(), path)
	if n == nil {
		return ""
	}
	key := yaml.Node{Kind: yaml.ScalarNode, Value: path[strings.LastIndexByte(path, '.')+1:]}
	out, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&key, brief(n)}})
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", such as `%s`", strings.TrimSpace(string(out)))
}

// brief is a node on one line: of lists and mappings the first items.
func brief(n *yaml.Node) *yaml.Node {
	short := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style}
	most := 1
	if n.Kind == yaml.MappingNode {
		most = 4 // two keys
	}
	for _, c := range n.Content[:min(len(n.Content), most)] {
		short.Content = append(short.Content, brief(c))
		short.Style = yaml.FlowStyle
	}
	return short
}

// valueAt returns the value of a key by its path, or nil.
func valueAt(root *yaml.Node, path string) *yaml.Node {
	if len(root.Content) == 0 {
		return nil
	}
	n := root.Content[0]
	for name := range strings.SplitSeq(path, ".") {
		var found *yaml.Node
		for key, value := range pairs(n) {
			if key.Value == name && n.Kind == yaml.MappingNode {
				found = value
			}
		}
		if found == nil {
			return nil
		}
		n = found
	}
	return n
}

// find returns the path under which the file has a key or an item of a list: a field with one rule has no list.
func (f *faults) find(path string) (string, position, bool) {
	if at, ok := f.at[path]; ok {
		return path, at, true
	}
	path, _, _ = strings.Cut(path, "[")
	at, ok := f.at[path]
	return path, at, ok
}

// add notes a fault at a path: at what holds it, where the file does not have it.
func (f *faults) add(path string, err error) {
	if err == nil {
		return
	}
	e := &DefinitionError{Name: f.name, Field: path, Err: err}
	for up, ok := path, false; !ok && up != ""; up = up[:max(0, strings.LastIndexByte(up, '.'))] {
		var at position
		if up, at, ok = f.find(up); ok {
			e.Line, e.Column = at.line, at.column
			if strings.HasPrefix(path, up+"[") {
				e.Field = up
			}
		}
	}
	f.errs = append(f.errs, e)
}

// lacks notes that a key which must be there is not.
func (f *faults) lacks(path string) { f.missing = append(f.missing, path) }

// err returns all faults, those of missing keys as one.
func (f *faults) err() error {
	if len(f.missing) > 0 {
		verb := "is"
		if len(f.missing) > 1 {
			verb = "are"
		}
		all := make([]string, len(f.missing))
		for i, path := range f.missing {
			all[i] = path + example(path)
		}
		f.errs = append(f.errs, &DefinitionError{Name: f.name, Err: fmt.Errorf("%s %s missing", strings.Join(all, "; "), verb)})
	}
	return errors.Join(f.errs...)
}

// yamlWords are how messages of yaml begin, each with what is wrong in the words of who writes a definition.
var yamlWords = [...]string{
	"found character that cannot start", "indent with spaces, not with tabs, and put quotes around a value that begins with @, % or `",
	"found a tab character", "indent with spaces, not with tabs",
	"mapping values are not allowed", "a colon is not allowed here: put quotes around a value that holds \": \", and indent all keys of a mapping alike",
	"did not find expected key", "the indent matches no line above, or a quote ends too early",
	"did not find expected '-'", "the indent matches no line above: indent all items of a list alike",
	"did not find expected ',' or ']'", "a list in [ ] is not closed, or lacks a comma",
	"did not find expected ',' or '}'", "a mapping in { } is not closed, or lacks a comma",
	"did not find expected node content", "a value is missing: put quotes around one that begins with #",
	"found unexpected end of stream", "a quote is not closed",
	"found unknown escape character", "put a text with a backslash, such as a regular expression, into single quotes",
	"could not find expected ':'", "a line has no colon: want KEY: VALUE",
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (?s:(.*))$`)

// fromYAML turns yaml's errors into ours.
func (f *faults) fromYAML(err error) error {
	msgs := []string{err.Error()}
	if typeErr, ok := errors.AsType[*yaml.TypeError](err); ok {
		msgs = typeErr.Errors
	}
	for _, msg := range msgs {
		e, text := &DefinitionError{Name: f.name}, strings.TrimPrefix(msg, "yaml: ")
		if m := yamlLine.FindStringSubmatch(msg); m != nil {
			e.Line, _ = strconv.Atoi(m[1])
			text = m[2]
		}
		e.Err = errors.New(text)
		for i := 0; i < len(yamlWords); i += 2 {
			if strings.HasPrefix(text, yamlWords[i]) {
				e.Line = max(e.Line, 1) // yaml names no line where it is the first
				e.Err = fmt.Errorf("%s (YAML: %s)", yamlWords[i+1], text)
				break
			}
		}
		f.errs = append(f.errs, e)
	}
	return errors.Join(f.errs...)
}
