package cli

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
// What names no command is the program's or that of `run`, and reaches other commands only where their flag is the
// same as run's: an "every" for crawls must not set how often a table is drawn. What is no flag on a command line
// (settingFlags) is run's, and holds for every command that crawls.
const (
	configFlag  = "config" // names the settings file
	envPrefix   = "YPCRAWL_"
	mainCommand = "run"
)

// setFlag is a flag with the keys that set it; the first that is given counts.
type setFlag struct {
	cli.Flag
	command, name string
	keys          []string
}

// flagsOf lists all flags that can be set, those of inner commands behind those of outer ones. A flag is the
// same as one of `run` where its help is; --source and --dry-run are, though their help differs.
func flagsOf(app *cli.App) (all []setFlag, keys []string) {
	usage := func(f cli.Flag) string { return f.(cli.DocGenerationFlag).GetUsage() }
	root := commandPath{rootOf(app)}
	ofRun := append(root, cmp.Or(root.sub(mainCommand), root.last()))
	var walk func(command string, cmd *cli.Command)
	walk = func(command string, cmd *cli.Command) {
		for _, f := range cmd.Flags {
			s := setFlag{f, command, f.Names()[0], nil}
			s.keys = []string{strings.TrimSpace(command + " " + s.name)}
			if isSetting(f) {
				s.keys = append(s.keys, mainCommand+" "+s.name)
			}
			if same, depth := ofRun.flag(s.name); depth == 1 && same != nil && (usage(same) == usage(f) || s.name == "source" || s.name == "dry-run") {
				s.keys = append(s.keys, s.name)
			}
			if s.name != "help" {
				all, keys = append(all, s), append(keys, s.keys...)
			}
		}
		for _, sub := range cmd.Subcommands {
			walk(strings.TrimSpace(command+" "+sub.Name), sub)
		}
	}
	walk("", root.last())
	return all, keys
}

// set returns the first key of a flag that has values. Several sources are no value of a flag that takes one.
func (f setFlag) set(valuesOf func(key string) []string) (key string, values []string) {
	for i, key := range f.keys {
		values := valuesOf(key)
		list := SplitList(values)
		several := f.name == "source" && kindOf(f.Flag) == valueFlag && (len(list) > 1 || slices.Contains(list, allSources))
		if len(values) > 0 && (i == 0 || !several) {
			return key, values
		}
	}
	return "", nil
}

func variable(key string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(key))
}

// setEnvVars gives every flag its variable: --wal-dir reads YPCRAWL_WAL_DIR. An empty one leaves the next one to set it.
func setEnvVars(app *cli.App) {
	flags, _ := flagsOf(app)
	for _, f := range flags {
		key, _ := f.set(func(key string) []string { return SplitList([]string{os.Getenv(variable(key))}) })
		key = cmp.Or(key, f.keys[len(f.keys)-1])
		reflect.ValueOf(f.Flag).Elem().FieldByName("EnvVars").Set(reflect.ValueOf([]string{variable(key)}))
	}
}

// unknownVariables tells of variables that set nothing. Their values may be secrets and are not shown.
func unknownVariables(app *cli.App, environ []string) (complaints []string) {
	_, known := flagsOf(app)
	for i, key := range known {
		known[i] = variable(key)
	}
	known = append(known, "YPCRAWL_EVENT", "YPCRAWL_TITLE") // a command of --notify that calls this program has them
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, envPrefix) && value != "" && !slices.Contains(known, name) {
			complaints = append(complaints, fmt.Sprintf("the variable %s sets nothing%s", yp.Printable(name), meant(name, known)))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// meant names what is known and has only a command before that name, or the nearest.
func meant(name string, known []string) string {
	bare := strings.TrimPrefix(name, envPrefix)
	near, ok := yp.Nearest(name, known)
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasSuffix(k, " "+bare) || strings.HasSuffix(k, "_"+bare) }); i >= 0 {
		near, ok = known[i], true
	}
	if ok {
		return ": did you mean " + near + "?"
	}
	return "; see `ypcrawl help settings`"
}

// setting is what the file says of one key.
type setting struct {
	values []string
	line   int
}

// readSettings reads the whole file, sections of other commands too: an unknown key, a key given twice or a
// value of the wrong shape is a UsageError with file and line.
func readSettings(known []string, path string) (found map[string]setting, err error) {
	data, err := readBounded(path, "settings file")
	if err != nil {
		return nil, Usagef("read settings: %w", err)
	}
	var doc yaml.Node
	if err := cmp.Or(yaml.Unmarshal(data, new(map[string]any)), yaml.Unmarshal(data, &doc)); err != nil { // the map refuses a key given twice
		return nil, Usagef("%s: %w", path, err)
	}
	found = map[string]setting{}
	for _, root := range doc.Content { // none in an empty file
		if line, err := readSection(found, slices.DeleteFunc(known, func(key string) bool { return key == configFlag }), root, ""); err != nil {
			return nil, Usagef("%s:%d: %w", path, line, err)
		}
	}
	return found, nil
}

// readSection adds the keys of a section and those within. Its error is of a line.
func readSection(found map[string]setting, known []string, section *yaml.Node, prefix string) (line int, err error) {
	for i := 0; i+1 < len(section.Content) && err == nil; i += 2 {
		name, value := prefix+section.Content[i].Value, section.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		var values []string
		line = section.Content[i].Line
		switch inner := slices.ContainsFunc(known, func(key string) bool { return strings.HasPrefix(key, name+" ") }); {
		case value.Kind == yaml.MappingNode:
			line, err = readSection(found, known, value, name+" ")
			continue
		case inner && value.ShortTag() == "!!null": // a section whose lines are comments, say
			continue
		case !slices.Contains(known, name):
			return line, fmt.Errorf("%s: unknown key%s", name, meant(name, known))
		case value.Kind == yaml.ScalarNode:
			value = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
		}
		if err := value.Decode(&values); err != nil {
			return line, fmt.Errorf("%s: %w", name, err)
		}
		if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(values) == 0 {
			return line, fmt.Errorf("%s: want a value or a list of values; remove the line for the default", name)
		}
		found[name] = setting{values, line}
	}
	return line, err
}

// applySettings sets the flags of c's command that neither the command line nor the environment has set from
// the YAML file at path. A file that is not there is an error only when explicit is set.
func applySettings(c *cli.Context, path string, explicit bool) error {
	flags, keys := flagsOf(c.App)
	found, err := readSettings(keys, path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !explicit {
			return nil
		}
		return err
	}
	command := strings.TrimPrefix(c.Command.HelpName, c.App.HelpName+" ")
	for _, f := range slices.Backward(flags) { // an inner one first: it hides the outer one of its name
		key, values := f.set(func(key string) []string { return found[key].values })
		if key == "" || c.IsSet(f.name) || f.command != "" && !strings.HasPrefix(command+" ", f.command+" ") {
			continue
		}
		if len(values) > 1 && kindOf(f.Flag) != multiFlag {
			return Usagef("%s:%d: %s takes one value, not a list", path, found[key].line, f.name)
		}
		for _, v := range values {
			if err := c.Set(f.name, v); err != nil {
				return Usagef("%s:%d: %s: invalid value %q: %s", path, found[key].line, f.name, v, wanted(f.Flag, err.Error()))
			}
		}
	}
	return nil
}
