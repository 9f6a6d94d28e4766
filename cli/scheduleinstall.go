package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"ypcrawl/cli/export"
	"ypcrawl/cli/schedule"
	"ypcrawl/yp"
)

// unitFolder is where the units of systemd are looked for.
func unitFolder(c *cli.Context) (string, error) {
	switch dir := c.String("unit-dir"); {
	case dir != "":
		return filepath.Abs(dir)
	case c.Bool("system"):
		return filepath.Join(cmp.Or(c.String("root"), "/"), "etc/systemd/system"), nil
	case runtime.GOOS != "linux":
		return "", Usagef("units need systemd on Linux: use --print launchd, taskscheduler or cron here")
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder of your units: %w: name it with --unit-dir", err)
	}
	return filepath.Join(dir, "systemd", "user"), nil
}

// installedUnits are those units of a name that are there. One that is not ours is an error: nothing
// is done then.
func installedUnits(dir, name string) (there []string, err error) {
	for _, unit := range schedule.UnitNames(name) {
		path := filepath.Join(dir, unit)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var data []byte
		if err == nil && info.Mode().IsRegular() {
			data, err = readBounded(path, "unit")
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		if head, _, _ := strings.Cut(string(data), "\n"); !strings.Contains(head, schedule.Mark) {
			return nil, Usagef("%s was not written by `ypcrawl schedule` and is not changed: choose another --name, or remove the file yourself", path)
		}
		there = append(there, path)
	}
	return there, nil
}

// systemctl is how systemctl is called for the units.
func systemctl(c *cli.Context) string {
	if c.Bool("system") {
		return "sudo systemctl"
	}
	return "systemctl --user"
}

// install writes the units, the timer last, each whole or not at all.
func (p *Program) install(c *cli.Context, j schedule.Job, out scheduled) error {
	dir, err := unitFolder(c)
	if err != nil {
		return err
	}
	files, err := j.Systemd()
	if err != nil {
		return Usagef("%w", err)
	}
	old, err := installedUnits(dir, j.Name)
	if err != nil {
		return err
	}
	if other := crawledIn(filepath.Join(dir, files[0].Name)); other != "" && other != j.Folder {
		return Usagef("the units named %s crawl in %s: choose another --name, or remove them first with --uninstall", j.Name, yp.Printable(other))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as systemd has it
		return fmt.Errorf("make the folder of the units: %w", err)
	}
	kept := map[string]bool{}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := replaceFile(path, f.Text); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		kept[path] = true
		out.Files = append(out.Files, schedule.File{Name: path, Text: f.Text})
	}
	for _, path := range old {
		if !kept[path] {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("remove a unit that is not needed any more: %w", err)
			}
		}
	}
	ctl, timer := systemctl(c), j.Name+".timer"
	out.Next = []string{ctl + " daemon-reload", ctl + " enable --now " + timer}
	if !j.System {
		out.Next = append(out.Next, "loginctl enable-linger")
	}
	elsewhere := c.IsSet("root") // systemd of this machine has nothing to do with it
	if elsewhere {
		root, err := filepath.Abs(c.String("root"))
		if err != nil {
			return fmt.Errorf("--root: %w", err)
		}
		out.Next = []string{ctl + " --root=" + schedule.ShellWord(root) + " enable " + timer}
	}
	return p.tell(c, out, func(w *sections) {
		for _, f := range out.Files {
			w.more("Wrote " + f.Name)
		}
		w.lines("It starts " + out.When + " once it is enabled. Type:")
		why := []string{"", "   # switches it on", "   # so that it runs while you are logged out"}
		for i, line := range out.Next {
			w.more("  " + line + why[i])
		}
		if j.System {
			w.lines(j.User + " must be able to write there: " + strings.Join(j.Writes, ", "))
		}
		if elsewhere {
			return
		}
		w.lines("To start it now and to watch it:")
		w.more("  "+ctl+" start --no-block "+j.Name+".service", "  "+ctl+" status "+j.Name+".service", "  "+ctl+" list-timers "+timer)
	})
}

// crawledIn is the working folder that a service of ours names; "" = there is none.
func crawledIn(service string) string {
	data, err := readBounded(service, "unit")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), "\nWorkingDirectory=")
	folder, _, _ := strings.Cut(rest, "\n")
	return strings.ReplaceAll(folder, "%%", "%")
}

// replaceFile writes a file that appears whole.
func replaceFile(path, text string) error {
	f, err := export.Create(path, "", true)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	if err = errors.Join(err, f.Finish()); err == nil {
		err = export.Publish([]*export.File{f})
	}
	if err != nil {
		f.Abort()
	}
	return err
}

// uninstall removes the units of a name, and the link that switched the timer on.
func (p *Program) uninstall(c *cli.Context) error {
	dir, err := unitFolder(c)
	if err != nil {
		return err
	}
	name := c.String("name")
	if filepath.Base(name) != name {
		return Usagef("--name %q: want the name that --install was given", name)
	}
	there, err := installedUnits(dir, name)
	if err != nil {
		return err
	}
	out := scheduled{Name: name, Commands: [][]string{}, Files: []schedule.File{}, Next: []string{}}
	link := filepath.Join(dir, "timers.target.wants", name+".timer")
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink != 0 && len(there) > 0 {
		there = append([]string{link}, there...)
	}
	for _, path := range there {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove a unit: %w", err)
		}
		out.Files = append(out.Files, schedule.File{Name: path})
	}
	if ctl := systemctl(c); len(there) > 0 && !c.IsSet("root") {
		out.Next = []string{ctl + " stop " + name + ".timer", ctl + " daemon-reload"}
	}
	return p.tell(c, out, func(w *sections) {
		if len(there) == 0 {
			w.lines("There are no units of the name " + name + " in " + dir + ".")
			return
		}
		for _, path := range there {
			w.more("Removed " + path)
		}
		if len(out.Next) == 0 {
			return
		}
		w.lines("A crawl that runs is not stopped. To stop the timer, type:")
		for _, line := range out.Next {
			w.more("  " + line)
		}
	})
}
