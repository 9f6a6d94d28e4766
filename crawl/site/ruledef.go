package site

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"ypcrawl/yp"
)

// rulesDef is the YAML form of what a listing must be to be promoted.
type rulesDef struct {
	Required []scalar             `yaml:"required"`
	Formats  map[string]formatDef `yaml:"formats"`
}

// formatDef is a regular expression alone, or a mapping.
type formatDef struct {
	Match scalar `yaml:"match"`
	Not   scalar `yaml:"not"`
	Max   int    `yaml:"max"`
	Kind  scalar `yaml:"kind"`
	line  int
}

// UnmarshalYAML reads a format in either form. Like ruleDef's it checks for
// unknown fields itself.
func (d *formatDef) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*d = formatDef{Match: scalar{n.Value, n.Line}, line: n.Line}
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a regular expression or a mapping of match, not, max, kind", n.Line)
	}
	known := []string{"match", "not", "max", "kind"}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: field %s not found in a rule: want one of %v", key.Line, key.Value, known)
		}
	}
	type plain formatDef
	p := plain{line: n.Line}
	if err := n.Decode(&p); err != nil {
		return err
	}
	*d = formatDef(p)
	return nil
}

// compileRules makes the rules for promotion ready.
func (c *compiled) compileRules(f *faults) {
	d, r := &c.def.Rules, &c.rules
	for _, l := range textFields {
		if l.Absent == yp.Refused {
			r.required = append(r.required, l)
		}
	}
	for _, s := range d.Required {
		l, err := textField(s.text)
		f.add(s.line, "rules.required", err)
		if err == nil && !slices.Contains(r.required, l) {
			r.required = append(r.required, l)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Formats)) {
		if _, err := textField(name); err != nil {
			f.add(f.lineOf("rules.formats."+name), "rules.formats."+name, err)
		}
	}
	for _, l := range textFields {
		if def, ok := d.Formats[l.Name]; ok {
			r.formats = append(r.formats, compileFormat(l, &def, "rules.formats."+l.Name, f))
		}
	}
}

func compileFormat(at *yp.ListingField, d *formatDef, path string, f *faults) format {
	out := format{field: at, max: d.Max, kind: d.Kind.text}
	out.match = compileMatch(d.Match, path, f)
	out.not = compileMatch(d.Not, path, f)
	if d.Max < 0 {
		f.add(d.line, path, errors.New("max must not be negative"))
	}
	if out.kind != "" && !slices.Contains(formatKinds, out.kind) {
		f.add(d.Kind.line, path, unknownKind(out.kind))
	}
	return out
}

func compileMatch(s scalar, path string, f *faults) *regexp.Regexp {
	if s.text == "" {
		return nil
	}
	re, err := regexp.Compile(s.text)
	f.add(s.line, path, err)
	return re
}

func unknownKind(kind string) error {
	if near, ok := yp.Nearest(kind, formatKinds); ok {
		return fmt.Errorf("unknown kind %q: did you mean %q?", kind, near)
	}
	return fmt.Errorf("unknown kind %q: want one of %s", kind, strings.Join(formatKinds, ", "))
}
