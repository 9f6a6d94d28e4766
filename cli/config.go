package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"
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
