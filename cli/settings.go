package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"ypcrawl/yp"
)

// scope is what a section of the settings file may hold.
type scope struct {
	flags []string
	subs  map[string]func() scope
}

// appScope is the top of the file: the flags of the program and those of `run`, and a
// section a command.
func appScope(app *cli.App) scope {
	s := newScope(nil, app.Flags, app.Commands)
	for _, f := range mainFlags(app) {
		s.flags = addSetting(s.flags, f.Names()[0])
	}
	return s
}

// newScope is the section of a command. The flags of outer commands (global)
// may stand in it too.
func newScope(global []string, flags []cli.Flag, cmds []*cli.Command) scope {
	s := scope{flags: slices.Clone(global), subs: map[string]func() scope{}}
	for _, name := range longNames(flags) {
		s.flags = addSetting(s.flags, name)
	}
	outer := s.flags
	for _, cmd := range cmds {
		s.subs[cmd.Name] = func() scope { return newScope(outer, cmd.Flags, cmd.Subcommands) }
	}
	return s
}

// addSetting adds a flag's name, unless it is there or makes no sense in the
// file.
func addSetting(names []string, name string) []string {
	if name == configFlag || name == "help" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// names lists all valid keys.
func (s scope) names() []string {
	names := slices.Clone(s.flags)
	for name := range s.subs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// setting is what the file says of one flag.
type setting struct {
	key    *yaml.Node
	values []string
	list   bool // written as a list
}

// configReader collects the settings that hold for one command.
type configReader struct {
	path    string // of the file
	c       *cli.Context
	command []string           // the way to the command
	found   map[string]setting // the innermost section wins
	order   []string           // names in the order of the file
}

func newConfigReader(path string, c *cli.Context, command []string) *configReader {
	return &configReader{path: path, c: c, command: command, found: map[string]setting{}}
}

// read reads the whole file.
func (r *configReader) read(root *yaml.Node) error {
	return r.section(root, appScope(r.c.App), r.command)
}

// section reads a mapping. active is what is left of the way to the running
// command, nil in sections that are only checked.
func (r *configReader) section(node *yaml.Node, s scope, active []string) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], unalias(node.Content[i+1])
		if seen[key.Value] {
			return r.errorf(key, "%q is given twice; keep one", key.Value)
		}
		seen[key.Value] = true
		if err := r.entry(key, value, s, active); err != nil {
			return err
		}
	}
	return r.inner(node, s, active)
}

// entry reads a flag's value or checks a section of another command.
func (r *configReader) entry(key, value *yaml.Node, s scope, active []string) error {
	sub, isSection := s.subs[key.Value]
	if isSection && (value.Kind == yaml.MappingNode || isNull(value)) {
		if len(active) > 0 && active[0] == key.Value {
			return nil // read by inner, after everything it overrides
		}
		return r.section(value, sub(), nil)
	}
	if !slices.Contains(s.flags, key.Value) {
		return r.unknown(key, s)
	}
	values, err := r.values(key, value)
	if err != nil || active == nil || !reaches(r.c.App, r.command, len(r.command)-len(active), key.Value) {
		return err
	}
	r.keep(setting{key: key, values: values, list: value.Kind == yaml.SequenceNode})
	return nil
}

// inner reads the section of the running command last.
func (r *configReader) inner(node *yaml.Node, s scope, active []string) error {
	if len(active) == 0 {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := unalias(node.Content[i+1])
		if sub, ok := s.subs[active[0]]; ok && node.Content[i].Value == active[0] && value.Kind == yaml.MappingNode {
			return r.section(value, sub(), append([]string{}, active[1:]...))
		}
	}
	return nil
}

func (r *configReader) keep(s setting) {
	if _, ok := r.found[s.key.Value]; !ok {
		r.order = append(r.order, s.key.Value)
	}
	r.found[s.key.Value] = s
}

func (r *configReader) unknown(key *yaml.Node, s scope) error {
	if owners := ownersOf(r.c.App, key.Value); len(owners) > 0 {
		return r.errorf(key, "%q is a flag of %s: write it into the section of its command, %s", key.Value, someOf(owners), asSection(owners[0], key.Value))
	}
	if near, ok := yp.Nearest(key.Value, s.names()); ok {
		return r.errorf(key, "unknown key %q: did you mean %q?", key.Value, near)
	}
	return r.errorf(key, "unknown key %q: keys are the names of flags, see --help", key.Value)
}

// values returns a plain value, or the items of a list.
func (r *configReader) values(key, value *yaml.Node) ([]string, error) {
	if value.Kind == yaml.ScalarNode && !isNull(value) {
		return []string{value.Value}, nil
	}
	if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
		return nil, r.errorf(key, "%s: want a value or a list of values; remove the line for the default", key.Value)
	}
	var values []string
	for _, item := range value.Content {
		if item = unalias(item); item.Kind != yaml.ScalarNode || isNull(item) {
			return nil, r.errorf(key, "%s: a list may hold plain values only", key.Value)
		}
		values = append(values, item.Value)
	}
	return values, nil
}

// apply sets one flag unless the user has.
func (r *configReader) apply(name string) error {
	f, _ := flagOf(r.c.App, r.command, name)
	if f == nil || r.c.IsSet(name) {
		return nil
	}
	s := r.found[name]
	if s.list && kindOf(f) != multiFlag {
		return r.errorf(s.key, "%s takes one value, no list", name)
	}
	for _, v := range s.values {
		if err := r.c.Set(name, v); err != nil {
			return r.errorf(s.key, "%s: invalid value %q: %w", name, v, err)
		}
	}
	return nil
}

func (r *configReader) errorf(at *yaml.Node, format string, args ...any) error {
	return Usagef("%s:%d: "+format, append([]any{r.path, at.Line}, args...)...)
}

// unalias follows a YAML alias.
func unalias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && strings.TrimPrefix(n.ShortTag(), "!!") == "null"
}
