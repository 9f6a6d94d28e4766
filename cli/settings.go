package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"ypcrawl/yp"
)

// Settings come from flags, then from YPCRAWL_* variables, then from a YAML
// file, then from defaults. The file's keys are flag names; the name of a
// command opens a section that holds for that command only:
//
//	db: yp.db
//	states: [CA, TX]
//	progress:
//	  every: 10s
//
// A setting that names its command is that command's alone: "every" above, or the variable
// YPCRAWL_PROGRESS_EVERY. One that names none is the program's or that of `run`, and reaches
// other commands only where their flag is the same as run's: an "every" for crawls must not set
// how often a table is drawn, nor the "limit" of a list how much is fetched.

const (
	configFlag  = "config" // names the settings file
	envPrefix   = "YPCRAWL_"
	mainCommand = "run" // whose flags are set without its name, too
)

// setFlag is a flag as settings name it.
type setFlag struct {
	cli.Flag
	command string // that declares it: "wal read"; "" = the program
	name    string
	shared  bool // the same flag as one of `run`
}

// variable is the environment variable of a flag, with or without its command.
func variable(command, name string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(command+" "+name)))
}

// isIn reports whether a command is the one that outer names, or one below it.
func isIn(command, outer string) bool {
	return outer == "" || command == outer || strings.HasPrefix(command, outer+" ")
}

// flagsOf lists all flags that can be set. A flag is the same as one of `run` where its help is;
// --source and --dry-run are, though their help differs.
func flagsOf(app *cli.App) (all []setFlag) {
	about := map[string]string{}
	usage := func(f cli.Flag) string { return f.(cli.DocGenerationFlag).GetUsage() }
	if run := (commandPath{rootOf(app)}).sub(mainCommand); run != nil {
		for _, f := range run.Flags {
			about[f.Names()[0]] = usage(f)
		}
	}
	var walk func(command string, flags []cli.Flag, subs []*cli.Command)
	walk = func(command string, flags []cli.Flag, subs []*cli.Command) {
		for _, f := range flags {
			name := f.Names()[0]
			text, there := about[name]
			same := there && (text == usage(f) || name == "source" || name == "dry-run")
			all = append(all, setFlag{Flag: f, command: command, name: name, shared: same})
		}
		for _, sub := range subs {
			walk(strings.TrimSpace(command+" "+sub.Name), sub.Flags, sub.Subcommands)
		}
	}
	walk("", app.Flags, app.Commands)
	return slices.DeleteFunc(all, func(f setFlag) bool { return f.name == "help" })
}

// setEnvVars gives every flag its variable: --wal-dir reads YPCRAWL_WAL_DIR. Of the two
// that a flag of `run` has, the longer one is taken where it is set.
func setEnvVars(app *cli.App) {
	for _, f := range flagsOf(app) {
		use := variable(f.command, f.name)
		if os.Getenv(use) == "" && f.shared { // an empty one sets nothing
			use = variable("", f.name)
		}
		reflect.ValueOf(f.Flag).Elem().FieldByName("EnvVars").Set(reflect.ValueOf([]string{use}))
	}
}

// unknownVariables tells of variables that set nothing. Their values may be secrets and
// are not shown.
func unknownVariables(app *cli.App, environ []string) (complaints []string) {
	var known []string
	unnamed, aliases := map[string][]string{}, map[string]string{}
	for _, f := range flagsOf(app) {
		own, short := variable(f.command, f.name), variable("", f.name)
		known = append(known, own)
		if f.shared {
			known = append(known, short)
		}
		unnamed[short] = append(unnamed[short], own)
		for _, alias := range f.Names()[1:] {
			aliases[variable(f.command, alias)] = own
		}
	}
	slices.Sort(known)
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if name == "YPCRAWL_EVENT" || name == "YPCRAWL_TITLE" { // a command of --notify that calls this program has them
			continue
		}
		if !strings.HasPrefix(name, envPrefix) || value == "" || slices.Contains(known, name) {
			continue
		}
		hint := "no flag has that name, see --help"
		if own := unnamed[name]; len(own) > 0 {
			hint = "it does not say for which command: did you mean " + strings.Join(own[:min(len(own), 3)], ", ") + "?"
		} else if own, ok := aliases[name]; ok {
			hint = "a variable has the long name of its flag: " + own
		} else if near, ok := yp.Nearest(name, known); ok {
			hint = "did you mean " + near + "?"
		}
		complaints = append(complaints, fmt.Sprintf("the variable %s sets nothing: %s", yp.Printable(name), hint))
	}
	slices.Sort(complaints)
	return complaints
}

// setting is what the file says of one flag in one section.
type setting struct {
	key     *yaml.Node
	section string // the command that it names
	values  []string
	list    bool // written as a list
}

// settings are those of the file that may hold for a command, those of the longest section first.
type settings struct {
	path    string
	flags   []setFlag
	command string
	found   []setting
}

// applySettings sets the flags of c's command that neither the command line nor
// the environment has set from the YAML file at path. A file that is not there
// is an error only when explicit is set.
func applySettings(c *cli.Context, path string, explicit bool) error {
	s, err := readSettings(c.App, path, strings.TrimPrefix(c.Command.HelpName, c.App.HelpName+" "), explicit)
	if err != nil {
		return err
	}
	for _, x := range s.found {
		f, ok := s.reached(x)
		if !ok || c.IsSet(f.name) {
			continue
		}
		if x.list && kindOf(f.Flag) != multiFlag {
			return s.errorf(x.key, "%s takes one value, not a list", f.name)
		}
		for _, v := range x.values {
			if err := c.Set(f.name, v); err != nil {
				return s.errorf(x.key, "%s: invalid value %q: %s", f.name, v, wanted(f.Flag, err.Error()))
			}
		}
	}
	return nil
}

// reached returns the flag that a setting is for, which is the innermost that the command knows
// by that name.
func (s *settings) reached(x setting) (f setFlag, ok bool) {
	for _, g := range s.flags { // inner commands come behind outer ones
		if g.name == x.key.Value && isIn(s.command, g.command) {
			f = g
		}
	}
	return f, f.Flag != nil && (isIn(x.section, f.command) || x.section == "" && f.shared)
}

// readSettings reads the whole file, sections of other commands too: an unknown key, a key
// given twice or a value of the wrong shape is a UsageError with file and line.
func readSettings(app *cli.App, path, command string, explicit bool) (*settings, error) {
	s := &settings{path: path, flags: flagsOf(app), command: command}
	data, err := readBounded(path, "settings file")
	if errors.Is(err, fs.ErrNotExist) && !explicit {
		return s, nil
	}
	if err != nil {
		return nil, Usagef("read settings: %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return s, nil
	} else if err != nil {
		return nil, Usagef("%s: no valid YAML: %w", path, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Usagef("%s: a second document (after ---) is not read; keep one", path)
	}
	root := unalias(doc.Content[0])
	if root.Kind != yaml.MappingNode && !isNull(root) {
		return nil, s.errorf(root, "want lines of the form key: value")
	}
	err = s.read(root, "", commandPath{rootOf(app)})
	slices.SortStableFunc(s.found, func(a, b setting) int { return len(b.section) - len(a.section) })
	return s, err
}

// read reads the mapping of a command. It may hold the flags of that command and of those above
// it, and a section for each of its subcommands; the top of the file holds the flags of `run` too.
func (s *settings) read(node *yaml.Node, section string, at commandPath) error {
	var known []string
	for _, f := range s.flags {
		if f.name != configFlag && (isIn(section, f.command) || section == "" && f.command == mainCommand) {
			known = append(known, f.name)
		}
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], unalias(node.Content[i+1])
		if seen[key.Value] {
			return s.errorf(key, "%q is given twice; keep one", key.Value)
		}
		seen[key.Value] = true
		if sub := at.sub(key.Value); sub != nil && sub.Name == key.Value && (value.Kind == yaml.MappingNode || isNull(value)) {
			if err := s.read(value, strings.TrimSpace(section+" "+sub.Name), append(at[:len(at):len(at)], sub)); err != nil {
				return err
			}
			continue
		}
		if !slices.Contains(known, key.Value) {
			return s.unknown(key, known, at)
		}
		x := setting{key: key, section: section, list: value.Kind == yaml.SequenceNode}
		switch {
		case isPlain(value):
			x.values = []string{value.Value}
		case !x.list || len(value.Content) == 0:
			return s.errorf(key, "%s: want a value or a list of values; remove the line for the default", key.Value)
		}
		for _, item := range value.Content {
			if item = unalias(item); !isPlain(item) {
				return s.errorf(key, "%s: a list may hold plain values only", key.Value)
			}
			x.values = append(x.values, item.Value)
		}
		if isIn(s.command, section) {
			s.found = append(s.found, x)
		}
	}
	return nil
}

// unknown tells where a key belongs, or which is nearest.
func (s *settings) unknown(key *yaml.Node, known []string, at commandPath) error {
	var owners []string
	for _, f := range s.flags {
		if f.name == key.Value && f.command != "" {
			owners = append(owners, f.command)
		}
	}
	if len(owners) > 0 {
		words := append(strings.Fields(owners[0]), key.Value)
		line := strings.Join(words, ": {") + ": ..." + strings.Repeat("}", len(words)-1)
		const few = 3
		text := "`" + strings.Join(owners[:min(len(owners), few)], "`, `") + "`"
		if more := len(owners) - few; more > 0 {
			text += fmt.Sprintf(", %d more", more)
		}
		return s.errorf(key, "%q is a flag of %s: write it into the section of its command, %s", key.Value, text, line)
	}
	for _, cmd := range at.last().Subcommands {
		known = append(known, cmd.Name)
	}
	slices.Sort(known)
	if near, ok := yp.Nearest(key.Value, known); ok {
		return s.errorf(key, "unknown key %q: did you mean %q?", key.Value, near)
	}
	return s.errorf(key, "unknown key %q: keys are the names of flags, see --help", key.Value)
}

func (s *settings) errorf(at *yaml.Node, format string, args ...any) error {
	return Usagef("%s:%d: "+format, append([]any{s.path, at.Line}, args...)...)
}

// unalias follows a YAML alias.
func unalias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isPlain(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && !isNull(n) }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
