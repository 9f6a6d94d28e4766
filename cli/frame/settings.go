package frame

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"ypcrawl/yp"
)

// Settings come from flags, then from YPCRAWL_* variables, then from a YAML file, then from defaults. Each has a
// key, which is a flag with its command: "progress every" is YPCRAWL_PROGRESS_EVERY and "progress: {every: 10s}".
// What names no command is the program's or that of its main command, and reaches other commands only where their flag is
// the same as there: an "every" for crawls must not set how often a table is drawn. What is no flag on a command line
// (AsSettings) is the main command's, and holds for every command that has it.
const (
	ConfigFlag = "config" // names the settings file
	EnvPrefix  = "YPCRAWL_"
	// SecretPrefix begins the names of variables that hold secrets of sources, and are no settings.
	SecretPrefix = EnvPrefix + "SECRET_"
)

// SettableFlag is a flag with the keys that set it; the first that is given counts.
type SettableFlag struct {
	cli.Flag
	Command string // "" = the program
	Name    string
	Keys    []string
}

// Settable lists all flags that can be set, those of inner commands behind those of outer ones. A flag is the
// same as one of the main command where its help is; --source and --dry-run are, though their help differs. keys are all
// that the settings may say.
func (a *App) Settable() (all []SettableFlag, keys []string) {
	usage := func(f cli.Flag) string { return f.(cli.DocGenerationFlag).GetUsage() }
	root := a.Root()
	ofRun := map[string]cli.Flag{} // once: the library makes the names of a flag anew each time
	for _, f := range cmp.Or(root.Sub(a.Main), root.Last()).Flags {
		for _, name := range f.Names() {
			ofRun[name] = f
		}
	}
	var walk func(command string, cmd *cli.Command)
	walk = func(command string, cmd *cli.Command) {
		for _, f := range cmd.Flags {
			s := SettableFlag{Flag: f, Command: command, Name: f.Names()[0]}
			s.Keys = []string{strings.TrimSpace(command + " " + s.Name)}
			if IsSetting(f) {
				s.Keys = append(s.Keys, a.Main+" "+s.Name)
			}
			if same := ofRun[s.Name]; same != nil && (usage(same) == usage(f) || s.Name == "source" || s.Name == "dry-run") {
				s.Keys = append(s.Keys, s.Name)
			}
			if s.Name != "help" {
				all, keys = append(all, s), append(keys, s.Keys...)
			}
		}
		for _, sub := range cmd.Subcommands {
			walk(strings.TrimSpace(command+" "+sub.Name), sub)
		}
	}
	walk("", root.Last())
	return all, keys
}

// of reports whether c's command has the flag: it is its own, an outer one's or the program's.
func (f SettableFlag) of(c *cli.Context) bool {
	command := strings.TrimPrefix(c.Command.HelpName, c.App.HelpName+" ")
	return f.Command == "" || strings.HasPrefix(command+" ", f.Command+" ")
}

// set returns the first key of a flag that has values. Several sources are no value of a flag that takes one.
func (f SettableFlag) set(valuesOf func(key string) []string) (key string, values []string) {
	for i, key := range f.Keys {
		values := valuesOf(key)
		list := SplitList(values)
		several := f.Name == "source" && kindOf(f.Flag) == valueFlag && (len(list) > 1 || slices.Contains(list, AllSources))
		empty := len(list) == 0 && (kindOf(f.Flag) != multiFlag || len(values) == 0) // an empty list is refused where it is used
		if !empty && (i == 0 || !several) {
			return key, values
		}
	}
	return "", nil
}

// Variable is the name of the variable that sets a key: YPCRAWL_PROGRESS_EVERY for "progress every".
func Variable(key string) string {
	return EnvPrefix + strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(key))
}

// Variables names for each flag the variable that sets it.
func (a *App) Variables() map[cli.Flag]string {
	flags, _ := a.Settable()
	names := make(map[cli.Flag]string, len(flags))
	for _, f := range flags {
		names[f.Flag] = Variable(f.Keys[len(f.Keys)-1])
	}
	return names
}

// UnknownVariables tells of variables that set nothing. Their values may be secrets and are not shown.
func (a *App) UnknownVariables(environ []string) (complaints []string) {
	_, known := a.Settable()
	for i, key := range known {
		known[i] = Variable(key)
	}
	known = append(known, "YPCRAWL_EVENT", "YPCRAWL_TITLE") // a command of --notify that calls this program has them
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, EnvPrefix) && value != "" && !slices.Contains(known, name) && !strings.HasPrefix(name, SecretPrefix) {
			complaints = append(complaints, fmt.Sprintf("the variable %s has no effect%s", yp.Printable(name), meant(name, known)))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// meant names what is known and has only a command before that name, or the nearest.
func meant(name string, known []string) string {
	bare := strings.TrimPrefix(name, EnvPrefix)
	near, ok := yp.Nearest(name, known)
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasSuffix(k, " "+bare) || strings.HasSuffix(k, "_"+bare) }); i >= 0 {
		near, ok = known[i], true
	}
	if ok {
		return ": did you mean " + near + "?"
	}
	return "; see `ypcrawl help settings`"
}

// setting is what a variable or the file says of one key.
type setting struct {
	values []string
	from   string // FILE:LINE, or the variable
}

// readSettings reads the whole file, sections of other commands too: an unknown key, a key given twice or a
// value of the wrong shape is a UsageError with file and line.
func readSettings(known []string, path string) (found map[string]setting, err error) {
	data, err := ReadBounded(path, "settings file")
	if err != nil {
		return nil, Usagef("read settings: %w", err)
	}
	var doc yaml.Node
	if err := cmp.Or(yaml.Unmarshal(data, new(map[string]any)), yaml.Unmarshal(data, &doc)); err != nil { // the map refuses a key given twice
		return nil, Usagef("%s: %w", path, err)
	}
	found = map[string]setting{}
	for _, root := range doc.Content { // none in an empty file
		if err := readSection(found, known, root, path, ""); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readSection adds the keys of a section and those within.
func readSection(found map[string]setting, known []string, section *yaml.Node, path, prefix string) error {
	for i := 0; i+1 < len(section.Content); i += 2 {
		name, value := prefix+section.Content[i].Value, section.Content[i+1]
		at := fmt.Sprintf("%s:%d", path, section.Content[i].Line)
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		switch inner := slices.ContainsFunc(known, func(key string) bool { return strings.HasPrefix(key, name+" ") }); {
		case value.Kind == yaml.MappingNode:
			if err := readSection(found, known, value, path, name+" "); err != nil {
				return err
			}
			continue
		case inner && value.ShortTag() == "!!null": // a section whose lines are comments, say
			continue
		case name == ConfigFlag || !slices.Contains(known, name):
			known = slices.DeleteFunc(slices.Clone(known), func(key string) bool { return key == ConfigFlag })
			return Usagef("%s: %s: unknown key%s", at, name, meant(name, known))
		case value.Kind == yaml.ScalarNode:
			value = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
		}
		var values []string
		if err := value.Decode(&values); err != nil {
			return Usagef("%s: %s: %w", at, name, err)
		}
		if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(values) == 0 {
			return Usagef("%s: %s: want a value or a list of values; to use the default, remove the line", at, name)
		}
		found[name] = setting{values, at}
	}
	return nil
}

// applySettings sets the flags of c's command that the command line has not set: from their variables, then from the
// settings file. A file that is not there is an error only where somebody has named it.
func (a *App) applySettings(c *cli.Context) error {
	flags, keys := a.Settable()
	variables := map[string]setting{}
	for _, key := range keys {
		if text, there := os.LookupEnv(Variable(key)); there {
			variables[key] = setting{[]string{text}, Variable(key)}
		}
	}
	if err := setAll(c, flags, variables); err != nil {
		return err
	}
	if err := expandHome(c, flags); err != nil { // that of the settings file
		return err
	}
	path := c.String(ConfigFlag)
	if path == "" {
		return nil
	}
	found, err := readSettings(keys, path)
	if errors.Is(err, fs.ErrNotExist) && !c.IsSet(ConfigFlag) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := setAll(c, flags, found); err != nil {
		return err
	}
	return expandHome(c, flags)
}

// setAll sets the flags that c's command has from what was found, unless they are set already.
func setAll(c *cli.Context, flags []SettableFlag, found map[string]setting) error {
	for _, f := range slices.Backward(flags) { // an inner one first: it hides the outer one of its name
		key, values := f.set(func(key string) []string { return found[key].values })
		if key == "" || c.IsSet(f.Name) || !f.of(c) {
			continue
		}
		if len(values) > 1 && kindOf(f.Flag) != multiFlag {
			return Usagef("%s: %s takes one value, not a list", found[key].from, f.Name)
		}
		for _, v := range values {
			if err := c.Set(f.Name, decimal(f.Flag, v)); err != nil {
				return Usagef("%s: %s: invalid value %q: %s", found[key].from, f.Name, v, wanted(f.Flag, err.Error()))
			}
		}
	}
	return nil
}

// settingCategory marks what is set in ypcrawl.yaml or by a variable alone: a crawl has enough flags.
const settingCategory = "ypcrawl.yaml"

// IsSetting reports whether a flag is one of AsSettings.
func IsSetting(f cli.Flag) bool {
	c, ok := f.(cli.CategorizableFlag)
	return ok && c.GetCategory() == settingCategory
}

// AsSettings makes settings of flags: the settings file and variables set them, a command line does not, and help
// does not show them.
func AsSettings(flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		v := reflect.ValueOf(f).Elem()
		v.FieldByName("Category").SetString(settingCategory)
		v.FieldByName("Hidden").SetBool(true)
	}
	return flags
}

// VariableOf is the variable that sets a flag of the command.
func (a *App) VariableOf(c *cli.Context, name string) string {
	variables := a.Variables()
	for _, f := range slices.Concat(c.Command.Flags, c.App.Flags) {
		if slices.Contains(f.Names(), name) {
			return variables[f]
		}
	}
	return Variable(name)
}

// FromEnvironment names the variables that say something of this command, and that no flag overrules. What the settings file says
// stays where it is.
func (a *App) FromEnvironment(c *cli.Context, args []string) (names []string) {
	flags, _ := a.Settable()
	typed := map[string]bool{}
	for _, word := range args {
		if IsFlag(word) {
			name, _, _ := SplitFlag(word)
			typed[name] = true
		}
	}
	for _, f := range flags {
		ours := f.Command == "" || f.Command == c.Command.Name
		if !ours || slices.ContainsFunc(f.Flag.Names(), func(n string) bool { return typed[n] }) {
			continue
		}
		for _, key := range f.Keys {
			if os.Getenv(Variable(key)) != "" {
				names = append(names, yp.Printable(Variable(key)))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
