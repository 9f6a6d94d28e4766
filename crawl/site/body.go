package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// bodyDef is what a request carries: a text, or a YAML mapping or list, which is sent as JSON.
type bodyDef struct{ node *yaml.Node }

// UnmarshalYAML keeps the node: numbers are sent as they are written, and members in their order.
func (d *bodyDef) UnmarshalYAML(n *yaml.Node) error {
	d.node = n
	return nil
}

// A body is filled with what stands for its placeholders.
type body interface {
	// fill appends the body.
	fill(dst []byte, v *values) []byte
	// has reports whether it uses a placeholder.
	has(name string) bool
}

// compile makes the body ready. given is its type as the definition names it, "" = it does not; kind is what it is sent as then.
// Of a fault at says where it is.
func (d *bodyDef) compile(given string, names []string) (b body, kind string, at *yaml.Node, err error) {
	n := d.node
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		c := jsonCompiler{names: names}
		b, err = c.node(n, "", 0)
		return b, typeJSON, c.at, err
	}
	if kind = given; kind == "" {
		kind = typeForm
	}
	parts, err := cutText(n.Value, names)
	if err != nil {
		return nil, "", n, err
	}
	t := textBody{parts: parts, escape: escapeOf(kind), form: kind == typeForm}
	if isJSON(kind) && !json.Valid(t.fill(nil, sampleValues(names))) {
		return nil, "", n, errors.New("the text is not JSON: put placeholders for texts in quotes, write {{ for an opening brace and } for a closing one, or write the body as a YAML mapping, which is sent as JSON")
	}
	return &t, kind, nil, nil
}

// sampleValues have a 1 for each placeholder of a number, and a letter for each other one.
func sampleValues(names []string) *values {
	v := &values{text: map[string]string{}}
	for _, name := range names {
		v.text[name] = "x"
		if slices.Contains(numeric, name) {
			v.text[name] = "1"
		}
	}
	return v
}

// part is a piece of a text: as it stands, or what stands for a placeholder.
type part struct{ text, name string }

var bodyPart = regexp.MustCompile(`\{\{|\$\{([^{}]*)\}|\{([^{}]*)\}|\{`)

// cutText cuts a text into its parts: {{ is a brace, and the name of a secret stays as it stands.
func cutText(text string, names []string) (parts []part, err error) {
	at, plain := 0, ""
	for _, m := range bodyPart.FindAllStringSubmatchIndex(text, -1) {
		plain += text[at:m[0]]
		at = m[1]
		switch whole := text[m[0]:m[1]]; {
		case whole == "{{":
			plain += "{"
		case whole == "{":
			return nil, fmt.Errorf("a brace is not closed in %q: write {{ for a brace", text)
		case m[2] >= 0:
			name, err := secretOf(whole)
			if err != nil {
				return nil, err
			}
			plain += name
		default:
			name := text[m[4]:m[5]]
			if err := checkPlaceholder(name, names); err != nil {
				return nil, err
			}
			if plain != "" {
				parts = append(parts, part{text: plain})
			}
			parts, plain = append(parts, part{name: name}), ""
		}
	}
	if plain += text[at:]; plain != "" {
		parts = append(parts, part{text: plain})
	}
	return parts, nil
}

// textBody is a text with placeholders.
type textBody struct {
	parts  []part
	escape func(string) string // of what stands for a placeholder
	form   bool                // a parameter that holds {cursor} is left out where there is none
}

func (t *textBody) has(name string) bool { return uses(t.parts, name) }

// uses reports whether parts use a placeholder.
func uses(parts []part, name string) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.name == name })
}

// lack reports whether parts use a placeholder that stands for nothing and is optional.
func lack(parts []part, v *values) bool {
	return slices.ContainsFunc(optional, func(name string) bool { return v.text[name] == "" && uses(parts, name) })
}

func (t *textBody) fill(dst []byte, v *values) []byte {
	if t.form {
		return append(dst, t.fillForm(v)...)
	}
	for _, p := range t.parts {
		if dst = append(dst, p.text...); p.name != "" {
			dst = append(dst, t.escape(v.text[p.name])...)
		}
	}
	return dst
}

// fillForm leaves out the parameters that lack what they hold.
func (t *textBody) fillForm(v *values) string {
	const mark = "\x00"
	text := ""
	for _, p := range t.parts {
		switch value := v.text[p.name]; {
		case p.name == "":
			text += p.text
		case value == "" && slices.Contains(optional, p.name):
			text += mark
		default:
			text += t.escape(value)
		}
	}
	params := strings.Split(text, "&")
	return strings.Join(slices.DeleteFunc(params, func(p string) bool { return strings.Contains(p, mark) }), "&")
}

// Bounds of a body: of a YAML text that repeats itself by aliases, too.
const (
	maxBodyDepth = 100
	maxBodyNodes = 10_000
)

// jsonCompiler makes a body of YAML.
type jsonCompiler struct {
	names []string
	nodes int
	at    *yaml.Node // what is wrong
}

// jsonNode is a piece of JSON: one of its fields.
type jsonNode struct {
	members []jsonMember
	items   []body
	object  bool
}

type jsonMember struct {
	key   string // quoted
	value body
}

// fixedJSON is a value without placeholders.
type fixedJSON []byte

func (b fixedJSON) fill(dst []byte, _ *values) []byte { return append(dst, b...) }
func (fixedJSON) has(string) bool                     { return false }

// jsonText is a text with placeholders.
type jsonText struct{ parts []part }

// node compiles the value of a key, which is key.
func (c *jsonCompiler) node(n *yaml.Node, key string, depth int) (body, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.nodes++; depth > maxBodyDepth || c.nodes > maxBodyNodes {
		return nil, c.wrong(n, fmt.Errorf("the body nests deeper than %d levels or has more than %d values", maxBodyDepth, maxBodyNodes))
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.object(n, depth)
	case yaml.SequenceNode:
		list := &jsonNode{}
		for _, item := range n.Content {
			b, err := c.node(item, key, depth+1)
			if err != nil {
				return nil, err
			}
			list.items = append(list.items, b)
		}
		return list, nil
	}
	b, err := c.scalar(n, key)
	if err != nil {
		return nil, c.wrong(n, err)
	}
	return b, nil
}

// wrong notes where in the file a fault of the body is.
func (c *jsonCompiler) wrong(n *yaml.Node, err error) error {
	c.at = n
	return err
}

func (c *jsonCompiler) object(n *yaml.Node, depth int) (body, error) {
	o := &jsonNode{object: true}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		quoted := string(appendJSONString(nil, key.Value))
		switch {
		case key.ShortTag() == "!!merge":
			return nil, c.wrong(key, errors.New("<< can't be a key of a body: write its members out"))
		case key.Kind != yaml.ScalarNode:
			return nil, c.wrong(key, errors.New("a key of a body must be a text"))
		case slices.ContainsFunc(o.members, func(m jsonMember) bool { return m.key == quoted }):
			return nil, c.wrong(key, fmt.Errorf("the key %q is there twice", key.Value))
		}
		value, err := c.node(n.Content[i+1], key.Value, depth+1)
		if err != nil {
			return nil, err
		}
		o.members = append(o.members, jsonMember{quoted, value})
	}
	return o, nil
}

// scalar compiles a value: a number as it is written, where JSON writes it so; a date is a text.
func (c *jsonCompiler) scalar(n *yaml.Node, key string) (body, error) {
	switch n.ShortTag() {
	case "!!null":
		return fixedJSON("null"), nil
	case "!!bool":
		var yes bool
		err := n.Decode(&yes)
		return fixedJSON(fmt.Sprint(yes)), err
	case "!!int", "!!float":
		return jsonNumber(n)
	}
	if key == "query" && c.isGraphQL(n.Value) {
		return c.graphQL(n.Value)
	}
	parts, err := cutText(n.Value, c.names)
	return jsonText{parts}, err
}

// graphQL compiles a text in which braces are text, and the names of secrets alone count.
func (c *jsonCompiler) graphQL(text string) (body, error) {
	text, err := secretsIn(text)
	return fixedJSON(appendJSONString(nil, text)), err
}

var graphQLStart = regexp.MustCompile(`^\s*(\{|(query|mutation|subscription|fragment)\b)`)

// isGraphQL reports whether a text is a document of GraphQL (its specification, 2.1 to 2.3), and not one that begins with a
// placeholder, as those that are searched for do.
func (c *jsonCompiler) isGraphQL(text string) bool {
	first := anyPlaceholder.FindStringSubmatchIndex(text)
	if first != nil && first[0] == 0 && slices.Contains(c.names, text[first[2]:first[3]]) {
		return false
	}
	return graphQLStart.MatchString(text)
}

// octal is a number that YAML counts by eights, and its writer hardly ever.
var octal = regexp.MustCompile(`^[+-]?0[0-9_]+$`)

func jsonNumber(n *yaml.Node) (body, error) {
	if octal.MatchString(n.Value) {
		return nil, fmt.Errorf("%s begins with 0: put it in quotes if it is a text, such as a postal code; otherwise leave out the 0", n.Value)
	}
	if json.Valid([]byte(n.Value)) {
		return fixedJSON(n.Value), nil
	}
	var number any // such as 0x10 or 1_000
	if err := n.Decode(&number); err != nil {
		return nil, err
	}
	text, err := json.Marshal(number)
	if err != nil {
		return nil, fmt.Errorf("%q is not a JSON number", n.Value)
	}
	return fixedJSON(text), nil
}

func (o *jsonNode) has(name string) bool {
	return slices.ContainsFunc(o.items, func(b body) bool { return b.has(name) }) ||
		slices.ContainsFunc(o.members, func(m jsonMember) bool { return m.value.has(name) })
}

// fill leaves out what lacks what it holds.
func (o *jsonNode) fill(dst []byte, v *values) []byte {
	if !o.object {
		dst = append(dst, '[')
		for _, item := range o.items {
			if !lacksPart(item, v) {
				dst = item.fill(separate(dst, '['), v)
			}
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for _, m := range o.members {
		if !lacksPart(m.value, v) {
			dst = append(append(separate(dst, '{'), m.key...), ':')
			dst = m.value.fill(dst, v)
		}
	}
	return append(dst, '}')
}

// separate appends a comma, unless the text ends with what opens its list.
func separate(dst []byte, open byte) []byte {
	if dst[len(dst)-1] == open {
		return dst
	}
	return append(dst, ',')
}

// lacksPart reports whether a value is a text that lacks what it holds.
func lacksPart(b body, v *values) bool {
	t, ok := b.(jsonText)
	return ok && lack(t.parts, v)
}

func (t jsonText) has(name string) bool { return uses(t.parts, name) }

// fill writes a value that is one placeholder of a number as a number, where JSON knows it.
func (t jsonText) fill(dst []byte, v *values) []byte {
	if len(t.parts) == 1 && slices.Contains(numeric, t.parts[0].name) {
		if number := v.text[t.parts[0].name]; isNumber(number) {
			return append(dst, number...)
		}
	}
	dst = append(dst, '"')
	for _, p := range t.parts {
		dst = appendJSONText(dst, p.text)
		dst = appendJSONText(dst, v.text[p.name])
	}
	return append(dst, '"')
}

// isNumber reports whether a text is a number as JSON writes them.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

// appendJSONString appends a text as a string of JSON.
func appendJSONString(dst []byte, s string) []byte {
	return append(appendJSONText(append(dst, '"'), s), '"')
}

// appendJSONText appends a text as it stands within a string of JSON. Bytes that are no UTF-8 become U+FFFD.
func appendJSONText(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ', r == '\u2028', r == '\u2029', r == 0x7f:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
