package frame

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
)

// expandHome puts the home folder in the place of a leading "~/" in the paths of c's command. Shells do it for a word
// that begins with it, but dash and bash not for "--db=~/y.db", and nobody does it for a settings file or a variable.
func expandHome(c *cli.Context, flags []SettableFlag) error {
	for _, f := range flags {
		path, ok := f.Flag.(*cli.StringFlag)
		if !ok || !path.TakesFile || !f.of(c) {
			continue
		}
		full, err := atHome(c.String(f.Name), path.Name != "output" && path.Name != "metrics-file")
		if err != nil {
			return Usagef("--%s %w", f.Name, err)
		}
		if full == c.String(f.Name) {
			continue
		}
		if err := c.Set(f.Name, full); err != nil {
			return Usagef("--%s %q: %w", f.Name, full, err)
		}
	}
	return nil
}

// atHome returns a path with a leading "~/" as one in the home folder, and any other one as it is. Where a folder
// called "~" has what is not there in the home folder, a lasting file would be begun a second time: that is an error.
func atHome(path string, lasting bool) (string, error) {
	if path == "" || path[0] != '~' || len(path) > 1 && !os.IsPathSeparator(path[1]) {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%s: %w, so it is not known which folder ~ is; write the whole path", path, err)
	}
	full := filepath.Join(home, path[1:])
	if _, err := os.Lstat(full); lasting && errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return "", fmt.Errorf("%[1]s: there is no %[2]s, but there is .%[3]c%[1]s, in a folder called ~; move it to the home folder, or write .%[3]c%[1]s", path, full, filepath.Separator)
		}
	}
	return full, nil
}
