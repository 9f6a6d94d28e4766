package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes the packages of a platform: those of Linux have some.
func (r *release) packages(b binary) error {
	if b.os != "linux" {
		return nil
	}
	stage, err := os.MkdirTemp("", "ypcrawl-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	if err := r.stage(b, stage); err != nil {
		return err
	}
	values := map[string]string{"ARCH": b.arch + b.arm, "VERSION": b.version, "STAGE": stage}
	value := func(name string) string { return values[name] }
	for _, format := range []string{"deb", "rpm", "apk"} {
		// Read anew for each: a packager writes into what it is given.
		config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(stage, "package/nfpm.yaml"), value)
		if err != nil {
			return err
		}
		config.MTime = b.time
		for _, script := range []*string{&config.Scripts.PreInstall, &config.Scripts.PostInstall, &config.Scripts.PreRemove, &config.Scripts.PostRemove} {
			*script = os.Expand(*script, value)
		}
		if format == "apk" {
			config.Prerelease, config.VersionMetadata, config.Release = alpineStage(config.Prerelease), "", "0"
			config.Description, _, _ = strings.Cut(config.Description, "\n")
		}
		info, err := config.Get(format)
		if err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		var data bytes.Buffer
		name := packager.ConventionalFileName(info)
		if err := packager.Package(info, &data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.files["release/"+name] = data.Bytes()
	}
	return nil
}

var digits = regexp.MustCompile(`^[0-9]`)

// alpineStage writes what stands before a version's end as Alpine reads it: rc.1 as rc1, the time and commit
// of an untagged version as pre and the time.
func alpineStage(stage string) string {
	stage, _, _ = strings.Cut(strings.ReplaceAll(stage, ".", ""), "-")
	if digits.MatchString(stage) {
		return "pre" + stage
	}
	return stage
}

// stage writes the files that nfpm.yaml names.
func (r *release) stage(b binary, folder string) error {
	files, err := r.read(
		"doc/README.md", "README.md", "doc/CHANGELOG.md", "CHANGELOG.md", "doc/NOTICE", "NOTICE", "doc/copyright", "LICENSE",
		"completions/ypcrawl.bash", "cli/completion/ypcrawl.bash", "completions/ypcrawl.fish", "cli/completion/ypcrawl.fish",
		"completions/ypcrawl.zsh", "cli/completion/ypcrawl.zsh", "ypcrawl.1.gz", "docs/ypcrawl.1")
	if err != nil {
		return err
	}
	manual := &files[len(files)-1]
	if manual.data, err = gzipped(manual.data); err != nil {
		return err
	}
	for _, name := range []string{"nfpm.yaml", "preinstall.sh", "postinstall.sh", "preremove.sh", "postremove.sh", "ypcrawl.yaml"} {
		more, err := r.read("package/"+name, "tools/release/package/"+name)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	units, err := r.schedule()
	if err != nil {
		return fmt.Errorf("units of the service: %w", err)
	}
	return writeTree(folder, append(append(files, file{name: "ypcrawl", mode: 0o755, data: b.data}), units...), b.time)
}

// schedule asks the program for the units of the service. It runs in a folder that holds what the package
// installs, so that it finds what the units name.
func (r *release) schedule() (units []file, err error) {
	b, err := r.host()
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp("", "ypcrawl-root-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(root) }()
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	// The settings are empty: what they say is read at each start, and must not stand in the units.
	err = writeTree(root, []file{{name: "usr/bin/ypcrawl", mode: 0o755, data: b.data}, {name: "etc/ypcrawl/ypcrawl.yaml", mode: 0o644}, {name: "var/lib/ypcrawl/"}}, b.time)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--config", filepath.Join(root, "etc/ypcrawl/ypcrawl.yaml"), "schedule",
		"--root", root, "--system", "--user", "ypcrawl", "--daily", "03:00", "--print", "systemd", "--json",
	}
	cmd := exec.Command(filepath.Join(root, "usr/bin/ypcrawl"), args...) //nolint:noctx // ends by itself, and with this program
	cmd.Dir, cmd.Stderr = filepath.Join(root, "var/lib/ypcrawl"), os.Stderr
	cmd.Env = []string{"PWD=" + cmd.Dir}
	printed, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var said struct {
		Files []struct{ Name, Text string }
	}
	if err := json.Unmarshal(printed, &said); err != nil {
		return nil, err
	}
	for _, f := range said.Files {
		units = append(units, file{name: "units/" + f.Name, mode: 0o644, data: []byte(f.Text)})
	}
	if len(units) != 2 {
		return nil, fmt.Errorf("there are %d, want a service and a timer", len(units))
	}
	return units, nil
}

// writeTree writes files below a folder, with their modes whatever the umask is, and with one time.
func writeTree(folder string, files []file, at time.Time) error {
	for _, f := range files {
		name := filepath.Join(folder, filepath.FromSlash(f.name))
		if strings.HasSuffix(f.name, "/") {
			if err := os.MkdirAll(name, 0o755); err != nil {
				return err
			}
			continue
		}
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = errors.Join(os.WriteFile(name, f.data, 0o600), os.Chmod(name, os.FileMode(f.mode)), os.Chtimes(name, at, at))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
