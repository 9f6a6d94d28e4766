package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// Settings come from flags, then from YPCRAWL_* variables, then from a YAML
// file, then from defaults. The file's keys are flag names; the name of a
// command opens a section that holds for that command only:
//
//	db: yp.db
//	states: [CA, TX]
//	progress:
//	  every: 10s
//
// Which commands a setting outside of a section reaches stands in settingnames.go.

// configFlag names the settings file.
const configFlag = "config"

// maxConfig bounds the settings file: a wrong path may name anything.
const maxConfig = 1 << 20

// ApplyConfig sets the flags of c's command that neither the command line nor
// the environment has set from the YAML file at path. A file that is not there
// is an error only when explicit is set. The whole file is checked, sections
// of other commands too: an unknown key, a key given twice or a value of the
// wrong shape is a UsageError with file and line.
func ApplyConfig(c *cli.Context, path string, explicit bool) error {
	root, err := readConfig(path, explicit)
	if err != nil || root == nil {
		return err
	}
	r := &configReader{path: path, c: c, command: commandPath(c)}
	if err := r.read(root); err != nil {
		return err
	}
	for _, name := range r.order {
		if err := r.apply(name); err != nil {
			return err
		}
	}
	return nil
}

// readConfig returns the file's top mapping, nil when there is nothing in it.
func readConfig(path string, explicit bool) (*yaml.Node, error) {
	data, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) && !explicit {
		return nil, nil
	}
	if err != nil {
		return nil, Usagef("read settings: %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, Usagef("%s: no valid YAML: %w", path, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Usagef("%s: a second document (after ---) is not read; keep one", path)
	}
	root := unalias(doc.Content[0])
	if isNull(root) {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, Usagef("%s:%d: want lines of the form key: value", path, root.Line)
	}
	return root, nil
}

func readBounded(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = fmt.Errorf("%s is larger than 1 MiB: no settings file", path)
	}
	return data, err
}

// openRegular opens a file that was named. A pipe or a device is refused before it is
// opened: that may wait for ever, deaf to every signal, or never come to an end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file", path)
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a pipe or a device: name a regular file", path)
	}
	return os.Open(path)
}

// commandPath lists the names of c's command and its parents, outermost first.
func commandPath(c *cli.Context) []string {
	path := []string{}
	for _, up := range c.Lineage() {
		if up.Command != nil && up.App != nil && up.Command.HelpName != up.App.HelpName {
			path = append(path, up.Command.Name)
		}
	}
	slices.Reverse(path)
	return path
}
