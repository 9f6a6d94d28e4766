package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"ypcrawl/yp"
)

// setting is what the file says of one flag.
type setting struct {
	key    *yaml.Node
	values []string
	list   bool // written as a list
	depth  int  // how many words name its section
}

// configReader collects the settings that hold for one command.
type configReader struct {
	path    string // of the file
	c       *cli.Context
	command []string           // the way to the command
	found   map[string]setting // the innermost section wins
	order   []string           // names in the order of the file
}

// read reads the whole file.
func (r *configReader) read(root *yaml.Node) error {
	r.found = map[string]setting{}
	return r.section(root, nil, longNames(r.c.App.Flags), r.c.App.Commands)
}

// section reads the mapping of the command that the words of at name. It may hold the flags
// of that command and of those above it, and a section for each of its subcommands; the top
// of the file holds the flags of `run` too.
func (r *configReader) section(node *yaml.Node, at, flags []string, cmds []*cli.Command) error {
	known := slices.Clone(flags)
	if len(at) == 0 {
		known = append(known, longNames(mainFlags(r.c.App))...)
	}
	known = slices.DeleteFunc(known, func(name string) bool { return name == configFlag || name == "help" })
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], unalias(node.Content[i+1])
		if seen[key.Value] {
			return r.errorf(key, "%q is given twice; keep one", key.Value)
		}
		seen[key.Value] = true
		var err error
		sub := slices.IndexFunc(cmds, func(cmd *cli.Command) bool { return cmd.Name == key.Value })
		switch {
		case sub >= 0 && (value.Kind == yaml.MappingNode || isNull(value)):
			err = r.section(value, append(slices.Clone(at), key.Value), slices.Concat(flags, longNames(cmds[sub].Flags)), cmds[sub].Subcommands)
		case !slices.Contains(known, key.Value):
			for _, cmd := range cmds {
				known = append(known, cmd.Name)
			}
			err = r.unknown(key, known)
		default:
			err = r.keep(key, value, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep takes a flag's value if its section is for the command.
func (r *configReader) keep(key, value *yaml.Node, at []string) error {
	values, err := r.values(key, value)
	depth, name := len(at), key.Value
	if err != nil || depth > len(r.command) || !slices.Equal(at, r.command[:depth]) || !reaches(r.c.App, r.command, depth, name) {
		return err
	}
	old, twice := r.found[name]
	if !twice {
		r.order = append(r.order, name)
	}
	if !twice || old.depth <= depth {
		r.found[name] = setting{key: key, values: values, list: value.Kind == yaml.SequenceNode, depth: depth}
	}
	return nil
}

func (r *configReader) unknown(key *yaml.Node, known []string) error {
	if owners := ownersOf(r.c.App, key.Value); len(owners) > 0 {
		return r.errorf(key, "%q is a flag of %s: write it into the section of its command, %s", key.Value, someOf(owners), asSection(owners[0], key.Value))
	}
	slices.Sort(known)
	if near, ok := yp.Nearest(key.Value, known); ok {
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
