// Command release makes the files that a version is published as, and the image.
//
//	go -C tools run ./release linux/amd64 linux/arm/7      dist/release: archives, packages, lists of parts, SHA256SUMS
//	go -C tools run ./release -what image linux/amd64      dist/image: the root file system, and what `docker load` takes
//
// Version and time come from the commit, by what Go writes into a binary. Two builds of one commit have equal bytes, wherever,
// by whom and when they are made: names are sorted, owners and times fixed, and the Go version is that of go.mod.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

var everywhere = []string{"linux/amd64", "linux/arm64", "linux/arm/7", "darwin/amd64", "darwin/arm64", "windows/amd64"}

func main() {
	source := flag.String("source", "..", "`FOLDER` of the clone")
	out := flag.String("out", "../dist", "`FOLDER` of what is made")
	what := flag.String("what", "release", "`WHAT` to make: release, image or both as release,image")
	flag.Parse()
	if err := run(*source, *out, strings.Split(*what, ","), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(source, out string, what, platforms []string) (err error) {
	r := &release{files: map[string][]byte{}, built: map[platform]binary{}}
	if r.source, err = filepath.Abs(source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return err
	}
	if len(platforms) == 0 {
		platforms = everywhere
	}
	for _, name := range platforms {
		p, err := parsePlatform(name)
		if err != nil {
			return err
		}
		b, err := r.build(p)
		if err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
		for _, w := range what {
			switch w {
			case "release":
				err = errors.Join(r.archive(b), r.parts(b), r.packages(b))
			case "image":
				err = r.image(b)
			default:
				err = errors.New("want release or image")
			}
			if err != nil {
				return fmt.Errorf("%s of %s: %w", w, p, err)
			}
		}
	}
	for _, w := range what {
		if err := r.write(w); err != nil {
			return err
		}
	}
	return nil
}

// release is what is made of one commit.
type release struct {
	source, out string
	built       map[platform]binary
	files       map[string][]byte // by their name in out
}

// file is a file of an archive, of an image, or on the way into a package.
type file struct {
	name  string // with slashes; one that ends in a slash is a folder
	mode  int64
	data  []byte
	owner int // user and group; 0 = root
}

// platform is what a binary runs on.
type platform struct{ os, arch, arm string }

func parsePlatform(name string) (platform, error) {
	parts := strings.Split(name+"/", "/")
	if !slices.Contains(everywhere, name) {
		return platform{}, fmt.Errorf("%q: want one of %s", name, strings.Join(everywhere, ", "))
	}
	return platform{parts[0], parts[1], parts[2]}, nil
}

// String is the end of a file's name: linux_armv7.
func (p platform) String() string {
	if p.arm != "" {
		return p.os + "_" + p.arch + "v" + p.arm
	}
	return p.os + "_" + p.arch
}

// binary is the program for a platform, and what it says of itself.
type binary struct {
	platform
	path    string
	data    []byte
	info    *buildinfo.BuildInfo
	version string // without the v
	time    time.Time
	commit  string
}

// build builds the program as it is released: stripped, without paths of this machine, with its commit.
func (r *release) build(p platform) (b binary, err error) {
	if b, ok := r.built[p]; ok {
		return b, nil
	}
	b = binary{platform: p, path: filepath.Join(r.out, p.String(), "ypcrawl")}
	if p.os == "windows" {
		b.path += ".exe"
	}
	toolchain, err := r.command(nil, "go", "list", "-m", "-f", "go{{.GoVersion}}")
	if err != nil {
		return b, err
	}
	env := []string{
		"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOARM=" + p.arm, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-trimpath", "GOEXPERIMENT=", "GOWORK=off", "GOTOOLCHAIN=" + strings.TrimSpace(toolchain),
	}
	if _, err = r.command(env, "go", "build", "-buildvcs=true", "-ldflags=-s -w", "-o", b.path, "."); err != nil {
		return b, err
	}
	if b.data, err = os.ReadFile(b.path); err != nil {
		return b, err
	}
	if b.info, err = buildinfo.Read(bytes.NewReader(b.data)); err != nil {
		return b, err
	}
	b.version = strings.TrimPrefix(b.info.Main.Version, "v")
	for _, s := range b.info.Settings {
		switch s.Key {
		case "vcs.time":
			b.time, err = time.Parse(time.RFC3339, s.Value)
		case "vcs.revision":
			b.commit = s.Value
		}
	}
	if err == nil && b.commit == "" {
		err = errors.New("the program does not know its commit: build a release from a clone by `git clone`, not from another worktree")
	}
	if err == nil {
		r.built[p] = b
	}
	return b, err
}

// command runs a command in the clone and returns what it prints.
func (r *release) command(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...) //nolint:noctx // ends by itself, and with this program
	cmd.Dir, cmd.Env = r.source, append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, exit.Stderr)
	}
	return string(out), err
}

// read reads files of the clone, each under the name that stands before its path.
func (r *release) read(names ...string) (files []file, err error) {
	for i := 0; i+1 < len(names); i += 2 {
		data, err := os.ReadFile(filepath.Join(r.source, names[i+1]))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: names[i], mode: 0o644, data: data})
	}
	return files, nil
}

// write replaces a folder in out by what was made for it, with the sums of its files.
func (r *release) write(folder string) error {
	dir := filepath.Join(r.out, folder)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		base, here := strings.CutPrefix(name, folder+"/")
		if !here {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, base), r.files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(r.files[name]), base)
	}
	fmt.Print(sums.String())
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// host is the program for this machine, to ask it something.
func (r *release) host() (binary, error) {
	p := platform{os: runtime.GOOS, arch: runtime.GOARCH}
	if p.arch == "arm" {
		p.arm = "7"
	}
	return r.build(p)
}
